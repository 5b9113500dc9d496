"""Noise: calls fail for a moment, as they do in real offices. Reward effect: the cost of a turn.

A disturbed call does not run: a query times out, a file is missing for a moment, a call made
before is suddenly busy. Only tools that say how they fail (`@tool(noise=...)`) are disturbed, and
never the same call more than twice running; `StepLimit` does not count disturbed turns. So noise
alone makes no task unsolvable.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rung.core import Action, Move, RewardParts, TurnInfo
from rung.envs.definition import TIERS, Expert
from rung.envs.guard import Guard, Step
from rung.errors import ConfigError
from rung.seeding import Seeds

RETRY = "try again"
"""How the observation of a disturbed call ends."""
BUSY = "busy for the moment"
IN_A_ROW = 2


class Noise(Guard):
    """Disturbs calls at a rate for each tier."""

    def __init__(self, env: Any, rates: Mapping[str, float]) -> None:
        for tier, rate in rates.items():
            if tier not in TIERS or not 0 <= rate < 1:
                raise ConfigError(
                    f"a noise rate is for a tier and in [0, 1), got {rate} for {tier!r}",
                    hint=f"tiers: {', '.join(TIERS)}",
                )
        super().__init__(env)
        self.rates = dict(rates)
        self._generator = np.random.default_rng(0)
        self._failed: dict[str, int] = {}
        self._ran: set[str] = set()

    def reset(self, **kwargs: Any) -> tuple[str, dict[str, Any]]:
        """Start the noise of a new trajectory, a stream of the environment's seed."""
        observation, info = self.env.reset(**kwargs)
        self._generator = Seeds(self.base.start_seed).generator("noise")
        self._failed, self._ran = {}, set()
        return observation, info

    def step(self, action: Move) -> Step:
        """Carry out the move, or disturb it."""
        if not isinstance(action, Action) or self.base.ended:
            return super().step(action)
        how = self.tools[action.name].noise
        if how is None or not self._strikes(action.canonical):
            return super().step(action)
        message = BUSY if action.canonical in self._ran else how
        parts = RewardParts(efficiency=-self.rewards.turn)
        turn = TurnInfo(move=action, noise=True)
        info = {"reward": parts, "turn": turn, "stop": None, "table": None}
        return f"error: {message}; {RETRY}", parts.total, False, False, info

    def _strikes(self, call: str) -> bool:
        assert self.base.task is not None
        rate = self.rates.get(self.base.task.tier, 0.0)
        before = self._failed.pop(call, 0)
        if self._generator.random() < rate and before < IN_A_ROW:
            self._failed[call] = before + 1
            return True
        self._ran.add(call)
        return False

    def save(self) -> Any:
        """The stream's position and what happened to each call."""
        return {
            "generator": self._generator.bit_generator.state,
            "failed": dict(sorted(self._failed.items())),
            "ran": sorted(self._ran),
        }

    def load(self, saved: Any) -> None:
        """Go on from what `save` gave."""
        self._generator.bit_generator.state = saved["generator"]
        self._failed, self._ran = dict(saved["failed"]), set(saved["ran"])


def persistent(policy: Expert) -> Expert:
    """`policy`, trying again whatever noise disturbs."""
    heard: str | None = None
    while True:
        try:
            action = next(policy) if heard is None else policy.send(heard)
        except StopIteration:
            return
        while (heard := (yield action)).endswith(f"; {RETRY}"):
            pass
