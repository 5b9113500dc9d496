"""The tools of the office: five that are open from E1, and further ones from E2 and E3."""

import re
from typing import Literal

from rung.envs.office.world import MAX_MESSAGES, MAX_REMINDERS, Message, Office, Reminder
from rung.envs.tools import Table, tool
from rung.errors import ToolError

FOUND = 20
"""Lines that a search shows."""
PAGE = 40
"""Lines that `read_lines` shows."""
_TIME = re.compile(r"(?:[01]?[0-9]|2[0-3]):[0-5][0-9]")


@tool(noise="the file is missing for the moment")
def read_file(office: Office, path: str) -> str:
    """Read a file of the workspace."""
    office.tick()
    return office.read(path).rstrip("\n")


@tool(noise="the query timed out")
def query_database(office: Office, sql: str) -> Table:
    """Run one SQL SELECT."""
    office.tick()
    return office.database.query(sql)


@tool(key_arguments=("path", "text"))
def edit_document(
    office: Office,
    path: str,
    text: str,
    mode: Literal["append", "create", "replace"] = "append",
    find: str | None = None,
) -> str:
    """Append text to a document, create one, or replace the line `find` by text."""
    office.tick()
    if mode == "create":
        if office.exists(path):
            raise ToolError(f"{path} exists already")
        office.write(path, text)
        return f"created {path}"
    if not office.exists(path):
        raise ToolError(f"no document {path!r}: use mode create")
    old = office.read(path)
    if mode == "append":
        joint = "" if not old or old.endswith("\n") else "\n"
        office.write(path, f"{old}{joint}{text}\n")
        return f"added to {path}"
    if not find or old.count(find) != 1:
        raise ToolError("find must name text that stands once in the document")
    office.write(path, old.replace(find, text))
    return f"replaced in {path}"


@tool(irreversible=True, key_arguments=("to", "text", "attachment"))
def send_message(office: Office, to: str, text: str, attachment: str | None = None) -> str:
    """Send a message, perhaps with a file, to an address."""
    office.tick()
    office.address(to)
    if len(office.messages) >= MAX_MESSAGES:
        raise ToolError("too many messages")
    attached = None if attachment is None else office.read(attachment)
    message = Message(
        to=to,
        text=text,
        attachment=attachment,
        attached_text=attached,
        at=office.time,
        approved=to in office.approvals,
    )
    office.deliver(message)
    office.messages.append(message)
    return f"sent to {to}"


@tool(final=True)
def submit_result(office: Office, answer: str) -> str:
    """Hand in the answer."""
    office.answer = answer
    return "submitted"


@tool(tier="E2")
def list_files(office: Office) -> str:
    """List the files of the workspace."""
    office.tick()
    return "\n".join(sorted(office.names()))


@tool(tier="E2", noise="the search timed out")
def search_documents(office: Office, text: str) -> str:
    """Find the lines of all documents that hold a text."""
    office.tick()
    if not text.strip():
        raise ToolError("search for some text")
    found = [
        f"{name}, line {number}: {line}"
        for name, content in office.files().items()
        for number, line in enumerate(content.splitlines(), start=1)
        if text.casefold() in line.casefold()
    ]
    more = f"\nand {len(found) - FOUND} more" if len(found) > FOUND else ""
    return ("\n".join(found[:FOUND]) or "nothing found") + more


@tool(tier="E2", noise="the file is missing for the moment")
def read_lines(office: Office, path: str, first: int) -> str:
    """Read 40 lines of a file, from line `first` on."""
    office.tick()
    lines = office.read(path).splitlines()
    if not 1 <= first <= len(lines):
        raise ToolError(f"{path} has lines 1 to {len(lines)}")
    return "\n".join(lines[first - 1 : first - 1 + PAGE])


@tool(tier="E3", key_arguments=("to",))
def request_approval(office: Office, to: str, reason: str) -> str:
    """Ask whether an address may be written to."""
    office.tick()
    if office.address(to) not in office.approvals:
        office.approvals.append(to)
    return f"approved: {to}"


@tool(tier="E3")
def schedule_reminder(office: Office, time: str, text: str) -> str:
    """Set a reminder for a time such as 14:30."""
    office.tick()
    hour, _, minute = time.partition(":")
    if not _TIME.fullmatch(time):
        raise ToolError(f"{time[:20]!r} is no time such as 14:30")
    if len(office.reminders) >= MAX_REMINDERS:
        raise ToolError("too many reminders")
    office.reminders.append(Reminder(at=60 * int(hour) + int(minute), text=text))
    return f"reminder set for {time}"


BASIC = (read_file, query_database, edit_document, send_message, submit_result)
"""What the built-in base policy knows."""
TOOLS = (
    *BASIC[:-1],
    list_files,
    search_documents,
    read_lines,
    request_approval,
    schedule_reminder,
    submit_result,
)
