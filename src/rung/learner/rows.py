"""Rows: groups of trajectories as flat arrays ready for the loss. Torch-free."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rung.algorithms import group_advantages, group_returns, has_spread, token_weights
from rung.core import Group, Trajectory
from rung.errors import TrainError
from rung.learner.config import LearnerConfig


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Row:
    """One segment. Arrays over its M sampled tokens are in order of position."""

    token_ids: NDArray[np.int32]
    """`[T]`"""
    positions: NDArray[np.int64]
    """`[M]`, where the sampled tokens stand in `token_ids`; never 0."""
    behaviour: NDArray[np.float32]
    """`[M]`, log-probabilities in nats when they were sampled."""
    advantages: NDArray[np.float64]
    """`[M]`"""
    weights: NDArray[np.float64]
    """`[M]`, share of each token in the loss; the batch's sum to 1."""


def trainable(groups: Sequence[Group], config: LearnerConfig) -> list[Group]:
    """The groups that can change the policy; see `LearnerConfig.train_zero_spread`."""
    found = [(group, *group_returns(group.trajectories)) for group in groups]
    if config.train_zero_spread:
        return [group for group, _, scored in found if scored.any()]
    return [group for group, returns, scored in found if has_spread(returns, scored)]


def rows_of(groups: Sequence[Group], config: LearnerConfig) -> list[Row]:
    """Rows of one optimizer batch; a segment without sampled tokens gives none.

    Raises:
        TrainError: a sampled token has no finite log-probability, or belongs to no turn.
    """
    members: list[tuple[Trajectory, float]] = []
    for group in groups:
        returns, scored = group_returns(group.trajectories)
        advantages = group_advantages(returns, scored, scale=config.scale)
        every = zip(group.trajectories, advantages.tolist(), scored, strict=True)
        members += [(trajectory, advantage) for trajectory, advantage, valid in every if valid]
    lengths = [[turn.stop - turn.start for turn in t.turns] for t, _ in members]
    weights = token_weights(lengths, reduction=config.reduction)
    return [
        row
        for (trajectory, advantage), shares in zip(members, weights, strict=True)
        for row in _rows(trajectory, advantage, shares)
    ]


def _rows(trajectory: Trajectory, advantage: float, shares: NDArray[np.float64]) -> list[Row]:
    _check_turns(trajectory)
    rows: list[Row] = []
    used = 0
    for segment in trajectory.segments:
        positions = np.nonzero(segment.sampled_mask)[0]
        if not len(positions):
            continue
        behaviour = segment.behaviour_logprobs[positions]
        if not np.isfinite(behaviour).all():
            raise TrainError(
                f"trajectory {trajectory.id!r} has sampled tokens without log-probability",
                hint="the engine must return one for every sampled token",
            )
        rows.append(
            Row(
                token_ids=segment.token_ids,
                positions=positions,
                behaviour=behaviour,
                advantages=np.full(len(positions), advantage),
                weights=shares[used : used + len(positions)],
            )
        )
        used += len(positions)
    return rows


def _check_turns(trajectory: Trajectory) -> None:
    """Weights come in order of the turns, so these must be the sampled tokens, in order."""
    turns = [(t.segment, at) for t in trajectory.turns for at in range(t.start, t.stop)]
    sampled = [
        (index, at)
        for index, segment in enumerate(trajectory.segments)
        for at in np.nonzero(segment.sampled_mask)[0].tolist()
    ]
    if turns != sampled:
        raise TrainError(
            f"trajectory {trajectory.id!r}: its turns are not exactly its sampled tokens",
            hint="every sampled token belongs to one turn, and turns hold nothing else",
        )


def micro_batches(rows: Sequence[Row], tokens: int) -> list[list[Row]]:
    """Rows sorted by length, in batches of at most `tokens` tokens, at least one row each."""
    batches: list[list[Row]] = []
    size = 0
    for row in sorted(rows, key=lambda row: -len(row.token_ids)):
        if not batches or size + len(row.token_ids) > tokens:
            batches.append([])
            size = 0
        batches[-1].append(row)
        size += len(row.token_ids)
    return batches
