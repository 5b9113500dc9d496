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
        if (
            not mix
            or not all(0 <= share < math.inf for share in mix.values())
            or not any(mix.values())
        ):
            raise ConfigError(f"the mix of tiers must have positive shares, got {dict(mix)}")
        if missing := [tier for tier in mix if not draws.get(tier)]:
            raise ConfigError(
                f"the mix names tier {missing[0]!r}, for which there are no tasks",
                hint=f"tiers: {', '.join(draws)}",
            )
        self._draws = draws
        self._seeds = seeds.child("tasks", split)
        self._split = split
        self._tiers = list(mix)
        self._shares = np.array(list(mix.values())) / sum(mix.values())
        self.cursor = 0
        """Number of the next task."""

    def take(self, count: int) -> tuple[Task, ...]:
        """The next `count` tasks."""
        taken = tuple(self.at(self.cursor + offset) for offset in range(count))
        self.cursor += count
        return taken

    def at(self, index: int) -> Task:
        """Task number `index`.

        Raises:
            TaskError: no task of the split turns up, or the template fails.
        """
        generator = self._seeds.generator(index)
        tier = str(generator.choice(self._tiers, p=self._shares))
        draws = self._draws[tier]
        draw = draws[index % len(draws)]
        for _ in range(_PATIENCE):
            with boundary(TaskError, f"drawing a task of tier {tier}"):
                task = draw(generator)
            if split_of(task) == self._split:
                return task
        raise TaskError(
            f"none of {_PATIENCE} tasks of tier {tier} belongs to the {self._split} split",
            hint="the environment has too few different tasks for two splits",
        )
