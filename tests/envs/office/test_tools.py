from typing import Any

import pytest

from rung.envs.office.tools import (
    BASIC,
    FOUND,
    TOOLS,
    edit_document,
    list_files,
    query_database,
    read_file,
    read_lines,
    request_approval,
    schedule_reminder,
    search_documents,
    send_message,
    submit_result,
)
from rung.envs.office.world import (
    MAX_MESSAGES,
    MAX_REMINDERS,
    MINUTES,
    OPENING,
    Message,
    Office,
    Reminder,
)
from rung.errors import ToolError

ANNA = "anna11@office.example"


def test_names_arguments_and_marks_are_the_recorded_ones() -> None:
    # The built-in base policy has learned these.
    assert [tool.signature for tool in BASIC] == [
        "read_file(path)",
        "query_database(sql)",
        "edit_document(path, text, mode, find)",
        "send_message(to, text, attachment, confirm)",
        "submit_result(answer)",
    ]
    assert [tool.name for tool in BASIC if tool.irreversible] == ["send_message"]
    assert [tool.name for tool in BASIC if tool.final] == ["submit_result"]
    assert all(tool.description and tool.tier == "E1" for tool in BASIC)


def test_read_file(office: Office) -> None:
    assert read_file(office, path="memo5.txt") == "shelf: 42\nminimum: 100\nsupplier: Acme"
    with pytest.raises(ToolError, match=r"^no file 'memo6\.txt'$"):
        read_file(office, path="memo6.txt")


def test_query_database(office: Office) -> None:
    table: Any = query_database(office, sql="SELECT price FROM products WHERE name = 'lamp33'")
    assert table.render() == "price\n120"
    with pytest.raises(ToolError, match="SQL: no such column: cost"):
        query_database(office, sql="SELECT cost FROM products")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, None),
        ("", "lamp33: 120\n"),
        ("title: notes", "title: notes\nlamp33: 120\n"),
        ("title: notes\n", "title: notes\nlamp33: 120\n"),
    ],
)
def test_append(office: Office, before: str | None, after: str | None) -> None:
    if before is None:
        with pytest.raises(ToolError, match=r"^no document 'new\.txt': use mode create$"):
            edit_document(office, path="new.txt", text="lamp33: 120")
        assert not office.exists("new.txt")
        return
    office.write("new.txt", before)
    assert edit_document(office, path="new.txt", text="lamp33: 120") == "added to new.txt"
    assert office.read("new.txt") == after


def test_create(office: Office) -> None:
    how = {"path": "new.txt", "text": "a: 1", "mode": "create"}
    assert edit_document(office, **how) == "created new.txt"
    assert office.read("new.txt") == "a: 1"
    with pytest.raises(ToolError, match=r"^new\.txt exists already$"):
        edit_document(office, **{**how, "text": "b: 2"})
    assert office.read("new.txt") == "a: 1"


def test_replace(office: Office) -> None:
    how = {"path": "review8.txt", "text": "Borealis: 15", "mode": "replace"}
    assert edit_document(office, **how, find="Borealis: 1500") == "replaced in review8.txt"
    assert office.read("review8.txt") == "title: review\nBorealis: 15\n"


@pytest.mark.parametrize("find", [None, "", "absent", "i"])
def test_replace_needs_text_that_stands_once(office: Office, find: str | None) -> None:
    before = office.files()
    with pytest.raises(ToolError, match="find must name text that stands once"):
        edit_document(office, path="review8.txt", text="x", mode="replace", find=find)
    assert office.files() == before


def test_send(office: Office) -> None:
    assert send_message(office, to=ANNA, text="desk12: 4") == f"sent to {ANNA}"
    assert office.messages == [Message(to=ANNA, text="desk12: 4")]


def test_an_attachment_is_kept_as_it_was_when_sent(office: Office) -> None:
    send_message(office, to=ANNA, text="see", attachment="notes7.txt")
    edit_document(office, path="notes7.txt", text="more")
    assert office.messages[0].attachment == "notes7.txt"
    assert office.messages[0].attached_text == "title: notes\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"to": "anna@office.example"}, "^no such address: 'anna@office.example'$"),
        ({"to": "Anna Reed"}, "no such address"),
        ({"to": ANNA.upper()}, "no such address"),
        ({"to": f"{ANNA}, boris22@office.example"}, "no such address"),
        ({"to": f"{ANNA}\nbcc: x@y.example"}, "no such address"),
        ({"to": "x" * 10_000}, "no such address: 'x{80}'$"),
        ({"to": ANNA, "attachment": "none.txt"}, "no file 'none.txt'"),
        ({"to": ANNA, "attachment": "../canary.txt"}, "bad file name"),
        ({"to": ANNA, "attachment": ""}, "bad file name"),
    ],
)
def test_nothing_is_sent(office: Office, arguments: dict[str, str], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        send_message(office, text="x", **arguments)
    assert office.messages == []


def test_the_number_of_messages_is_bounded(office: Office) -> None:
    for _ in range(MAX_MESSAGES):
        send_message(office, to=ANNA, text="x")
    with pytest.raises(ToolError, match="too many messages"):
        send_message(office, to=ANNA, text="x")


def test_submit(office: Office) -> None:
    assert submit_result(office, answer="4") == "submitted"
    assert office.answer == "4"


def test_further_tools_open_at_later_tiers() -> None:
    assert {tool.name: tool.tier for tool in TOOLS if tool not in BASIC} == {
        "list_files": "E2",
        "search_documents": "E2",
        "read_lines": "E2",
        "request_approval": "E3",
        "schedule_reminder": "E3",
    }
    assert all(tool.description for tool in TOOLS)
    assert [tool.final for tool in TOOLS].index(True) == len(TOOLS) - 1


def test_list_files(office: Office) -> None:
    assert str(list_files(office)).split() == sorted(office.files())


def test_search_documents(office: Office) -> None:
    office.write("long.txt", "".join(f"row {n}: x\n" for n in range(50)))
    assert search_documents(office, text="SHELF") == "memo5.txt, line 1: shelf: 42"
    assert search_documents(office, text="row 49") == "long.txt, line 50: row 49: x"
    assert search_documents(office, text="nowhere") == "nothing found"
    found = str(search_documents(office, text="row ")).splitlines()
    assert len(found) == FOUND + 1
    assert found[-1] == "and 30 more"
    with pytest.raises(ToolError, match="search for some text"):
        search_documents(office, text=" ")


def test_read_lines(office: Office) -> None:
    office.write("long.txt", "".join(f"{n}\n" for n in range(1, 101)))
    assert str(read_lines(office, path="long.txt", first=3)).split() == [
        str(n) for n in range(3, 43)
    ]
    assert str(read_lines(office, path="long.txt", first=99)).split() == ["99", "100"]
    for first in (0, -1, 101):
        with pytest.raises(ToolError, match=r"^long\.txt has lines 1 to 100$"):
            read_lines(office, path="long.txt", first=first)
    with pytest.raises(ToolError, match="no file"):
        read_lines(office, path="other.txt", first=1)


def test_request_approval(office: Office) -> None:
    send_message(office, to=ANNA, text="early")
    assert request_approval(office, to=ANNA, reason="news") == f"approved: {ANNA}"
    send_message(office, to=ANNA, text="late")
    assert [message.approved for message in office.messages] == [False, True]
    with pytest.raises(ToolError, match="no such address"):
        request_approval(office, to="x@office.example", reason="news")


@pytest.mark.parametrize(("time", "at"), [("9:05", 545), ("09:05", 545), ("23:59", 1439)])
def test_schedule_reminder(office: Office, time: str, at: int) -> None:
    assert schedule_reminder(office, time=time, text="x") == f"reminder set for {time}"
    assert office.reminders == [Reminder(at=at, text="x")]


@pytest.mark.parametrize("time", ["", "9", "24:00", "9:60", "9:5", "-1:00", "9:05:00", "9:05\n"])
def test_times_that_are_none(office: Office, time: str) -> None:
    with pytest.raises(ToolError, match="is no time such as"):
        schedule_reminder(office, time=time, text="x")


def test_reminders_are_bounded(office: Office) -> None:
    for _ in range(MAX_REMINDERS):
        schedule_reminder(office, time="9:05", text="x")
    with pytest.raises(ToolError, match="too many reminders"):
        schedule_reminder(office, time="9:05", text="x")


def test_every_call_takes_time(office: Office) -> None:
    read_file(office, path="memo5.txt")
    with pytest.raises(ToolError):
        read_file(office, path="memo6.txt")
    send_message(office, to=ANNA, text="x")
    assert office.messages[0].at == office.time == OPENING + 3 * MINUTES
