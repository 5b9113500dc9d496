"""`key=value` settings on top of a recipe: typed, and refused when unknown."""

import json
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_type_hints

import msgspec

from rung.errors import ConfigError, nearest
from rung.loop.recipe import RunConfig


def apply(config: RunConfig, settings: Iterable[str]) -> RunConfig:
    """`config` with settings such as `learner.learning_rate=1e-4` or `mix={"E1": 1}`.

    Raises:
        ConfigError: a key is unknown, or a value does not fit.
    """
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ConfigError(
                f"setting {setting!r} has no value", hint="write key=value, e.g. rounds=10"
            )
        config = _set(config, key.strip().replace("-", "_").split("."), text.strip(), key.strip())
    return config


def keys(config: Any, prefix: str = "") -> list[str]:
    """All keys that can be set, dotted."""
    found = []
    for field in fields(config):
        value = getattr(config, field.name)
        is_section = is_dataclass(value)
        found += keys(value, f"{prefix}{field.name}.") if is_section else [prefix + field.name]
    return found


def _set(config: Any, path: list[str], text: str, key: str) -> Any:
    name, *rest = path
    known = [field.name for field in fields(config)]
    section = getattr(config, name, None)
    if name not in known or bool(rest) != is_dataclass(section):
        root = keys(config)
        where = f" in {type(config).__name__}" if name not in known else ""
        raise ConfigError(f"unknown setting {key!r}{where}", hint=nearest(".".join(path), root))
    if rest:
        return replace(config, **{name: _set(section, rest, text, key)})
    wanted = get_type_hints(type(config))[name]
    return replace(config, **{name: _convert(text, wanted, key)})


def _convert(text: str, wanted: Any, key: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    for candidate in (value, text):
        try:
            return msgspec.convert(candidate, wanted)
        except msgspec.ValidationError as error:
            problem = error
    raise ConfigError(f"setting {key}={text!r}: {problem}", hint="see `rung train --show`")
