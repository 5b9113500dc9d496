"""GRPO: a trajectory's advantage is its return relative to its group's.

Source: Shao et al., DeepSeekMath, arXiv 2402.03300, section 4.1 (outcome supervision); option
`scale="none"`: Liu et al., Dr. GRPO, arXiv 2503.20783.

How we differ: the sample deviation (n - 1) and epsilon 1e-6 (TRL: 1e-4); members that were not
scored are left out of the statistics and get 0.

Degenerate cases, all giving exactly 0: fewer than two scored members; returns that are equal up
to 1e-6, so that rounding is never scaled up by a tiny deviation.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rung.core import Trajectory

EPSILON = 1e-6
EQUAL = 1e-6

Scale = Literal["deviation", "none"]


def group_returns(
    trajectories: Sequence[Trajectory],
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Returns of a group's K members, and which of them are scored. Both `[K]`.

    A member counts as scored if its stop reason says so, its return is finite, and it has tokens
    that can be trained: any other would move the baseline of its siblings for nothing.
    """
    returns = np.array([t.reward.total for t in trajectories], np.float64)
    scored = [t.stop.is_scored and t.sampled_tokens > 0 for t in trajectories]
    return returns, np.array(scored, np.bool_) & np.isfinite(returns)


def group_advantages(
    returns: NDArray[np.float64], scored: NDArray[np.bool_], *, scale: Scale = "deviation"
) -> NDArray[np.float64]:
    """Advantages of the K members of one group.

    Args:
        returns: `[K]`, undiscounted return of each trajectory; ignored where not scored.
        scored: `[K]`, false for members whose return says nothing about the policy.
        scale: divide by the group's deviation, or only subtract its mean.

    Returns:
        `[K]`, 0 for members that were not scored.
    """
    advantages = np.zeros(len(returns))
    if not has_spread(returns, scored):
        return advantages
    valid = returns[scored]
    centred = valid - valid.mean()
    advantages[scored] = centred if scale == "none" else centred / (valid.std(ddof=1) + EPSILON)
    return advantages


def has_spread(returns: NDArray[np.float64], scored: NDArray[np.bool_]) -> bool:
    """True if the group can teach something: two scored members with different returns."""
    valid = returns[scored]
    return len(valid) >= 2 and bool(valid.max() - valid.min() >= EQUAL)
