"""A small environment for the tests of the contract: count to a goal and hand it in."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from rung.core import Action, Task
from rung.envs import (
    Definition,
    Expert,
    RewardTable,
    Subgoal,
    Table,
    Template,
    ToolEnvironment,
    ToolError,
    tool,
)


@dataclass
class Counter:
    value: int
    goal: int
    answer: int | None = None
    marks: set[str] = field(default_factory=set[str])
    by_number: dict[int, str] = field(default_factory=dict[int, str])


@tool
def add(state: Counter, amount: int = 1) -> str:
    """Add to the value."""
    state.value += amount
    state.marks.add(f"mark {amount}")
    state.by_number[state.value] = f"was {amount}"
    return f"value {state.value}"


@tool
def rows(_state: Counter, count: int) -> Table:
    """Show rows."""
    return Table(("n", "square"), tuple((n, n * n) for n in range(count)))


@tool
def fail(_state: Counter, why: str = "no reason") -> str:
    """Refuse to work."""
    raise ToolError(why)


@tool(irreversible=True)
def erase(state: Counter) -> str:
    """Set the value to zero."""
    state.value = 0
    return "erased"


@tool(tier="E2")
def late(_state: Counter) -> str:
    """Open from E2."""
    return "late"


@tool(final=True)
def finish(state: Counter, answer: int) -> str:
    """Hand in the value."""
    state.answer = answer
    return "finished"


def draw(generator: np.random.Generator) -> Task:
    data = {"start": int(generator.integers(2)), "goal": int(generator.integers(5, 100))}
    text = f"Count from {data['start']} to {data['goal']}."
    return Task.make(environment="toy", template="count", text=text, step_limit=6, data=data)


def expert(task: Task) -> Expert:
    yield Action("add", {"amount": task.data["goal"] - task.data["start"]})
    yield Action("finish", {"answer": task.data["goal"]})


def subgoals(_task: Task) -> tuple[Subgoal[Counter], ...]:
    return (
        Subgoal("two", lambda state: state.value >= 2),
        Subgoal("five", lambda state: state.value >= 5, weight=3.0),
    )


@pytest.fixture
def toy() -> Definition[Any]:
    """Rewards: subgoal `two` pays 0.5 and `five` 1.5; the others are the default table's."""
    return Definition(
        name="toy",
        tools=(add, rows, fail, erase, late, finish),
        templates=(Template("count", "E1", draw),),
        start=lambda task, _generator: Counter(task.data["start"], task.data["goal"]),
        subgoals=subgoals,
        success=lambda state: state.answer == state.value == state.goal,
        rewards=RewardTable(),
        expert=expert,
    )


@pytest.fixture
def toy_task() -> Task:
    """Count from 0 to 5 in at most 6 turns."""
    return Task.make(
        environment="toy",
        template="count",
        text="Count from 0 to 5.",
        step_limit=6,
        data={"start": 0, "goal": 5},
    )


@pytest.fixture
def bare(toy: Definition[Any], toy_task: Task) -> ToolEnvironment[Any]:
    """The toy environment without guards, at the start of `toy_task`."""
    env = ToolEnvironment(toy)
    env.reset(seed=0, options={"task": toy_task})
    return env
