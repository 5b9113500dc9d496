"""InvalidStreak: too many invalid turns in a row end the trajectory.

Reward effect: `unfinished`, when it ends the trajectory. Turns disturbed by noise or a fault
do not count and do not break the streak.
"""

from typing import Any

from rung.core import Move, StopReason
from rung.envs.guard import Guard, Step
from rung.errors import ConfigError


class InvalidStreak(Guard):
    """Ends the trajectory after `limit` invalid turns in a row."""

    def __init__(self, env: Any, limit: int = 3) -> None:
        if limit < 1:
            raise ConfigError(f"the invalid streak must be at least 1, got {limit}")
        super().__init__(env)
        self.limit = limit
        self._streak = 0

    def reset(self, **kwargs: Any) -> tuple[str, dict[str, Any]]:
        """Forget the trajectory before."""
        self._streak = 0
        return self.env.reset(**kwargs)

    def step(self, action: Move) -> Step:
        """Carry out the move and count it if it is invalid."""
        step = super().step(action)
        turn = step[4]["turn"]
        if not (turn.noise or turn.fault):
            self._streak = self._streak + 1 if turn.invalid else 0
        if self._streak < self.limit or step[4]["stop"] is not None:
            return step
        return self.cut_short(step, StopReason.INVALID_STREAK)

    def save(self) -> Any:
        """The present streak."""
        return self._streak

    def load(self, saved: Any) -> None:
        """Go on from what `save` gave."""
        self._streak = saved
