import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rung.algorithms import group_advantages, group_returns, has_spread
from rung.core import (
    Action,
    RewardParts,
    Segment,
    StopReason,
    Task,
    Trajectory,
    Turn,
    TurnInfo,
)

TASK = Task.make(environment="office", text="Find it.", data={})


def advantages(returns, scored=None, **how):
    values = np.array(returns, np.float64)
    mask = np.ones(len(values), np.bool_) if scored is None else np.array(scored, np.bool_)
    return group_advantages(values, mask, **how)


def trajectory(*rewards, stop=StopReason.SUCCESS, sampled=2, name="t", group="g"):
    """One turn per reward; the sampled tokens are all in the first."""
    turns = [
        Turn(
            segment=0,
            start=1,
            stop=1 + sampled,
            policy_version=0,
            text="",
            cut=False,
            observation="",
            reward=reward,
            info=TurnInfo(move=Action("read", {})),
        )
        for reward in rewards
    ]
    segment = Segment(
        token_ids=np.arange(4, dtype=np.int32),
        sampled_mask=np.array([False, True, True, False]) & (sampled > 0),
        behaviour_logprobs=np.zeros(4, np.float32),
    )
    return Trajectory(
        id=name,
        group_id=group,
        task=TASK,
        split="train",
        seed=0,
        env_seed=0,
        segments=(segment,),
        turns=tuple(turns),
        stop=stop,
        key_hash="",
    )


@pytest.mark.parametrize(
    "returns",
    [
        [1.0] * 4,
        [0.37] * 4,
        [0.0] * 4,
        [0.1 + 0.2, 0.3, 0.1 + 0.2, 0.3],
        [0.1 * 3, 0.3, 0.1 + 0.1 + 0.1, 0.3],
        [5.0],
        [],
    ],
    ids=["ones", "0.37", "zeros", "0.1+0.2", "0.1*3", "one member", "nobody"],
)
@pytest.mark.parametrize("scale", ["deviation", "none"])
def test_equal_returns_give_exactly_zero(returns, scale):
    """ADV-1: rounding must not be scaled up by a tiny deviation."""
    found = advantages(returns, scale=scale)
    assert found.tolist() == [0.0] * len(returns)
    assert not has_spread(np.array(returns), np.ones(len(returns), np.bool_))


@pytest.mark.parametrize(
    ("returns", "scored", "scale", "expected"),
    [
        # mean 1, deviations +1 -1 -1 +1, sample variance 4/3, deviation 1.1547
        ([2, 0, 0, 2], None, "deviation", [0.8660, -0.8660, -0.8660, 0.8660]),
        ([2, 0, 0, 2], None, "none", [1, -1, -1, 1]),
        # mean 2/3, squares 1/9 4/9 1/9, sample variance 1/3, deviation 0.57735
        ([1, 9, 0, 1], [1, 0, 1, 1], "deviation", [0.5774, 0, -1.1547, 0.5774]),
        # ADV-15: the masked 50 moves nothing; mean of 2 and 0 is 1
        ([50, 2, 0], [0, 1, 1], "none", [0, 1, -1]),
        ([50, 2], [0, 1], "deviation", [0, 0]),
        # mean 0.5, deviations -0.5 +0.5, sample variance 0.5, deviation 0.70711
        ([0, 1], None, "deviation", [-0.7071, 0.7071]),
    ],
    ids=["four", "four, mean only", "unscored", "masked sibling", "single scored", "two"],
)
def test_hand_numbers(returns, scored, scale, expected):
    assert advantages(returns, scored, scale=scale).tolist() == pytest.approx(expected, abs=1e-4)


def test_a_singleton_far_from_the_rest_stays_bounded():
    """ADV-2: 7 x 0.3 and one 0.0, in float32 as a model would give them."""
    returns = np.array([0.3] * 7 + [0.0], np.float32).astype(np.float64)
    # mean 0.2625; variance (7 * 0.0375^2 + 0.2625^2) / 7 = 0.01125; -0.2625 / 0.10607
    assert advantages(returns)[-1] == pytest.approx(-2.4749, rel=0.01)
    large = advantages([1000.1] * 7 + [1000.0])
    assert np.isfinite(large).all()
    assert np.abs(large).max() < 3


def test_unscored_values_are_ignored_even_if_they_are_not_numbers():
    expected = advantages([1, 0, 1])
    for value in (math.nan, math.inf, -math.inf, 1e300):
        found = advantages([1, value, 0, 1], [1, 0, 1, 1])
        assert found.tolist() == [expected[0], 0.0, expected[1], expected[2]]


@given(
    st.lists(st.floats(-100, 100), min_size=2, max_size=16), st.sampled_from(["deviation", "none"])
)
def test_advantages_sum_to_zero_and_keep_the_order(returns, scale):
    """ADV-19."""
    found = advantages(returns, scale=scale)
    assert found.sum() == pytest.approx(0, abs=1e-6)
    assert (np.diff(found[np.argsort(returns)]) >= 0).all()


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=8), st.floats(-50, 50))
def test_a_constant_on_top_changes_nothing(returns, constant):
    shifted = advantages([value + constant for value in returns], scale="none")
    assert shifted.tolist() == pytest.approx(advantages(returns, scale="none").tolist(), abs=3e-6)


def test_the_group_is_what_is_passed_not_what_members_are_called():
    """ADV-4: ids differ, the statistics are shared."""
    members = [trajectory(RewardParts(outcome=r), name=f"n{r}") for r in (2.0, 0.0)]
    assert group_advantages(*group_returns(members), scale="none").tolist() == [1.0, -1.0]


def test_returns_hold_every_part_of_every_turn():
    """ADV-7: 0.1 + 0.2 process, -0.01 - 0.01 efficiency, 1 outcome."""
    path = trajectory(
        RewardParts(process=0.1, efficiency=-0.01),
        RewardParts(process=0.2, efficiency=-0.01, outcome=1.0),
    )
    returns, scored = group_returns([path])
    assert returns.tolist() == pytest.approx([1.28])
    assert scored.tolist() == [True]


@pytest.mark.parametrize("stop", list(StopReason), ids=str)
def test_members_count_by_their_stop_reason(stop):
    _, scored = group_returns([trajectory(RewardParts(), stop=stop)])
    assert scored.tolist() == [stop.is_scored]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf], ids=str)
def test_members_without_a_finite_return_are_unscored(value):
    """ADV-16."""
    members = [trajectory(RewardParts(outcome=r)) for r in (1.0, value, 0.0, 1.0)]
    returns, scored = group_returns(members)
    assert scored.tolist() == [True, False, True, True]
    found = group_advantages(returns, scored)
    assert found.tolist() == pytest.approx([0.5774, 0, -1.1547, 0.5774], abs=1e-4)


def test_members_without_trained_tokens_are_unscored():
    """ADV-15: they cannot be trained, so they must not move the baseline either."""
    members = [
        trajectory(RewardParts(outcome=50.0), stop=StopReason.CONTEXT_LIMIT, sampled=0),
        trajectory(RewardParts(outcome=2.0)),
    ]
    returns, scored = group_returns(members)
    assert scored.tolist() == [False, True]
    assert group_advantages(returns, scored).tolist() == [0.0, 0.0]


def test_an_empty_group_has_neither_returns_nor_spread():
    returns, scored = group_returns([])
    assert returns.shape == scored.shape == (0,)
    assert not has_spread(returns, scored)
