"""Evaluations as tables."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table

from rung.loop.intervals import Measure
from rung.loop.measures import Evaluation

_COLUMNS = {
    "step_efficiency": "step efficiency",
    "recovery_share": "recovered",
    "subgoal_share": "subgoals",
    "format_error_share": "format errors",
    "unconfirmed_share": "unconfirmed",
    "repeated_share": "repeated",
}


def evaluation_table(evaluations: Mapping[str, Sequence[Evaluation]]) -> Table:
    """One row per policy, tier and mode."""
    table = Table(title="Held-out tasks, with 95 % intervals", title_justify="left")
    for name in ("policy", "tier", "mode", "tasks"):
        table.add_column(name)
    for name in ("success", "turns", *_COLUMNS.values()):
        table.add_column(name, justify="right")
    every = [(label, e) for label, found in evaluations.items() for e in found]
    for label, found in sorted(every, key=lambda pair: (pair[1].tier, pair[1].mode)):
        measures = found.measures
        turns = measures["turns_mean"].value
        table.add_row(
            label,
            found.tier,
            found.mode,
            str(found.tasks),
            percent(measures["success_share"], interval=True),
            "-" if turns is None else f"{turns:.1f}",
            *(percent(measures[name]) for name in _COLUMNS),
        )
    return table


def percent(measure: Measure, *, interval: bool = False) -> str:
    """A share in percent, with its interval if asked for."""
    if measure.value is None or measure.low is None or measure.high is None:
        return "-"
    text = f"{100 * measure.value:.1f} %"
    return f"{text} [{100 * measure.low:.0f}, {100 * measure.high:.0f}]" if interval else text


def as_data(evaluations: Mapping[str, Sequence[Evaluation]]) -> dict[str, list[dict[str, Any]]]:
    """The same as JSON values."""
    return {label: [asdict(e) for e in found] for label, found in evaluations.items()}
