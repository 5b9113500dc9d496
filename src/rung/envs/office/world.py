"""Office: the state of one trajectory, over a real database, a real folder and sent messages."""

import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from rung.core import Task
from rung.envs.office.goal import Goal, World, goal_of
from rung.envs.office.sql import Database
from rung.errors import ToolError

MAX_FILES = 64
MAX_FILE_CHARACTERS = 20_000
MAX_MESSAGES = 100
MAX_REMINDERS = 100
OPENING = 9 * 60
"""Time at which a trajectory starts, in minutes since midnight."""
MINUTES = 5
"""Minutes that a tool call takes."""
_NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9_-])?")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message that was sent; the attachment is kept as it was then."""

    to: str
    text: str
    attachment: str | None = None
    attached_text: str | None = None
    at: int = field(default=0, compare=False)
    """When it was sent, in minutes since midnight."""
    approved: bool = field(default=False, compare=False)
    """Approval for this address had been given by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder:
    """Something to be reminded of."""

    at: int
    """In minutes since midnight."""
    text: str


class Office:
    """Owns the workspace folder and the database; `close` frees both.

    A file is a regular file right inside the folder. Links are neither read nor written through,
    and names mean the same on every system: no device names, no two that differ in case only.
    """

    def __init__(
        self,
        goal: Goal,
        *,
        database: Any = None,
        parent: Path | None = None,
        deliver: Callable[[Message], None] = lambda _message: None,
    ) -> None:
        """Set up the goal's world.

        Args:
            goal: world and what to do in it.
            database: holds the world's tables already; by default one in memory.
            parent: folder in which the workspace folder is made; by default the system's.
            deliver: called with each message that is sent.
        """
        self.goal = goal
        self.deliver = deliver
        self.messages: list[Message] = []
        self.answer: str | None = None
        self.time = OPENING
        self.approvals: list[str] = []
        self.reminders: list[Reminder] = []
        self.database = database or Database(tables_of(goal.world))
        self.folder = Path(tempfile.mkdtemp(prefix="rung-office-", dir=parent))
        # Runs once: on `close`, or when an office that nobody closed goes away.
        self._free = weakref.finalize(self, _release, self.database, self.folder)
        for name, text in goal.world.files.items():
            self._path(name).write_bytes(text.encode())

    def tick(self) -> None:
        """Let the time of one tool call pass."""
        self.time += MINUTES

    def address(self, to: str) -> str:
        """`to`, if it is somebody's address.

        Raises:
            ToolError: it is not.
        """
        if to not in {email for _, email, _ in self.goal.world.employees}:
            raise ToolError(f"no such address: {to[:80]!r}")
        return to

    def read(self, name: str) -> str:
        """The text of a file.

        Raises:
            ToolError: there is no such file, or the name is not allowed.
        """
        if not self.exists(name):
            raise ToolError(f"no file {name!r}")
        return self._path(name).read_bytes().decode()

    def exists(self, name: str) -> bool:
        """True if the workspace has this file."""
        self._path(name)
        return name in self.names()

    def write(self, name: str, text: str) -> None:
        """Set the text of a file.

        Raises:
            ToolError: the name is not allowed, or a limit on size or number is passed.
        """
        path = self._path(name)
        data = text.encode()
        if len(text) > MAX_FILE_CHARACTERS:
            raise ToolError(f"a document holds at most {MAX_FILE_CHARACTERS} characters")
        if self.exists(name):
            path.unlink()
        else:
            taken = {entry.name.casefold() for entry in self.folder.iterdir()}
            if name.casefold() in taken:
                raise ToolError(f"the name {name!r} is taken")
            if len(taken) >= MAX_FILES:
                raise ToolError(f"the workspace holds at most {MAX_FILES} files")
        with path.open("xb") as file:  # a new file: nothing is written through a link
            file.write(data)

    def text_of(self, name: str) -> str:
        """The text of a file, empty if there is none; for judging."""
        return self.read(name) if self.exists(name) else ""

    def files(self) -> dict[str, str]:
        """All files by name."""
        return {name: self.read(name) for name in sorted(self.names())}

    def close(self) -> None:
        """Remove the folder and free the database."""
        self._free()

    def names(self) -> set[str]:
        """Names of all files."""
        with os.scandir(self.folder) as entries:
            return {entry.name for entry in entries if entry.is_file(follow_symlinks=False)}

    def _path(self, name: str) -> Path:
        """The path of a file: a plain name, so that it cannot leave the workspace."""
        if not _NAME.fullmatch(name) or _DEVICE.fullmatch(name):
            raise ToolError(f"bad file name {name[:40]!r}: use letters, digits, '_', '-' and '.'")
        return self.folder / name


def _release(database: Any, folder: Path) -> None:
    database.close()
    shutil.rmtree(folder, ignore_errors=True)


def tables_of(world: World) -> dict[str, tuple[tuple[str, ...], Any]]:
    """The world's tables: name -> (columns, rows)."""
    return {
        "products": (("name", "price", "stock", "supplier"), world.products),
        "orders": (("customer", "product", "quantity"), world.orders),
        "employees": (("name", "email", "team"), world.employees),
    }


def save(office: Office) -> dict[str, Any]:
    """The state as a JSON value."""
    return {
        "tables": {
            name: [list(row) for row in rows] for name, rows in office.database.contents().items()
        },
        "files": office.files(),
        "messages": msgspec.to_builtins(office.messages),
        "answer": office.answer,
        "time": office.time,
        "approvals": office.approvals,
        "reminders": msgspec.to_builtins(office.reminders),
    }


def load(task: Task, saved: dict[str, Any]) -> Office:
    """The state from what `save` gave."""
    return restored(Office(goal_of(task)), saved)


def restored(office: Office, saved: dict[str, Any]) -> Office:
    """A fresh office, changed to what `save` gave."""
    for name in office.files():
        (office.folder / name).unlink()
    for name, text in saved["files"].items():
        office.write(name, text)
    office.messages = msgspec.convert(saved["messages"], list[Message])
    office.answer, office.time = saved["answer"], saved["time"]
    office.approvals = list(saved["approvals"])
    office.reminders = msgspec.convert(saved["reminders"], list[Reminder])
    return office
