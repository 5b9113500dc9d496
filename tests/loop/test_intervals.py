import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rung.loop.intervals import NOTHING, Measure, mean, ratio, share


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        # Wilson's interval at z = 1.96, as tables and R's prop.test(correct=FALSE) give it
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (1, 10, 0.0179, 0.4042),
        (5, 10, 0.2366, 0.7634),
        (50, 100, 0.4038, 0.5962),
        (81, 263, 0.2553, 0.3662),
        (0, 1, 0.0, 0.7935),
    ],
)
def test_wilson_against_textbook_numbers(successes, trials, low, high):
    found = share(successes, trials)
    assert found.value == successes / trials
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 500), st.data())
def test_a_share_lies_in_its_interval(trials, data):
    successes = data.draw(st.integers(0, trials))
    found = share(successes, trials)
    assert found.value is not None and found.low is not None and found.high is not None
    assert 0 <= found.low <= found.value + 1e-12
    assert found.value - 1e-12 <= found.high <= 1
    assert found.low < found.high


def test_nothing_measured_is_nothing():
    assert Measure(None, None, None) == NOTHING
    assert share(0, 0) == ratio([], []) == ratio([0, 0], [0, 0]) == mean([]) == NOTHING


def test_a_ratio_is_one_of_sums():
    """EVAL-7: 2 of 2 and 0 of 8 are 2/10, not the mean of 1 and 0."""
    found = ratio([2, 0], [2, 8])
    assert found.value == pytest.approx(0.2)


def test_pairs_without_denominator_count_for_nothing():
    assert ratio([1, 0, 0], [2, 0, 4]).value == pytest.approx(1 / 6)


def test_a_mean_is_a_mean():
    found = mean([1.0, 2.0, 6.0])
    assert found.value == pytest.approx(3)
    assert found.low is not None and found.high is not None
    assert 1 <= found.low < 3 < found.high <= 6


def test_equal_values_leave_no_doubt():
    assert mean([0.1] * 7).low == pytest.approx(0.1)
    assert mean([0.1] * 7).high == pytest.approx(0.1)


def test_the_same_numbers_give_the_same_interval():
    assert ratio([1, 2, 3], [3, 4, 5]) == ratio([1, 2, 3], [3, 4, 5])


def test_the_bootstrap_covers_the_truth():
    """300 samples of 40 pairs with a true ratio of 0.3: about 95 % of intervals hold it."""
    generator = np.random.default_rng(1)
    held = 0
    for _ in range(300):
        turns = generator.integers(1, 12, size=40)
        hits = generator.binomial(turns, 0.3)
        found = ratio(hits.tolist(), turns.tolist())
        assert found.low is not None and found.high is not None
        held += found.low <= 0.3 <= found.high
    assert 0.90 <= held / 300 <= 0.98


def test_clusters_widen_the_interval():
    """Ten turns that all fail together tell less than ten that fail one by one."""
    together = ratio([10, 0] * 10, [10] * 20)
    apart = ratio([5] * 20, [10] * 20)
    assert together.value == apart.value == 0.5
    assert together.low is not None and apart.low is not None
    assert together.low < 0.35 < apart.low
