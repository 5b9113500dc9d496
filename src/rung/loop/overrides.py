"""`key=value` settings on top of a recipe: typed, and refused when unknown."""

import json
import math
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, NoReturn, get_args, get_origin, get_type_hints

import msgspec

from rung.errors import ConfigError, nearest
from rung.loop.recipe import RunConfig

_WORDS = {"none": None, "true": True, "false": False}
"""Python's spelling of JSON's literals, accepted as well."""


def apply(config: RunConfig, settings: Iterable[str]) -> RunConfig:
    """`config` with settings such as `learner.learning_rate=1e-4` or `mix={"E1": 1}`.

    Their order matters only where a key is given twice: the last one holds.

    Raises:
        ConfigError: a key is unknown, or a value does not fit.
    """
    known = keys(config)
    wanted: dict[str, str] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ConfigError(
                f"setting {setting!r} has no value", hint="write key=value, e.g. rounds=10"
            )
        key = key.strip().replace("-", "_")
        if key not in known:
            raise _unknown(key, known)
        wanted[key] = text.strip()
    return _with(config, wanted, "")


def keys(config: Any, prefix: str = "") -> list[str]:
    """All keys that can be set, dotted."""
    found: list[str] = []
    for field in fields(config):
        value = getattr(config, field.name)
        is_section = is_dataclass(value)
        found += keys(value, f"{prefix}{field.name}.") if is_section else [prefix + field.name]
    return found


def _with(config: Any, wanted: dict[str, str], prefix: str) -> Any:
    """`config`, the section named by `prefix`, built anew once all its values are known."""
    kinds = get_type_hints(type(config))
    changes: dict[str, Any] = {}
    for field in fields(config):
        key, value = prefix + field.name, getattr(config, field.name)
        if is_dataclass(value) and any(name.startswith(f"{key}.") for name in wanted):
            changes[field.name] = _with(value, wanted, f"{key}.")
        elif key in wanted:
            changes[field.name] = _convert(wanted[key], kinds[field.name], key)
    return replace(config, **changes)


def _unknown(key: str, known: list[str]) -> ConfigError:
    """The error for a key that does not exist; a right name in the wrong section comes first."""
    *_, name = key.split(".")
    inside = [other for other in known if other.startswith(f"{key}.")]
    same = [other for other in known if other.split(".")[-1] == name]
    if inside:
        return ConfigError(f"setting {key!r} is a section", hint=f"set {', '.join(inside)}")
    hint = f"did you mean {same[0]!r}?" if same else nearest(key, known)
    return ConfigError(f"unknown setting {key!r}", hint=hint)


def _convert(text: str, wanted: Any, key: str) -> Any:
    """The value that `text` stands for: as JSON, as one of Python's words, or as it is."""
    problems: list[str] = []
    for candidate in _readings(text):
        try:
            return msgspec.convert(candidate, wanted)
        except msgspec.ValidationError as error:
            problems.append(str(error))
    choices = [str(choice) for choice in get_args(wanted)] if get_origin(wanted) is Literal else []
    hint = f"one of {', '.join(choices)}" if choices else "see `rung train --show`"
    raise ConfigError(f"setting {key}={text!r}: {problems[0]}", hint=hint)


def _readings(text: str) -> list[Any]:
    try:
        return [json.loads(text, parse_constant=_refuse, parse_float=_finite), text]
    except (ValueError, RecursionError):
        return [text, *(value for word, value in _WORDS.items() if word == text.lower())]


def _refuse(text: str) -> NoReturn:
    raise ValueError(text)


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)
