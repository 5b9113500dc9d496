"""StepLimit: the turns of a trajectory are bounded. Those that noise disturbs do not count.

Reward effect: `unfinished`, when it ends the trajectory; process rewards earned are kept.
"""

from typing import Any

from rung.core import Move, StopReason
from rung.envs.guard import Guard, Step
from rung.errors import ConfigError


class StepLimit(Guard):
    """Ends the trajectory after `limit` turns, by default the task's own limit."""

    def __init__(self, env: Any, limit: int | None = None) -> None:
        if limit is not None and limit < 1:
            raise ConfigError(f"the step limit must be at least 1, got {limit}")
        super().__init__(env)
        self.limit = limit
        self._turns = 0

    def reset(self, **kwargs: Any) -> tuple[str, dict[str, Any]]:
        """Start counting anew."""
        self._turns = 0
        return self.env.reset(**kwargs)

    def step(self, action: Move) -> Step:
        """Carry out the move and count it."""
        step = super().step(action)
        self._turns += not step[4]["turn"].noise
        assert self.base.task is not None
        if self._turns < (self.limit or self.base.task.step_limit) or step[4]["stop"] is not None:
            return step
        return self.cut_short(step, StopReason.STEP_LIMIT)

    def save(self) -> Any:
        """Turns so far."""
        return self._turns

    def load(self, saved: Any) -> None:
        """Go on from what `save` gave."""
        self._turns = saved
