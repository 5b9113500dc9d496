"""Saving and restoring a state that is a plain dataclass, through JSON.

Fields may be what JSON has, dataclasses, tuples, sets, dicts with text or number keys, and what
msgspec turns into text (dates, enums, bytes). Two fields that share one object come back as two.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import msgspec

from rung.core.jsontext import canonical_json

S = TypeVar("S")


def to_json_value(state: Any) -> Any:
    """`state` as a JSON value: equal states give equal values in every process."""
    if is_dataclass(state) and not isinstance(state, type):
        return {f.name: to_json_value(getattr(state, f.name)) for f in fields(state)}
    if isinstance(state, Mapping):
        return {_key(to_json_value(key)): to_json_value(value) for key, value in state.items()}
    if isinstance(state, AbstractSet):
        return sorted(map(to_json_value, state), key=canonical_json)
    if isinstance(state, list | tuple):
        return [to_json_value(item) for item in state]
    return msgspec.to_builtins(state)


def _key(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value)


def from_json_value(value: Any, kind: type[S]) -> S:
    """A state of type `kind` from what `to_json_value` gave."""
    return msgspec.convert(value, kind, str_keys=True)
