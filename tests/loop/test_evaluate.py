from dataclasses import replace

import pytest

from rung.curriculum import split_of
from rung.loop.build import build_parts, held_out
from rung.loop.evaluate import evaluate, expert_turns
from rung.loop.recipes import recipe

CONFIG = recipe("office-tiny")


@pytest.fixture(scope="module")
def parts():
    built = build_parts(CONFIG)
    yield built
    built.pool.close()


def test_a_tasks_result_depends_on_nothing_but_the_task(parts):
    tasks = held_out(CONFIG, parts.definition, "E1", 4)
    play = lambda chosen: evaluate(  # noqa: E731
        parts, CONFIG, chosen, tier="E1", mode="sampled", label="x"
    )[1]
    forward = {t.task.id: t.key_hash for t in play(tasks)}
    backward = {t.task.id: t.key_hash for t in play(tasks[::-1])}
    alone = {t.task.id: t.key_hash for task in tasks for t in play([task])}
    assert forward == backward == alone


def test_one_result_per_task(parts):
    tasks = held_out(CONFIG, parts.definition, "E1", 7)
    evaluation, trajectories = evaluate(parts, CONFIG, tasks, tier="E1", mode="greedy", label="x")
    assert evaluation.tasks == 7
    assert [t.task.id for t in trajectories] == [task.id for task in tasks]
    assert sum(evaluation.stop_reasons.values()) == 7


def test_held_out_tasks_are_fixed_distinct_and_of_the_eval_split(parts):
    tasks = held_out(CONFIG, parts.definition, "E1", 50)
    again = held_out(replace(CONFIG, seed=7), parts.definition, "E1", 50)
    assert tasks == again
    assert len({task.fingerprint for task in tasks}) == 50
    assert {split_of(task) for task in tasks} == {"eval"}


def test_expert_turns_counts_the_experts_steps(parts):
    tasks = held_out(CONFIG, parts.definition, "E1", 5)
    turns = expert_turns(parts.definition, tasks)
    assert set(turns) == {task.id for task in tasks}
    assert all(4 <= count <= 12 for count in turns.values())


def test_on_the_live_stage_only_the_policy_sends(monkeypatch):
    """The expert's turns are counted in the simulation: it must not write to anybody."""
    delivered = []
    monkeypatch.setattr("rung.envs.office.live._deliver", lambda m, _config: delivered.append(m))
    config = replace(CONFIG, stage="live", tools={"read_file": "E1"})
    live = build_parts(config)
    tasks = held_out(config, live.definition, "E1", 12)
    _, trajectories = evaluate(live, config, tasks, tier="E1", mode="greedy", label="x")
    live.pool.close()
    turns = [turn.info for t in trajectories for turn in t.turns if not turn.info.invalid]
    sent = [i for i in turns if i.action is not None and i.action.name == "send_message"]
    assert len(delivered) == len(sent) > 0
