"""Every block of a task right, and then one thing wrong at a time."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from rung.core import Task
from rung.envs.office.judge import subgoals, success
from rung.envs.office.world import Message, Office

Change = Callable[[Office], None]
ANNA, BORIS = "anna11@office.example", "boris22@office.example"
REPORT = "item: desk12\nprice: 80"
TOLD = Message(to=ANNA, text="Acme: 4")
MAILED = Message(to=BORIS, text="see", attachment="report9.txt", attached_text=REPORT)


def solve(office: Office) -> None:
    office.write("notes7.txt", "title: notes\nlamp33: 120\n")
    office.messages = [TOLD, MAILED]
    office.write("ledger2.txt", "memo5: 42")
    office.write("review8.txt", "title: review\nBorealis: 15\n")
    office.write("report9.txt", REPORT)
    office.answer = "Acme: 4"


def write(name: str, text: str) -> Change:
    return lambda office: office.write(name, text)


def messages(*sent: Message) -> Change:
    return lambda office: setattr(office, "messages", list(sent))


def answer(text: str | None) -> Change:
    return lambda office: setattr(office, "answer", text)


def remove(name: str) -> Change:
    return lambda office: (office.folder / name).unlink()


def unreached(task: Task, office: Office) -> list[str]:
    return [goal.name for goal in subgoals(task) if not goal.holds(office)]


NAMES = [
    "0:lookup-append",
    "1:order-send",
    "2:extract-create",
    "3:total-correct",
    "4:cheaper-report",
    "5:cheaper-attach",
]


def test_nothing_holds_at_the_start(task: Task, office: Office) -> None:
    assert unreached(task, office) == NAMES
    assert not success(office)


def test_the_solution_is_right(task: Task, office: Office) -> None:
    solve(office)
    assert unreached(task, office) == []
    assert success(office)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(messages(MAILED, TOLD), id="messages in another order"),
        pytest.param(messages(TOLD, TOLD, MAILED, MAILED), id="messages twice"),
        pytest.param(messages(replace(TOLD, text="Hello\nAcme: 4\nBye"), MAILED), id="greeting"),
        pytest.param(messages(TOLD, replace(MAILED, text="")), id="words beside an attachment"),
        pytest.param(write("other.txt", "lamp33: 1"), id="another file"),
        pytest.param(write("memo5.txt", ""), id="the memo afterwards"),
        pytest.param(write("notes7.txt", "lamp33: 120"), id="title removed"),
        pytest.param(answer(" acme:4 "), id="spaces and case of the answer"),
    ],
)
def test_what_does_not_matter(task: Task, office: Office, change: Change) -> None:
    solve(office)
    change(office)
    assert unreached(task, office) == []
    assert success(office)


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        pytest.param(write("notes7.txt", "lamp33: 121"), "0", id="wrong value"),
        pytest.param(write("notes7.txt", "lamp34: 120"), "0", id="wrong name"),
        pytest.param(write("notes7.txt", "lamp33: 120\nlamp33: 99"), "0", id="contradiction"),
        pytest.param(write("notes7.txt", "title: notes\n"), "0", id="entry missing"),
        pytest.param(remove("notes7.txt"), "0", id="document missing"),
        pytest.param(remove("ledger2.txt"), "2", id="document not created"),
        pytest.param(
            write("review8.txt", "title: review\nBorealis: 1500\nBorealis: 15"), "3",
            id="added and not corrected",
        ),
        pytest.param(write("report9.txt", f"{REPORT}\nby: me"), "4", id="extra line in a report"),
        pytest.param(write("report9.txt", f"title: x\n{REPORT}"), "4", id="title in a report"),
        pytest.param(write("report9.txt", "item: desk12\nprice: 120"), "4", id="wrong price"),
        pytest.param(write("report9.txt", "item: lamp33\nprice: 80"), "4", id="wrong item"),
        pytest.param(messages(MAILED), "1", id="not told"),
        pytest.param(messages(replace(TOLD, to=BORIS), MAILED), "1", id="wrong person told"),
        pytest.param(messages(replace(TOLD, text="Acme: 5"), MAILED), "1", id="wrong value told"),
        pytest.param(
            messages(replace(TOLD, text="Acme: 4\nAcme: 5"), MAILED), "1", id="told both"
        ),
        pytest.param(
            messages(replace(TOLD, attachment="notes7.txt", attached_text="x"), MAILED), "1",
            id="told with a file",
        ),
        pytest.param(messages(TOLD), "5", id="not mailed"),
        pytest.param(messages(TOLD, replace(MAILED, to=ANNA)), "5", id="mailed to another person"),
        pytest.param(
            messages(TOLD, replace(MAILED, attachment=None, attached_text=None, text=REPORT)), "5",
            id="report as text and no attachment",
        ),
        pytest.param(
            messages(TOLD, replace(MAILED, attachment="notes7.txt")), "5", id="another file mailed"
        ),
        pytest.param(
            messages(TOLD, replace(MAILED, attached_text="item: desk12")), "5",
            id="mailed before it was finished",
        ),
    ],
)  # fmt: skip
def test_one_thing_wrong(task: Task, office: Office, change: Change, missing: str) -> None:
    solve(office)
    change(office)
    assert [name[0] for name in unreached(task, office)] == [missing]
    assert not success(office)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(answer(None), id="no answer"),
        pytest.param(answer(""), id="empty answer"),
        pytest.param(answer("Acme: 5"), id="wrong answer"),
        pytest.param(answer("lamp33: 120"), id="answer of another block"),
        pytest.param(answer("4"), id="answer without its name"),
        pytest.param(answer("Acme: 4\nAcme: 5"), id="two answers"),
        pytest.param(
            messages(TOLD, MAILED, Message(to="carla33@office.example", text="hi")),
            id="message to a person not asked for",
        ),
        pytest.param(messages(TOLD, MAILED, Message(to=ANNA, text="hi")), id="message too many"),
        pytest.param(
            messages(TOLD, MAILED, replace(TOLD, text="Acme: 5")), id="wrong message, too"
        ),
        pytest.param(
            messages(replace(MAILED, attached_text="draft"), TOLD, MAILED), id="draft mailed first"
        ),
    ],
)
def test_blocks_right_and_the_rest_wrong(task: Task, office: Office, change: Change) -> None:
    solve(office)
    change(office)
    assert unreached(task, office) == []
    assert not success(office)


def test_an_attachment_is_judged_as_it_was_when_sent(task: Task, office: Office) -> None:
    solve(office)
    office.write("report9.txt", "spoilt")
    assert [name[0] for name in unreached(task, office)] == ["4"]
    office.write("report9.txt", REPORT)
    assert success(office)
    office.messages = [TOLD, replace(MAILED, attached_text="spoilt")]
    assert [name[0] for name in unreached(task, office)] == ["5"]
    assert not success(office)
