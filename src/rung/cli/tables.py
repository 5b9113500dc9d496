"""Evaluations and audits as tables."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table

from rung.loop.audit import Return
from rung.loop.intervals import Measure
from rung.loop.measures import Evaluation

_SHARES = {"subgoal_share": "subgoals"}
_MORE = {
    "step_efficiency": "efficiency",
    "recovery_share": "recovered",
    "format_error_share": "format errors",
    "invalid_share": "invalid",
    "repeated_share": "repeated",
    "unconfirmed_share": "unconfirmed",
}
_WIDE = 160
"""Columns of a terminal from which all shares are shown; the report has them in any case."""


def evaluation_table(
    evaluations: Mapping[str, Sequence[Evaluation]], *, width: int = _WIDE
) -> Table:
    """One row per policy, tier and mode, for a terminal of `width` columns."""
    shares = {**_SHARES, **_MORE} if width >= _WIDE else _SHARES
    table = Table(
        title="Held-out tasks; success with its 95 % interval", title_justify="left", box=SIMPLE
    )
    for name in ("tier", "mode", "policy (tasks)"):
        table.add_column(name, no_wrap=True)
    for name in ("success", "turns", *shares.values()):
        table.add_column(name, justify="right", no_wrap=True)
    every = [(label, e) for label, found in evaluations.items() for e in found]
    for label, found in sorted(every, key=lambda pair: (pair[1].tier, pair[1].mode)):
        measures = found.measures
        turns = measures["turns_mean"].value
        table.add_row(
            found.tier,
            found.mode,
            f"{label} ({found.tasks})",
            percent(measures["success_share"], interval=True),
            "-" if turns is None else f"{turns:.1f}",
            *(percent(measures[name]) for name in shares),
        )
    return table


def audit_table(returns: Sequence[Return]) -> Table:
    """One row per template and policy."""
    table = Table(title="Returns with 95 % bounds", title_justify="left", box=SIMPLE)
    for name in ("tier", "template", "policy"):
        table.add_column(name, no_wrap=True)
    for name in ("return", "solved"):
        table.add_column(name, justify="right", no_wrap=True)
    for before, found in zip([None, *returns], returns, strict=False):
        first = before is None or (before.tier, before.template) != (found.tier, found.template)
        table.add_row(
            found.tier if first else "",
            found.template if first else "",
            f"{found.policy} (!)" if found.pays else found.policy,
            escape(f"{found.earned.value:.2f} [{found.earned.low:.2f}, {found.earned.high:.2f}]"),
            f"{100 * found.success:.0f} %",
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
