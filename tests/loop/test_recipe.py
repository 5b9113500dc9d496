import math
from dataclasses import FrozenInstanceError, asdict, fields, is_dataclass

import msgspec
import pytest

from rung.errors import ConfigError
from rung.loop.recipe import EvaluationConfig, RolloutConfig, RunConfig


def run_config(**changes):
    return RunConfig(recipe="office", **changes)


@pytest.mark.parametrize(
    ("make", "changes", "message"),
    [
        (RolloutConfig, {"group_size": 1}, "group_size must be at least 2, got 1: GRPO compares"),
        (RolloutConfig, {"group_size": 0}, "group_size must be at least 2, got 0"),
        (RolloutConfig, {"temperature": 0.0}, "temperature must be > 0 in training, got 0.0"),
        (RolloutConfig, {"temperature": -1.0}, "temperature must be > 0 in training, got -1.0"),
        (RolloutConfig, {"temperature": math.nan}, "> 0 in training, got nan"),
        (RolloutConfig, {"temperature": math.inf}, "> 0 in training, got inf"),
        (RolloutConfig, {"retries": -1}, "retries must be >= 0, got -1"),
        (RolloutConfig, {"prompt": "long"}, "prompt must be one of short, full, got 'long'"),
        (RolloutConfig, {"tasks_per_round": 0}, "tasks_per_round must be at least 1, got 0"),
        (RolloutConfig, {"concurrent": 0}, "concurrent must be at least 1, got 0"),
        (
            RolloutConfig,
            {"max_response_tokens": 0},
            "max_response_tokens must be at least 1, got 0",
        ),
        (
            RolloutConfig,
            {"max_trajectory_tokens": 80},
            "max_trajectory_tokens (80) must be above max_response_tokens (80)",
        ),
        (EvaluationConfig, {"tasks": -1}, "tasks_between >= 1, got -1, 60, 5, 60"),
        (EvaluationConfig, {"tasks_between": 0}, "tasks_between >= 1, got 200, 60, 5, 0"),
        (EvaluationConfig, {"tasks_untrained": -1}, "got 200, -1, 5, 60"),
        (EvaluationConfig, {"every": -1}, "every >= 0 and tasks_between >= 1, got 200, 60, -1"),
        (EvaluationConfig, {"tiers": ("E1", "E9")}, "unknown tier 'E9'; tiers: E1, E2, E3"),
        (run_config, {"rounds": -1}, "rounds and seed must not be negative, got -1 and 0"),
        (run_config, {"minutes": -1.0}, "minutes must be >= 0 and finite, got -1.0"),
        (run_config, {"minutes": math.inf}, "minutes must be >= 0 and finite, got inf"),
        (run_config, {"seed": -1}, "rounds and seed must not be negative, got 32 and -1"),
        (run_config, {"replay_capacity": 191}, "a round of 192 trajectories does not fit into"),
        (run_config, {"replay_capacity": 0}, "does not fit into replay_capacity=0"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_values_out_of_range_are_refused(make, changes, message):
    with pytest.raises(ConfigError) as caught:
        make(**changes)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("make", "changes", "hint"),
    [
        (RolloutConfig, {"group_size": 1}, "set rollout.group_size=8"),
        (RolloutConfig, {"temperature": 0.0}, "set rollout.temperature=1.0"),
        (run_config, {"replay_capacity": 1}, "raise replay_capacity, or lower rollout.tasks_per"),
    ],
    ids=["group size", "temperature", "capacity"],
)
def test_refusals_name_the_setting_to_change(make, changes, hint):
    """CFG-3, LOGP-3."""
    with pytest.raises(ConfigError, match=hint):
        make(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"rounds": 0},
        {"replay_capacity": 192},
        {"evaluation": EvaluationConfig(tasks=0, every=0)},
        {"evaluation": EvaluationConfig(tiers=())},
        {"rollout": RolloutConfig(group_size=2, retries=0)},
    ],
    ids=str,
)
def test_values_at_the_edge_are_accepted(changes):
    config = run_config(**changes)
    assert all(getattr(config, name) == value for name, value in changes.items())


def test_configurations_compare_by_value_and_are_frozen():
    assert run_config() == run_config()
    assert run_config() != run_config(seed=1)
    with pytest.raises(FrozenInstanceError):
        run_config().seed = 1  # pyright: ignore[reportAttributeAccessIssue]


def test_two_configurations_share_no_mix():
    one, other = run_config(), run_config()
    one.mix["E2"] = 1.0
    assert other.mix == {"E1": 1.0}


def test_a_configuration_survives_json():
    """As run.json keeps it."""
    config = run_config(
        mix={"E1": 0.5, "E2": 0.5},
        evaluation=EvaluationConfig(tiers=("E2",)),
        rollout=RolloutConfig(prompt="full", temperature=0.7),
    )
    text = msgspec.json.encode(asdict(config))
    assert msgspec.convert(msgspec.json.decode(text), RunConfig) == config


def test_only_the_recipe_has_no_default():
    config = run_config()
    for field in fields(RunConfig):
        section = getattr(config, field.name)
        if is_dataclass(section):
            assert section == type(section)()
    with pytest.raises(TypeError, match="recipe"):
        RunConfig()  # pyright: ignore[reportCallIssue]
