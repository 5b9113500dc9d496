"""Guard: what the wrappers around a ToolEnvironment have in common."""

from dataclasses import replace
from typing import Any

import gymnasium

from rung.core import Move, RewardParts, StopReason, TurnInfo
from rung.envs.definition import RewardTable
from rung.envs.tool_environment import ToolEnvironment
from rung.envs.tools import ToolSpec
from rung.errors import TaskError

Step = tuple[str, float, bool, bool, dict[str, Any]]


class Guard(gymnasium.Wrapper[str, Move, str, Move]):
    """A wrapper with state that is saved and restored with the environment's."""

    @property
    def base(self) -> ToolEnvironment[Any]:
        """The innermost environment."""
        base = self.unwrapped
        assert isinstance(base, ToolEnvironment)
        return base

    @property
    def tools(self) -> dict[str, ToolSpec]:
        """The environment's tools by name."""
        return self.base.tools

    @property
    def rewards(self) -> RewardTable:
        """The environment's reward table."""
        return self.base.rewards

    def step(self, action: Move) -> Step:
        """Carry out the move in the environment inside."""
        inner: Any = self.env
        return inner.step(action)

    def cut_short(self, step: Step, stop: StopReason) -> Step:
        """`step` as the last of its trajectory: the limit `stop` ends it and costs `unfinished`."""
        observation, reward, _, _, info = charge(step, self.rewards.unfinished)
        self.base.end()
        return observation, reward, False, True, {**info, "stop": stop}

    def save(self) -> Any:
        """This wrapper's own state as a JSON value."""
        return None

    def load(self, saved: Any) -> None:
        """Go on from what `save` gave."""

    def state_dict(self) -> dict[str, Any]:
        """The state of this wrapper and of everything inside it."""
        inner: Any = self.env
        return {"guard": type(self).__name__, "own": self.save(), "inner": inner.state_dict()}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave.

        Raises:
            TaskError: it was given by a stack of other guards.
        """
        if saved.get("guard") != type(self).__name__:
            found = saved.get("guard", "no guard")
            raise TaskError(
                f"the saved state is of {found}, not of {type(self).__name__}",
                hint="restore into an environment with the same guards",
            )
        inner: Any = self.env
        inner.load_state_dict(saved["inner"])
        self.load(saved["own"])


def charge(step: Step, cost: float, **flags: Any) -> Step:
    """`step` with `cost` taken from its efficiency part and `flags` set in its TurnInfo."""
    observation, _, terminated, truncated, info = step
    parts: RewardParts = info["reward"]
    turn: TurnInfo = info["turn"]
    parts = replace(parts, efficiency=parts.efficiency - cost)
    info = {**info, "reward": parts, "turn": replace(turn, **flags)}
    return observation, parts.total, terminated, truncated, info
