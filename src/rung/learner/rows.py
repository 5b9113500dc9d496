"""Rows: groups of trajectories as flat arrays ready for the loss. Torch-free."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rung.algorithms import group_advantages, group_returns, stream_advantages, token_weights
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
        return [group for group in groups if group_returns(group.trajectories)[1].any()]
    return [
        group for group in groups if any(found.any() for found in _advantages(group, config)[0])
    ]


def rows_of(groups: Sequence[Group], config: LearnerConfig) -> list[Row]:
    """Rows of one optimizer batch; a segment without sampled tokens gives none.

    Raises:
        TrainError: a sampled token has no finite log-probability, or belongs to no turn.
    """
    members: list[tuple[Trajectory, NDArray[np.float64]]] = []
    for group in groups:
        advantages, scored = _advantages(group, config)
        every = zip(group.trajectories, advantages, scored, strict=True)
        members += [(trajectory, found) for trajectory, found, valid in every if valid]
    lengths = [[turn.stop - turn.start for turn in t.turns] for t, _ in members]
    weights = token_weights(lengths, reduction=config.reduction)
    return [
        row
        for (trajectory, found), counts, shares in zip(members, lengths, weights, strict=True)
        for row in _rows(trajectory, np.repeat(found, counts), shares)
    ]


def _advantages(
    group: Group, config: LearnerConfig
) -> tuple[list[NDArray[np.float64]], NDArray[np.bool_]]:
    """The advantage of every turn of each member, and which members are scored, `[K]`."""
    members = group.trajectories
    returns, scored = group_returns(members)
    if config.credit == "turn":
        rewards = [[turn.reward for turn in t.turns] for t in members]
        found = stream_advantages(
            [np.array([r.process + r.efficiency for r in turns]) for turns in rewards],
            [np.array([r.outcome for r in turns]) for turns in rewards],
            scored,
            process_stream=config.process,
            outcome_stream=config.outcome,
            scale=config.scale,
        )
    else:
        whole = group_advantages(returns, scored, scale=config.scale)
        found = [np.full(len(t.turns), value) for t, value in zip(members, whole, strict=True)]
    return found, scored


def _rows(
    trajectory: Trajectory, advantages: NDArray[np.float64], shares: NDArray[np.float64]
) -> list[Row]:
    """Rows of a trajectory; `advantages` and `shares` are of its sampled tokens, in order."""
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
        here = slice(used, used + len(positions))
        rows.append(
            Row(
                token_ids=segment.token_ids,
                positions=positions,
                behaviour=behaviour,
                advantages=advantages[here],
                weights=shares[here],
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
