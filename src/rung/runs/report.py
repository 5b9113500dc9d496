"""`report.html`: a run as one self-contained page that opens from disk, offline.

What a model or an environment wrote is text on this page and never markup: the template escapes
it, data for scripts is JSON with every dangerous character escaped, and a content security
policy allows only this page's own scripts and no network.
"""

import base64
import hashlib
import json
import os
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

from rung.core import FormatError, Refusal, Trajectory
from rung.runs.charts import charts
from rung.runs.chosen import chosen_trajectories
from rung.runs.event import EventKind
from rung.runs.jsonl import strict_json, valid_text
from rung.runs.layout import REPORT_FILE
from rung.runs.reader import Run, read_run
from rung.runs.store import write_whole

_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_SHARES = {
    "step_efficiency": "efficiency",
    "recovery_share": "recovered",
    "subgoal_share": "subgoals",
    "format_error_share": "format errors",
    "invalid_share": "invalid",
    "repeated_share": "repeated",
    "unconfirmed_share": "unconfirmed",
}


def write_report(path: str | os.PathLike[str]) -> Path:
    """Write the report of the run at `path` into it; returns the page's path.

    Raises:
        StoreError: `path` is no run, or the page cannot be written.
    """
    run = read_run(path)
    target = run.path / REPORT_FILE
    write_whole(target, render(run).encode("utf-8", "replace"))
    return target


def render(run: Run) -> str:
    """The page as text."""
    import jinja2

    assets = files("rung.runs") / "assets"
    read = {
        name: (assets / name).read_text("utf-8")
        for name in ("report.css", "report.js", "uplot/uPlot.min.css", "uplot/uPlot.iife.min.js")
    }
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string((assets / "report.html.j2").read_text("utf-8"))
    scripts = [read["uplot/uPlot.iife.min.js"], read["report.js"]]
    drawn = charts(run)
    return template.render(
        run=run,
        seconds=_seconds(run),
        charts=drawn,
        data=embed([asdict(chart) for chart in drawn]),
        rows=_table(run),
        shares=_SHARES,
        trajectories=[_readable(why, t) for why, t in chosen_trajectories(run)],
        styles=[read["uplot/uPlot.min.css"], read["report.css"]],
        scripts=scripts,
        policy=_policy(scripts),
    )


def embed(value: Any) -> str:
    """`value` as JSON that can stand inside a script element whatever text it holds."""
    text = strict_json(value)
    for character, escape in _UNSAFE.items():
        text = text.replace(character, escape)
    return text


def _policy(scripts: list[str]) -> str:
    """A content security policy for exactly these scripts."""
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; base-uri 'none'"


def _seconds(run: Run) -> float | None:
    records = run.metrics()
    return records[-1].timing.get("timing/elapsed_seconds") if records else None


def _table(run: Run) -> list[dict[str, Any]]:
    """One row per policy, tier and mode of the evaluations before and after training."""
    rows = []
    for event in run.events():
        fields = event.fields
        if event.kind != EventKind.EVALUATION or fields.get("label") not in ("base", "trained"):
            continue
        measures = fields.get("measures") or {}
        reasons = fields.get("stop_reasons") or {}
        rows.append(
            {
                "label": fields["label"],
                "tier": fields.get("tier", ""),
                "mode": fields.get("mode", ""),
                "tasks": fields.get("tasks", ""),
                "success": _percent(measures.get("success_share"), interval=True),
                "turns": _number(measures.get("turns_mean")),
                "shares": [_percent(measures.get(name)) for name in _SHARES],
                "stops": ", ".join(f"{k.replace('_', ' ')} {n}" for k, n in reasons.items()),
            }
        )
    return sorted(rows, key=lambda row: (row["tier"], row["mode"]))


def _percent(measure: dict[str, float | None] | None, *, interval: bool = False) -> str:
    if not measure or measure.get("value") is None:
        return "-"
    value, low, high = (measure.get(part) for part in ("value", "low", "high"))
    text = f"{100 * (value or 0):.1f} %"
    if interval and low is not None and high is not None:
        text += f" ({100 * low:.0f} to {100 * high:.0f})"
    return text


def _number(measure: dict[str, float | None] | None) -> str:
    value = (measure or {}).get("value")
    return "-" if value is None else f"{value:.1f}"


def _readable(why: str, trajectory: Trajectory) -> dict[str, Any]:
    reward = trajectory.reward
    return {
        "why": why,
        "id": trajectory.id,
        "text": valid_text(trajectory.task.text),
        "template": f"{trajectory.task.tier} {trajectory.task.template}",
        "stop": trajectory.stop.value.replace("_", " "),
        "success": trajectory.success,
        "total": reward.total,
        "parts": reward,
        "turns": [
            {
                "message": _pretty(turn.text),
                "observation": valid_text(turn.observation),
                "reward": turn.reward,
                "subgoals": turn.info.subgoals,
                "flags": _flags(turn.info, cut=turn.cut),
            }
            for turn in trajectory.turns
        ],
    }


def _pretty(text: str) -> str:
    """A message; a JSON object in it on as few lines as it needs."""
    text = valid_text(text)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(value, dict) or not isinstance(value.get("arguments"), dict):
        return text
    arguments = value["arguments"].items()
    lines = [f"{name} = {json.dumps(v, ensure_ascii=False)}" for name, v in arguments]
    return valid_text("\n".join([str(value.get("action")), *(f"  {line}" for line in lines)]))


def _flags(info: Any, *, cut: bool) -> list[str]:
    flags = [name for name in ("invalid", "repeated", "noise", "fault") if getattr(info, name)]
    match info.move:
        case FormatError():
            flags.append(f"format error: {info.move.kind.value.replace('_', ' ')}")
        case Refusal():
            flags.append(info.move.kind.value)
        case _:
            pass
    return [*flags, "cut"] if cut else flags
