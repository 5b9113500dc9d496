from collections import Counter
from typing import Any

import numpy as np
import pytest

from rung.core import Task
from rung.curriculum import EVAL, TRAIN, TaskStream, assert_disjoint, split_of
from rung.curriculum import stream as stream_module
from rung.envs import load
from rung.errors import ConfigError, TaskError
from rung.seeding import Seeds


def drawer(tier: str, template: str) -> Any:
    def draw(generator: np.random.Generator) -> Task:
        number = int(generator.integers(10**9))
        return Task.make(
            environment="toy", tier=tier, template=template, text=str(number), data=number
        )

    return draw


DRAWS = {
    "E1": [drawer("E1", "a"), drawer("E1", "b"), drawer("E1", "c")],
    "E2": [drawer("E2", "d")],
}


def stream(seed: int = 0, split: str = TRAIN, **mix: float) -> TaskStream:
    return TaskStream(DRAWS, seeds=Seeds(seed), split=split, mix=mix or {"E1": 1.0})


def test_all_tasks_are_of_the_split() -> None:
    for split in (TRAIN, EVAL):
        assert {split_of(task) for task in stream(split=split).take(50)} == {split}


def test_a_task_is_a_function_of_seed_split_and_number() -> None:
    tasks = stream().take(20)
    assert stream().take(20) == tasks
    assert [stream().at(number) for number in (7, 3, 19)] == [tasks[7], tasks[3], tasks[19]]
    assert len({task.fingerprint for task in tasks}) == 20
    assert not {task.fingerprint for task in stream(seed=1).take(20)} & {
        task.fingerprint for task in tasks
    }
    assert not set(stream(split=EVAL).take(20)) & set(tasks)


def test_how_many_are_taken_at_a_time_does_not_matter() -> None:
    one, other = stream(E1=1, E2=1), stream(E1=1, E2=1)
    assert one.take(12) == (*other.take(5), *other.take(0), *other.take(7))
    assert one.cursor == other.cursor == 12


def test_a_stream_resumes_at_its_cursor() -> None:
    first = stream(E1=1, E2=1)
    first.take(9)
    resumed = stream(E1=1, E2=1)
    resumed.cursor = first.cursor
    assert resumed.take(9) == first.take(9)


def test_looking_at_a_task_does_not_move_the_cursor() -> None:
    looked = stream()
    looked.at(5)
    assert looked.cursor == 0


def test_templates_take_turns() -> None:
    assert [task.template for task in stream().take(6)] == ["a", "b", "c", "a", "b", "c"]


@pytest.mark.parametrize("scale", [1, 10])
def test_the_mix_has_its_shares(scale: float) -> None:
    tiers = Counter(task.tier for task in stream(E1=0.8 * scale, E2=0.2 * scale).take(500))
    # 500 draws at 0.2: 100 expected, standard deviation 9.
    assert 60 <= tiers["E2"] <= 140
    assert tiers["E1"] + tiers["E2"] == 500


def test_a_share_of_nothing_gives_nothing() -> None:
    assert {task.tier for task in stream(E1=0.0, E2=1.0).take(50)} == {"E2"}


@pytest.mark.parametrize(
    ("mix", "message"),
    [
        ({}, "positive shares"),
        ({"E1": 0.0}, "positive shares"),
        ({"E1": -1.0, "E2": 2.0}, "positive shares"),
        ({"E1": float("nan")}, "positive shares"),
        ({"E1": float("inf")}, "positive shares"),
        ({"E1": 1.0, "E3": 1.0}, "names tier 'E3', for which there are no tasks"),
    ],
)
def test_a_wrong_mix_is_refused(mix: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TaskStream(DRAWS, seeds=Seeds(0), split=TRAIN, mix=mix)


def test_an_unknown_split_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"no split 'test'\nhint: splits: train, eval"):
        stream(split="test")


def test_a_split_without_tasks_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "_PATIENCE", 50)
    only = next(t for t in map(numbered, range(100)) if split_of(t) == TRAIN)
    one = TaskStream({"E1": [lambda _: only]}, seeds=Seeds(0), split=EVAL, mix={"E1": 1.0})
    with pytest.raises(TaskError, match="none of 50 tasks of tier E1 belongs to the eval split"):
        one.take(1)
    assert one.cursor == 0


def numbered(number: int) -> Task:
    return Task.make(environment="toy", text="", data=number)


def test_a_template_that_fails_is_named() -> None:
    def draw(_generator: np.random.Generator) -> Task:
        raise KeyError("price")

    broken = TaskStream({"E1": [draw]}, seeds=Seeds(0), split=TRAIN, mix={"E1": 1.0})
    with pytest.raises(TaskError, match="drawing a task of tier E1 failed: KeyError: 'price'"):
        broken.at(0)


def test_training_tasks_of_the_office_do_not_occur_in_its_evaluation() -> None:
    definition = load("office")
    draws = {tier: [t.draw for t in definition.of_tier(tier)] for tier in ("E1", "E2")}
    mix = {"E1": 0.9, "E2": 0.1}
    train = TaskStream(draws, seeds=Seeds(0), split=TRAIN, mix=mix).take(2_000)
    held_out = TaskStream(draws, seeds=Seeds(0), split=EVAL, mix=mix).take(300)
    assert not {t.fingerprint for t in train} & {t.fingerprint for t in held_out}
    assert_disjoint(train, held_out)
