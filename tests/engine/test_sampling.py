import math

import numpy as np
import pytest
import torch

from rung.engine.sampling import sample, uniforms


def draw(seeds: list[int], counters: list[int]) -> list[float]:
    return uniforms(np.array(seeds, np.uint64), np.array(counters, np.uint64)).tolist()


def test_uniforms_are_splitmix64() -> None:
    """The published first outputs of SplitMix64 for seeds 0 and 1234567, shifted to 53 bits."""
    published = {
        (0, 0): 0xE220A8397B1DCDAF,
        (0, 1): 0x6E789E6AA1B965F4,
        (0, 2): 0x06C45D188009454F,
        (1234567, 0): 6457827717110365317,
        (1234567, 1): 3203168211198807973,
    }
    seeds, counters = zip(*published, strict=True)
    expected = [(number >> 11) / 2**53 for number in published.values()]
    assert draw(list(seeds), list(counters)) == expected


def test_uniforms_are_uniform_and_independent() -> None:
    size = 100_000
    streams = [
        uniforms(np.arange(size, dtype=np.uint64), np.zeros(size, np.uint64)),
        uniforms(np.full(size, 7, np.uint64), np.arange(size, dtype=np.uint64)),
    ]
    for numbers in streams:
        assert numbers.min() >= 0
        assert numbers.max() < 1
        counts = np.histogram(numbers, 20, (0, 1))[0]
        assert np.abs(counts - size / 20).max() < 5 * math.sqrt(size / 20)
        # Neighbouring seeds and neighbouring counters: no correlation beyond chance.
        assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 5 / math.sqrt(size)
    assert abs(np.corrcoef(streams[0], streams[1])[0, 1]) < 5 / math.sqrt(size)


def test_the_largest_seed_and_counter() -> None:
    assert 0 <= draw([2**63 - 1], [2**32])[0] < 1


def run(
    logits: list[list[float]], temperature: list[float], uniform: list[float]
) -> tuple[list[int], list[float]]:
    ids, logprobs = sample(
        torch.tensor(logits), torch.tensor(temperature), torch.tensor(uniform, dtype=torch.float64)
    )
    return ids.tolist(), logprobs.tolist()


@pytest.mark.parametrize(
    ("temperature", "uniform", "token", "logprob"),
    [
        # softmax([2, 0]) = [0.8808, 0.1192]; at T = 0.5, softmax([4, 0]) = [0.9820, 0.0180].
        (0.5, 0.5, 0, -0.01815),
        (0.5, 0.99, 1, -4.01815),
        (1.0, 0.5, 0, -0.12693),
        (1.0, 0.88, 0, -0.12693),
        (1.0, 0.882, 1, -2.12693),
        (1.0, 0.0, 0, -0.12693),
        (0.0, 0.99, 0, -0.12693),
    ],
)
def test_by_hand(temperature: float, uniform: float, token: int, logprob: float) -> None:
    ids, logprobs = run([[2.0, 0.0]], [temperature], [uniform])
    assert ids == [token]
    assert logprobs == pytest.approx([logprob], abs=1e-5)


def test_rows_are_independent() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(9, 50, generator=generator)
    temperature = torch.tensor([0.0, 0.5, 1.0] * 3)
    uniform = torch.rand(9, generator=generator, dtype=torch.float64)
    ids, logprobs = sample(logits, temperature, uniform)
    for row in range(9):
        only = slice(row, row + 1)
        alone = sample(logits[only], temperature[only], uniform[only])
        assert alone[0] == ids[row]
        assert alone[1] == logprobs[row]


def test_impossible_tokens_are_never_drawn() -> None:
    never = float("-inf")
    for uniform in (0.0, 0.5, 1 - 2**-53):
        ids, logprobs = run([[never, 1.0, never, 1.0, never]], [1.0], [uniform])
        assert ids[0] in (1, 3)
        assert logprobs == pytest.approx([-math.log(2)])


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_the_last_number_below_one_draws_a_token(scale: float) -> None:
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(4, 1000, generator=generator) * scale
    ids, logprobs = sample(logits, torch.ones(4), torch.full((4,), 1 - 2**-53, dtype=torch.float64))
    assert ids.max() < 1000
    assert logprobs.isfinite().all()


def test_half_precision_logits_are_sampled_in_full() -> None:
    ids, logprobs = sample(
        torch.tensor([[2.0, 0.0]], dtype=torch.bfloat16),
        torch.tensor([1.0]),
        torch.tensor([0.0], dtype=torch.float64),
    )
    assert ids.tolist() == [0]
    assert logprobs.dtype == torch.float32


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_frequencies_are_those_of_the_softmax(temperature: float) -> None:
    size = 40_000
    logits = torch.tensor([1.0, 0.0, -1.0, 2.0, -5.0])
    uniform = uniforms(np.arange(size, dtype=np.uint64), np.zeros(size, np.uint64))
    ids, _ = sample(
        logits.expand(size, -1), torch.full((size,), temperature), torch.from_numpy(uniform)
    )
    expected = (logits.double() / temperature).softmax(-1)
    found = ids.bincount(minlength=5) / size
    spread = (expected * (1 - expected) / size).sqrt()
    assert ((found - expected).abs() < 5 * spread + 1e-9).all()
