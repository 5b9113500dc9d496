"""Office: the state of one trajectory, over a real database, a real folder and sent messages."""

import re
import shutil
import tempfile
from dataclasses import dataclass
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
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message that was sent; the attachment is kept as it was then."""

    to: str
    text: str
    attachment: str | None = None
    attached_text: str | None = None


class Office:
    """Owns the workspace folder and the database; `close` frees both."""

    def __init__(self, goal: Goal) -> None:
        self.goal = goal
        self.messages: list[Message] = []
        self.answer: str | None = None
        self.database = _database(goal.world)
        self.folder = Path(tempfile.mkdtemp(prefix="rung-office-"))
        for name, text in goal.world.files.items():
            self._path(name).write_text(text, encoding="utf-8", newline="")

    def read(self, name: str) -> str:
        """The text of a file.

        Raises:
            ToolError: there is no such file, or the name is not allowed.
        """
        path = self._path(name)
        if not path.is_file():
            raise ToolError(f"no file {name!r}")
        return path.read_text(encoding="utf-8")

    def exists(self, name: str) -> bool:
        """True if the workspace has this file."""
        return self._path(name).is_file()

    def write(self, name: str, text: str) -> None:
        """Set the text of a file.

        Raises:
            ToolError: the name is not allowed, or a limit on size or number is passed.
        """
        path = self._path(name)
        if len(text) > MAX_FILE_CHARACTERS:
            raise ToolError(f"a document holds at most {MAX_FILE_CHARACTERS} characters")
        if not path.exists() and len(list(self.folder.iterdir())) >= MAX_FILES:
            raise ToolError(f"the workspace holds at most {MAX_FILES} files")
        path.write_text(text, encoding="utf-8", newline="")

    def text_of(self, name: str) -> str:
        """The text of a file, empty if there is none; for judging."""
        path = self._path(name)
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def files(self) -> dict[str, str]:
        """All files by name."""
        return {p.name: p.read_text(encoding="utf-8") for p in sorted(self.folder.iterdir())}

    def close(self) -> None:
        """Remove the folder and free the database."""
        self.database.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, name: str) -> Path:
        """The path of a file: a plain name, so that it cannot leave the workspace."""
        if not _NAME.fullmatch(name):
            raise ToolError(f"bad file name {name[:40]!r}: use letters, digits, '_', '-' and '.'")
        return self.folder / name


def _database(world: World) -> Database:
    return Database(
        {
            "products": (("name", "price", "stock", "supplier"), world.products),
            "orders": (("customer", "product", "quantity"), world.orders),
            "employees": (("name", "email", "team"), world.employees),
        }
    )


def save(office: Office) -> dict[str, Any]:
    """The state as a JSON value."""
    return {
        "tables": {name: [list(row) for row in rows] for name, rows in
                   office.database.contents().items()},
        "files": office.files(),
        "messages": msgspec.to_builtins(office.messages),
        "answer": office.answer,
    }


def load(task: Task, saved: dict[str, Any]) -> Office:
    """The state from what `save` gave."""
    office = Office(goal_of(task))
    for name in office.files():
        (office.folder / name).unlink()
    for name, text in saved["files"].items():
        office.write(name, text)
    office.messages = msgspec.convert(saved["messages"], list[Message])
    office.answer = saved["answer"]
    return office
