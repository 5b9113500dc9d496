"""Measures of hand-made trajectories: one letter for each turn.

. an ordinary turn, s a subgoal, i invalid, f a format error, u unconfirmed, r repeated
"""

import math

import numpy as np
import pytest

from rung.core import (
    Action,
    FormatError,
    FormatErrorKind,
    Group,
    Refusal,
    RefusalKind,
    RewardParts,
    Segment,
    StopReason,
    Task,
    Trajectory,
    Turn,
    TurnInfo,
)
from rung.loop.intervals import NOTHING
from rung.loop.measures import evaluation_of, round_metrics

TASKS = {
    tier: Task.make(environment="office", text=tier, data=tier, tier=tier) for tier in ("E1", "E2")
}
ACTION = Action("read", {})
INFOS = {
    ".": TurnInfo(move=ACTION),
    "s": TurnInfo(move=ACTION, subgoals=("found",)),
    "i": TurnInfo(move=ACTION, invalid=True),
    "f": TurnInfo(move=FormatError(FormatErrorKind.NO_JSON, "no JSON"), invalid=True),
    "u": TurnInfo(move=Refusal(RefusalKind.UNCONFIRMED, ACTION, "confirm"), invalid=True),
    "r": TurnInfo(move=ACTION, repeated=True),
}


def trajectory(turns, stop=StopReason.SUCCESS, *, reward=None, group="g", key="", tier="E1"):
    """Two sampled tokens per turn; the reward is paid in the last one."""
    parts = reward or RewardParts()
    mask = np.array([False, *[True, True] * len(turns)])
    return Trajectory(
        id=f"{group}-{turns}-{stop}",
        group_id=group,
        task=TASKS[tier],
        split="eval",
        seed=0,
        env_seed=0,
        segments=(
            Segment(
                token_ids=np.arange(len(mask), dtype=np.int32),
                sampled_mask=mask,
                behaviour_logprobs=np.where(mask, -1.0, 0.0).astype(np.float32),
            ),
        ),
        turns=tuple(
            Turn(
                segment=0,
                start=1 + 2 * index,
                stop=3 + 2 * index,
                policy_version=0,
                text="",
                cut=letter == "f",
                observation="",
                reward=parts if index == len(turns) - 1 else RewardParts(),
                info=INFOS[letter],
            )
            for index, letter in enumerate(turns)
        ),
        stop=stop,
        key_hash=key,
    )


FAILED = StopReason.STEP_LIMIT
BROKEN = StopReason.INFRASTRUCTURE_FAULT


def evaluated(*trajectories, expert=None, process=2.0):
    return evaluation_of(
        trajectories, expert or {}, tier="E1", mode="greedy", process_total=process
    )


def value(evaluation, name):
    return evaluation.measures[name].value


def test_success_is_a_share_of_what_was_scored():
    """Two of three; the broken one is counted apart and never as a failure."""
    found = evaluated(
        trajectory(".", group="a"),
        trajectory(".", group="b"),
        trajectory(".", FAILED, group="c"),
        trajectory(".", BROKEN, group="d"),
    )
    assert found.success == value(found, "success_share") == pytest.approx(2 / 3)
    assert (found.tasks, found.unscored) == (3, 1)
    assert found.stop_reasons == {"success": 2, "step_limit": 1, "infrastructure_fault": 1}
    assert (found.tier, found.mode) == ("E1", "greedy")


def test_a_task_whose_broken_member_was_replaced_is_not_lost():
    """EVAL-4: one result per task."""
    found = evaluated(trajectory(".", BROKEN, group="a"), trajectory(".", group="a"))
    assert (found.tasks, found.unscored, found.success) == (1, 0, 1.0)


@pytest.mark.parametrize("trajectories", [[], [trajectory("ifu", BROKEN)]], ids=["none", "broken"])
def test_without_scored_trajectories_there_is_nothing_to_measure(trajectories):
    found = evaluated(*trajectories)
    assert set(found.measures.values()) == {NOTHING}
    assert found.success == 0.0
    assert (found.tasks, found.unscored) == (0, len(trajectories))


def test_step_efficiency_is_taken_over_solved_tasks():
    """The expert needs 3: 3/4 and 3/6, mean 0.625; a failure of 3 turns does not count."""
    expert = {TASKS["E1"].id: 3}
    solved = trajectory("...."), trajectory("......"), trajectory("...", FAILED)
    assert value(evaluated(*solved, expert=expert), "step_efficiency") == pytest.approx(0.625)
    assert evaluated(*solved).measures["step_efficiency"] == NOTHING
    assert evaluated(trajectory("..", FAILED), expert=expert).measures["step_efficiency"] == NOTHING


@pytest.mark.parametrize(
    ("turns", "stop", "recovered", "waits"),
    [
        ("is", FAILED, 1.0, 1.0),
        # from turn 0 to the subgoal in turn 3
        ("i..s", FAILED, 1.0, 3.0),
        # the first of two
        ("is.s", FAILED, 1.0, 1.0),
        # errors in turns 0, 1 and 4; progress in turn 2 only: 2 and 1 turns
        ("iis.i", FAILED, 2 / 3, 1.5),
        # success is progress, though no subgoal was named in the last turn
        ("i..", StopReason.SUCCESS, 1.0, 2.0),
        ("i..", FAILED, 0.0, None),
        ("si", FAILED, 0.0, None),
        ("fs", FAILED, 1.0, 1.0),
        ("us", FAILED, 1.0, 1.0),
        ("..s", StopReason.SUCCESS, None, None),
        ("rr", FAILED, None, None),
    ],
    ids=str,
)
def test_recovery_from_errors(turns, stop, recovered, waits):
    found = evaluated(trajectory(turns, stop))
    assert value(found, "recovery_share") == (recovered and pytest.approx(recovered))
    assert value(found, "recovery_turns_mean") == (waits and pytest.approx(waits))


def test_recovery_is_taken_over_errors_not_over_trajectories():
    """EVAL-7: 1 of 1 and 0 of 3 errors are 1/4."""
    found = evaluated(trajectory("is", FAILED), trajectory("iii", FAILED))
    assert value(found, "recovery_share") == pytest.approx(0.25)


def test_recovery_turns_are_clustered_by_trajectory():
    """Waits 3 2 1 and 1: mean 7/4; resampling whole trajectories gives 2, 7/4 or 1."""
    measure = evaluated(trajectory("iiis", FAILED), trajectory("is", FAILED)).measures
    found = measure["recovery_turns_mean"]
    assert (found.value, found.low, found.high) == (1.75, 1.0, 2.0)


@pytest.mark.parametrize(
    ("name", "letter"),
    [
        ("format_error_share", "f"),
        ("invalid_share", "i"),
        ("repeated_share", "r"),
        ("unconfirmed_share", "u"),
    ],
)
def test_rates_are_taken_over_turns(name, letter):
    """EVAL-7: 2 of 2 turns and 0 of 8 are 2/10; the interval is over trajectories."""
    found = evaluated(
        trajectory(letter * 2, FAILED),
        trajectory("." * 8, FAILED),
        trajectory(letter * 5, BROKEN, group="lost"),
    ).measures[name]
    assert found.value == pytest.approx(0.2)
    assert (found.low, found.high) == (0.0, 1.0)


def test_refusals_and_format_errors_are_invalid():
    assert value(evaluated(trajectory("fui.")), "invalid_share") == pytest.approx(0.75)


def test_subgoals_are_what_was_paid():
    """1 of 2, and 2 of 2 although rounding pays a little more: mean 0.75."""
    found = [trajectory(".", FAILED, reward=RewardParts(process=p)) for p in (1.0, 2.0 + 1e-9)]
    assert value(evaluated(*found), "subgoal_share") == pytest.approx(0.75)
    assert evaluated(*found, process=0.0).measures["subgoal_share"] == NOTHING
    assert value(evaluated(trajectory("..."), trajectory(".")), "turns_mean") == pytest.approx(2)


# Rounds


def group(*trajectories, name="g"):
    return Group(id=name, task=TASKS["E1"], policy_version=0, trajectories=trajectories)


def test_metrics_of_a_round():
    """Two scored trajectories of 3 and 1 turns, and a broken one that is only counted."""
    metrics = round_metrics(
        [
            group(
                trajectory("s.r", reward=RewardParts(2.0, -0.5, 10.0), key="x"),
                trajectory("f", FAILED, reward=RewardParts(0.0, -1.0, 0.0), key="x"),
                trajectory("iiii", BROKEN, reward=RewardParts(math.nan, 5.0, 5.0), key="y"),
            )
        ]
    )
    assert metrics == pytest.approx(
        {
            "rollout/trajectories_count": 3,
            "rollout/unscored_count": 1,
            "rollout/zero_spread_share": 0,
            "rollout/success_share": 0.5,
            "rollout/success_share_E1": 0.5,
            "rollout/return_mean": (11.5 - 1.0) / 2,
            "rollout/process_mean": 1.0,
            "rollout/efficiency_mean": -0.75,
            "rollout/outcome_mean": 5.0,
            "rollout/turns_mean": 2.0,
            "rollout/sampled_tokens_mean": 4.0,
            "rollout/truncated_share": 0.5,
            "rollout/cut_share": 0.25,
            "rollout/distinct_behaviour_share": 0.5,
            "rollout/format_error_share": 0.25,
            "rollout/invalid_share": 0.25,
            "rollout/repeated_share": 0.25,
            "rollout/unconfirmed_share": 0.0,
        }
    )


def test_every_metric_of_a_round_is_declared():
    from rung.runs.metric import find_metric

    for name in round_metrics([group(trajectory(".", tier="E1"), trajectory("f", tier="E2"))]):
        find_metric(name)


def test_tiers_are_counted_apart():
    metrics = round_metrics(
        [group(trajectory("."), trajectory(".", FAILED), trajectory(".", FAILED, tier="E2"))]
    )
    assert metrics["rollout/success_share_E1"] == 0.5
    assert metrics["rollout/success_share_E2"] == 0.0


@pytest.mark.parametrize(
    ("returns", "stops", "share"),
    [
        ([0.1 + 0.2, 0.3], [FAILED, FAILED], 1.0),
        ([0.0, 1.0], [FAILED, FAILED], 0.0),
        ([0.0, 1.0], [FAILED, BROKEN], 1.0),
        ([0.0, math.nan], [FAILED, FAILED], 1.0),
    ],
    ids=["rounding", "different", "one scored", "nan"],
)
def test_zero_spread_is_what_the_learner_means_by_it(returns, stops, share):
    """ADV-1: a group that teaches nothing shows in the metrics."""
    members = [
        trajectory(".", stop, reward=RewardParts(outcome=value))
        for value, stop in zip(returns, stops, strict=True)
    ]
    assert round_metrics([group(*members)])["rollout/zero_spread_share"] == share


@pytest.mark.parametrize("value", [math.nan, math.inf], ids=str)
def test_a_reward_that_is_no_number_is_unscored(value):
    """ADV-16: neither a NaN mean nor a fake 0."""
    odd = trajectory(".", group="odd", reward=RewardParts(process=value))
    fine = trajectory(".", group="fine", reward=RewardParts(process=1.0))
    metrics = round_metrics([group(odd, fine)])
    assert metrics["rollout/return_mean"] == 1.0
    assert metrics["rollout/unscored_count"] == 1
    found = evaluated(odd, fine)
    assert (found.tasks, found.unscored) == (1, 1)
    assert found.measures["subgoal_share"].value == 0.5


def test_a_round_in_which_all_broke_is_only_counted():
    metrics = round_metrics([group(trajectory(".", BROKEN))])
    assert metrics == {
        "rollout/trajectories_count": 1.0,
        "rollout/unscored_count": 1.0,
        "rollout/zero_spread_share": 1.0,
    }
    assert round_metrics([])["rollout/trajectories_count"] == 0.0
