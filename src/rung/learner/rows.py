"""Rows: groups of trajectories as flat arrays ready for the loss. Torch-free."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rung.algorithms import group_advantages, has_spread, token_weights
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
    if config.train_zero_spread:
        return [group for group in groups if any(t.stop.is_scored for t in group.trajectories)]
    return [group for group in groups if has_spread(*_returns(group))]


def rows_of(groups: Sequence[Group], config: LearnerConfig) -> list[Row]:
    """Rows of one optimizer batch.

    Raises:
        TrainError: a sampled token has no finite log-probability.
    """
    members: list[tuple[Trajectory, float]] = []
    for group in groups:
        advantages = group_advantages(*_returns(group), scale=config.scale)  # type: ignore[arg-type]
        pairs = zip(group.trajectories, advantages.tolist(), strict=True)
        members += [(t, a) for t, a in pairs if t.stop.is_scored and t.sampled_tokens]
    lengths = [[turn.stop - turn.start for turn in t.turns] for t, _ in members]
    weights = token_weights(lengths, reduction=config.reduction)
    return [
        row
        for (trajectory, advantage), shares in zip(members, weights, strict=True)
        for row in _rows(trajectory, advantage, shares)
    ]


def _rows(
    trajectory: Trajectory, advantage: float, shares: NDArray[np.float64]
) -> list[Row]:
    rows = []
    used = 0
    for segment in trajectory.segments:
        positions = np.nonzero(segment.sampled_mask)[0]
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
    if used != len(shares):
        raise TrainError(f"trajectory {trajectory.id!r}: its turns do not cover its sampled tokens")
    return rows


def _returns(group: Group) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    scored = np.array([t.stop.is_scored for t in group.trajectories], np.bool_)
    returns = np.array([t.reward.total for t in group.trajectories])
    return returns, scored


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
