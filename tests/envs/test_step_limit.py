from typing import Any

import gymnasium
import pytest

from rung.core import Action, FormatError, FormatErrorKind, Move, StopReason
from rung.envs import Definition, StepLimit, ToolEnvironment
from rung.errors import ConfigError

ROWS = Action("rows", {"count": 1})
FINISH = Action("finish", {"answer": 5})
NO_JSON = FormatError(FormatErrorKind.NO_JSON, "")


def add(amount: int) -> Action:
    return Action("add", {"amount": amount})


@pytest.mark.parametrize(("limit", "turns"), [(None, 6), (2, 2), (1, 1), (100, 100)])
def test_ends_after_the_tasks_limit_or_its_own(
    bare: ToolEnvironment[Any], limit: int | None, turns: int
) -> None:
    env = StepLimit(bare, limit)
    for turn in range(1, turns + 1):
        _, _, terminated, truncated, info = env.step(ROWS)
        assert not terminated
        assert truncated == (turn == turns)
        assert info["stop"] == (StopReason.STEP_LIMIT if turn == turns else None)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(ROWS)


@pytest.mark.parametrize(
    ("last", "process", "efficiency"),
    [
        pytest.param(ROWS, 0.0, -0.51, id="valid"),
        pytest.param(NO_JSON, 0.0, -0.56, id="invalid"),
        pytest.param(add(3), 1.5, -0.51, id="subgoal"),
    ],
)
def test_the_end_costs_unfinished_and_keeps_process_rewards(
    bare: ToolEnvironment[Any], last: Move, process: float, efficiency: float
) -> None:
    env = StepLimit(bare, 2)
    first = env.step(add(2))[4]["reward"]
    assert first.process == 0.5
    _, reward, _, _, info = env.step(last)
    assert info["reward"].process == process
    assert info["reward"].efficiency == pytest.approx(efficiency)
    assert info["reward"].outcome == 0.0
    assert reward == info["reward"].total


@pytest.mark.parametrize(
    ("amount", "reward", "stop"),
    [(5, 9.99, StopReason.SUCCESS), (4, -1.01, StopReason.WRONG_SUBMISSION)],
)
def test_a_submission_in_the_last_turn_counts(
    bare: ToolEnvironment[Any], amount: int, reward: float, stop: StopReason
) -> None:
    env = StepLimit(bare, 2)
    env.step(add(amount))
    _, earned, terminated, truncated, info = env.step(FINISH)
    assert earned == pytest.approx(reward)
    assert (terminated, truncated, info["stop"]) == (True, False, stop)


def test_reset_starts_anew_and_state_goes_on(
    toy: Definition[Any], bare: ToolEnvironment[Any]
) -> None:
    env = StepLimit(bare, 2)
    env.step(ROWS)
    env.reset(options={"task": bare.task})
    assert not env.step(ROWS)[3]
    twin = StepLimit(ToolEnvironment(toy), 2)
    twin.load_state_dict(env.state_dict())
    assert twin.step(ROWS)[3]


def test_without_the_guard_there_is_no_limit(bare: ToolEnvironment[Any]) -> None:
    assert not any(bare.step(ROWS)[3] for _ in range(50))


def test_the_limit_must_be_positive(bare: ToolEnvironment[Any]) -> None:
    with pytest.raises(ConfigError, match="at least 1, got 0"):
        StepLimit(bare, 0)
