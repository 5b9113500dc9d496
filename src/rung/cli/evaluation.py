"""`rung eval`: a policy on held-out tasks."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from rung.cli.options import AsJson, Settings


def evaluate(
    policy: Annotated[
        str, typer.Argument(help="A run directory, `base`, a model folder or a hub name.")
    ] = "base",
    recipe: Annotated[
        str | None, typer.Option(help="Recipe with the settings; default: the run's own.")
    ] = None,
    tier: Annotated[list[str], typer.Option(help="Tier to play; may be repeated.")] = ["E1"],  # noqa: B006
    tasks: Annotated[int, typer.Option(min=1, help="Held-out tasks per tier.")] = 200,
    mode: Annotated[
        list[str] | None, typer.Option(help="greedy or sampled; may be repeated.")
    ] = None,
    stage: Annotated[
        str | None, typer.Option(help="simulated or live; live.* says where and what it may do.")
    ] = None,
    settings: Settings = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Measure a policy on tasks that training never uses."""
    from rich.console import Console

    from rung.cli.tables import as_data, evaluation_table
    from rung.errors import ConfigError, nearest
    from rung.loop.build import build_parts, held_out
    from rung.loop.evaluate import MODES
    from rung.loop.evaluate import evaluate as play
    from rung.loop.overrides import apply
    from rung.loop.recipes import DEFAULT
    from rung.loop.recipes import recipe as find
    from rung.loop.saved import config_of, is_run

    modes = mode or list(MODES)
    for name in modes:
        if name not in MODES:
            raise ConfigError(f"unknown mode {name!r}", hint=nearest(name, list(MODES)))
    folder = Path(policy)
    if is_run(folder):
        config = find(recipe) if recipe else config_of(folder)
        config = replace(config, model=str(folder / "policy"))
    else:
        config = replace(find(recipe or DEFAULT), model=policy)
    if stage is not None:
        config = replace(config, stage=stage)
    config = apply(config, settings)
    parts = build_parts(config)
    found = []
    try:
        for name in tier:
            chosen = held_out(config, parts.definition, name, tasks)
            for way in modes:
                evaluation, _ = play(parts, config, chosen, tier=name, mode=way, label="eval")
                found.append(evaluation)
    finally:
        parts.pool.close()
    if as_json:
        print(json.dumps(as_data({policy: found})[policy]))
    else:
        console = Console()
        console.print(evaluation_table({folder.name or policy: found}, width=console.width))
