"""`rung train`: run a recipe, with live progress."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from rung.cli.options import AsJson, Settings


def train(
    recipe: Annotated[str, typer.Argument(help="Name of a recipe.")] = "office",
    settings: Settings = [],  # noqa: B006 - typer reads the default and never changes it
    out: Annotated[Path | None, typer.Option(help="Run directory to create.")] = None,
    seed: Annotated[int | None, typer.Option(help="Root of every random stream.")] = None,
    show: Annotated[bool, typer.Option(help="Print the configuration and stop.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train an agent. Ctrl-C stops and leaves a readable run."""
    from rung.loop.overrides import apply, keys
    from rung.loop.recipes import recipe as find

    config = apply(find(recipe), settings if seed is None else [*settings, f"seed={seed}"])
    if show:
        _show(config, keys(config), as_json)
        return
    folder = out or Path("runs") / f"{recipe}-seed{config.seed}-{_stamp()}"

    from rung.cli.live import Live
    from rung.cli.tables import as_data, evaluation_table
    from rung.loop.train import train as run

    with Live(config, folder, quiet=as_json) as live:
        summary = run(config, folder, listener=live.hear)
    if as_json:
        print(
            json.dumps(
                {
                    "run": str(summary.out),
                    "report": str(summary.report),
                    "seconds": summary.seconds,
                    "memory_peak_mb": summary.memory_peak_mb,
                    "evaluations": as_data(summary.evaluations),
                }
            )
        )
        return
    live.console.print(evaluation_table(summary.evaluations, width=live.console.width))
    live.console.print(
        f"{summary.seconds / 60:.1f} minutes, {summary.memory_peak_mb:.0f} MB at most\n"
        f"run     {summary.out}\nreport  {summary.report}\npolicy  {summary.out / 'policy'}",
        highlight=False,
        soft_wrap=True,
    )


def _show(config: Any, keys: list[str], as_json: bool) -> None:
    values = {}
    for key in keys:
        value = config
        for name in key.split("."):
            value = getattr(value, name)
        values[key] = value
    if as_json:
        print(json.dumps(values))
        return
    for key, value in values.items():
        sys.stdout.write(f"{key}={json.dumps(value)}\n")


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
