"""What a model message becomes: an action, a format error, or a guard's refusal."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rung.core.jsontext import canonical_json
from rung.seeding import content_hash


class Response(str):
    """A model message; `cut` tells that it hit the token limit before its end.

    A plain `str` may be given to an environment wherever a Response may.
    """

    __slots__ = ("cut",)
    cut: bool

    def __new__(cls, text: str, *, cut: bool = False) -> "Response":
        """The message `text`."""
        self = super().__new__(cls, text)
        self.cut = cut
        return self


class FormatErrorKind(StrEnum):
    """Why a message holds no action."""

    NO_JSON = "no_json"
    """No JSON object, or one that is not strict JSON."""
    SEVERAL_OBJECTS = "several_objects"
    """More than one JSON object."""
    NOT_AN_OBJECT = "not_an_object"
    """JSON, but a list, text, number or literal."""
    MISSING_KEY = "missing_key"
    """`action` or `arguments` is missing."""
    EXTRA_KEY = "extra_key"
    """A key besides `action` and `arguments`."""
    DUPLICATE_KEY = "duplicate_key"
    """A key appears twice in one object."""
    UNKNOWN_ACTION = "unknown_action"
    """No tool has this name."""
    NOT_OPEN_YET = "not_open_yet"
    """The tool opens at a later tier."""
    BAD_ARGUMENTS = "bad_arguments"
    """The arguments do not fit the tool."""
    TRUNCATED = "truncated"
    """The message was cut at the token limit before its JSON object was complete."""
    TOO_LARGE = "too_large"
    """Longer, deeper or with a larger number than the limits allow."""


@dataclass(frozen=True, slots=True)
class FormatError:
    """A message without a valid action; it counts as an invalid turn."""

    kind: FormatErrorKind
    message: str
    """What was wrong, in words for the model."""


@dataclass(frozen=True, slots=True)
class Action:
    """One call of one tool, with arguments that fit the tool's model."""

    name: str
    arguments: Mapping[str, Any]

    def __hash__(self) -> int:
        return hash(self.canonical)

    @property
    def text(self) -> str:
        """The call as a model writes it, arguments in the order given."""
        call = {"action": self.name, "arguments": dict(self.arguments)}
        return json.dumps(call, ensure_ascii=False)

    @property
    def canonical(self) -> str:
        """The call as canonical JSON: equal calls give equal text."""
        return canonical_json([self.name, dict(self.arguments)])

    def key(self, key_arguments: tuple[str, ...]) -> str:
        """Identity by name and key arguments alone, as 32 hexadecimal digits."""
        chosen = {name: self.arguments.get(name) for name in key_arguments}
        return content_hash(canonical_json([self.name, chosen]).encode())


class RefusalKind(StrEnum):
    """Why a guard kept a well-formed action from running."""

    UNCONFIRMED = "unconfirmed"
    """An irreversible action without `"confirm": true`."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A well-formed action that a guard kept from running; it counts as an invalid turn."""

    kind: RefusalKind
    action: Action
    message: str
    """What the model is told."""


Move = Action | FormatError | Refusal
"""What reaches the innermost environment in one turn."""
