from dataclasses import replace
from typing import Any

import gymnasium
import pytest

from rung.core import Action, FormatError, FormatErrorKind, Move
from rung.envs import Confirmation, Definition, Repetition, ToolEnvironment

NO_JSON = FormatError(FormatErrorKind.NO_JSON, "")


def rows(count: int) -> Action:
    return Action("rows", {"count": count})


def costs_of(env: Any, *moves: Move) -> list[float]:
    """What each turn costs besides the 0.01 of every turn and the 0.05 of an invalid one."""
    costs = []
    for move in moves:
        _, reward, _, _, info = env.step(move)
        assert reward == info["reward"].total
        usual = 0.01 + 0.05 * info["turn"].invalid
        cost = round(-info["reward"].efficiency - usual, 9) + 0.0
        assert info["turn"].repeated == (cost > 0)
        costs.append(cost)
    return costs


def test_the_same_call_again_costs(bare: ToolEnvironment[Any]) -> None:
    # Anywhere in the trajectory 0.05; from the third in a row 0.05 more.
    env = Repetition(bare)
    env.reset(options={"task": bare.task})
    moves = [rows(1), rows(1), rows(1), rows(2), rows(1), rows(2)]
    assert costs_of(env, *moves) == [0.0, 0.05, 0.1, 0.0, 0.05, 0.05]


def test_three_in_a_row_are_told_by_key_arguments(
    toy: Definition[Any], bare: ToolEnvironment[Any]
) -> None:
    tools = tuple(replace(t, key_arguments=()) if t.name == "rows" else t for t in toy.tools)
    env = Repetition(ToolEnvironment(replace(toy, tools=tools)))
    env.reset(options={"task": bare.task})
    # Other arguments, but the same action by its key arguments: only the third one costs.
    moves = [rows(1), rows(2), rows(3), rows(4), NO_JSON, rows(5)]
    assert costs_of(env, *moves) == [0.0, 0.0, 0.05, 0.05, 0.0, 0.0]


def test_format_errors_do_not_repeat(bare: ToolEnvironment[Any]) -> None:
    assert costs_of(Repetition(bare), *[NO_JSON] * 4) == [0.0] * 4


def test_a_refused_call_counts(bare: ToolEnvironment[Any]) -> None:
    # The refused calls are equal; the confirmed one is another call and the third in a row.
    moves = [Action("erase", {}), Action("erase", {}), Action("erase", {"confirm": True})]
    assert costs_of(Repetition(Confirmation(bare)), *moves) == [0.0, 0.05, 0.05]


class Disturbed(gymnasium.Wrapper[str, Move, str, Move]):
    """Marks turns as disturbed, as injected noise does."""

    flag = ""

    def step(self, action: Move) -> Any:
        observation, reward, terminated, truncated, info = self.env.step(action)
        if self.flag:
            info = {**info, "turn": replace(info["turn"], **{self.flag: True})}
        return observation, reward, terminated, truncated, info


@pytest.mark.parametrize("flag", ["noise", "fault"])
def test_trying_again_after_a_disturbance_is_free(bare: ToolEnvironment[Any], flag: str) -> None:
    inner = Disturbed(bare)
    env = Repetition(inner)
    inner.flag = flag
    assert costs_of(env, rows(1), rows(1), rows(1)) == [0.0, 0.0, 0.0]
    inner.flag = ""
    assert costs_of(env, rows(1), rows(1)) == [0.0, 0.05]


def test_reset_forgets(bare: ToolEnvironment[Any]) -> None:
    env = Repetition(bare)
    assert costs_of(env, rows(1), rows(1)) == [0.0, 0.05]
    env.reset(options={"task": bare.task})
    assert costs_of(env, rows(1), rows(1), rows(1)) == [0.0, 0.05, 0.1]


def test_state_goes_on(toy: Definition[Any], bare: ToolEnvironment[Any]) -> None:
    env = Repetition(bare)
    assert costs_of(env, rows(2), rows(1), rows(1)) == [0.0, 0.0, 0.05]
    twin = Repetition(ToolEnvironment(toy))
    twin.load_state_dict(env.state_dict())
    assert costs_of(twin, rows(1), rows(2)) == costs_of(env, rows(1), rows(2)) == [0.1, 0.05]


def test_without_the_guard_repeating_is_free(bare: ToolEnvironment[Any]) -> None:
    assert costs_of(bare, rows(1), rows(1), rows(1)) == [0.0] * 3
