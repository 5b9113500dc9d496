"""Ladder: which tiers are trained when, from what training itself has shown.

A tier opens when the success of the one below has stayed at or over a bar for some rounds, and
closes again when its own falls below a floor. Earlier tiers stay in the mix. Within a tier,
templates are drawn in proportion to p(1 - p), p being their success: what is always or never
solved teaches nothing, for a group of equal returns has no advantage.

Source: success gates are ours; p(1 - p) is the variance of a success, as in Foster et al., SPEED
(2506.09016) and learnability in Rutherford et al. (2408.15099). The step limit's own schedule is
ScalingInter-RL's (AgentGym-RL, 2509.08755), which knows no gate.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rung.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderConfig:
    """When tiers open and close, and what is trained meanwhile."""

    tiers: tuple[str, ...] = ()
    """The rungs, easiest first; empty: no ladder."""
    promote_at: float = 0.4
    """Success of the highest open tier at which the next one opens, in (0, 1]."""
    held_for: int = 3
    """Rounds in a row that it must stay there."""
    demote_below: float = 0.02
    """Success of the highest open tier below which it closes again; under `promote_at`."""
    patience: int = 10
    """Rounds in a row that it must stay there."""
    newest_share: float = 0.6
    """Share of the tasks that come from the highest open tier; the others share the rest."""
    step_limits: tuple[int, ...] = ()
    """Step limits to grow through, smallest first; empty: each task's own."""
    step_rounds: int = 10
    """Rounds at each of them but the last."""
    memory: float = 0.9
    """Share of a template's estimated success that a round leaves, in [0, 1)."""

    def __post_init__(self) -> None:
        if len(set(self.tiers)) < len(self.tiers):
            raise ConfigError(f"the ladder needs distinct tiers, got {list(self.tiers)}")
        if not 0 <= self.demote_below < self.promote_at <= 1:
            raise ConfigError(
                "the ladder needs 0 <= demote_below < promote_at <= 1, got "
                f"{self.demote_below} and {self.promote_at}"
            )
        if min(self.held_for, self.patience, self.step_rounds) < 1:
            raise ConfigError(
                "held_for, patience and step_rounds must be at least 1, got "
                f"{self.held_for}, {self.patience}, {self.step_rounds}"
            )
        if not 0 < self.newest_share <= 1 or not 0 <= self.memory < 1:
            raise ConfigError(
                "newest_share must be in (0, 1] and memory in [0, 1), got "
                f"{self.newest_share} and {self.memory}"
            )
        limits = self.step_limits
        if any(limit < 1 for limit in limits) or list(limits) != sorted(set(limits)):
            raise ConfigError(f"step_limits must grow and be positive, got {list(limits)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What training showed of one template in one round."""

    tier: str
    template: str
    solved: int
    tried: int
    """Scored trajectories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A tier opened or closed."""

    change: str
    """`promotion` or `demotion`."""
    tier: str
    """The tier that opened or closed."""
    round: int
    evidence: tuple[float, ...]
    """Success of the tier judged, in the rounds that decided it."""


@dataclass
class _State:
    open: int = 1
    """Tiers open."""
    rounds: int = 0
    """Rounds seen."""
    streak: list[float] = field(default_factory=list[float])
    """Success of the highest open tier in each round since it opened."""
    success: dict[str, float] = field(default_factory=dict[str, float])
    """Template -> running estimate of its success; keys are `tier/template`."""


class Ladder:
    """The state of the curriculum; changes only in `observe`."""

    def __init__(self, config: LadderConfig) -> None:
        if not config.tiers:
            raise ConfigError("a ladder needs tiers", hint='set ladder.tiers=["E1", "E2"]')
        self.config = config
        self._state = _State()

    @property
    def open(self) -> tuple[str, ...]:
        """Tiers that are open, easiest first."""
        return self.config.tiers[: self._state.open]

    @property
    def mix(self) -> dict[str, float]:
        """Tier -> share of the training tasks; sums to 1."""
        *earlier, newest = self.open
        if not earlier:
            return {newest: 1.0}
        rest = (1 - self.config.newest_share) / len(earlier)
        return {**dict.fromkeys(earlier, rest), newest: self.config.newest_share}

    @property
    def step_limit(self) -> int | None:
        """Turns allowed in the next round; None: each task's own."""
        limits = self.config.step_limits
        if not limits:
            return None
        return limits[min(self._state.rounds // self.config.step_rounds, len(limits) - 1)]

    def learnability(self, tier: str, template: str) -> float:
        """Weight of a template among those of its tier: p(1 - p), never quite 0.

        A template that was never tried counts as p = 1/2.
        """
        p = self._state.success.get(f"{tier}/{template}", 0.5)
        return max(p * (1 - p), 0.01)

    def observe(self, tallies: list[Tally]) -> tuple[Change, ...]:
        """Take in a round; returns the tiers that opened or closed after it."""
        state, config = self._state, self.config
        state.rounds += 1
        for tally in tallies:
            if tally.tried:
                name = f"{tally.tier}/{tally.template}"
                now = tally.solved / tally.tried
                before = state.success.get(name, now)
                state.success[name] = config.memory * before + (1 - config.memory) * now
        newest = self.open[-1]
        tried = sum(tally.tried for tally in tallies if tally.tier == newest)
        if not tried:
            return ()
        state.streak.append(sum(t.solved for t in tallies if t.tier == newest) / tried)
        above = state.streak[-config.held_for :]
        below = state.streak[-config.patience :]
        if (
            state.open < len(config.tiers)
            and len(above) == config.held_for
            and min(above) >= config.promote_at
        ):
            return (self._move(1, "promotion", above),)
        if state.open > 1 and len(below) == config.patience and max(below) < config.demote_below:
            return (self._move(-1, "demotion", below),)
        return ()

    def _move(self, by: int, change: str, evidence: list[float]) -> Change:
        state, tiers = self._state, self.config.tiers
        tier = tiers[state.open if by > 0 else state.open - 1]
        state.open += by
        state.streak = []
        return Change(change=change, tier=tier, round=state.rounds, evidence=tuple(evidence))

    def state_dict(self) -> dict[str, Any]:
        """The state as a JSON value."""
        state = self._state
        return {
            "open": list(self.open),
            "rounds": state.rounds,
            "streak": list(state.streak),
            "success": dict(sorted(state.success.items())),
        }

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave.

        Raises:
            ConfigError: it is of a ladder with other tiers.
        """
        opened = tuple(saved["open"])
        if not opened or opened != self.config.tiers[: len(opened)]:
            raise ConfigError(
                f"the saved ladder has {list(opened)} open, the configured tiers are "
                f"{list(self.config.tiers)}",
                hint="resume with the ladder that the run began with",
            )
        self._state = _State(
            open=len(opened),
            rounds=int(saved["rounds"]),
            streak=[float(value) for value in saved["streak"]],
            success={name: float(value) for name, value in saved["success"].items()},
        )
        assert all(math.isfinite(value) for value in self._state.streak)
