import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rung.algorithms import Stream
from rung.core import StopReason
from rung.errors import TrainError
from rung.learner import LearnerConfig
from rung.learner.rows import Row, micro_batches, rows_of, trainable

PLAIN = LearnerConfig(scale="none")
KEEP = LearnerConfig(scale="none", train_zero_spread=True)


def row(length: int, sampled: int = 1) -> Row:
    return Row(
        token_ids=np.arange(length, dtype=np.int32),
        positions=np.arange(length - sampled, length),
        behaviour=np.zeros(sampled, np.float32),
        advantages=np.zeros(sampled),
        weights=np.zeros(sampled),
    )


def test_advantages_land_on_exactly_the_sampled_tokens(trajectory, group):
    """ADV-6: returns 2 and 0, so +1 and -1, whatever the layout of the turns."""
    pair = group(
        trajectory("...xx..x.", "..xxx", reward=2.0),
        trajectory(".x", reward=0.0),
    )
    rows = rows_of([pair], PLAIN)
    assert [r.positions.tolist() for r in rows] == [[3, 4, 7], [2, 3, 4], [1]]
    assert [r.advantages.tolist() for r in rows] == [[1, 1, 1], [1, 1, 1], [-1]]
    assert [len(r.token_ids) for r in rows] == [9, 5, 2]


@pytest.mark.parametrize(
    ("reduction", "weights"),
    [
        # 7 tokens; trajectories of 6 and 1; turns of 2, 1, 3 and 1
        ("token", [[1 / 7] * 3, [1 / 7] * 3, [1 / 7]]),
        ("trajectory", [[1 / 12] * 3, [1 / 12] * 3, [1 / 2]]),
        ("turn", [[1 / 8, 1 / 8, 1 / 4], [1 / 12] * 3, [1 / 4]]),
    ],
)
def test_weights_land_on_their_own_turn(trajectory, group, reduction, weights):
    pair = group(trajectory("...xx..x.", "..xxx", reward=2.0), trajectory(".x"))
    rows = rows_of([pair], LearnerConfig(reduction=reduction))
    for found, hand in zip(rows, weights, strict=True):
        assert found.weights.tolist() == pytest.approx(hand)


def test_weights_sum_to_one_over_the_whole_batch(trajectory, group):
    groups = [
        group(trajectory(".x", reward=1.0), trajectory("..xx.xx")),
        group(trajectory(".xxx", reward=1.0), trajectory("..x", ".xx")),
    ]
    for reduction in ("token", "turn", "trajectory"):
        rows = rows_of(groups, LearnerConfig(reduction=reduction))
        assert sum(r.weights.sum() for r in rows) == pytest.approx(1)


def test_credit_by_turn_lands_on_exactly_the_tokens_of_each_turn(trajectory, group):
    """Process returns to go [1, 2, 0] and [0]: mean 3/4. Outcomes 2 and 0: +1 and -1."""
    config = replace(
        PLAIN,
        credit="turn",
        process=Stream(weight=1.0, discount=0.5, trace=1.0),
        outcome=Stream(weight=1.0, discount=1.0, trace=1.0),
    )
    pair = group(
        trajectory("...xx..x.", "..xxx", reward=2.0, process=[0, 2, 0]),
        trajectory(".x"),
    )
    rows = rows_of([pair], config)
    assert [r.positions.tolist() for r in rows] == [[3, 4, 7], [2, 3, 4], [1]]
    assert [r.advantages.tolist() for r in rows] == [
        [1.25, 1.25, 2.25],
        [0.25, 0.25, 0.25],
        [-1.75],
    ]


def test_credit_by_turn_learns_where_only_the_way_differs(trajectory, group):
    """Equal returns, one subgoal earlier than the other: nothing for GRPO, something by turn."""
    pair = group(
        trajectory(".x.x", process=[1, 0]),
        trajectory(".x.x", process=[0, 1]),
    )
    assert trainable([pair], PLAIN) == []
    assert trainable([pair], replace(PLAIN, credit="turn")) == [pair]


def test_each_group_has_its_own_baseline(trajectory, group):
    groups = [
        group(trajectory(".x", reward=2.0), trajectory(".x", reward=0.0)),
        group(trajectory(".x", reward=100.0), trajectory(".x", reward=104.0)),
    ]
    assert [r.advantages.tolist() for r in rows_of(groups, PLAIN)] == [[1], [-1], [-2], [2]]


@pytest.mark.parametrize(
    "odd",
    [
        {"stop": StopReason.INFRASTRUCTURE_FAULT, "reward": 50.0},
        {"stop": StopReason.CANCELLED, "reward": 50.0},
        {"reward": math.nan},
        {"reward": math.inf},
    ],
    ids=["fault", "cancelled", "nan", "inf"],
)
@pytest.mark.parametrize("config", [PLAIN, KEEP], ids=["drop", "keep"])
def test_unscored_members_are_out(trajectory, group, odd, config):
    """ADV-15, ADV-16: neither in the baseline, nor in the weights, nor as rows of their own."""
    three = group(trajectory(".xx", **odd), trajectory(".x", reward=2.0), trajectory(".x"))
    assert trainable([three], config) == [three]
    rows = rows_of([three], config)
    assert [r.advantages.tolist() for r in rows] == [[1], [-1]]
    assert [r.weights.tolist() for r in rows] == [[0.5], [0.5]]


def test_members_without_sampled_tokens_are_out(trajectory, group):
    """ADV-15: returns 0, 2, 0, where the first has nothing to train."""
    empty = trajectory("...", stop=StopReason.CONTEXT_LIMIT)
    three = group(empty, trajectory(".x", reward=2.0), trajectory(".x"))
    assert [r.advantages.tolist() for r in rows_of([three], PLAIN)] == [[1], [-1]]
    assert trainable([group(empty, trajectory(".x", reward=2.0))], PLAIN) == []
    assert trainable([group(empty, empty)], KEEP) == []


def test_groups_without_spread_are_dropped_or_kept(trajectory, group):
    """LOSS-8: by the spread of the group, not of the batch."""
    flat = group(trajectory(".x", reward=1.0), trajectory(".x", reward=1.0))
    other = group(trajectory(".x", reward=5.0), trajectory(".x", reward=5.0 + 1e-9))
    steep = group(trajectory(".x", reward=1.0), trajectory(".x", reward=0.0))
    lost = group(trajectory(".x", stop=StopReason.INFRASTRUCTURE_FAULT))
    assert trainable([flat, steep, other, lost], PLAIN) == [steep]
    assert trainable([flat, steep, other, lost], KEEP) == [flat, steep, other]
    assert [r.advantages.tolist() for r in rows_of([flat], KEEP)] == [[0], [0]]


def test_segments_without_sampled_tokens_give_no_row(trajectory, group):
    pair = group(trajectory("....", ".xx", reward=1.0), trajectory(".x"))
    assert [len(r.token_ids) for r in rows_of([pair], PLAIN)] == [3, 2]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf], ids=str)
def test_a_sampled_token_without_logprob_stops_training(trajectory, group, value):
    """LOGP-10: never taken for ratio 1."""
    pair = group(trajectory(".x", reward=1.0), trajectory(".x", behaviour=value, name="bad"))
    with pytest.raises(TrainError, match=r"'bad' has sampled tokens without log-prob[^$]*hint"):
        rows_of([pair], PLAIN)


@pytest.mark.parametrize(
    ("masks", "turns"),
    [
        ([".xx.x"], [(0, 1, 3)]),
        ([".xx.x"], []),
        ([".xx.x"], [(0, 1, 3), (0, 3, 4)]),
        ([".xx.x"], [(0, 1, 2), (0, 3, 5)]),
        ([".xx.x"], [(0, 4, 5), (0, 1, 3)]),
        ([".xx.x"], [(0, 1, 3), (0, 1, 3)]),
        ([".xx.x"], [(0, 1, 3), (1, 4, 5)]),
        ([".xx.x"], [(0, 1, 3), (0, 4, 6)]),
        ([".xx", ".x"], [(1, 1, 2), (0, 1, 3)]),
    ],
    ids=[
        "one missing",
        "none",
        "observation",
        "shifted",
        "out of order",
        "twice",
        "no such segment",
        "beyond the end",
        "segments out of order",
    ],
)
def test_turns_that_are_not_the_sampled_tokens_stop_training(trajectory, group, masks, turns):
    """TOK-6: otherwise weights would land on other tokens."""
    odd = trajectory(*masks, turns=turns, reward=1.0, name="bad")
    with pytest.raises(TrainError, match="'bad': its turns are not exactly its sampled tokens"):
        rows_of([group(odd, trajectory(".x"))], PLAIN)


def test_no_groups_give_no_rows():
    assert trainable([], PLAIN) == []
    assert rows_of([], PLAIN) == []
    assert micro_batches([], 10) == []


@given(st.lists(st.integers(2, 40), max_size=20), st.integers(1, 100))
def test_micro_batches_hold_every_row_once_within_the_budget(lengths, tokens):
    rows = [row(length) for length in lengths]
    batches = micro_batches(rows, tokens)
    assert sorted(id(r) for batch in batches for r in batch) == sorted(id(r) for r in rows)
    for batch in batches:
        assert len(batch) == 1 or sum(len(r.token_ids) for r in batch) <= tokens


def test_micro_batches_do_not_waste_room():
    batches = micro_batches([row(4), row(2), row(6), row(4)], 10)
    assert [[len(r.token_ids) for r in batch] for batch in batches] == [[6, 4], [4, 2]]


def test_a_row_above_the_budget_is_alone():
    batches = micro_batches([row(2), row(50), row(3)], 10)
    assert [[len(r.token_ids) for r in batch] for batch in batches] == [[50], [3, 2]]
