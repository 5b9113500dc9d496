"""The five tools of the office."""

from typing import Literal

from rung.envs.office.world import MAX_MESSAGES, Message, Office
from rung.envs.tools import Table, tool
from rung.errors import ToolError


@tool(noise="the file is missing for the moment")
def read_file(office: Office, path: str) -> str:
    """Read a file of the workspace."""
    return office.read(path).rstrip("\n")


@tool(noise="the query timed out")
def query_database(office: Office, sql: str) -> Table:
    """Run one SQL SELECT."""
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
    if to not in {email for _, email, _ in office.goal.world.employees}:
        raise ToolError(f"no such address: {to[:80]!r}")
    if len(office.messages) >= MAX_MESSAGES:
        raise ToolError("too many messages")
    attached = None if attachment is None else office.read(attachment)
    message = Message(to=to, text=text, attachment=attachment, attached_text=attached)
    office.deliver(message)
    office.messages.append(message)
    return f"sent to {to}"


@tool(final=True)
def submit_result(office: Office, answer: str) -> str:
    """Hand in the answer."""
    office.answer = answer
    return "submitted"


TOOLS = (read_file, query_database, edit_document, send_message, submit_result)
