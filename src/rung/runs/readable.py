"""Numbers, times and hostile text in a form that people can read.

Text of a model or an environment may hold control characters and characters that turn the
direction of writing. `visible` shows them instead of letting them act.
"""

import re
from dataclasses import dataclass

from rung.core import Action, FormatError, Refusal, RewardParts, Turn
from rung.runs.jsonl import valid_text

MISSING = "\u2013"
"""Stands where a number is not known: an en dash."""

_SPACE = "\u202f"
_ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)


def visible(text: str) -> str:
    """`text` with every control and direction character replaced by a sign for it.

    Line feeds and tabs stay; lone surrogates become U+FFFD.
    """
    return _ACTING.sub(_sign, valid_text(text))


def _sign(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return f"\u27e8U+{code:04X}\u27e9"


def percent(value: float | None) -> str:
    """A share between 0 and 1 in per cent, with one decimal."""
    return MISSING if value is None else f"{100 * value:.1f}{_SPACE}%"


def number(value: float | None) -> str:
    """A number with about three digits."""
    if value is None:
        return MISSING
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if value and abs(value) < 0.1:
        return f"{value:.3g}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def points(value: float | None) -> str:
    """A difference of shares, in percentage points with its sign."""
    return "" if value is None else f"{100 * value:+.1f}{_SPACE}points".replace("-", "\u2212")


def duration(seconds: float | None) -> str:
    """A length of time in its two largest units."""
    if seconds is None:
        return MISSING
    total = round(seconds)
    hours, minutes = total // 3600, total % 3600 // 60
    if hours:
        return f"{hours}{_SPACE}h {minutes}{_SPACE}min"
    return f"{minutes}{_SPACE}min {total % 60}{_SPACE}s" if minutes else f"{total}{_SPACE}s"


def signed(value: float) -> str:
    """A reward with its sign."""
    return f"{value:+.2f}".replace("-", "\u2212")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadableTurn:
    """One turn as a report shows it."""

    title: str
    """Name of the action, or why there is none."""
    message: str
    observation: str
    reward: str
    parts: str
    """The reward parts that are not zero, in words."""
    subgoals: tuple[str, ...]
    flags: tuple[str, ...]


def readable_turn(turn: Turn) -> ReadableTurn:
    """What a person sees of `turn`."""
    action = turn.info.action
    return ReadableTurn(
        title=action.name if action else "no valid action",
        message=turn.text,
        observation=turn.observation,
        reward=signed(turn.reward.total),
        parts=_parts(turn.reward),
        subgoals=turn.info.subgoals,
        flags=_flags(turn),
    )


def _parts(reward: RewardParts) -> str:
    named = {
        "process": reward.process,
        "efficiency": reward.efficiency,
        "outcome": reward.outcome,
    }
    return ", ".join(f"{name} {signed(value)}" for name, value in named.items() if value)


def _flags(turn: Turn) -> tuple[str, ...]:
    info = turn.info
    flags: list[str] = []
    match info.move:
        case FormatError():
            flags.append(f"format error: {info.move.kind.value.replace('_', ' ')}")
        case Refusal():
            flags.append(info.move.kind.value)
        case Action():
            pass
    flags += ["invalid"] if info.invalid else []
    flags += ["repeated"] if info.repeated else []
    flags += ["injected noise"] if info.noise else []
    flags += ["infrastructure fault"] if info.fault else []
    flags += ["cut at the token limit"] if turn.cut else []
    return tuple(flags)
