"""Putting guards around an environment, and finding environments by name."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any

from rung.envs.confirmation import Confirmation
from rung.envs.definition import Definition
from rung.envs.invalid_streak import InvalidStreak
from rung.envs.noise import Noise
from rung.envs.observation_limit import ObservationLimit
from rung.envs.redaction import Redaction
from rung.envs.repetition import Repetition
from rung.envs.step_limit import StepLimit
from rung.envs.text_actions import TextActions
from rung.envs.tool_environment import ToolEnvironment
from rung.errors import ConfigError, TaskError, boundary, nearest

ENTRY_POINTS = "rung.environments"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """Which guards stand around an environment, and their limits. Inside out, in this order."""

    confirmation: bool = True
    """Irreversible actions need a confirmation."""
    repetition: bool = True
    """Repeated actions cost."""
    invalid_streak: int | None = 3
    """Invalid turns in a row that end the trajectory; None: no such end."""
    noise: dict[str, float] = field(default_factory=dict[str, float])
    """Tier -> probability that a call fails for a moment; empty: none does."""
    redaction: bool = False
    """Personal data is replaced by placeholders in all that the model sees and a run records."""
    observation_characters: int | None = 2_000
    """Length at which an observation is cut; None: never."""
    table_rows: int = 20
    """Rows of a query's result that are shown."""
    step_limit: int | None = None
    """Turns allowed; None: each task's own limit."""


def make(definition: Definition[Any] | str, guards: Guards = Guards()) -> TextActions:
    """The environment with its guards, playing text.

    Args:
        definition: an environment's Definition, or its name; see `load`.
        guards: which guards to use.
    """
    if isinstance(definition, str):
        definition = load(definition)
    env: Any = ToolEnvironment(definition)
    if guards.confirmation:
        env = Confirmation(env)
    if guards.repetition:
        env = Repetition(env)
    if guards.invalid_streak is not None:
        env = InvalidStreak(env, guards.invalid_streak)
    if guards.noise:
        env = Noise(env, guards.noise)
    if guards.redaction:
        env = Redaction(env)
    if guards.observation_characters is not None:
        env = ObservationLimit(env, guards.observation_characters, guards.table_rows)
    return TextActions(StepLimit(env, guards.step_limit))


def _office() -> Definition[Any]:
    from rung.envs.office import office

    return office()


def _office_basic() -> Definition[Any]:
    from rung.envs.office import office_basic

    return office_basic()


_BUILT_IN: dict[str, Callable[[], Definition[Any]]] = {
    "office": _office,
    "office-basic": _office_basic,
}


def names() -> list[str]:
    """Names of the built-in environments and of those that installed packages offer."""
    return sorted({*_BUILT_IN, *(point.name for point in entry_points(group=ENTRY_POINTS))})


def load(name: str) -> Definition[Any]:
    """The definition of an environment.

    Args:
        name: a known name (see `names`), or `module:attribute` where the attribute is a
            Definition or a function that gives one.

    Raises:
        ConfigError: there is none of this name.
        TaskError: the user's module or function fails.
    """
    if name in _BUILT_IN:
        return _BUILT_IN[name]()
    found: Any = None
    module, colon, attribute = name.partition(":")
    with boundary(TaskError, f"loading environment {name!r}"):
        if colon:
            found = getattr(importlib.import_module(module), attribute)
        for point in entry_points(group=ENTRY_POINTS, name=name):
            found = point.load()
        found = found() if callable(found) else found
    if found is None:
        raise ConfigError(f"no environment named {name!r}", hint=nearest(name, names()))
    if not isinstance(found, Definition):
        raise TaskError(f"environment {name!r} is a {type(found).__name__}, not a Definition")
    return found
