"""The curves of a report, as plain data for the page to draw."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rung.runs.event import EventKind
from rung.runs.reader import Run
from rung.runs.records import EventRecord, MetricsRecord

TIERS = ("E1", "E2", "E3")
MODES = ("greedy", "sampled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One curve. `y`, `low` and `high` are as long as the chart's `x`; None is a gap."""

    name: str
    y: Sequence[float | None]
    low: Sequence[float | None] | None = None
    high: Sequence[float | None] | None = None
    points: bool = False
    """Show the points: measured now and then, not every round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Curves over rounds."""

    title: str
    unit: str
    x: Sequence[int]
    series: Sequence[Series]
    percent: bool = False


def charts(run: Run) -> list[Chart]:
    """All charts for which the run has something to show."""
    records = run.metrics()
    evaluations = [e for e in run.events() if e.kind == EventKind.EVALUATION]
    found = [
        _success(records, evaluations),
        _plain(
            records,
            "Return and its parts",
            "reward",
            {
                "return": "rollout/return_mean",
                "process": "rollout/process_mean",
                "efficiency": "rollout/efficiency_mean",
                "outcome": "rollout/outcome_mean",
            },
        ),
        _plain(records, "Entropy", "nats per token", {"entropy": "learner/entropy_nats"}),
        _plain(records, "KL to the base policy", "nats per token", {"KL": "learner/kl_nats"}),
        _plain(
            records,
            "Shares of turns and tokens",
            "",
            {
                "format errors": "rollout/format_error_share",
                "invalid turns": "rollout/invalid_share",
                "repeated turns": "rollout/repeated_share",
                "clipped tokens": "learner/clip_share",
            },
            percent=True,
        ),
        _plain(
            records,
            "Groups without spread",
            "",
            {
                "zero-spread groups": "rollout/zero_spread_share",
            },
            percent=True,
        ),
        _plain(records, "Turns per trajectory", "turns", {"turns": "rollout/turns_mean"}),
        _plain(
            records,
            "Speed",
            "tokens/s",
            {
                "sampled": "timing/sampled_tokens_per_second",
                "trained": "timing/trained_tokens_per_second",
            },
        ),
    ]
    return [chart for chart in found if any(v is not None for s in chart.series for v in s.y)]


def _plain(
    records: Sequence[MetricsRecord],
    title: str,
    unit: str,
    names: dict[str, str],
    *,
    percent: bool = False,
) -> Chart:
    series = [
        Series(name=label, y=[{**r.values, **r.timing}.get(name) for r in records])
        for label, name in names.items()
    ]
    return Chart(
        title=title, unit=unit, x=[r.round for r in records], series=series, percent=percent
    )


def _success(records: Sequence[MetricsRecord], evaluations: Sequence[EventRecord]) -> Chart:
    """Success of training by tier, and on held-out tasks by tier and mode."""
    measured: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for event in evaluations:
        fields = event.fields
        try:
            success = fields["measures"]["success_share"]
            measured.setdefault((fields["tier"], fields["mode"]), {})[fields["round"]] = success
        except (KeyError, TypeError):
            continue
    training = {r.round: r.values for r in records}
    x = sorted({*training, *(n for points in measured.values() for n in points)})
    series = []
    for tier in TIERS:
        name = f"rollout/success_share_{tier}"
        curve = [training.get(n, {}).get(name) for n in x]
        if any(value is not None for value in curve):
            series.append(Series(name=f"{tier} training", y=curve))
        for mode in MODES:
            if points := measured.get((tier, mode)):
                y, low, high = (
                    [points.get(n, {}).get(part) for n in x] for part in ("value", "low", "high")
                )
                name = f"{tier} held-out {mode}"
                series.append(Series(name=name, y=y, low=low, high=high, points=True))
    return Chart(title="Success", unit="", x=x, series=series, percent=True)
