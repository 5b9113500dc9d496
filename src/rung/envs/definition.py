"""Definition: everything that makes an environment, as plain functions and data."""

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from rung.core import Action, Task
from rung.envs.live import LiveConfig
from rung.envs.tools import ToolSpec
from rung.errors import ConfigError, TaskError, nearest

S = TypeVar("S")

Expert = Generator[Action, str, None]
"""A policy that knows the task: yields actions, is sent observations."""

TIERS = ("E1", "E2", "E3")


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardTable:
    """Every number of an environment's reward, in one place. Costs are positive numbers."""

    success: float = 10.0
    """Outcome of a right submission."""
    wrong: float = 1.0
    """Cost of a wrong submission, in the outcome part."""
    process: float = 2.0
    """Sum of the process rewards of a task, shared by its subgoals; at most 30 % of success."""
    turn: float = 0.01
    """Cost of every turn."""
    invalid: float = 0.05
    """Further cost of an invalid turn."""
    repeated: float = 0.05
    """Further cost of repeating an action in three consecutive turns, and of repeating any
    exact call."""
    unfinished: float = 0.5
    """Further cost when a limit ends the trajectory."""


@dataclass(frozen=True, slots=True)
class Subgoal(Generic[S]):
    """A part of the goal, judged on the environment's state and never on the transcript."""

    name: str
    holds: Callable[[S], bool]
    weight: float = 1.0
    """Its share of the task's process reward, relative to the other subgoals."""


@dataclass(frozen=True, slots=True)
class Template:
    """A family of tasks of one tier."""

    name: str
    tier: str
    draw: Callable[[np.random.Generator], Task]
    """A task, as a function of the generator alone."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Personal data that an environment made up or was given."""

    kind: str
    """A lower-case word, the placeholder's: person, email."""
    value: str


def _no_identities(_task: Task) -> tuple[Identity, ...]:
    return ()


def _nothing(_: Any) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition(Generic[S]):
    """An environment as a user writes it; `ToolEnvironment` plays it."""

    name: str
    tools: tuple[ToolSpec, ...]
    """At least one of them must be final."""
    templates: tuple[Template, ...]
    start: Callable[[Task, np.random.Generator], S]
    """The initial state of a task: a function of the task and the generator alone."""
    subgoals: Callable[[Task], tuple[Subgoal[S], ...]]
    success: Callable[[S], bool]
    """Judged when a final tool was called."""
    about: str = ""
    """What a model has to know besides the tools."""
    rewards: RewardTable = RewardTable()
    expert: Callable[[Task], Expert] | None = None
    identities: Callable[[Task], Iterable[Identity]] = _no_identities
    """The personal data in a task, for `Redaction`."""
    undo: Callable[[Action], Action | None] = _nothing
    """The action that takes back what another did, or None; used by `rung audit`. The undo of an
    undo does it again."""
    close: Callable[[S], None] = _nothing
    """Frees what the state holds: folders, connections."""
    live: Callable[["Definition[S]", LiveConfig], "Definition[S]"] | None = None
    """Gives the same environment on real services."""
    save: Callable[[S], Any] | None = None
    """The state as a JSON value; needed when the state is not a plain dataclass."""
    load: Callable[[Task, Any], S] | None = None
    """The state from what `save` gave."""

    def __post_init__(self) -> None:
        names = [tool.name for tool in self.tools]
        if len(set(names)) != len(names):
            raise TaskError(f"environment {self.name!r}: two tools have one name: {names}")
        if not any(tool.final for tool in self.tools):
            raise TaskError(
                f"environment {self.name!r}: no tool ends the trajectory",
                hint="mark one with @tool(final=True)",
            )
        if not self.templates:
            raise TaskError(f"environment {self.name!r}: it has no task template")
        if (self.save is None) != (self.load is None):
            raise TaskError(f"environment {self.name!r}: `save` and `load` belong together")
        for part in (*self.tools, *self.templates):
            if part.tier not in TIERS:
                raise TaskError(
                    f"environment {self.name!r}: {part.name!r} is of unknown tier {part.tier!r}",
                    hint=f"tiers: {', '.join(TIERS)}",
                )

    @property
    def tiers(self) -> tuple[str, ...]:
        """The tiers for which it has templates, easiest first."""
        return tuple(tier for tier in TIERS if any(t.tier == tier for t in self.templates))

    def of_tier(self, tier: str) -> tuple[Template, ...]:
        """The templates of one tier.

        Raises:
            TaskError: there is none.
        """
        found = tuple(template for template in self.templates if template.tier == tier)
        if not found:
            raise TaskError(
                f"environment {self.name!r} has no tasks of tier {tier!r}",
                hint=f"its tiers: {', '.join(self.tiers)}",
            )
        return found

    def draws(self, *tiers: str) -> dict[str, list[Callable[[np.random.Generator], Task]]]:
        """Tier -> the draw functions of its templates, for a stream of tasks; by default of all.

        Raises:
            TaskError: a tier has no templates.
        """
        return {tier: [t.draw for t in self.of_tier(tier)] for tier in tiers or self.tiers}

    def on(self, stage: str, config: LiveConfig) -> "Definition[S]":
        """The environment at a stage, `simulated` or `live`.

        Raises:
            ConfigError: there is no such stage.
        """
        if stage == "simulated":
            return self
        if stage != "live" or self.live is None:
            raise ConfigError(
                f"environment {self.name!r} has no stage {stage!r}",
                hint="stages: simulated" + (", live" if self.live else ""),
            )
        return self.live(self, config)

    def opening(self, tiers: Mapping[str, str]) -> "Definition[S]":
        """The same environment with tools that open at other tiers.

        Args:
            tiers: tool -> tier from which it is open.

        Raises:
            ConfigError: there is no such tool or tier, or no tool that ends the trajectory is
                open at the lowest tier.
        """
        names = [tool.name for tool in self.tools]
        for name, tier in tiers.items():
            if name not in names:
                raise ConfigError(
                    f"environment {self.name!r} has no tool {name!r}", hint=nearest(name, names)
                )
            if tier not in TIERS:
                raise ConfigError(
                    f"tool {name!r} cannot open at tier {tier!r}", hint=f"tiers: {', '.join(TIERS)}"
                )
        tools = tuple(replace(tool, tier=tiers.get(tool.name, tool.tier)) for tool in self.tools)
        lowest = self.tiers[0]
        if not any(tool.final and tool.tier <= lowest for tool in tools):
            raise ConfigError(f"no tool that ends the trajectory is open at {lowest}")
        return replace(self, tools=tools)

    def instructions(self, *, style: str = "full") -> str:
        """The system message: the form of an action, the tools, and `about`.

        Args:
            style: `full` describes everything; `short` gives the tools' signatures only, for a
                policy that has learned the rest.
        """
        if style == "short":
            return "\n".join(tool.signature for tool in self.tools)
        lines = [
            "You work with tools. Reply to every message with one JSON object:",
            '{"action": "<tool>", "arguments": {<its arguments>}}',
            "Tools:",
            *(f"- {tool.signature}: {_describe(tool)}" for tool in self.tools),
        ]
        return "\n".join([*lines, self.about] if self.about else lines)


def _describe(tool: ToolSpec) -> str:
    notes = [tool.description]
    if tool.irreversible:
        notes.append('It cannot be undone: add "confirm": true.')
    if tool.final:
        notes.append("This ends the task.")
    return " ".join(note for note in notes if note)
