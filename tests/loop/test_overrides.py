import json
from dataclasses import fields, replace

import pytest

from rung.algorithms import Stream
from rung.curriculum import LadderConfig
from rung.envs import Guards, LiveConfig
from rung.errors import ConfigError
from rung.learner import LearnerConfig
from rung.loop.overrides import apply, keys
from rung.loop.recipe import EvaluationConfig, RolloutConfig, RunConfig

CONFIG = RunConfig(recipe="office")


def value_of(config, key):
    for name in key.split("."):
        config = getattr(config, name)
    return config


@pytest.mark.parametrize(
    ("setting", "key", "value"),
    [
        ("rounds=10", "rounds", 10),
        (" rounds = 10 ", "rounds", 10),
        ("learner.learning_rate=1e-5", "learner.learning_rate", 1e-5),
        ("learner.learning_rate=1", "learner.learning_rate", 1.0),
        ("learner.learning-rate=1e-5", "learner.learning_rate", 1e-5),
        ("guards.step-limit=7", "guards.step_limit", 7),
        ("guards.invalid_streak=null", "guards.invalid_streak", None),
        ("guards.invalid_streak=None", "guards.invalid_streak", None),
        ("guards.invalid_streak=none", "guards.invalid_streak", None),
        ("guards.confirmation=false", "guards.confirmation", False),
        ("guards.confirmation=False", "guards.confirmation", False),
        ("learner.train_zero_spread=True", "learner.train_zero_spread", True),
        ("learner.scale=none", "learner.scale", "none"),
        ("learner.reduction=token", "learner.reduction", "token"),
        ('learner.reduction="turn"', "learner.reduction", "turn"),
        ("rollout.prompt=full", "rollout.prompt", "full"),
        ('mix={"E1": 1, "E2": 0.5}', "mix", {"E1": 1.0, "E2": 0.5}),
        ('evaluation.tiers=["E2", "E1"]', "evaluation.tiers", ("E2", "E1")),
        ("evaluation.tiers=[]", "evaluation.tiers", ()),
        ("model=123", "model", "123"),
        ("model=1e5", "model", "1e5"),
        ("model=true", "model", "true"),
        ("model=null", "model", "null"),
        ("model=a=b", "model", "a=b"),
        ("model=my_org/a-b", "model", "my_org/a-b"),
        ('model="base"', "model", "base"),
    ],
)
def test_values_are_read_by_their_type(setting, key, value):
    changed = apply(CONFIG, [setting])
    assert value_of(changed, key) == value
    assert type(value_of(changed, key)) is type(value)
    assert [k for k in keys(CONFIG) if value_of(changed, k) != value_of(CONFIG, k)] in ([key], [])


@pytest.mark.parametrize(
    ("setting", "message", "hint"),
    [
        (
            "learner.learning_rte=1",
            "'learner.learning_rte'",
            "did you mean 'learner.learning_rate'",
        ),
        ("learning_rte=1", "'learning_rte'", "did you mean 'learner.learning_rate'?"),
        ("learning_rate=1", "'learning_rate'", "did you mean 'learner.learning_rate'?"),
        ("rollout.learning-rate=1", "'rollout.learning_rate'", "'learner.learning_rate'?"),
        ("learner.group_size=4", "'learner.group_size'", "did you mean 'rollout.group_size'?"),
        ("rouns=1", "'rouns'", "did you mean 'rounds'?"),
        ("learner.mix={}", "'learner.mix'", "did you mean 'mix'?"),
        ("learner.prompt=full", "'learner.prompt'", "did you mean 'rollout.prompt'?"),
        ("learner.learning_rate.x=1", "unknown setting", "did you mean 'learner.learning_rate'?"),
        ("rounds.x=1", "unknown setting", "did you mean 'rounds'?"),
        ("xyzzy=1", "unknown setting 'xyzzy'", "known: environment, evaluation.every, "),
        ("=1", "unknown setting ''", "known: environment"),
        ("__class__=1", "unknown setting '__class__'", "hint: "),
        ("evaluation=1", "'evaluation' is a section", "set evaluation.tiers, evaluation.tasks,"),
        ("rounds", "setting 'rounds' has no value", "write key=value"),
        ("", "setting '' has no value", "write key=value"),
    ],
)
def test_unknown_keys_are_refused_with_the_nearest(setting, message, hint):
    """CFG-1."""
    with pytest.raises(ConfigError) as caught:
        apply(CONFIG, [setting])
    text, _, found = str(caught.value).partition("\nhint: ")
    assert message in text
    assert hint.removeprefix("hint: ") in found


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("rounds=ten", "rounds='ten': Expected `int`, got `str`"),
        ("rounds=1.5", "rounds='1.5': Expected `int`, got `float`"),
        ("rounds=true", "rounds='true': Expected `int`, got `bool`"),
        ("rounds=null", "rounds='null': Expected `int`, got `null`"),
        ("rounds=", "rounds='': Expected `int`"),
        ("rounds=" + "9" * 5000, "Expected `int`"),
        ("rounds=" + "[" * 100_000, "Expected `int`"),
        ("learner.learning_rate=fast", "Expected `float`, got `str`"),
        ("learner.learning_rate=NaN", "Expected `float`, got `str`"),
        ("learner.learning_rate=Infinity", "Expected `float`, got `str`"),
        ("rollout.temperature=1e999", "Expected `float`, got `str`"),
        ('mix={"E1": NaN}', "Expected `object`"),
        ("mix=E1", "Expected `object`, got `str`"),
        ('mix={"E1": "much"}', "Expected `float`, got `str`"),
        ("evaluation.tiers=E1", "Expected `array`, got `str`"),
        ("evaluation.tiers=[1]", "Expected `str`, got `int`"),
        ("guards.confirmation=1", "Expected `bool`, got `int`"),
        ("guards.confirmation=yes", "Expected `bool`, got `str`"),
        ("guards.step_limit=soon", "Expected `int | null`, got `str`"),
        ("learner.reduction=sum", "'sum'\nhint: one of token, turn, trajectory"),
        ("learner.scale=std", "'std'\nhint: one of deviation, none"),
        ("rollout.prompt=long", "'long'\nhint: one of short, full"),
    ],
    ids=lambda value: value[:40],
)
def test_values_of_another_type_are_refused(setting, message):
    """CFG-1: the key, the value, and what was expected."""
    with pytest.raises(ConfigError) as caught:
        apply(CONFIG, [setting])
    key = setting.partition("=")[0]
    assert f"setting {key}=" in str(caught.value)
    assert message in str(caught.value)


def test_values_out_of_range_are_refused_by_their_section():
    with pytest.raises(ConfigError, match="learning_rate must be > 0, got -1.0"):
        apply(CONFIG, ["learner.learning_rate=-1"])


def test_no_settings_change_nothing():
    assert apply(CONFIG, []) == CONFIG


def test_the_last_of_two_values_holds():
    assert apply(CONFIG, ["rounds=1", "seed=3", "rounds=2"]) == replace(CONFIG, rounds=2, seed=3)


@pytest.mark.parametrize("order", [1, -1], ids=["in order", "turned"])
def test_values_are_checked_together(order):
    """Each alone breaks a rule between two fields; together they are fine in any order."""
    settings = [
        "rollout.max_trajectory_tokens=60",
        "rollout.max_response_tokens=20",
        "rollout.tasks_per_round=200",
        "replay_capacity=1600",
    ]
    changed = apply(CONFIG, settings[::order])
    assert changed.rollout.max_trajectory_tokens == 60
    assert changed.replay_capacity == 1600


def test_keys_are_all_fields():
    sections = {
        "": RunConfig,
        "guards.": Guards,
        "rollout.": RolloutConfig,
        "learner.": LearnerConfig,
        "learner.process.": Stream,
        "learner.outcome.": Stream,
        "evaluation.": EvaluationConfig,
        "ladder.": LadderConfig,
        "live.": LiveConfig,
    }
    expected = {p + f.name for p, section in sections.items() for f in fields(section)}
    assert set(keys(CONFIG)) == expected - {name.removesuffix(".") for name in sections}
    assert len(keys(CONFIG)) == len(set(keys(CONFIG)))


@pytest.mark.parametrize("key", keys(CONFIG))
def test_every_key_can_be_set_to_its_own_value(key):
    assert apply(CONFIG, [f"{key}={json.dumps(value_of(CONFIG, key))}"]) == CONFIG


def test_every_key_can_be_set_at_once():
    settings = [f"{key}={json.dumps(value_of(CONFIG, key))}" for key in keys(CONFIG)]
    assert apply(CONFIG, settings) == CONFIG
