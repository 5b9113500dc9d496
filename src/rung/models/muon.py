"""Muon in float32: momentum whose update is made orthogonal, for matrices of hidden layers.

torch's own multiplies in bfloat16, which a CPU without AVX-512 does a hundred times slower.

Source: Keller Jordan et al., "Muon: An optimizer for hidden layers in neural networks" (2024);
the step size matches AdamW's root mean square as in Liu et al., arXiv 2502.16982, section 2.2.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
_STEPS = 5
_MOMENTUM = 0.95


def orthogonal(matrix: Tensor) -> Tensor:
    """Near U Vᵀ of `matrix` = U S Vᵀ: all but the smallest singular values come out near 1.

    Args:
        matrix: `[rows, columns]`; zeros stay zeros.
    """
    wide = matrix.T if matrix.size(0) > matrix.size(1) else matrix
    x = wide / wide.norm().clamp(min=1e-7)
    a, b, c = _COEFFICIENTS
    for _ in range(_STEPS):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if matrix.size(0) > matrix.size(1) else x


class Muon(torch.optim.Optimizer):
    """Muon with Nesterov momentum and decoupled weight decay.

    Args:
        params: matrices.
        lr: learning rate on AdamW's scale.
        weight_decay: share of the weights, times `lr`, that each step takes off.
    """

    def __init__(self, params: Iterable[Tensor], *, lr: float, weight_decay: float) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Take one step; matrices without a gradient stay."""
        for group in self.param_groups:
            for matrix in group["params"]:
                if matrix.grad is None:
                    continue
                state = self.state[matrix]
                if not state:
                    state["momentum"] = torch.zeros_like(matrix)
                momentum = state["momentum"]
                momentum.lerp_(matrix.grad, 1 - _MOMENTUM)
                update = orthogonal(matrix.grad.lerp(momentum, _MOMENTUM))
                matrix.mul_(1 - group["lr"] * group["weight_decay"])
                matrix.add_(update, alpha=-0.2 * max(matrix.shape) ** 0.5 * group["lr"])
