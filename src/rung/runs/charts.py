"""The curves of a report, as plain data for the page to draw.

At most four curves a chart, so that colour and dashes tell them apart for every reader.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rung.runs.event import EventKind
from rung.runs.metric import MODES, TIERS
from rung.runs.reader import Run
from rung.runs.records import EventRecord, MetricsRecord

_Points = dict[str, dict[int, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One curve. `y`, `low` and `high` are as long as the chart's `x`; None is a gap."""

    name: str
    y: Sequence[float | None]
    low: Sequence[float | None] = field(default=())
    """Lower ends of 95 % intervals; empty where there are none."""
    high: Sequence[float | None] = field(default=())

    @property
    def last(self) -> float | None:
        """The newest value that there is."""
        return next((value for value in reversed(self.y) if value is not None), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Curves over rounds."""

    title: str
    unit: str
    x: Sequence[int]
    """Rounds, increasing."""
    series: Sequence[Series]
    percent: bool = False
    """Values are shares between 0 and 1, shown in per cent."""
    full: bool = False
    """The axis always goes from 0 to 1."""
    points: bool = False
    """Measured now and then, not every round: points are shown."""


_PLAIN: tuple[tuple[str, str, bool, dict[str, str]], ...] = (
    (
        "Return and its parts",
        "reward",
        False,
        {
            "return": "rollout/return_mean",
            "process": "rollout/process_mean",
            "efficiency": "rollout/efficiency_mean",
            "outcome": "rollout/outcome_mean",
        },
    ),
    ("Turns per trajectory", "turns", False, {"turns": "rollout/turns_mean"}),
    (
        "Mistakes",
        "share of turns",
        True,
        {
            "format errors": "rollout/format_error_share",
            "invalid": "rollout/invalid_share",
            "repeated": "rollout/repeated_share",
            "unconfirmed": "rollout/unconfirmed_share",
        },
    ),
    (
        "Groups without spread",
        "share of groups",
        True,
        {"groups without spread": "rollout/zero_spread_share"},
    ),
    ("Entropy", "nats per token", False, {"entropy": "learner/entropy_nats"}),
    ("KL to the base policy", "nats per token", False, {"KL": "learner/kl_nats"}),
    ("Clipped tokens", "share of tokens", True, {"clipped tokens": "learner/clip_share"}),
    (
        "Speed",
        "tokens/s",
        False,
        {
            "sampled": "timing/sampled_tokens_per_second",
            "processed": "timing/processed_tokens_per_second",
            "trained": "timing/trained_tokens_per_second",
        },
    ),
)
"""Title, unit, whether in per cent, and the metric of each curve."""


def charts(run: Run) -> list[Chart]:
    """All charts for which the run has something to show."""
    records = sorted(run.metrics(), key=lambda record: record.round)
    events = run.events()
    found = [
        *(_held_out(mode, records, events) for mode in MODES),
        _training(records),
        *(
            Chart(title=title, unit=unit, x=_rounds(records), series=found, percent=percent)
            for title, unit, percent, names in _PLAIN
            if (found := _curves(records, names))
        ),
    ]
    return [chart for chart in found if chart.series]


def _rounds(records: Sequence[MetricsRecord]) -> list[int]:
    return [record.round for record in records]


def _curves(records: Sequence[MetricsRecord], names: Mapping[str, str]) -> list[Series]:
    """A curve for each name that has a value somewhere."""
    made = [
        Series(name=label, y=[{**r.values, **r.timing}.get(name) for r in records])
        for label, name in names.items()
    ]
    return [series for series in made if series.last is not None]


def _training(records: Sequence[MetricsRecord]) -> Chart:
    names = {tier: f"rollout/success_share_{tier}" for tier in TIERS}
    return Chart(
        title="Success in training",
        unit="sampled, share of trajectories",
        x=_rounds(records),
        series=_curves(records, names),
        percent=True,
        full=True,
    )


def _held_out(mode: str, records: Sequence[MetricsRecord], events: Sequence[EventRecord]) -> Chart:
    """Success on held-out tasks by tier, from the evaluations and the metrics of rounds."""
    points = _measured(mode, records, events)
    x = sorted({number for found in points.values() for number in found})
    series = []
    for tier in (tier for tier in TIERS if tier in points):
        y, low, high = (
            [_number(points[tier].get(number, {}).get(part)) for number in x]
            for part in ("value", "low", "high")
        )
        series.append(Series(name=tier, y=y, low=low, high=high))
    return Chart(
        title=f"Held-out success, {mode}",
        unit="share of tasks, 95 % interval",
        x=x,
        series=[one for one in series if one.last is not None],
        percent=True,
        full=True,
        points=True,
    )


def _measured(
    mode: str, records: Sequence[MetricsRecord], events: Sequence[EventRecord]
) -> _Points:
    """Tier -> round -> value, low and high; an event counts more than a metric."""
    points: _Points = {}
    for record in records:
        for tier in TIERS:
            names = {"value": "share", "low": "low", "high": "high"}
            found = {
                part: record.values.get(f"eval/{mode}/success_{name}_{tier}")
                for part, name in names.items()
            }
            if found["value"] is not None:
                points.setdefault(tier, {})[record.round] = found
    for event in events:
        fields = event.fields
        measures = fields.get("measures")
        number = fields.get("round")
        if event.kind != EventKind.EVALUATION or fields.get("mode") != mode:
            continue
        if isinstance(number, int) and isinstance(measures, dict):
            success = measures.get("success_share")
            if isinstance(success, dict):
                points.setdefault(str(fields.get("tier")), {})[number] = success
    return points


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None
