"""Playing one trajectory without a model: agents as functions, experts as agents."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rung.core import Action, RewardParts, StopReason, Task, TurnInfo
from rung.envs.definition import Definition, Expert, Template
from rung.envs.noise import persistent
from rung.envs.text_actions import TextActions
from rung.seeding import Seeds

Agent = Callable[[str], str | None]
"""From an observation to a message; None when it has nothing more to say."""

LONGEST = 1_000
"""Turns after which an agent is stopped that no limit stops."""


@dataclass(frozen=True, slots=True)
class PlayedTurn:
    """One turn: what was said and what came of it."""

    message: str
    observation: str
    reward: RewardParts
    turn: TurnInfo


@dataclass(frozen=True, slots=True)
class Played:
    """One trajectory of an agent."""

    task: Task
    turns: tuple[PlayedTurn, ...]
    stop: StopReason | None
    """None when the agent fell silent before the end."""

    @property
    def total(self) -> float:
        """The return: the sum of all rewards."""
        return sum(turn.reward.total for turn in self.turns)

    @property
    def messages(self) -> list[str]:
        """What the agent said."""
        return [turn.message for turn in self.turns]


def play(env: TextActions, task: Task, agent: Agent, *, seed: int = 0) -> Played:
    """What `agent` does at `task`, until it ends or falls silent."""
    observation, _ = env.reset(seed=seed, options={"task": task})
    turns: list[PlayedTurn] = []
    stop = None
    while stop is None and len(turns) < LONGEST:
        message = agent(observation)
        if message is None:
            break
        observation, _, _, _, info = env.step(message)
        stop = info["stop"]
        turns.append(PlayedTurn(message, observation, info["reward"], info["turn"]))
    return Played(task, tuple(turns), stop)


def saying(messages: Iterable[str]) -> Agent:
    """The agent that says `messages` in turn, whatever it hears."""
    waiting = iter(messages)
    return lambda _observation: next(waiting, None)


def acting(policy: Expert) -> Agent:
    """The agent that does what `policy` yields, again when noise disturbs it."""
    policy = persistent(policy)
    started = False

    def act(observation: str) -> str | None:
        nonlocal started
        try:
            action: Action = policy.send(observation) if started else next(policy)
        except StopIteration:
            return None
        started = True
        return action.text

    return act


def tasks_of(template: Template, count: int, *, seeds: Seeds) -> Iterator[Task]:
    """The first `count` tasks of a template."""
    for index in range(count):
        yield template.draw(seeds.generator(template.tier, template.name, index))


def all_tasks(definition: Definition[Any], count: int, *, seeds: Seeds) -> Iterator[Task]:
    """The first `count` tasks of every template."""
    for template in definition.templates:
        yield from tasks_of(template, count, seeds=seeds)
