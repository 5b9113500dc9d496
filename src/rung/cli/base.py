"""`rung base build`: make the built-in base policy anew."""

import json
import logging
from pathlib import Path
from typing import Annotated

import typer

from rung.cli.options import AsJson

app = typer.Typer(help="The built-in base policy.", no_args_is_help=True)


@app.command()
def build(
    out: Annotated[Path, typer.Option(help="Folder to write.")] = Path("base_policy"),
    seed: Annotated[int, typer.Option(help="Root of every random stream.")] = 0,
    updates: Annotated[
        int | None, typer.Option(min=1, help="Cloning updates; fewer for a quick try.")
    ] = None,
    tasks: Annotated[int, typer.Option(min=1, help="Held-out tasks per tier to judge it.")] = 200,
    as_json: AsJson = False,
) -> None:
    """Train tokenizer and model from nothing, then report what the policy can do."""
    from dataclasses import replace

    from rich.console import Console

    from rung.cli.tables import as_data, evaluation_table
    from rung.loop.base_build import BaseConfig, build_base

    logging.getLogger("rung").setLevel(logging.INFO)
    config = BaseConfig(seed=seed)
    if updates is not None:
        config = replace(config, clone_updates=updates)
    evaluations = build_base(config, out, tasks=tasks)
    if as_json:
        print(json.dumps({"folder": str(out), "evaluations": as_data({"base": evaluations})}))
        return
    console = Console()
    console.print(evaluation_table({"base": evaluations}, width=console.width))
    console.print(f"written to {out}", highlight=False)


@app.command()
def show(as_json: AsJson = False) -> None:
    """Where the shipped base policy comes from and what it can do."""
    from rung.models.loading import base_policy_path

    text = (base_policy_path() / "provenance.json").read_text(encoding="utf-8")
    print(json.dumps(json.loads(text)) if as_json else text.rstrip())
