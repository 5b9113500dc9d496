import copy
import pickle
from typing import Any

import pytest

from rung.core import Action, FormatError, FormatErrorKind, Refusal, RefusalKind, Response


def test_response_is_its_text_and_knows_whether_it_was_cut() -> None:
    response = Response("abc", cut=True)
    assert response == "abc"
    assert hash(response) == hash("abc")
    assert response.cut
    assert not Response("abc").cut


@pytest.mark.parametrize("cut", [False, True])
def test_response_survives_pickling_and_copying(cut: bool) -> None:
    response = Response("abc", cut=cut)
    for twin in (pickle.loads(pickle.dumps(response)), copy.deepcopy(response)):
        assert type(twin) is Response
        assert (twin, twin.cut) == ("abc", cut)


def test_response_holds_nothing_else() -> None:
    with pytest.raises(AttributeError):
        Response("abc").finish = "stop"  # pyright: ignore[reportAttributeAccessIssue]


def test_format_error_kinds_are_those_of_the_contract() -> None:
    # Recorded in run directories: a member may be added, none renamed.
    assert {kind.value for kind in FormatErrorKind} >= {
        "no_json",
        "several_objects",
        "not_an_object",
        "missing_key",
        "extra_key",
        "unknown_action",
        "not_open_yet",
        "bad_arguments",
        "duplicate_key",
        "truncated",
    }
    assert all(kind == kind.name.lower() for kind in FormatErrorKind)


def test_format_errors_compare_by_value() -> None:
    one = FormatError(FormatErrorKind.NO_JSON, "no object")
    assert one == FormatError(FormatErrorKind.NO_JSON, "no object")
    assert one != FormatError(FormatErrorKind.EXTRA_KEY, "no object")


def test_refusal_carries_the_action_it_held_back() -> None:
    action = Action("delete", {"path": "a"})
    refusal = Refusal(RefusalKind.UNCONFIRMED, action, "confirm it")
    assert refusal.action is action
    assert refusal.kind == "unconfirmed"


def test_canonical_does_not_depend_on_the_order_of_keys() -> None:
    one = Action("read", {"b": 1, "a": {"y": [1, "\u00e9"], "x": None}})
    other = Action("read", {"a": {"x": None, "y": [1, "\u00e9"]}, "b": 1})
    expected = '["read",{"a":{"x":null,"y":[1,"\u00e9"]},"b":1}]'
    assert one.canonical == other.canonical == expected


def test_text_is_the_call_with_its_arguments_in_the_order_given() -> None:
    action = Action("read", {"b": 1, "a": "\u00e9"})
    assert action.text == '{"action": "read", "arguments": {"b": 1, "a": "\u00e9"}}'


def test_key_has_its_recorded_value() -> None:
    # blake2b-128 of ["read",{"path":"a.md"}]; key hashes are stored with trajectories.
    key = Action("read", {"path": "a.md", "limit": 3}).key(("path",))
    assert key == "4f2b0388a4a24b9be324ab9c4a6b3b57"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param("read", {"path": "a", "limit": 9}, id="another argument differs"),
        pytest.param("read", {"limit": 3, "path": "a"}, id="order"),
        pytest.param("read", {"path": "a"}, id="another argument missing"),
    ],
)
def test_key_is_equal_when_name_and_key_arguments_are(name: str, arguments: dict[str, Any]) -> None:
    expected = Action("read", {"path": "a", "limit": 3}).key(("path",))
    assert Action(name, arguments).key(("path",)) == expected


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param("write", {"path": "a"}, id="name"),
        pytest.param("read", {"path": "b"}, id="value"),
        pytest.param("read", {"path": ["a"]}, id="type"),
        pytest.param("read", {}, id="missing"),
    ],
)
def test_key_differs_when_name_or_a_key_argument_does(name: str, arguments: dict[str, Any]) -> None:
    assert Action(name, arguments).key(("path",)) != Action("read", {"path": "a"}).key(("path",))


def test_key_without_key_arguments_is_the_name() -> None:
    assert Action("submit", {"answer": 1}).key(()) == Action("submit", {"answer": 2}).key(())
    assert Action("submit", {}).key(()) != Action("read", {}).key(())


def test_key_does_not_depend_on_the_order_of_key_arguments() -> None:
    action = Action("move", {"source": "a", "target": "b"})
    assert action.key(("source", "target")) == action.key(("target", "source"))
