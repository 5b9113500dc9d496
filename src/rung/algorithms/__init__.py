"""Algorithms: advantages on numpy arrays, losses on torch tensors. Pure functions.

`rung.algorithms.policy_loss` needs torch; import it from there.
"""

from rung.algorithms.grpo import Scale, group_advantages, group_returns, has_spread
from rung.algorithms.reduction import Reduction, token_weights
from rung.algorithms.streams import Stream, returns_to_go, stream_advantages

__all__ = [
    "Reduction",
    "Scale",
    "Stream",
    "group_advantages",
    "group_returns",
    "has_spread",
    "returns_to_go",
    "stream_advantages",
    "token_weights",
]
