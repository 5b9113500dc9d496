"""`rung tasks sample|show|validate`: task files."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from rung.cli.options import AsJson

app = typer.Typer(help="Draw, read and check task files.", no_args_is_help=True)
File = Annotated[Path, typer.Argument(help="A task file: one JSON object per line.")]


@app.command()
def sample(
    environment: Annotated[str, typer.Argument(help="Name, or module:attribute.")] = "office",
    tier: Annotated[list[str], typer.Option(help="Tier to draw from; may be repeated.")] = ["E1"],  # noqa: B006
    count: Annotated[int, typer.Option(min=1, help="How many tasks.")] = 10,
    split: Annotated[str, typer.Option(help="train or eval.")] = "train",
    seed: Annotated[int, typer.Option(min=0, help="Which tasks are drawn.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="File to write; default: standard output.")
    ] = None,
) -> None:
    """Draw tasks, evenly from the tiers named."""
    from rung.core.taskfile import task_line, write_tasks
    from rung.curriculum import TaskStream
    from rung.envs import load
    from rung.seeding import Seeds

    definition = load(environment)
    draws = definition.draws(*tier)
    stream = TaskStream(draws, seeds=Seeds(seed), split=split, mix=dict.fromkeys(draws, 1.0))
    found = stream.take(count)
    if out is not None:
        write_tasks(out, found)
        return
    for task in found:
        print(task_line(task))


@app.command()
def show(file: File, as_json: AsJson = False) -> None:
    """What each task of a file asks for."""
    from rung.core.taskfile import read_tasks
    from rung.curriculum import split_of

    for number, task in enumerate(read_tasks(file), start=1):
        facts = {"id": task.id, "split": split_of(task), "step_limit": task.step_limit}
        if as_json:
            print(json.dumps({**facts, "text": task.text, "data": task.data}))
        else:
            print(f"{number}. {task.id}  {facts['split']}, at most {task.step_limit} turns")
            print(f"   {task.text}\n")


@app.command()
def validate(file: File, as_json: AsJson = False) -> None:
    """Check that every task can be read, started and solved by the expert."""
    from rung.core.taskfile import read_tasks

    tasks = read_tasks(file)
    wrong = {task.id: problem for task in tasks if (problem := _problem(task))}
    if as_json:
        print(json.dumps({"tasks": len(tasks), "wrong": wrong}))
    else:
        for name, problem in wrong.items():
            print(f"FAIL  {name}: {problem}")
        print(f"{len(tasks) - len(wrong)} of {len(tasks)} tasks are sound")
    if wrong:
        sys.exit(1)


def _problem(task: Any) -> str | None:
    """What is wrong with a task, or None."""
    from contextlib import closing

    from rung.core import StopReason
    from rung.envs import load, make
    from rung.envs.playing import acting, play, saying
    from rung.errors import RungError, TaskError, boundary

    try:
        with boundary(TaskError, "playing it"), closing(make(load(task.environment))) as env:
            expert = env.base.definition.expert
            played = play(env, task, acting(expert(task)) if expert else saying(()))
    except RungError as error:
        return str(error)
    if expert and played.stop is not StopReason.SUCCESS:
        return f"the expert ends with: {played.stop or 'no submission'}"
    return None
