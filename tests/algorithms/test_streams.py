import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rung.algorithms import Stream, group_advantages, returns_to_go, stream_advantages
from rung.errors import ConfigError

PROCESS = Stream(weight=0.5, discount=0.8, trace=0.95)
OUTCOME = Stream(weight=1.0, discount=1.0, trace=1.0)


def advantages(process, outcome, scored=None, process_stream=PROCESS, **how):
    count = len(process)
    return stream_advantages(
        [np.array(turns, np.float64) for turns in process],
        [np.array(turns, np.float64) for turns in outcome],
        np.array([True] * count if scored is None else scored, np.bool_),
        process_stream=process_stream,
        outcome_stream=how.pop("outcome_stream", OUTCOME),
        **how,
    )


def test_returns_to_go_by_hand():
    assert returns_to_go(np.array([1.0, 0.0, 2.0]), 0.5).tolist() == [1.5, 1.0, 2.0]
    assert returns_to_go(np.array([1.0, 0.0, 2.0]), 1.0).tolist() == [3.0, 2.0, 2.0]
    assert returns_to_go(np.zeros(0), 0.5).tolist() == []


def test_both_streams_by_hand():
    """Returns to go [1, 2] and [0]: mean 1, sample deviation 1. Outcomes 10 and -1: +-0.7071."""
    half = Stream(weight=0.5, discount=0.5, trace=1.0)
    first, second = advantages([[0, 2], [0]], [[0, 10], [-1]], process_stream=half)
    whole = 1 / np.sqrt(2)
    assert first == pytest.approx([whole + 0.5 * 0, whole + 0.5 * 1], abs=1e-5)
    assert second == pytest.approx([-whole - 0.5 * 1], abs=1e-5)


def test_a_late_outcome_reaches_earlier_turns_by_its_own_decay():
    fading = Stream(weight=2.0, discount=0.5, trace=0.5)
    first, second = advantages(
        [[0, 0, 0], [0]], [[0, 0, 10], [-1]], outcome_stream=fading, scale="none"
    )
    assert first == pytest.approx([2 * 5.5 / 16, 2 * 5.5 / 4, 2 * 5.5])
    assert second == pytest.approx([-11.0])


def test_a_reward_on_the_last_turn_reaches_every_turn_with_its_sign():
    good, bad = advantages([[0, 0, 0]] * 2, [[0, 0, 1], [0, 0, 0]])
    assert (good > 0).all()
    assert (bad < 0).all()


def test_the_turn_that_led_to_a_subgoal_gets_more_than_the_idle_one_after_it():
    found, _ = advantages([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]], [[0] * 4] * 2)
    assert found[1] > found[0] > found[2] == found[3]


@pytest.mark.parametrize(
    ("process", "outcome", "scored"),
    [
        ([[0.1 + 0.2, 1.0]] * 4, [[0, 10]] * 4, None),
        ([[1.0, 0.0]], [[0, 10]], None),
        ([[1.0, 0.0], [0.0, 0.0]], [[0, 10], [0, -1]], [True, False]),
        ([[], []], [[], []], None),
        ([], [], None),
    ],
    ids=["equal members", "one member", "one scored member", "no turns", "nobody"],
)
def test_nothing_to_compare_gives_exactly_zero(process, outcome, scored):
    for found in advantages(process, outcome, scored):
        assert (found == 0).all()


@pytest.mark.parametrize("value", [1e9, np.nan, np.inf], ids=str)
def test_unscored_members_do_not_enter_the_statistics(value):
    rewards = [[0.0, 1.0], [0.0, 0.0], [value, value]]
    outcome = [[0.0, 10.0], [0.0, -1.0], [0.0, value]]
    with_it = advantages(rewards, outcome, [True, True, False])
    without = advantages(rewards[:2], outcome[:2])
    assert [a.tolist() for a in with_it] == [*(a.tolist() for a in without), [0.0, 0.0]]


turn = st.floats(-2, 2)
member = st.lists(turn, min_size=1, max_size=5)


@given(st.lists(st.tuples(member, turn), min_size=2, max_size=5), st.randoms())
def test_the_order_of_the_members_does_not_matter(members, random):
    def of(members):
        outcome = [[0.0] * (len(turns) - 1) + [last] for turns, last in members]
        return advantages([turns for turns, _ in members], outcome)

    order = list(range(len(members)))
    random.shuffle(order)
    straight, shuffled = of(members), of([members[index] for index in order])
    for place, index in enumerate(order):
        assert shuffled[place] == pytest.approx(straight[index], abs=1e-4)


def test_without_process_weight_it_is_grpo_on_the_outcome():
    outcome = np.array([10.0, -1.0, -1.0, 0.0])
    found = advantages(
        [[0.3]] * 3 + [[0.1]],
        outcome[:, None],
        process_stream=Stream(weight=0.0, discount=0.8, trace=0.95),
    )
    plain = group_advantages(outcome, np.ones(4, np.bool_))
    assert np.concatenate(found) == pytest.approx(plain)


def test_every_setting_changes_the_advantages():
    process, outcome = [[0.0, 1.0, 0.0], [0.5, 0.0]], [[0, 0, 10], [0, -1]]
    base = {"process_stream": PROCESS, "outcome_stream": OUTCOME, "scale": "deviation"}
    variants = [base, base | {"scale": "none"}]
    for name, stream in itertools.product(("process_stream", "outcome_stream"), ("w", "d", "t")):
        old = base[name]
        changed = {
            "w": Stream(weight=0.7, discount=old.discount, trace=old.trace),
            "d": Stream(weight=old.weight, discount=0.6, trace=old.trace),
            "t": Stream(weight=old.weight, discount=old.discount, trace=0.5),
        }
        variants.append(base | {name: changed[stream]})
    found = [np.concatenate(advantages(process, outcome, **how)) for how in variants]
    for one, other in itertools.combinations(found, 2):
        assert not np.allclose(one, other)


@pytest.mark.parametrize(
    "wrong",
    [{"weight": -1.0}, {"discount": 0.0}, {"trace": 1.1}, {"weight": float("inf")}],
    ids=str,
)
def test_a_stream_refuses_numbers_out_of_range(wrong):
    with pytest.raises(ConfigError, match="weight >= 0"):
        Stream(**({"weight": 1.0, "discount": 0.9, "trace": 0.9} | wrong))
