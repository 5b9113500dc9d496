from dataclasses import replace

import numpy as np
import pytest

from rung.core import Task
from rung.curriculum import EVAL, EVAL_SHARE, TRAIN, assert_disjoint, split_of
from rung.errors import TaskError


def task(number: int, text: str = "", **fields: str) -> Task:
    return Task.make(environment="toy", text=text, data={"n": number}, **fields)  # type: ignore[arg-type]


TASKS = [task(number) for number in range(2_000)]
TRAIN_TASKS = [task for task in TASKS if split_of(task) == TRAIN]
EVAL_TASKS = [task for task in TASKS if split_of(task) == EVAL]


def test_the_split_of_a_task_is_the_recorded_one() -> None:
    # Decided by the fingerprint: a change here would mix old training with new evaluation.
    assert [number for number in range(40) if split_of(TASKS[number]) == EVAL] == [3, 14, 24]


def test_only_content_matters() -> None:
    for number in range(200):
        twins = [
            task(number, text="Count!"),
            task(number, tier="E3"),
            task(number, template="other"),
            replace(task(number), step_limit=99),
        ]
        assert {split_of(twin) for twin in twins} == {split_of(TASKS[number])}


def test_the_eval_share_is_near_a_tenth() -> None:
    assert EVAL_SHARE == 0.1
    # 2,000 draws at 0.1: 200 expected, standard deviation 13.4.
    assert 140 <= len(EVAL_TASKS) <= 260
    assert len(TRAIN_TASKS) + len(EVAL_TASKS) == 2_000


def test_disjoint_splits_pass() -> None:
    assert_disjoint(TRAIN_TASKS, EVAL_TASKS)
    assert_disjoint(iter(TRAIN_TASKS[:5]), iter(EVAL_TASKS[:5]))
    assert_disjoint([], [])


def test_a_leak_is_refused() -> None:
    same_content = replace(TRAIN_TASKS[3], text="in other words", tier="E2")
    with pytest.raises(TaskError, match="is used for training and belongs to the eval split"):
        assert_disjoint(TRAIN_TASKS, [*EVAL_TASKS, same_content])


def test_an_eval_task_cannot_be_trained_even_when_it_is_not_evaluated() -> None:
    with pytest.raises(TaskError, match=EVAL_TASKS[0].id):
        assert_disjoint([*TRAIN_TASKS, EVAL_TASKS[0]], [])


def test_fingerprints_are_spread_evenly() -> None:
    positions = np.array([int(task.fingerprint[:8], 16) for task in TASKS]) / 2**32
    counts, _ = np.histogram(positions, bins=10, range=(0, 1))
    assert counts.min() > 140
