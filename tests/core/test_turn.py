import pytest

from rung.core import (
    Action,
    FormatError,
    FormatErrorKind,
    Move,
    Refusal,
    RefusalKind,
    TurnInfo,
)

ACTION = Action("delete", {"path": "a"})
REFUSAL = Refusal(RefusalKind.UNCONFIRMED, ACTION, "confirm it")
FORMAT_ERROR = FormatError(FormatErrorKind.NO_JSON, "no object")


@pytest.mark.parametrize(
    ("move", "action", "unconfirmed"),
    [
        pytest.param(ACTION, ACTION, False, id="action"),
        pytest.param(REFUSAL, ACTION, True, id="refusal"),
        pytest.param(FORMAT_ERROR, None, False, id="format error"),
    ],
)
def test_action_and_unconfirmed_follow_the_move(
    move: Move, action: Action | None, unconfirmed: bool
) -> None:
    info = TurnInfo(move=move)
    assert info.action is action
    assert info.unconfirmed is unconfirmed


def test_a_turn_is_uneventful_by_default() -> None:
    info = TurnInfo(move=ACTION)
    assert info.subgoals == ()
    assert not (info.invalid or info.repeated or info.noise or info.fault)


def test_info_is_frozen() -> None:
    with pytest.raises(AttributeError):
        TurnInfo(move=ACTION).fault = True  # pyright: ignore[reportAttributeAccessIssue]
