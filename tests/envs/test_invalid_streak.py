from dataclasses import replace
from typing import Any

import gymnasium
import pytest

from rung.core import Action, FormatError, FormatErrorKind, Move, StopReason
from rung.envs import Confirmation, Definition, InvalidStreak, StepLimit, ToolEnvironment
from rung.errors import ConfigError

NO_JSON = FormatError(FormatErrorKind.NO_JSON, "")
CUT = FormatError(FormatErrorKind.TRUNCATED, "")
FAIL = Action("fail", {})
ERASE = Action("erase", {})
ADD = Action("add", {"amount": 2})
END = StopReason.INVALID_STREAK


def stops_of(env: Any, *moves: Move) -> list[StopReason | None]:
    return [env.step(move)[4]["stop"] for move in moves]


@pytest.mark.parametrize(
    ("moves", "stops"),
    [
        pytest.param([NO_JSON] * 3, [None, None, END], id="format errors"),
        pytest.param([NO_JSON, FAIL, ERASE], [None, None, END], id="kinds count alike"),
        pytest.param([CUT] * 3, [None, None, END], id="cuts"),
        pytest.param(
            [NO_JSON, FAIL, ADD, FAIL, FAIL, FAIL], [None] * 5 + [END], id="a valid turn between"
        ),
    ],
)
def test_ends_after_three_in_a_row(
    bare: ToolEnvironment[Any], moves: list[Move], stops: list[StopReason | None]
) -> None:
    assert stops_of(InvalidStreak(Confirmation(bare)), *moves) == stops


def test_the_end_costs_once_and_keeps_process(bare: ToolEnvironment[Any]) -> None:
    env = InvalidStreak(bare, 2)
    assert env.step(ADD)[1] == pytest.approx(0.5 - 0.01)
    assert env.step(NO_JSON)[1] == pytest.approx(-0.06)
    _, reward, terminated, truncated, info = env.step(NO_JSON)
    # A turn 0.01, invalid 0.05, unfinished 0.5; nothing of the outcome.
    assert reward == pytest.approx(-0.56)
    assert (info["reward"].process, info["reward"].outcome) == (0.0, 0.0)
    assert (terminated, truncated, info["stop"]) == (False, True, END)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(ADD)


class Disturbed(gymnasium.Wrapper[str, Move, str, Move]):
    """Marks turns as disturbed, as injected noise does."""

    flag = ""

    def step(self, action: Move) -> Any:
        observation, reward, terminated, truncated, info = self.env.step(action)
        if self.flag:
            info = {**info, "turn": replace(info["turn"], **{self.flag: True})}
        return observation, reward, terminated, truncated, info


@pytest.mark.parametrize("flag", ["noise", "fault"])
def test_disturbed_turns_neither_count_nor_break_the_streak(
    bare: ToolEnvironment[Any], flag: str
) -> None:
    inner = Disturbed(bare)
    env = InvalidStreak(inner)
    assert stops_of(env, FAIL, FAIL) == [None, None]
    inner.flag = flag
    assert stops_of(env, FAIL, FAIL, ADD) == [None] * 3
    inner.flag = ""
    assert stops_of(env, FAIL) == [END]


def test_a_submission_ends_it_in_its_own_right(bare: ToolEnvironment[Any]) -> None:
    env = InvalidStreak(bare, 1)
    _, reward, terminated, truncated, info = env.step(Action("finish", {"answer": 1}))
    assert reward == pytest.approx(-1.01)
    assert (terminated, truncated) == (True, False)
    assert info["stop"] is StopReason.WRONG_SUBMISSION


def test_with_the_step_limit_unfinished_is_charged_once(bare: ToolEnvironment[Any]) -> None:
    env = StepLimit(InvalidStreak(bare, 2), 2)
    env.step(NO_JSON)
    _, reward, _, truncated, info = env.step(NO_JSON)
    assert reward == pytest.approx(-0.56)
    assert (truncated, info["stop"]) == (True, END)


def test_reset_forgets_and_state_goes_on(toy: Definition[Any], bare: ToolEnvironment[Any]) -> None:
    env = InvalidStreak(bare)
    stops_of(env, FAIL, FAIL)
    env.reset(options={"task": bare.task})
    assert stops_of(env, FAIL, FAIL) == [None, None]
    twin = InvalidStreak(ToolEnvironment(toy))
    twin.load_state_dict(env.state_dict())
    assert stops_of(twin, FAIL) == [END]


def test_without_the_guard_invalid_turns_do_not_end_it(bare: ToolEnvironment[Any]) -> None:
    assert stops_of(bare, *[NO_JSON] * 10) == [None] * 10


def test_the_limit_must_be_positive(bare: ToolEnvironment[Any]) -> None:
    with pytest.raises(ConfigError, match="at least 1, got 0"):
        InvalidStreak(bare, 0)
