import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import pytest

from rung.envs.saving import from_json_value, to_json_value


class Colour(Enum):
    RED = "red"


class Place(NamedTuple):
    x: int
    y: int


@dataclass
class Item:
    name: str
    colour: Colour = Colour.RED
    spots: frozenset[Place] = frozenset()


@dataclass
class State:
    items: list[Item] = field(default_factory=list[Item])
    tags: set[str] = field(default_factory=set[str])
    prices: dict[str, float] = field(default_factory=dict[str, float])
    by_number: dict[int, Item] = field(default_factory=dict[int, Item])
    place: tuple[int, str] = (0, "")
    raw: bytes = b""
    note: str | None = None


def state() -> State:
    return State(
        items=[Item("lamp", spots=frozenset({Place(2, 1), Place(1, 2)}))],
        tags={"b", "a", "\u00e9"},
        prices={"z": 1.5, "a": 2.0},
        by_number={10: Item("ten"), 2: Item("two")},
        place=(3, "x"),
        raw=b"\x00\xff",
        note="n",
    )


def test_a_state_comes_back_through_json() -> None:
    text = json.dumps(to_json_value(state()))
    assert from_json_value(json.loads(text), State) == state()


def test_dicts_keep_their_order_and_sets_are_sorted() -> None:
    value = to_json_value(state())
    assert list(value["prices"]) == ["z", "a"]
    assert list(value["by_number"]) == ["10", "2"]
    assert value["tags"] == ["a", "b", "\u00e9"]
    assert value["items"][0]["spots"] == [[1, 2], [2, 1]]
    restored = from_json_value(json.loads(json.dumps(value)), State)
    assert list(restored.by_number) == [10, 2]


@pytest.mark.parametrize("value", [object(), lambda: None, {1, "a", object()}])
def test_what_has_no_json_form_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        to_json_value(value)
