"""TextActions: the outermost wrapper, where a model's text becomes an action."""

from typing import Any

import gymnasium

from rung.core import Move
from rung.envs.parsing import parse_action
from rung.envs.spaces import AnyText, ToolCalls
from rung.envs.tool_environment import ToolEnvironment
from rung.errors import TaskError


class TextActions(gymnasium.Wrapper[str, str, str, Move]):
    """An `Env[str, str]`: parses each message once and passes on what it found."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.observation_space = AnyText()
        self.action_space = ToolCalls(tuple(self.base.tools.values()))

    @property
    def base(self) -> ToolEnvironment[Any]:
        """The innermost environment."""
        base = self.unwrapped
        assert isinstance(base, ToolEnvironment)
        return base

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Carry out a model message; a `Response` may tell that it was cut."""
        if not isinstance(action, str):
            raise TaskError(f"an action is text, got {type(action).__name__}")
        tier = self.base.task.tier if self.base.task is not None else "E1"
        inner: Any = self.env
        return inner.step(parse_action(action, self.base.tools, tier))

    def state_dict(self) -> dict[str, Any]:
        """The state of the whole stack."""
        inner: Any = self.env
        return inner.state_dict()

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        inner: Any = self.env
        inner.load_state_dict(saved)
