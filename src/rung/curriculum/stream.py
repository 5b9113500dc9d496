"""TaskStream: an endless, seeded, ordered supply of tasks of one split."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from rung.core import Task
from rung.curriculum.split import EVAL, TRAIN, split_of
from rung.errors import ConfigError, TaskError, boundary
from rung.seeding import Seeds

Draw = Callable[[np.random.Generator], Task]
"""A task as a function of a generator: the `draw` of a Template."""

Weights = Mapping[str, Sequence[float]]
"""Tier -> one weight for each of its draw functions."""

_PATIENCE = 10_000


class TaskStream:
    """Tasks in an order that depends on the seed alone.

    Task number i is a function of (seed, split, i), so `cursor` is all there is to save. Within
    a tier the templates take turns.
    """

    def __init__(
        self,
        draws: Mapping[str, Sequence[Draw]],
        *,
        seeds: Seeds,
        split: str,
        mix: Mapping[str, float],
    ) -> None:
        """Prepare the stream.

        Args:
            draws: tier -> the draw functions of its templates.
            seeds: where the order comes from.
            split: `train` or `eval`.
            mix: tier -> share of the tasks; shares are scaled to sum to 1.

        Raises:
            ConfigError: the mix is empty, negative, or names a tier without templates, or the
                split is unknown.
        """
        if split not in (TRAIN, EVAL):
            raise ConfigError(f"no split {split!r}", hint=f"splits: {TRAIN}, {EVAL}")
        self._draws = draws
        self._mix = self._checked(mix)
        self._seeds = seeds.child("tasks", split)
        self._split = split
        self.cursor = 0
        """Number of the next task."""

    def _checked(self, mix: Mapping[str, float]) -> dict[str, float]:
        """The mix with its shares scaled to sum to 1."""
        if (
            not mix
            or not all(0 <= share < math.inf for share in mix.values())
            or not any(mix.values())
        ):
            raise ConfigError(f"the mix of tiers must have positive shares, got {dict(mix)}")
        if missing := [tier for tier in mix if not self._draws.get(tier)]:
            raise ConfigError(
                f"the mix names tier {missing[0]!r}, for which there are no tasks",
                hint=f"tiers: {', '.join(self._draws)}",
            )
        total = sum(mix.values())
        return {tier: share / total for tier, share in mix.items()}

    def take(
        self, count: int, *, mix: Mapping[str, float] | None = None, weights: Weights | None = None
    ) -> tuple[Task, ...]:
        """The next `count` tasks; see `at`."""
        numbers = range(self.cursor, self.cursor + count)
        taken = tuple(self.at(number, mix=mix, weights=weights) for number in numbers)
        self.cursor += count
        return taken

    def at(
        self,
        index: int,
        *,
        mix: Mapping[str, float] | None = None,
        weights: Weights | None = None,
    ) -> Task:
        """Task number `index`.

        Args:
            index: counted from 0.
            mix: shares of the tiers; by default those of the stream.
            weights: tier -> one positive weight for each of its draw functions, in order; by
                default they take turns.

        Raises:
            ConfigError: the mix is not one, see `__init__`.
            TaskError: no task of the split turns up, or the template fails.
        """
        generator = self._seeds.generator(index)
        shares = self._mix if mix is None else self._checked(mix)
        tier = str(generator.choice(list(shares), p=list(shares.values())))
        draws = self._draws[tier]
        draw = draws[index % len(draws)]
        if weights is not None:
            chances = np.array(weights[tier]) / sum(weights[tier])
            draw = draws[int(generator.choice(len(draws), p=chances))]
        for _ in range(_PATIENCE):
            with boundary(TaskError, f"drawing a task of tier {tier}"):
                task = draw(generator)
            if split_of(task) == self._split:
                return task
        raise TaskError(
            f"none of {_PATIENCE} tasks of tier {tier} belongs to the {self._split} split",
            hint="the environment has too few different tasks for two splits",
        )
