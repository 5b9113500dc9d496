"""Checks of an environment's contract, for its author: `rung env check NAME`.

Each check plays the environment with all guards and says in words what it found. Not checked
here: that processes with different hash seeds agree, and that the splits share no task.
"""

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from gymnasium.utils.env_checker import check_env

from rung.core import StopReason, Task
from rung.envs.definition import Definition
from rung.envs.playing import Agent, acting, all_tasks, play, saying, tasks_of
from rung.envs.spaces import ToolCalls
from rung.envs.stack import make
from rung.envs.text_actions import TextActions
from rung.errors import RungError, TaskError, boundary
from rung.seeding import Seeds

PROCESS_SHARE = 0.3
"""Largest sum of process rewards, as a share of the success reward."""
_FEW = 2
_SEEDS = Seeds(0).child("check")


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found."""

    name: str
    ok: bool
    detail: str
    """What was seen, or what is wrong and where."""

    @property
    def line(self) -> str:
        """The finding for a person to read."""
        return f"{'ok  ' if self.ok else 'FAIL'}  {self.name}: {self.detail}"


def check(definition: Definition[Any], *, tasks: int = 20) -> list[Finding]:
    """Findings about an environment, one for each check.

    Args:
        definition: the environment.
        tasks: tasks per template that are played by the expert and by the cheats.
    """
    return [_find(name, look, definition, tasks) for name, look in _CHECKS.items()]


def _find(name: str, look: "_Check", definition: Definition[Any], tasks: int) -> Finding:
    try:
        with boundary(TaskError, "the check"):
            return Finding(name, True, look(definition, tasks))
    except RungError as error:
        return Finding(name, False, str(error))


_Check = Callable[[Definition[Any], int], str]


def _gymnasium(definition: Definition[Any], _tasks: int) -> str:
    with closing(make(definition)) as env, warnings.catch_warnings():
        # It warns of every wrapper, and of every environment that is not registered.
        warnings.simplefilter("ignore")
        env.action_space.seed(0)
        env.reset(seed=0)
        check_env(env)
    return "gymnasium's checker passes"


def _rewards(definition: Definition[Any], _tasks: int) -> str:
    table = definition.rewards
    costs = (table.wrong, table.turn, table.invalid, table.repeated, table.unfinished)
    if table.success <= 0 or table.process < 0 or min(costs) < 0:
        raise TaskError("the success reward must be positive, the others not negative")
    share = f"process rewards sum to {table.process:g}, success pays {table.success:g}"
    if table.process > PROCESS_SHARE * table.success:
        raise TaskError(f"{share}: more than {PROCESS_SHARE:.0%} invites stopping half way")
    return share


def _tools(definition: Definition[Any], _tasks: int) -> str:
    if silent := [tool.name for tool in definition.tools if not tool.description]:
        raise TaskError(f"no description: {', '.join(silent)}", hint="write a docstring")
    return f"all {len(definition.tools)} tools are described"


def _templates(definition: Definition[Any], tasks: int) -> str:
    for template in definition.templates:
        drawn = list(tasks_of(template, tasks, seeds=_SEEDS))
        if drawn != list(tasks_of(template, tasks, seeds=_SEEDS)):
            raise TaskError(
                f"template {template.name!r} draws other tasks from the same seed",
                hint="use nothing random but the generator that it is given",
            )
        for task in drawn:
            named = (task.environment, task.tier, task.template)
            wanted = (definition.name, template.tier, template.name)
            if named != wanted:
                raise TaskError(f"template {template.name!r} draws a task of {named}, not {wanted}")
    return f"{len(definition.templates)} templates draw the same tasks from the same seeds"


def _determinism(definition: Definition[Any], _tasks: int) -> str:
    with closing(make(definition)) as one, closing(make(definition)) as two:
        for task, agent in _games(definition):
            first = play(one, task, agent)
            again = play(two, task, saying(first.messages))
            if first != again or one.base.fingerprint() != two.base.fingerprint():
                raise TaskError(f"task {task.id!r}: the same actions give other results")
    return "same task, seed and actions give the same bytes (in this process)"


def _state(definition: Definition[Any], _tasks: int) -> str:
    with closing(make(definition)) as one, closing(make(definition)) as two:
        for task, agent in _games(definition):
            messages = play(one, task, agent).messages
            half = len(messages) // 2
            play(one, task, saying(messages[:half]))
            saved = json.dumps(one.state_dict())
            two.load_state_dict(json.loads(saved))
            if json.dumps(two.state_dict()) != saved:
                raise TaskError(f"task {task.id!r}: the restored state differs from the saved one")
            if _continue(one, messages[half:]) != _continue(two, messages[half:]):
                raise TaskError(f"task {task.id!r}: a restored trajectory goes on differently")
    return "a trajectory saved half way, as JSON, goes on as if nothing had happened"


def _expert(definition: Definition[Any], tasks: int) -> str:
    if definition.expert is None:
        return "no expert to check"
    with closing(make(definition)) as env:
        for task in all_tasks(definition, tasks, seeds=_SEEDS):
            stop = play(env, task, acting(definition.expert(task))).stop
            if stop is not StopReason.SUCCESS:
                raise TaskError(f"the expert ends task {task.id!r} with: {stop or 'no submission'}")
    return f"the expert solves {tasks} tasks of each template"


def _instant(definition: Definition[Any], tasks: int) -> str:
    final = tuple(tool for tool in definition.tools if tool.final)
    _stay_below(definition, tasks, ToolCalls(final, seed=0))
    return "submitting at once does not pay"


def _random(definition: Definition[Any], tasks: int) -> str:
    _stay_below(definition, tasks, ToolCalls(definition.tools, seed=0))
    return "calling tools at random does not pay"


def _stay_below(definition: Definition[Any], tasks: int, calls: ToolCalls) -> None:
    """Raise if an agent that samples `calls` comes within the success reward of the expert."""
    with closing(make(definition)) as env:
        for task in all_tasks(definition, tasks, seeds=_SEEDS):
            cheat = play(env, task, lambda _observation: calls.sample())
            if cheat.stop is StopReason.SUCCESS:
                raise TaskError(f"it solves task {task.id!r}")
            if definition.expert is None:
                continue
            best = play(env, task, acting(definition.expert(task)))
            if best.total - cheat.total < definition.rewards.success:
                raise TaskError(
                    f"at task {task.id!r} it earns {cheat.total:.2f} and the expert "
                    f"{best.total:.2f}: less than the success reward apart"
                )


_CHECKS: dict[str, _Check] = {
    "gymnasium": _gymnasium,
    "rewards": _rewards,
    "tools": _tools,
    "templates": _templates,
    "determinism": _determinism,
    "state": _state,
    "expert": _expert,
    "instant submit": _instant,
    "random play": _random,
}


def _continue(env: TextActions, messages: list[str]) -> list[str]:
    return [repr(env.step(message)) for message in messages]


def _games(definition: Definition[Any]) -> Iterator[tuple[Task, Agent]]:
    """A few tasks of each template, each for random play and for the expert if there is one."""
    calls = ToolCalls(definition.tools, seed=0)
    for task in all_tasks(definition, _FEW, seeds=_SEEDS):
        yield task, lambda _observation: calls.sample()
        if definition.expert is not None:
            yield task, acting(definition.expert(task))
