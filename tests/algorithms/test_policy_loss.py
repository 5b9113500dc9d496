import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rung.algorithms.policy_loss import TokenLoss, entropy, kl_k3, policy_loss

LOW, HIGH, DUAL = 0.2, 0.28, 3.0
FLOATS = st.floats(-60, 0, width=32)


def one(ratio: float, advantage: float) -> tuple[TokenLoss, float]:
    """The loss of one token at this ratio, and its gradient for the log-probability."""
    logprob = torch.tensor([math.log(ratio) - 1], dtype=torch.float64, requires_grad=True)
    found = policy_loss(
        logprob,
        torch.tensor([-1.0], dtype=torch.float64),
        torch.tensor([advantage], dtype=torch.float64),
        clip_low=LOW,
        clip_high=HIGH,
        dual_clip=DUAL,
    )
    found.loss.sum().backward()
    assert logprob.grad is not None
    return found, float(logprob.grad)


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "gradient", "clipped"),
    [
        # inside the clip: loss -rA, gradient -rA; at ratio 1 that is -A
        (1.0, 2.0, -2.0, -2.0, False),
        (1.0, -2.0, 2.0, 2.0, False),
        (1.2, 2.0, -2.4, -2.4, False),
        (0.9, -2.0, 1.8, 1.8, False),
        # A > 0 and above 1.28: loss -1.28 A, no gradient
        (1.3, 2.0, -2.56, 0.0, True),
        (9.0, 2.0, -2.56, 0.0, True),
        # A > 0 and below 0.8: the pessimistic side, so not clipped
        (0.5, 2.0, -1.0, -1.0, False),
        # A < 0 and below 0.8: loss 0.8 |A|, no gradient
        (0.7, -2.0, 1.6, 0.0, True),
        (0.1, -2.0, 1.6, 0.0, True),
        # A < 0 and above 1.28, up to 3: not clipped
        (1.3, -2.0, 2.6, 2.6, False),
        (2.9, -2.0, 5.8, 5.8, False),
        # A < 0 and above 3: dual clip, loss 3 |A|
        (3.1, -2.0, 6.0, 0.0, True),
        (50.0, -2.0, 6.0, 0.0, True),
        # no advantage, no loss, and nothing that was cut off
        (1.0, 0.0, 0.0, 0.0, False),
        (9.0, 0.0, 0.0, 0.0, False),
        (0.1, 0.0, 0.0, 0.0, False),
    ],
)
def test_hand_numbers(ratio, advantage, loss, gradient, clipped):
    found, slope = one(ratio, advantage)
    assert float(found.loss.detach()) == pytest.approx(loss)
    assert slope == pytest.approx(gradient)
    assert float(found.ratio) == pytest.approx(ratio)
    assert bool(found.clipped) is clipped


@pytest.mark.parametrize("log_ratio", [25.0, 200.0, 1e6, -25.0, -200.0, -1e6], ids=str)
@pytest.mark.parametrize("advantage", [2.0, -2.0, 0.0], ids=str)
def test_extreme_ratios_give_a_finite_loss_and_gradient(log_ratio, advantage):
    """exp overflows in float32 above 88: a plateau must stay flat, not turn into NaN."""
    logprob = torch.tensor([log_ratio], requires_grad=True)
    found = policy_loss(
        logprob,
        torch.zeros(1),
        torch.tensor([advantage]),
        clip_low=LOW,
        clip_high=HIGH,
        dual_clip=DUAL,
    )
    found.loss.sum().backward()
    assert logprob.grad is not None
    assert torch.isfinite(found.loss).all()
    assert abs(float(logprob.grad)) < 1e-9


def test_tokens_do_not_meet():
    logprobs = torch.tensor([-1.0, -2.0, -0.5])
    advantages = torch.tensor([1.0, -1.0, 0.5])
    bounds = {"clip_low": LOW, "clip_high": HIGH, "dual_clip": DUAL}
    together = policy_loss(logprobs, torch.full((3,), -1.0), advantages, **bounds)
    for index in range(3):
        where = slice(index, index + 1)
        alone = policy_loss(logprobs[where], torch.tensor([-1.0]), advantages[where], **bounds)
        assert [float(part[0]) for part in alone] == [float(part[index]) for part in together]


def test_the_ratio_carries_no_gradient():
    found, _ = one(1.1, 1.0)
    assert not found.ratio.requires_grad
    assert not found.clipped.requires_grad


def test_kl_of_a_worked_token():
    """LOSS-5: d = -2 - -1 = -1, exp(-1) + 1 - 1 = 0.3679."""
    found = kl_k3(torch.tensor([-1.0, -3.0]), torch.tensor([-2.0, -3.0]))
    assert found.tolist() == pytest.approx([0.36788, 0.0], abs=1e-5)


@pytest.mark.parametrize(("logprob", "reference"), [(-1.0, -2.0), (-2.0, -1.0)], ids=str)
def test_a_step_along_the_kl_gradient_moves_towards_the_reference(logprob, reference):
    """LOSS-5: the gradient is 1 - exp(d): 0.632 above the reference, -1.718 below it."""
    value = torch.tensor(logprob, requires_grad=True)
    kl_k3(value, torch.tensor(reference)).backward()
    assert value.grad is not None
    assert float(value.grad) == pytest.approx(1 - math.exp(reference - logprob), rel=1e-5)
    stepped = logprob - 0.1 * float(value.grad)
    assert abs(stepped - reference) < abs(logprob - reference)


@given(FLOATS, FLOATS)
def test_kl_is_never_negative(logprob, reference):
    assert float(kl_k3(torch.tensor(logprob), torch.tensor(reference))) >= 0


@given(st.floats(-(2**-10), 2**-10, width=32))
def test_kl_is_never_negative_nor_coarse_next_to_the_reference(difference):
    """About d^2 / 2 there, which exp(d) - d - 1 loses in float32."""
    found = float(kl_k3(torch.tensor(0.0), torch.tensor(difference)))
    assert found >= 0
    assert found == pytest.approx(difference**2 / 2, rel=1e-3, abs=1e-11)


def test_the_mean_kl_gradient_is_the_documented_one():
    """LOSS-6: over samples of the policy p it is that of KL(reference q || p): p - q."""
    generator = torch.Generator().manual_seed(0)
    reference = torch.tensor([0.1, 0.2, 0.3, 0.4])
    logits = torch.tensor([0.9, 0.1, -0.3, 0.4], requires_grad=True)
    logprobs = logits.log_softmax(-1)
    policy = logprobs.detach().exp()
    picks = torch.multinomial(policy, 50_000, True, generator=generator)
    kl_k3(logprobs[picks], reference.log()[picks]).mean().backward()
    assert logits.grad is not None
    assert float(torch.cosine_similarity(logits.grad, policy - reference, dim=0)) > 0.999


@pytest.mark.parametrize("size", [2, 7, 512])
@pytest.mark.parametrize("level", [0.0, -3.0, 40.0], ids=str)
def test_entropy_of_equal_logits_is_log_v(size, level):
    assert entropy(torch.full((3, size), level)).tolist() == pytest.approx([math.log(size)] * 3)


def test_entropy_of_a_hand_made_row():
    """0.5 ln 2 + 2 * 0.25 ln 4 = 1.0397."""
    logits = torch.tensor([[0.5, 0.25, 0.25], [1.0, 1e-30, 1e-30]]).log()
    assert entropy(logits).tolist() == pytest.approx([1.03972, 0.0], abs=1e-5)


def test_more_entropy_is_a_step_along_its_gradient():
    logits = torch.tensor([[2.0, 0.0, -1.0]], requires_grad=True)
    before = entropy(logits).sum()
    before.backward()
    assert logits.grad is not None
    assert float(entropy(logits.detach() + 0.1 * logits.grad)) > float(before.detach())


@given(st.lists(st.floats(-30, 30, width=32), min_size=2, max_size=8))
def test_entropy_lies_between_zero_and_log_v(values):
    found = float(entropy(torch.tensor([values])))
    assert -1e-6 <= found <= np.log(len(values)) + 1e-5
