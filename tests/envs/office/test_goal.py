import pytest

from rung.core import Task
from rung.envs.office.goal import (
    Block,
    Goal,
    Sink,
    Source,
    SourceKind,
    entry_holds,
    goal_of,
    report_holds,
)

BLOCK = Block(
    source=Source(kind="lookup", item="lamp33", column="price"),
    sink=Sink(kind="append", file="notes7.txt"),
    value="120",
)
REPORT = Block(
    source=Source(kind="cheaper", item="lamp33", other="desk12"),
    sink=Sink(kind="report", file="report9.txt"),
    value="desk12",
    price="80",
)


def test_a_goal_comes_back_from_its_task(task: Task, goal: Goal) -> None:
    assert goal_of(task) == goal


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        ("lookup", "lamp33"),
        ("order", "Acme"),
        ("count", "Acme"),
        ("total", "Acme"),
        ("extract", "memo5"),
        ("via", "memo5"),
        ("cheaper", "cheaper"),
        ("dearer", "dearer"),
    ],
)
def test_label_is_what_was_asked_about(kind: SourceKind, label: str) -> None:
    source = Source(kind=kind, item="lamp33", other="desk12", customer="Acme", file="memo5.txt")
    assert source.label == label


@pytest.mark.parametrize(
    "text",
    [
        "lamp33: 120",
        "title: notes\nlamp33: 120\n",
        "LAMP33: 120",
        "  lamp33 :120  ",
        "lamp33: 120\r\ndesk12: 9",
        "lamp33: 120\nlamp33: 120",
        "lamp333: 7\nlamp33: 120",
        "lamp33\nlamp33: 120",
    ],
)
def test_an_entry_holds(text: str) -> None:
    assert entry_holds(text, BLOCK)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "lamp33",
        "120",
        "lamp33: 12",
        "lamp33: 1200",
        "lamp33: 120 euro",
        "lamp33: 120.0",
        "lamp333: 120",
        "lamp34: 120",
        "price: 120",
        "the lamp33: 120",
        "lamp33 120",
        "lamp33: 120 lamp33: 121",
        "lamp33: 120\nlamp33: 121",
        "lamp33: 121\nlamp33: 120",
        "lamp33: 120\nLamp 33 : 121",
        "lamp33: 120\u2028lamp33: 121",
        "lamp33:\n120",
    ],
)
def test_an_entry_does_not_hold(text: str) -> None:
    assert not entry_holds(text, BLOCK)


@pytest.mark.parametrize(
    "text",
    ["item: desk12\nprice: 80", "Item: Desk12\n\nprice:80\n", "item: desk12\r\nprice: 80\r\n"],
)
def test_a_report_holds(text: str) -> None:
    assert report_holds(text, REPORT)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "item: desk12",
        "price: 80\nitem: desk12",
        "item: desk12\nprice: 81",
        "item: lamp33\nprice: 80",
        "item: desk12\nprice: 80\nitem: lamp33",
        "title: report\nitem: desk12\nprice: 80",
        "item: desk12 price: 80",
    ],
)
def test_a_report_does_not_hold(text: str) -> None:
    assert not report_holds(text, REPORT)
