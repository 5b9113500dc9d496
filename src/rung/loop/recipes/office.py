"""The main job: the built-in base policy learns short office tasks on a laptop."""

from dataclasses import replace

from rung.loop.recipe import EvaluationConfig, RolloutConfig, RunConfig


def office() -> RunConfig:
    """E1 from the built-in base, in minutes on two cores."""
    return RunConfig(recipe="office")


def office_tiny() -> RunConfig:
    """The same in seconds: for trying things out and for tests. It learns little."""
    return replace(
        office(),
        recipe="office-tiny",
        rounds=2,
        rollout=RolloutConfig(tasks_per_round=4, group_size=4, concurrent=16),
        evaluation=EvaluationConfig(tiers=("E1",), tasks=8, every=1, tasks_between=4),
    )
