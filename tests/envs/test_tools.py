from typing import Any, Literal

import pytest

from rung.envs import Table, ToolSpec, tool
from rung.envs.tools import encodable
from rung.errors import TaskError


@tool(irreversible=True, key_arguments=("place",), tier="E2")
def put(
    state: list[str], place: str, count: int = 1, how: Literal["in", "on"] = "in", weight: float = 1
) -> str:
    """Put things somewhere.

    More about it.
    """
    state.append(place)
    return f"{place} {count} {how} {weight}"


@tool
def look(_state: list[str], tags: list[str], note: str | None = None) -> str:
    return f"{tags} {note}"


def test_a_function_becomes_a_tool() -> None:
    assert isinstance(put, ToolSpec)
    assert put.name == "put"
    assert put.description == "Put things somewhere."
    assert put.signature == "put(place, count, how, weight, confirm)"
    assert (put.irreversible, put.final, put.tier) == (True, False, "E2")
    assert put.key_arguments == ("place",)
    state: list[str] = []
    assert put(state, place="shelf") == "shelf 1 in 1"
    assert state == ["shelf"]


def test_defaults_of_a_tool() -> None:
    assert (look.description, look.signature) == ("", "look(tags, note)")
    assert (look.irreversible, look.final, look.tier) == (False, False, "E1")
    assert look.key_arguments == ("tags", "note")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"place": "a"}, None),
        ({"place": "a", "count": 2, "how": "on", "weight": 2.5, "confirm": True}, None),
        ({"place": "a", "weight": 2}, None),  # an integer is a number
        ({}, "place: Field required"),
        ({"place": 1}, "place: Input should be a valid string"),
        ({"place": "a", "count": "35"}, "count: Input should be a valid integer"),
        ({"place": "a", "count": True}, "count: Input should be a valid integer"),
        ({"place": "a", "count": 1.0}, "count: Input should be a valid integer"),
        ({"place": "a", "weight": "1"}, "weight: Input should be a valid number"),
        ({"place": "a", "weight": True}, "weight: Input should be a valid number"),
        ({"place": "a", "how": "under"}, "how: Input should be 'in' or 'on'"),
        ({"place": "a", "confirm": "true"}, "confirm: Input should be a valid boolean"),
        ({"place": "a", "where": "b"}, "where: Extra inputs are not permitted"),
    ],
)
def test_arguments_are_strict(arguments: dict[str, Any], problem: str | None) -> None:
    assert put.problem(arguments) == problem


def test_a_problem_names_the_place_inside_an_argument() -> None:
    assert look.problem({"tags": ["a", 2]}) == "tags.1: Input should be a valid string"
    assert look.problem({"tags": [], "note": None}) is None


def test_an_argument_needs_a_type() -> None:
    def wave(_state: Any, times) -> str:  # pyright: ignore[reportMissingParameterType]
        return str(times)

    with pytest.raises(TaskError, match="tool 'wave': argument 'times' has no type"):
        tool(wave)


def test_an_argument_type_must_be_known() -> None:
    def wave(_state: Any, times: "Unheard") -> str:  # type: ignore[name-defined]  # noqa: F821
        return str(times)

    with pytest.raises(TaskError, match="reading the argument types of tool 'wave' failed"):
        tool(wave)


def test_an_argument_cannot_be_named_confirm() -> None:
    def wave(_state: Any, confirm: bool) -> str:
        return str(confirm)

    with pytest.raises(TaskError, match="an argument cannot be named 'confirm'"):
        tool(wave)


def test_key_arguments_must_be_arguments() -> None:
    def wave(_state: Any, times: int) -> str:
        return str(times)

    with pytest.raises(TaskError, match=r"key_arguments \['speed'\] are not its arguments"):
        tool(key_arguments=("times", "speed"))(wave)


def test_table_shows_columns_and_rows() -> None:
    table = Table(("name", "price"), (("lamp", 3), (None, 2.5)))
    assert table.render() == "name | price\nlamp | 3\nnull | 2.5"
    assert Table(("name",), ()).render() == "no rows"


def test_summary_shows_the_count_and_the_first_rows() -> None:
    table = Table(("n",), tuple((n,) for n in range(30)))
    assert table.summary(2) == "30 rows, the first 2 shown\nn\n0\n1"


def test_what_is_shown_can_be_encoded() -> None:
    assert encodable("a\ud83d\U0001f680") == "a?\U0001f680"
    assert Table(("a",), (("\ude80",),)).render() == "a\n?"
