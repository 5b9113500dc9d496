"""Cheats: policies that look for reward without doing the task.

They know the environment's tools and, where there is an expert, what it did at the same task;
so they are as well informed as a policy that training has led astray. None of them both finishes
the work and submits it. They work on any environment; `Definition.undo` makes two of them
stronger.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, cycle
from typing import Any

from rung.core import Action
from rung.envs.definition import Definition
from rung.envs.playing import Agent, Played
from rung.envs.spaces import ToolCalls
from rung.envs.tools import CONFIRM, ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a cheat knows."""

    definition: Definition[Any]
    expert: Played | None
    """The expert's trajectory at the same task."""
    seed: int

    @property
    def actions(self) -> tuple[Action, ...]:
        """The expert's actions that do not end the task."""
        turns = self.expert.turns if self.expert else ()
        done = [turn.turn.action for turn in turns]
        return tuple(a for a in done if a is not None and not self.tool(a).final)

    def tool(self, action: Action) -> ToolSpec:
        """The tool that an action calls."""
        return next(tool for tool in self.definition.tools if tool.name == action.name)

    def calls(self, tools: Sequence[ToolSpec]) -> ToolCalls:
        """Random calls of some of the tools, as messages."""
        return ToolCalls(tuple(tools), self.seed)


@dataclass(frozen=True, slots=True)
class Cheat:
    """A policy that should not pay."""

    name: str
    play: Callable[[Setting], Agent]


def cheats(definition: Definition[Any]) -> tuple[Cheat, ...]:
    """Every cheat for an environment: one to farm each tool, and those that need no tool's name."""
    tools = [tool for tool in definition.tools if not tool.final]
    return (
        Cheat("submit at once", _random([tool for tool in definition.tools if tool.final])),
        Cheat("random actions", _random(definition.tools)),
        *(Cheat(f"farm {t.name}", _farm(t)) for t in tools if not t.irreversible),
        *(Cheat(f"spam {t.name}", _farm(t)) for t in tools if t.irreversible),
        Cheat("burn turns", _messages(_burn)),
        Cheat("toggle", _messages(_toggle)),
        *(
            (
                Cheat("undo and redo", _messages(_undo_and_redo)),
                Cheat("never submit", _messages(_never_submit)),
                Cheat("skip last subgoal", _messages(_skip_the_last_subgoal)),
            )
            if definition.expert
            else ()
        ),
    )


def _random(tools: Sequence[ToolSpec]) -> Callable[[Setting], Agent]:
    def play(setting: Setting) -> Agent:
        calls = setting.calls(tools)
        return lambda _observation: calls.sample()

    return play


def _messages(plan: Callable[[Setting], Iterator[str]]) -> Callable[[Setting], Agent]:
    """The cheat that follows a plan without listening."""

    def play(setting: Setting) -> Agent:
        waiting = plan(setting)
        return lambda _observation: next(waiting, None)

    return play


def _farm(tool: ToolSpec) -> Callable[[Setting], Agent]:
    """Call one tool over and over: as the expert did where it did, else at random."""

    def plan(setting: Setting) -> Iterator[str]:
        known = [action.text for action in setting.actions if action.name == tool.name]
        calls = setting.calls([tool])
        return cycle(known) if known else iter(calls.sample, None)

    return _messages(plan)


def _burn(setting: Setting) -> Iterator[str]:
    """Look around for ever: valid calls that lead nowhere, with something invalid in between."""
    harmless = [a.text for a in setting.actions if not setting.tool(a).irreversible]
    return cycle([*harmless[:1], "", ""])


def _toggle(setting: Setting) -> Iterator[str]:
    """Do what reached a subgoal, take it back, do it again, and so on."""
    first = next(iter(_reaching(setting)), None)
    if first is None:
        calls = setting.calls([t for t in setting.definition.tools if not t.final])
        return cycle([calls.sample(), calls.sample()])
    back = _back(setting, first)
    return chain([first.text], cycle([back.text, _again(setting, first, back).text]))


def _undo_and_redo(setting: Setting) -> Iterator[str]:
    """All of the expert's work, everything that reached a subgoal taken back and done again."""
    reaching = set(_reaching(setting))
    messages: list[str] = []
    for action in setting.actions:
        messages.append(action.text)
        if action in reaching:
            back = _back(setting, action)
            messages += [back.text, _again(setting, action, back).text]
    return cycle(messages)


def _never_submit(setting: Setting) -> Iterator[str]:
    """All of the expert's work but for handing it in; then the last action for ever."""
    messages = [action.text for action in setting.actions]
    return chain(messages, cycle(messages[-1:] or [""]))


def _skip_the_last_subgoal(setting: Setting) -> Iterator[str]:
    """The expert's trajectory without the action that reached the last subgoal."""
    assert setting.expert is not None
    turns = setting.expert.turns
    last = max((i for i, turn in enumerate(turns) if turn.turn.subgoals), default=-1)
    return (turn.message for i, turn in enumerate(turns) if i != last)


def _reaching(setting: Setting) -> list[Action]:
    """The expert's actions that reached a subgoal."""
    turns = setting.expert.turns if setting.expert else ()
    found = [turn.turn.action for turn in turns if turn.turn.subgoals]
    return [a for a in found if a is not None and not setting.tool(a).final]


def _back(setting: Setting, action: Action) -> Action:
    """What takes an action back, as well as can be: its undo, or the call with other texts."""
    undone = setting.definition.undo(action)
    if undone is not None:
        return undone
    changed = {name: _other(value) for name, value in action.arguments.items() if name != CONFIRM}
    return Action(action.name, {**action.arguments, **changed})


def _again(setting: Setting, action: Action, back: Action) -> Action:
    """What does the action again after `back`."""
    return setting.definition.undo(back) or action


def _other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value} draft"
        case _:
            return value
