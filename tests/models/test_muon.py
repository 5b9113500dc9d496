"""Muon's orthogonal update by hand, and against torch's own optimizer."""

import torch

from rung.models.muon import Muon, orthogonal


def quintic(value: float) -> float:
    """What five steps of the iteration make of one singular value of a normalised matrix."""
    for _ in range(5):
        value = 3.4445 * value - 4.7750 * value**3 + 2.0315 * value**5
    return value


def test_singular_values_follow_the_polynomial_and_directions_stay() -> None:
    matrix = torch.tensor([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]])
    wanted = torch.tensor([[quintic(0.6), 0.0], [0.0, quintic(0.8)], [0.0, 0.0]])
    torch.testing.assert_close(orthogonal(matrix), wanted)
    torch.testing.assert_close(orthogonal(matrix.T), wanted.T)


def test_zeros_stay_zeros() -> None:
    assert not orthogonal(torch.zeros(2, 3)).any()


def test_a_matrix_without_gradient_stays() -> None:
    matrix = torch.nn.Parameter(torch.ones(2, 3))
    Muon([matrix], lr=0.1, weight_decay=0.5).step()
    assert bool((matrix == 1).all())


def test_steps_equal_those_of_torch_up_to_its_bfloat16() -> None:
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(24, 64, generator=generator)
    ours, theirs = (torch.nn.Parameter(start.clone()) for _ in range(2))
    optimizers = [
        Muon([ours], lr=0.01, weight_decay=0.01),
        torch.optim.Muon([theirs], lr=0.01, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"),
    ]
    for _ in range(4):
        gradient = torch.randn(24, 64, generator=generator)
        for matrix, optimizer in zip((ours, theirs), optimizers, strict=True):
            matrix.grad = gradient.clone()
            optimizer.step()
    moved = float((start - theirs.detach()).abs().max())
    assert float((ours - theirs).detach().abs().max()) < 0.02 * moved
