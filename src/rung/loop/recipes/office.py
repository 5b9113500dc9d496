"""The main job: the built-in base policy learns short office tasks on a laptop."""

from dataclasses import replace

from rung.curriculum import LadderConfig
from rung.learner import LearnerConfig
from rung.loop.recipe import EvaluationConfig, RolloutConfig, RunConfig


def office() -> RunConfig:
    """E1 from the built-in base, in minutes on two cores."""
    return RunConfig(recipe="office")


def office_ladder() -> RunConfig:
    """From E1 to E3 by itself: a tier opens when the one below is done well enough."""
    return replace(
        office(),
        recipe="office-ladder",
        rounds=90,
        ladder=LadderConfig(tiers=("E1", "E2", "E3")),
        rollout=RolloutConfig(tasks_per_round=16),
        evaluation=EvaluationConfig(tasks=100, every=15, tasks_between=40),
    )


def office_direct() -> RunConfig:
    """E3 from the first round, for as long as the ladder may take: what the ladder is worth."""
    return replace(
        office_ladder(),
        recipe="office-direct",
        rounds=1000,
        minutes=30.0,
        mix={"E3": 1.0},
        ladder=LadderConfig(),
        evaluation=EvaluationConfig(tiers=("E3",), tasks=100, every=15, tasks_between=40),
    )


def office_live() -> RunConfig:
    """A little training on real services, after training in the simulation.

    Set `model` to the policy of a run, and `live` to the services; without them it works in memory
    and sends nothing.
    """
    return replace(
        office(),
        recipe="office-live",
        stage="live",
        rounds=4,
        rollout=RolloutConfig(tasks_per_round=8, group_size=4, concurrent=16),
        learner=LearnerConfig(learning_rate=5e-5, updates_per_round=1),
        evaluation=EvaluationConfig(tiers=("E1",), tasks=60, every=0),
    )


def office_tiny() -> RunConfig:
    """The same in seconds: for trying things out and for tests. It learns little."""
    return replace(
        office(),
        recipe="office-tiny",
        rounds=2,
        rollout=RolloutConfig(tasks_per_round=4, group_size=4, concurrent=16),
        evaluation=EvaluationConfig(tiers=("E1",), tasks=8, every=1, tasks_between=4),
    )
