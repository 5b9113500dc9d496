"""Text to action: strict, linear in time, and never an exception.

Accepted is an optional thinking block and, after it, exactly one JSON object with exactly the
keys `action` and `arguments`; a code fence or words around the object do no harm. Nothing is
repaired: no comments, no single quotes, no NaN, no duplicate keys. Whatever stands inside a
thinking block is never executed: the text is read from the last `</think>` to the next
`<think>`.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from rung.core import Action, FormatError, FormatErrorKind, Response
from rung.envs.definition import TIERS
from rung.envs.tools import ToolSpec

MAX_CHARACTERS = 20_000
MAX_DEPTH = 16
MAX_INTEGER_DIGITS = 18
FORM = '{"action": "<tool>", "arguments": {...}}'

Kind = FormatErrorKind


class _Problem(Exception):
    def __init__(self, kind: FormatErrorKind, message: str) -> None:
        super().__init__(message)
        self.error = FormatError(kind, message)


def parse_action(text: str, tools: Mapping[str, ToolSpec], tier: str) -> Action | FormatError:
    """The action that `text` asks for, or why it asks for none.

    Args:
        text: a model message; a `Response` may tell that it was cut.
        tools: every tool of the environment by name.
        tier: the tier of the task: tools that open later are reported as not open.
    """
    try:
        return _to_action(_single_object(text), tools, tier)
    except _Problem as problem:
        return problem.error


def _single_object(text: str) -> dict[str, Any]:
    if len(text) > MAX_CHARACTERS:
        raise _Problem(Kind.TOO_LARGE, f"the message is over {MAX_CHARACTERS} characters")
    spoken = text.rpartition("</think>")[2].partition("<think>")[0].strip(" \t\r\n\ufeff\u00a0")
    spans, is_open = _object_spans(spoken)
    cut = isinstance(text, Response) and text.cut
    if is_open or not spans:
        if cut:
            raise _Problem(Kind.TRUNCATED, "the message was cut before its JSON object ended")
        if not is_open and _is_json(spoken):
            raise _Problem(Kind.NOT_AN_OBJECT, "the JSON is not an object")
        what = "the JSON object is not closed" if is_open else "there is no JSON object"
        raise _Problem(Kind.NO_JSON, what)
    values = [_decode(spoken[start:stop]) for start, stop in spans]
    if spoken[0] == "[" and _is_json(spoken):
        raise _Problem(Kind.NOT_AN_OBJECT, "the JSON is a list")
    if len(values) > 1:
        raise _Problem(Kind.SEVERAL_OBJECTS, f"there are {len(values)} JSON objects")
    return values[0]


def _object_spans(text: str) -> tuple[list[tuple[int, int]], bool]:
    """Where the outermost braces open and close, and whether the last one stays open.

    Quotes count only inside braces, so apostrophes and backticks of prose do no harm.
    """
    spans: list[tuple[int, int]] = []
    depth = start = 0
    in_string = escaped = False
    for index, character in enumerate(text):
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"' and depth:
            in_string = True
        elif character in "{[" and (depth or character == "{"):
            start = start if depth else index
            depth += 1
            if depth > MAX_DEPTH:
                raise _Problem(Kind.TOO_LARGE, f"the JSON is deeper than {MAX_DEPTH} levels")
        elif character in "}]" and depth:
            depth -= 1
            if not depth:
                spans.append((start, index + 1))
    return spans, bool(depth)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _decode(text: str) -> dict[str, Any]:
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_short_integer,
        )
        text.encode()
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _Problem(Kind.NO_JSON, "the text holds half of a surrogate pair") from None
    except ValueError as error:
        raise _Problem(Kind.NO_JSON, f"not strict JSON: {error}") from None
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in pairs:
        if name in result:
            raise _Problem(Kind.DUPLICATE_KEY, f"the key {name[:40]!r} stands twice")
        result[name] = value
    return result


def _refuse_constant(name: str) -> Any:
    raise _Problem(Kind.NO_JSON, f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _Problem(Kind.TOO_LARGE, "a number is too large")
    return value


def _short_integer(text: str) -> int:
    if len(text) > MAX_INTEGER_DIGITS:
        raise _Problem(Kind.TOO_LARGE, f"an integer has over {MAX_INTEGER_DIGITS} digits")
    return int(text)


def _to_action(value: dict[str, Any], tools: Mapping[str, ToolSpec], tier: str) -> Action:
    for key in ("action", "arguments"):
        if key not in value:
            raise _Problem(Kind.MISSING_KEY, f"the key {key!r} is missing")
    if extra := sorted(set(value) - {"action", "arguments"}):
        raise _Problem(Kind.EXTRA_KEY, f"the key {extra[0][:40]!r} does not belong there")
    name, arguments = value["action"], value["arguments"]
    known = [tool.name for tool in tools.values() if is_open(tool, tier)]
    if not isinstance(name, str) or name not in tools:
        raise _Problem(
            Kind.UNKNOWN_ACTION, f"no tool {str(name)[:40]!r}; the tools are {', '.join(known)}"
        )
    if name not in known:
        raise _Problem(Kind.NOT_OPEN_YET, f"{name} is not open in this task")
    if not isinstance(arguments, dict):
        raise _Problem(Kind.BAD_ARGUMENTS, "arguments: it must be an object")
    if problem := tools[name].problem(arguments):
        raise _Problem(Kind.BAD_ARGUMENTS, f"{problem}; {tools[name].signature}")
    return Action(name, arguments)


def is_open(tool: ToolSpec, tier: str) -> bool:
    """True if `tool` may be used in tasks of `tier`."""
    return TIERS.index(tool.tier) <= TIERS.index(tier)
