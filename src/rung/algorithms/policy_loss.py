"""The policy loss of one token: clipped importance ratio times advantage.

Source: Schulman et al., PPO, arXiv 1707.06347, equation 7; asymmetric clip: Yu et al., DAPO,
arXiv 2503.14476, section 3.1; dual clip: Ye et al., arXiv 1912.09729, equation 5.

    ratio = exp(logprob - behaviour)
    loss  = -min(ratio A, clip(ratio, 1 - low, 1 + high) A), for A < 0 at most dual |A|

Units: per token; reduction is the caller's (see `rung.algorithms.reduction`).

How we differ: the log-ratio counts up to 20. Beyond, the loss is on one of its plateaus anyway,
and an overflowing ratio would give NaN there instead of no gradient.
"""

from typing import NamedTuple

import torch
from torch import Tensor

LOG_RATIO_MAX = 20.0


class TokenLoss(NamedTuple):
    """Loss of each token and what clipping did to it. All `[M]`."""

    loss: Tensor
    ratio: Tensor
    clipped: Tensor
    """True where the gradient is cut off."""


def policy_loss(
    logprobs: Tensor,
    behaviour: Tensor,
    advantages: Tensor,
    *,
    clip_low: float,
    clip_high: float,
    dual_clip: float,
) -> TokenLoss:
    """Loss of each of M sampled tokens.

    Args:
        logprobs: `[M]`, under the current policy, with gradient.
        behaviour: `[M]`, under the policy that sampled them.
        advantages: `[M]`.
        clip_low: how far below 1 the ratio counts.
        clip_high: how far above 1 the ratio counts.
        dual_clip: largest ratio that counts when the advantage is negative.
    """
    ratio = (logprobs - behaviour).clamp(max=LOG_RATIO_MAX).exp()
    clipped_ratio = ratio.clamp(1 - clip_low, 1 + clip_high)
    plain = -ratio * advantages
    bounded = torch.maximum(plain, -clipped_ratio * advantages)
    ceiling = -dual_clip * advantages
    is_over = (advantages < 0) & (bounded > ceiling)
    loss = torch.where(is_over, ceiling, bounded)
    return TokenLoss(loss, ratio.detach(), (loss != plain).detach())


def kl_k3(logprobs: Tensor, reference: Tensor) -> Tensor:
    """Estimate of KL(policy || reference) for each sampled token, in nats, never negative.

    Source: Schulman, "Approximating KL divergence" (2020), estimator k3:
    exp(d) - d - 1 with d = reference - logprob. Written with expm1: in float32 the plain form
    turns negative for small d.

    Its gradient, as in the GRPO paper, is 1 - exp(d) for each token's log-probability; averaged
    over samples of the policy that is the gradient of KL(reference || policy). Both divergences
    are smallest at the reference.
    """
    difference = reference - logprobs
    return difference.expm1() - difference


def entropy(logits: Tensor) -> Tensor:
    """Entropy in nats of each row of `[M, V]` logits."""
    logprobs = logits.log_softmax(-1)
    return -(logprobs.exp() * logprobs).sum(-1)
