"""The policy before and after training, as tables: what the evaluations of a run say.

The last evaluation labelled `base` stands against the last labelled `trained`, or, while the
run is not done, against the latest between rounds. Fields of the wrong form count as missing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rung.runs.event import EventKind
from rung.runs.metric import MODES
from rung.runs.records import EventRecord

BASE = "base"

MEASURES: tuple[tuple[str, str, bool, str], ...] = (
    ("success_share", "Success", True, "tasks solved"),
    ("step_efficiency", "Step efficiency", True, "expert's turns / turns, over solved tasks"),
    ("subgoal_share", "Subgoals reached", True, "share of a task's subgoals"),
    ("recovery_share", "Errors recovered", True, "invalid turns with progress after them"),
    ("recovery_turns_mean", "Turns to recover", False, "from an invalid turn to progress"),
    ("turns_mean", "Turns", False, "per task"),
    ("format_error_share", "Format errors", True, "turns without a valid action"),
    ("invalid_share", "Invalid turns", True, "turns in which nothing useful ran"),
    ("repeated_share", "Repeated turns", True, "turns that repeat an earlier action"),
    ("unconfirmed_share", "Unconfirmed", True, "turns that lacked a confirmation"),
)
"""Name, title, whether a share, and meaning of each measure of an evaluation event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One number with its 95 % interval; None where it is not known."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A tier in one mode, before and after; None where it was not evaluated."""

    tier: str
    mode: str
    base: Mapping[str, Any] | None
    """Fields of the event; see EventKind.EVALUATION."""
    after: Mapping[str, Any] | None

    @property
    def sides(self) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
        """Before and after, in this order."""
        return self.base, self.after

    @property
    def after_label(self) -> str:
        """What the later policy is called."""
        return str(self.after.get("label", "")) if self.after else "trained"

    def gain(self) -> float | None:
        """Change of the success share, or None where one of the two is missing."""
        before, after = (measured(side, "success_share").value for side in self.sides)
        return None if before is None or after is None else after - before


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a table: a measure, and a cell for each side of each pair."""

    title: str
    meaning: str
    percent: bool
    cells: Sequence[Measured]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All measures of one mode."""

    mode: str
    pairs: Sequence[Pair]
    rows: Sequence[Row]
    reasons: Sequence[Row]
    """Share of trajectories by stop reason."""


def comparisons(events: Sequence[EventRecord]) -> list[Comparison]:
    """One for each mode that was evaluated."""
    pairs = _pairs(events)
    modes = dict.fromkeys([*MODES, *(pair.mode for pair in pairs)])
    found = [(mode, [pair for pair in pairs if pair.mode == mode]) for mode in modes]
    return [
        Comparison(mode=mode, pairs=chosen, rows=_measure_rows(chosen), reasons=_reasons(chosen))
        for mode, chosen in found
        if chosen
    ]


def measured(fields: Mapping[str, Any] | None, name: str) -> Measured:
    """Measure `name` of an evaluation, all None where it is missing."""
    measures = (fields or {}).get("measures")
    found = measures.get(name) if isinstance(measures, dict) else None
    parts = found if isinstance(found, dict) else {}
    value, low, high = (_number(parts.get(part)) for part in ("value", "low", "high"))
    return Measured(value=value, low=low, high=high)


def _pairs(events: Sequence[EventRecord]) -> list[Pair]:
    base: dict[tuple[str, str], Mapping[str, Any]] = {}
    after: dict[tuple[str, str], Mapping[str, Any]] = {}
    for event in events:
        if event.kind == EventKind.EVALUATION:
            key = str(event.fields.get("tier", "")), str(event.fields.get("mode", ""))
            (base if event.fields.get("label") == BASE else after)[key] = event.fields
    return [
        Pair(tier=tier, mode=mode, base=base.get((tier, mode)), after=after.get((tier, mode)))
        for tier, mode in sorted({*base, *after})
    ]


def _measure_rows(pairs: Sequence[Pair]) -> list[Row]:
    rows = [
        Row(
            title=title,
            meaning=meaning,
            percent=percent,
            cells=[measured(side, name) for pair in pairs for side in pair.sides],
        )
        for name, title, percent, meaning in MEASURES
    ]
    return [row for row in rows if any(cell.value is not None for cell in row.cells)]


def _reasons(pairs: Sequence[Pair]) -> list[Row]:
    counts = [_counts(side) for pair in pairs for side in pair.sides]
    names = dict.fromkeys(name for count in counts for name in count)
    return [
        Row(
            title=name.replace("_", " "),
            meaning="",
            percent=True,
            cells=[_share(count, name) for count in counts],
        )
        for name in names
    ]


def _counts(fields: Mapping[str, Any] | None) -> dict[str, float]:
    reasons = (fields or {}).get("stop_reasons")
    items = reasons.items() if isinstance(reasons, dict) else ()
    return {str(name): number for name, n in items if (number := _number(n)) is not None}


def _share(counts: Mapping[str, float], name: str) -> Measured:
    total = sum(counts.values())
    return Measured(value=counts.get(name, 0) / total if total else None)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None
