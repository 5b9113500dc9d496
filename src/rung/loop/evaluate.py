"""Evaluation: a policy on held-out tasks, greedy or sampled, with its own random streams."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rung.core import Task, Trajectory
from rung.curriculum import EVAL
from rung.envs import Definition, make
from rung.envs.playing import acting, play
from rung.errors import TaskError, boundary
from rung.loop.build import Parts
from rung.loop.measures import Evaluation, evaluation_of
from rung.loop.recipe import RunConfig
from rung.rollout import Plan
from rung.seeding import Seeds

GREEDY, SAMPLED = "greedy", "sampled"
MODES = (GREEDY, SAMPLED)


def evaluate(
    parts: Parts, config: RunConfig, tasks: Sequence[Task], *, tier: str, mode: str, label: str
) -> tuple[Evaluation, list[Trajectory]]:
    """What the engine's present policy does on `tasks`, one trajectory each.

    Nothing of training's state is touched: streams are named by mode and task, so a task's
    result depends neither on the other tasks nor on when it is played.

    Args:
        parts: the parts of the run.
        config: its configuration.
        tasks: held-out tasks of one tier.
        tier: that tier.
        mode: `greedy` or `sampled` at temperature 1.
        label: prefix of the trajectories' ids.
    """
    seeds = Seeds(config.evaluation.seed).child("evaluation", mode)
    plans = [
        Plan(
            id=f"{label}-{mode}-{tier}-{index}",
            group_id=f"{label}-{mode}-{tier}-{index}",
            task=task,
            split=EVAL,
            seed=seeds.seed("sampling", task.id),
            env_seed=seeds.seed("environment", task.id),
        )
        for index, task in enumerate(tasks)
    ]
    greedy = parts.train_limits.sampling
    temperature = 0.0 if mode == GREEDY else 1.0
    limits = replace(parts.train_limits, sampling=replace(greedy, temperature=temperature))
    trajectories = parts.pool.collect(plans, limits=limits)
    evaluation = evaluation_of(
        trajectories,
        expert_turns(parts.simulated, tasks),
        tier=tier,
        mode=mode,
        process_total=parts.definition.rewards.process,
    )
    return evaluation, trajectories


def expert_turns(definition: Definition[Any], tasks: Sequence[Task]) -> dict[str, int]:
    """Turns that the expert needs for each task, by task id; empty without an expert."""
    if definition.expert is None:
        return {}
    env = make(definition)
    turns: dict[str, int] = {}
    try:
        for task in tasks:
            with boundary(TaskError, f"the expert on task {task.id}"):
                played = play(env, task, acting(definition.expert(task)))
                if played.stop is None:
                    raise TaskError(f"the expert falls silent on task {task.id}")
                turns[task.id] = len(played.turns)
    finally:
        env.close()
    return turns
