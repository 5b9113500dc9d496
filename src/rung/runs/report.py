"""`report.html`: a run as one self-contained page that opens from disk, offline.

What a model or an environment wrote is text on this page and never markup: control characters
are made visible, the template escapes everything, data for scripts is JSON with every dangerous
character escaped, and a content security policy allows this page's own scripts and styles, by
their digests, and no network.

Reading order: `write_report`, `render`, then charts.py, comparison.py, chosen.py, readable.py.
"""

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from rung.runs import readable
from rung.runs.charts import Chart, charts
from rung.runs.chosen import chosen_trajectories
from rung.runs.comparison import BASE, comparisons, measured
from rung.runs.event import EventKind
from rung.runs.jsonl import strict_json
from rung.runs.layout import REPORT_FILE
from rung.runs.reader import Run, read_run
from rung.runs.records import EventRecord
from rung.runs.store import write_whole

DASHES = ("", "8 4", "2 3", "10 3 2 3")
"""Dashes of the curves of a chart, in pixels of line and gap."""

_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_TABLE_ROWS = 60
_NOTES = 20


def write_report(path: str | os.PathLike[str]) -> Path:
    """Write the report of the run at `path` into it; returns the page's path.

    Raises:
        StoreError: `path` is no run, or the page cannot be written.
    """
    run = read_run(path)
    target = run.path / REPORT_FILE
    write_whole(target, render(run).encode())
    return target


def render(run: Run) -> str:
    """The page as text."""
    import jinja2
    from markupsafe import Markup

    def finalize(value: Any) -> Any:
        plain = isinstance(value, str) and not isinstance(value, Markup)
        return readable.visible(value) if plain else value

    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(_asset),
    )
    events = run.events()
    drawn = charts(run)
    scripts = [Markup(_plot_script()), Markup(_asset("report.js"))]
    styles = [Markup(_asset("uplot/uPlot.min.css")), Markup(_asset("report.css"))]
    return environment.get_template("report.html.j2").render(
        run=run,
        readable=readable,
        measured=measured,
        base=BASE,
        elapsed=_elapsed(run, events),
        last=max((record.at for record in [*run.metrics(), *events]), default=""),
        tables=comparisons(events),
        charts=drawn,
        dashes=DASHES,
        numbers=_numbers,
        data=Markup(embed([asdict(chart) for chart in drawn])),
        chosen=[
            (why, entry, trajectory, [readable.readable_turn(turn) for turn in trajectory.turns])
            for why, entry, trajectory in chosen_trajectories(run)
        ],
        notes=_notes(events),
        config=json.dumps(run.config, indent=2, ensure_ascii=False),
        styles=styles,
        scripts=scripts,
        policy=_policy(scripts, styles),
    )


def embed(value: Any) -> str:
    """`value` as JSON that can stand inside a script element whatever text it holds."""
    text = strict_json(value)
    for character, escape in _UNSAFE.items():
        text = text.replace(character, escape)
    return text


def _asset(name: str) -> str:
    return (files("rung.runs") / "assets" / name).read_text("utf-8")


def _plot_script() -> str:
    """The plotting library behind its licence, which asks to go wherever the code goes."""
    return f"/*!\n{_asset('uplot/LICENSE')}*/\n{_asset('uplot/uPlot.iife.min.js')}"


def _policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """A content security policy for exactly these scripts and styles."""
    parts = {"script-src": scripts, "style-src": styles}
    rules = [f"{name} {' '.join(map(_digest, texts))}" for name, texts in parts.items()]
    return "; ".join(["default-src 'none'", *rules, "base-uri 'none'", "form-action 'none'"])


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _elapsed(run: Run, events: Sequence[EventRecord]) -> float | None:
    """Seconds from the first to the last thing that the run wrote."""
    stamps = [run.info.created, *(record.at for record in [*run.metrics(), *events])]
    try:
        return (_time(max(stamps)) - _time(run.info.created)).total_seconds()
    except (ValueError, TypeError):
        return None


def _time(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp)


def _notes(events: Sequence[EventRecord]) -> list[tuple[str, str, str]]:
    """Kind, round and text of the latest events that a person should know of."""
    kinds = (
        EventKind.WARNING,
        EventKind.INFRASTRUCTURE_FAULT,
        EventKind.INTERRUPTED,
        EventKind.TIER_CHANGED,
    )
    found = [
        (event.kind.replace("_", " "), str(event.fields.get("round", "")), _note(event.fields))
        for event in events
        if event.kind in kinds or event.fields.get("error")
    ]
    return found[-_NOTES:]


def _note(fields: Mapping[str, Any]) -> str:
    if "change" in fields:
        evidence = fields.get("evidence")
        shares = evidence if isinstance(evidence, list) else []
        seen = ", ".join(f"{share:.0%}" for share in shares if isinstance(share, float))
        return f"{fields['change']} of {fields.get('tier')} on success of {seen or 'nothing known'}"
    return str(fields.get("message") or fields.get("error") or "")


def _numbers(chart: Chart) -> list[tuple[int, list[float | None]]]:
    """The values of a chart by round; of a long run, evenly chosen rounds and the last."""
    every = [(x, [series.y[at] for series in chart.series]) for at, x in enumerate(chart.x)]
    stride = -(-len(every) // _TABLE_ROWS) if every else 1
    return [*every[:-1:stride], *every[-1:]]
