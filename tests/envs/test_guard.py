from typing import Any

import pytest

from rung.core import Action, StopReason
from rung.envs import Definition, Repetition, StepLimit, ToolEnvironment
from rung.envs.guard import Guard, charge
from rung.errors import TaskError

ADD = Action("add", {"amount": 2})


def test_a_guard_alone_changes_nothing(toy: Definition[Any], bare: ToolEnvironment[Any]) -> None:
    guarded = Guard(ToolEnvironment(toy))
    options = {"task": bare.task}
    assert guarded.reset(seed=0, options=options) == bare.reset(seed=0, options=options)
    assert guarded.step(ADD) == bare.step(ADD)
    assert guarded.base.fingerprint() == bare.fingerprint()
    assert guarded.tools == bare.tools
    assert guarded.rewards is bare.rewards


def test_charge_takes_from_efficiency_alone(bare: ToolEnvironment[Any]) -> None:
    step = bare.step(ADD)
    observation, reward, terminated, truncated, info = charge(step, 0.25, repeated=True)
    assert (observation, terminated, truncated) == (step[0], False, False)
    # One subgoal 0.5, a turn -0.01, the charge -0.25.
    assert (info["reward"].process, info["reward"].outcome) == (0.5, 0.0)
    assert info["reward"].efficiency == pytest.approx(-0.26)
    assert reward == info["reward"].total
    assert info["turn"].repeated
    assert not step[4]["turn"].repeated, "the step given is left as it was"


def test_cut_short_ends_at_a_cost_and_keeps_what_was_earned(bare: ToolEnvironment[Any]) -> None:
    guard = Guard(bare)
    _, reward, terminated, truncated, info = guard.cut_short(guard.step(ADD), StopReason.STEP_LIMIT)
    assert (terminated, truncated, info["stop"]) == (False, True, StopReason.STEP_LIMIT)
    assert info["reward"].process == 0.5
    assert reward == pytest.approx(0.5 - 0.01 - 0.5)


def test_a_saved_stack_is_restored_into_the_same_stack_only(
    toy: Definition[Any], bare: ToolEnvironment[Any]
) -> None:
    saved = StepLimit(Repetition(bare)).state_dict()
    StepLimit(Repetition(ToolEnvironment(toy))).load_state_dict(saved)
    with pytest.raises(TaskError, match="the saved state is of StepLimit, not of Repetition"):
        Repetition(ToolEnvironment(toy)).load_state_dict(saved)
    with pytest.raises(TaskError, match="the saved state is of no guard, not of StepLimit"):
        StepLimit(ToolEnvironment(toy)).load_state_dict(bare.state_dict())
