"""`rung play`: a person plays a task in the terminal."""

import json
import shlex
from typing import Annotated, Any

import typer


def play(
    environment: Annotated[str, typer.Argument(help="Name, or module:attribute.")] = "office",
    tier: Annotated[str, typer.Option(help="Tier of the task.")] = "E1",
    template: Annotated[str | None, typer.Option(help="Template of the task.")] = None,
    seed: Annotated[int, typer.Option(help="Which task is drawn.")] = 0,
    expert: Annotated[bool, typer.Option(help="Watch the expert instead.")] = False,
) -> None:
    """Play a task: type JSON actions, or `tool name=value ...`; `help`, `quit`."""
    from rich.console import Console

    from rung.envs import load, make
    from rung.errors import TaskError, nearest
    from rung.seeding import Seeds

    console = Console(highlight=False, markup=False, soft_wrap=True)
    definition = load(environment)
    templates = definition.of_tier(tier)
    if template is not None:
        known = [found.name for found in templates]
        templates = tuple(found for found in templates if found.name == template)
        if not templates:
            raise TaskError(
                f"no template {template!r} in tier {tier}", hint=nearest(template, known)
            )
    generator = Seeds(seed).generator("play")
    task = templates[int(generator.integers(len(templates)))].draw(generator)
    env = make(definition)
    try:
        text, _ = env.reset(seed=seed, options={"task": task})
        console.print(definition.instructions(), style="dim")
        console.print(f"\n{text}\n", style="bold")
        policy = env.base.expert(task) if expert else None
        _turns(console, env, definition, policy)
    finally:
        env.close()


def _turns(console: Any, env: Any, definition: Any, policy: Any) -> None:
    total = 0.0
    observation: str | None = None
    while True:
        if policy is not None:
            message = (next(policy) if observation is None else policy.send(observation)).text
            console.print(f"> {message}", style="cyan")
        else:
            try:
                typed = console.input("> ").strip()
            except EOFError:
                return
            if typed in ("quit", "exit"):
                return
            if typed == "help":
                console.print(definition.instructions(), style="dim")
                continue
            message = to_json(typed)
        observation, reward, terminated, truncated, info = env.step(message)
        total += reward
        console.print(observation)
        reached = "".join(f"  subgoal {name} reached" for name in info["turn"].subgoals)
        console.print(f"reward {reward:+.2f}{reached}", style="green" if reached else "dim")
        if terminated or truncated:
            console.print(f"\n{info['stop'].value}, return {total:.2f}", style="bold")
            return


def to_json(typed: str) -> str:
    """A JSON action from `tool name=value ...`; anything else is left as it is."""
    if not typed or typed.startswith(("{", "<", "```")):
        return typed
    try:
        name, *pairs = shlex.split(typed)
    except ValueError:
        return typed
    arguments = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            return typed
        arguments[key] = {"true": True, "false": False}.get(value, value)
    return json.dumps({"action": name, "arguments": arguments}, ensure_ascii=False)
