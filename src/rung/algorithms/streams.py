"""Turn-level credit from two streams of reward, each normalised and weighed on its own.

The process stream (subgoals and efficiency) says which turns led somewhere soon; the outcome stream
says whether the whole attempt was right. Summed into one return, a large outcome would drown the
first, and one number for thirty turns could not say which of them mattered.

For turn t = 0 .. T_i - 1 of member i of a group, with rewards r^p and r^o:

    G_{i,t}   = sum over k >= 0 of (discount * trace)^k r^p_{i,t+k}
    A^p_{i,t} = (G_{i,t} - mean G) / (std G + 1e-6)           over all turns of scored members
    A^o_{i,t} = (discount * trace)^(T_i - 1 - t) A^o_i         A^o_i: GRPO on the members' outcomes
    A_{i,t}   = w_p A^p_{i,t} + w_o A^o_{i,t}

G is generalised advantage estimation (Schulman et al., 1506.02438, equation 16) over turns, with
no critic: V = 0 everywhere. The two streams and their weights are ours.

Degenerate cases, giving exactly 0 in a stream: fewer than two scored members; members whose rewards
in it are equal up to 1e-6, turn by turn for the process and in sum for the outcome.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rung.algorithms.grpo import EPSILON, EQUAL, Scale, group_advantages
from rung.errors import ConfigError

Turns = Sequence[NDArray[np.float64]]
"""For each of the K members of a group one number per turn, `[T_i]`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """How one stream of reward counts."""

    weight: float
    """Its share of the advantage; 0 leaves it out."""
    discount: float
    """gamma, in (0, 1]: what a reward is worth one turn earlier."""
    trace: float
    """lambda, in (0, 1]; without a critic it counts like the discount."""

    def __post_init__(self) -> None:
        if not (0 <= self.weight < np.inf and 0 < self.discount <= 1 and 0 < self.trace <= 1):
            raise ConfigError(
                "a stream needs weight >= 0, and discount and trace in (0, 1], got "
                f"{self.weight}, {self.discount}, {self.trace}"
            )

    @property
    def decay(self) -> float:
        """What is left of a reward one turn earlier."""
        return self.discount * self.trace


def returns_to_go(rewards: NDArray[np.float64], decay: float) -> NDArray[np.float64]:
    """`[T]`: at each turn the sum of its reward and the later ones, less by `decay` a turn."""
    found = np.zeros(len(rewards))
    later = 0.0
    for turn in range(len(rewards) - 1, -1, -1):
        found[turn] = later = rewards[turn] + decay * later
    return found


def stream_advantages(
    process: Turns,
    outcome: Turns,
    scored: NDArray[np.bool_],
    *,
    process_stream: Stream,
    outcome_stream: Stream,
    scale: Scale = "deviation",
) -> list[NDArray[np.float64]]:
    """Advantages of every turn of a group; see the module.

    Args:
        process: process and efficiency rewards by turn.
        outcome: outcome rewards by turn.
        scored: `[K]`, false for members whose rewards say nothing about the policy.
        process_stream: how the first count.
        outcome_stream: how the second count.
        scale: divide by the group's deviations, or only subtract the means.

    Returns:
        for each member `[T_i]`; zeros for members that were not scored.
    """
    local = _normalised(process, scored, decay=process_stream.decay, scale=scale)
    sums = np.array([rewards.sum() for rewards in outcome], np.float64)
    whole = group_advantages(sums, scored, scale=scale)
    return [
        process_stream.weight * near
        + outcome_stream.weight * far * outcome_stream.decay ** np.arange(len(near) - 1, -1, -1)
        for near, far in zip(local, whole, strict=True)
    ]


def _normalised(
    rewards: Turns, scored: NDArray[np.bool_], *, decay: float, scale: Scale
) -> list[NDArray[np.float64]]:
    """Returns to go, relative to those of all turns of the scored members."""
    nothing = [np.zeros(len(turns)) for turns in rewards]
    valid = [turns for turns, counts in zip(rewards, scored, strict=True) if counts]
    if len(valid) < 2 or all(_equal(turns, valid[0]) for turns in valid):
        return nothing
    every = np.concatenate([returns_to_go(turns, decay) for turns in valid])
    if every.max() - every.min() < EQUAL:
        return nothing
    divisor = 1.0 if scale == "none" else every.std(ddof=1) + EPSILON
    return [
        (returns_to_go(turns, decay) - every.mean()) / divisor if counts else zeros
        for turns, counts, zeros in zip(rewards, scored, nothing, strict=True)
    ]


def _equal(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    return len(one) == len(other) and bool(np.all(np.abs(one - other) < EQUAL))
