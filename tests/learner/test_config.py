import inspect
import math
from dataclasses import fields
from typing import Any

import pytest

from rung.algorithms import Stream
from rung.errors import ConfigError
from rung.learner import LearnerConfig


def config(name: str, value: Any) -> LearnerConfig:
    changes: dict[str, Any] = {name: value}
    return LearnerConfig(**changes)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("learning_rate", 0.0, "> 0"),
        ("learning_rate", -0.1, "> 0"),
        ("max_grad_norm", 0.0, "> 0"),
        ("clip_high", 0.0, "> 0"),
        ("updates_per_round", 0, "a whole number >= 1"),
        ("updates_per_round", 1.5, "a whole number >= 1"),
        ("micro_batch_tokens", 0, "a whole number >= 1"),
        ("max_skipped", 0, "a whole number >= 1"),
        ("kl_coefficient", -0.01, ">= 0"),
        ("entropy_coefficient", -0.01, ">= 0"),
        ("weight_decay", -0.01, ">= 0"),
        ("clip_low", 0.0, "above 0 and below 1"),
        ("clip_low", 1.0, "above 0 and below 1"),
        ("dual_clip", 1.0, "> 1"),
        ("reduction", "sum", "one of token, turn, trajectory"),
        ("reduction", None, "one of token, turn, trajectory"),
        ("scale", "std", "one of deviation, none"),
        ("credit", "token", "one of trajectory, turn"),
        ("precision", "float16", "one of float32, bfloat16"),
    ],
)
def test_values_out_of_range_are_refused(name, value, rule):
    with pytest.raises(ConfigError) as caught:
        config(name, value)
    assert str(caught.value) == f"{name} must be {rule}, got {value!r}\nhint: set learner.{name}"


NUMBERS = [field.name for field in fields(LearnerConfig) if type(field.default) in (int, float)]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf], ids=str)
def test_numbers_are_finite(name, value):
    with pytest.raises(ConfigError, match=f"{name} must be .*, got {value}"):
        config(name, value)


@pytest.mark.parametrize("name", ["kl_coefficient", "entropy_coefficient", "weight_decay"])
def test_terms_can_be_left_out(name):
    assert getattr(config(name, 0.0), name) == 0.0


def test_a_stream_that_would_do_nothing_is_refused():
    stream = Stream(weight=0.1, discount=0.8, trace=0.95)
    assert LearnerConfig(credit="turn", process=stream).process == stream
    for name in ("process", "outcome"):
        with pytest.raises(ConfigError, match=f"{name} counts only where credit goes by turn"):
            config(name, stream)


def test_every_field_says_what_it_is():
    """A string under each field, as in the source."""
    source = inspect.getsource(LearnerConfig)
    lines = [line.strip() for line in source.splitlines()]
    for field in fields(LearnerConfig):
        index = next(i for i, line in enumerate(lines) if line.startswith(f"{field.name}:"))
        assert lines[index + 1].startswith('"""')
