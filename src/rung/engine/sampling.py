"""Sampling tokens from logits, each row with its own counter-based random stream.

A row's random number is a hash of its seed and of how many tokens its request has sampled, so
no state is kept and no row depends on what shares the batch.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def uniforms(seeds: NDArray[np.uint64], counters: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Numbers in [0, 1), one per row: SplitMix64 of seed and counter.

    Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014),
    the output function at position `counter` of the stream that starts at `seed`.
    """
    with np.errstate(over="ignore"):
        z = seeds + (counters + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53


def sample(logits: Tensor, temperature: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor]:
    """Tokens and their log-probabilities, one per row.

    Args:
        logits: `[A, V]`.
        temperature: `[A]`; 0 takes the likeliest token.
        uniform: `[A]`, numbers in [0, 1), float64.

    Returns:
        token ids `[A]` and log-probabilities `[A]` in nats under softmax(logits/temperature),
        for greedy rows under softmax(logits).
    """
    greedy = temperature == 0
    scaled = logits.float() / torch.where(greedy, 1.0, temperature).unsqueeze(1)
    logprobs = scaled.log_softmax(-1)
    cumulative = logprobs.double().exp().cumsum(-1)
    # Rounding can leave the last sum below the number drawn: scale by it.
    threshold = uniform.unsqueeze(1) * cumulative[:, -1:]
    drawn = (cumulative <= threshold).sum(-1).clamp(max=logits.shape[1] - 1)
    chosen = torch.where(greedy, logits.argmax(-1), drawn)
    return chosen, logprobs.gather(1, chosen.unsqueeze(1)).squeeze(1)
