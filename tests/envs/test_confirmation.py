from typing import Any

import pytest

from rung.core import Action, FormatError, FormatErrorKind, Refusal, RefusalKind
from rung.envs import Confirmation, ToolEnvironment

CONFIRMED = Action("erase", {"confirm": True})


@pytest.fixture
def env(bare: ToolEnvironment[Any]) -> Confirmation:
    guarded = Confirmation(bare)
    guarded.step(Action("add", {"amount": 3}))
    return guarded


@pytest.mark.parametrize("arguments", [{}, {"confirm": False}])
def test_an_unconfirmed_action_does_not_run(env: Confirmation, arguments: dict[str, Any]) -> None:
    action = Action("erase", arguments)
    observation, reward, terminated, truncated, info = env.step(action)
    assert observation == 'not done: erase cannot be undone, add "confirm": true'
    assert env.base.state.value == 3
    # A turn 0.01 and an invalid one 0.05.
    assert reward == pytest.approx(-0.06)
    assert (terminated, truncated, info["stop"]) == (False, False, None)
    move = info["turn"].move
    assert isinstance(move, Refusal)
    assert (move.kind, move.action) == (RefusalKind.UNCONFIRMED, action)
    assert info["turn"].invalid and info["turn"].unconfirmed


def test_a_confirmed_action_runs_without_further_cost(env: Confirmation) -> None:
    observation, reward, _, _, info = env.step(CONFIRMED)
    assert observation == "erased"
    assert env.base.state.value == 0
    assert reward == pytest.approx(-0.01)
    assert info["turn"].move is CONFIRMED


def test_other_moves_pass(env: Confirmation) -> None:
    assert env.step(Action("add", {"amount": 1}))[0] == "value 4"
    error = FormatError(FormatErrorKind.NO_JSON, "there is no JSON object")
    assert env.step(error)[4]["turn"].move is error


def test_without_the_guard_no_confirmation_is_needed(bare: ToolEnvironment[Any]) -> None:
    bare.step(Action("add", {"amount": 3}))
    assert bare.step(Action("erase", {}))[0] == "erased"
