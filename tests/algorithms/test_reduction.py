from itertools import permutations
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rung.algorithms import Reduction, token_weights

MODES = get_args(Reduction)
BATCHES = st.lists(st.lists(st.integers(0, 6), max_size=5), max_size=6)


@pytest.mark.parametrize(
    ("reduction", "expected"),
    [
        # LOSS-2: trajectories of 2 tokens (1 turn) and of 8 tokens (turns of 2 and 6)
        ("token", [[1 / 10] * 2, [1 / 10] * 8]),
        ("trajectory", [[1 / 4] * 2, [1 / 16] * 8]),
        ("turn", [[1 / 6] * 2, [1 / 6] * 2 + [1 / 18] * 6]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_hand_numbers(reduction, expected):
    found = token_weights([[2], [2, 6]], reduction=reduction)
    for weights, hand in zip(found, expected, strict=True):
        assert weights.tolist() == pytest.approx(hand)


@pytest.mark.parametrize("reduction", MODES)
@pytest.mark.parametrize("lengths", [[], [[]], [[0, 0]], [[], [0]]], ids=str)
def test_a_batch_without_trained_tokens_gives_empty_arrays(reduction, lengths):
    found = token_weights(lengths, reduction=reduction)
    assert [len(weights) for weights in found] == [0] * len(lengths)


@pytest.mark.parametrize("reduction", MODES)
@given(BATCHES)
def test_weights_are_positive_and_sum_to_one(reduction, lengths):
    found = token_weights(lengths, reduction=reduction)
    assert [len(weights) for weights in found] == [sum(turns) for turns in lengths]
    every = np.concatenate([np.zeros(0), *found])
    assert (every > 0).all()
    if len(every):
        assert every.sum() == pytest.approx(1)


@pytest.mark.parametrize("reduction", MODES)
@given(BATCHES)
def test_empty_turns_and_trajectories_weigh_nothing(reduction, lengths):
    padded = [[*turns, 0] for turns in lengths] + [[], [0]]
    plain = token_weights(lengths, reduction=reduction)
    for one, other in zip(plain, token_weights(padded, reduction=reduction), strict=False):
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize("reduction", MODES)
def test_weights_do_not_depend_on_the_order_of_trajectories(reduction):
    lengths = [[2], [2, 6], [1, 1, 3]]
    alone = token_weights(lengths, reduction=reduction)
    for order in permutations(range(3)):
        found = token_weights([lengths[index] for index in order], reduction=reduction)
        for index, weights in zip(order, found, strict=True):
            assert weights.tolist() == alone[index].tolist()


@pytest.mark.parametrize(
    ("reduction", "ratio"), [("token", 4.0), ("trajectory", 1.0), ("turn", 2.0)]
)
def test_what_weighs_equally(reduction, ratio):
    """Total weight of 8 tokens in 2 turns over that of 2 tokens in 1 turn."""
    short, long = token_weights([[2], [3, 5]], reduction=reduction)
    assert long.sum() / short.sum() == pytest.approx(ratio)
