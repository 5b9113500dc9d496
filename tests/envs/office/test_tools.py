from typing import Any

import pytest

from rung.envs.office.tools import (
    TOOLS,
    edit_document,
    query_database,
    read_file,
    send_message,
    submit_result,
)
from rung.envs.office.world import MAX_MESSAGES, Message, Office
from rung.errors import ToolError

ANNA = "anna11@office.example"


def test_names_arguments_and_marks_are_the_recorded_ones() -> None:
    # The built-in base policy has learned these.
    assert [tool.signature for tool in TOOLS] == [
        "read_file(path)",
        "query_database(sql)",
        "edit_document(path, text, mode, find)",
        "send_message(to, text, attachment, confirm)",
        "submit_result(answer)",
    ]
    assert [tool.name for tool in TOOLS if tool.irreversible] == ["send_message"]
    assert [tool.name for tool in TOOLS if tool.final] == ["submit_result"]
    assert all(tool.description and tool.tier == "E1" for tool in TOOLS)


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
