import itertools
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rung.core import Action, Task
from rung.envs import Definition, Finding, RewardTable, Template, ToolError, check, tool
from rung.envs.office import office

NAMES = [
    "gymnasium",
    "rewards",
    "tools",
    "templates",
    "determinism",
    "state",
    "expert",
    "instant submit",
    "random play",
]


def failed(definition: Definition[Any], tasks: int = 3) -> dict[str, str]:
    """Name and detail of the findings that are not ok."""
    findings = check(definition, tasks=tasks)
    assert [finding.name for finding in findings] == NAMES
    assert all(finding.detail for finding in findings)
    return {finding.name: finding.detail for finding in findings if not finding.ok}


@pytest.fixture
def lawful(toy: Definition[Any]) -> Definition[Any]:
    """The toy environment without its tool for E2 only."""
    return replace(toy, tools=tuple(tool for tool in toy.tools if tool.name != "late"))


def test_a_lawful_environment_passes(lawful: Definition[Any]) -> None:
    assert failed(lawful) == {}
    assert Finding("expert", True, "the expert solves 3 tasks of each template") in check(
        lawful, tasks=3
    )


def test_the_office_passes() -> None:
    assert failed(office(), tasks=1) == {}


def test_an_environment_without_expert_passes(lawful: Definition[Any]) -> None:
    lawful = replace(lawful, expert=None)
    assert failed(lawful) == {}
    assert Finding("expert", True, "no expert to check") in check(lawful, tasks=3)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (RewardTable(process=3.1), "process rewards sum to 3.1, success pays 10: more than 30%"),
        (RewardTable(success=0.0), "the success reward must be positive"),
        (RewardTable(turn=-0.1), "the others not negative"),
    ],
)
def test_rewards(lawful: Definition[Any], table: RewardTable, message: str) -> None:
    assert message in failed(replace(lawful, rewards=table))["rewards"]


def test_process_at_the_limit_is_allowed(lawful: Definition[Any]) -> None:
    assert "rewards" not in failed(replace(lawful, rewards=RewardTable(process=3.0)))


def test_tools(lawful: Definition[Any]) -> None:
    silent = replace(lawful.tools[0], description="")
    found = failed(replace(lawful, tools=(silent, *lawful.tools[1:])))
    assert found == {"tools": "no description: add\nhint: write a docstring"}


def test_templates_that_draw_from_elsewhere(lawful: Definition[Any]) -> None:
    goals = itertools.count(10)

    def draw(_generator: np.random.Generator) -> Task:
        data = {"start": 0, "goal": next(goals)}
        return Task.make(environment="toy", template="count", text="", data=data)

    found = failed(replace(lawful, templates=(Template("count", "E1", draw),)))
    assert "template 'count' draws other tasks from the same seed" in found["templates"]


@pytest.mark.parametrize("field", ["environment", "tier", "template"])
def test_templates_that_name_their_tasks_wrongly(lawful: Definition[Any], field: str) -> None:
    right = lawful.templates[0]
    wrong = replace(right, draw=lambda generator: replace(right.draw(generator), **{field: "E2"}))
    found = failed(replace(lawful, templates=(wrong,)))
    assert "template 'count' draws a task of" in found["templates"]


def test_templates_that_crash(lawful: Definition[Any]) -> None:
    def draw(_generator: np.random.Generator) -> Task:
        raise KeyError("price")

    found = failed(replace(lawful, templates=(Template("count", "E1", draw),)))
    assert found["templates"] == "the check failed: KeyError: 'price'"
    assert {"gymnasium", "determinism", "state", "expert"} < set(found)


def test_an_observation_that_depends_on_the_past(lawful: Definition[Any]) -> None:
    calls = itertools.count()

    @tool
    def roll(_state: Any) -> str:
        """Roll a die."""
        return str(next(calls))

    found = failed(replace(lawful, tools=(*lawful.tools, roll)))
    assert "the same actions give other results" in found["determinism"]


def test_an_initial_state_that_depends_on_the_past(lawful: Definition[Any]) -> None:
    goals = itertools.count(10)

    def start(task: Task, generator: np.random.Generator) -> Any:
        return replace(lawful.start(task, generator), goal=next(goals))

    found = failed(replace(lawful, start=start))
    assert "the same actions give other results" in found["determinism"]


def test_a_state_that_is_not_saved_whole(lawful: Definition[Any]) -> None:
    @tool
    def count(state: Any) -> str:
        """Count the calls."""
        state.calls = getattr(state, "calls", 0) + 1
        return str(state.calls)

    definition = replace(lawful, tools=(*lawful.tools, count), expert=None)
    assert "a restored trajectory goes on differently" in failed(definition)["state"]


def test_a_state_that_comes_back_otherwise(lawful: Definition[Any]) -> None:
    definition = replace(
        lawful,
        save=lambda state: {"value": state.value, "goal": state.goal},
        load=lambda task, saved: replace(lawful.start(task, np.random.default_rng(0)), goal=0),
    )
    assert "the restored state differs from the saved one" in failed(definition)["state"]


def test_a_state_without_a_json_form(lawful: Definition[Any]) -> None:
    definition = replace(lawful, save=lambda state: {state.value: object()}, load=lambda *_: None)
    found = failed(definition)
    assert "not JSON serializable" in found["state"]
    assert "hashing the state failed" in found["determinism"]


def wrong_expert(_task: Task) -> Any:
    yield Action("finish", {"answer": -1})


def slow_expert(_task: Task) -> Any:
    for count in range(20):
        yield Action("rows", {"count": count})


def silent_expert(_task: Task) -> Any:
    yield Action("rows", {"count": 1})


def crashing_expert(_task: Task) -> Any:
    raise LookupError("no plan")
    yield


@pytest.mark.parametrize(
    ("expert", "message"),
    [
        (wrong_expert, "with: wrong_submission"),
        (slow_expert, "with: step_limit"),
        (silent_expert, "with: no submission"),
        (crashing_expert, "the check failed: LookupError: no plan"),
    ],
)
def test_experts(lawful: Definition[Any], expert: Any, message: str) -> None:
    assert message in failed(replace(lawful, expert=expert))["expert"]


def test_success_without_work(lawful: Definition[Any]) -> None:
    found = failed(replace(lawful, success=lambda _: True))
    assert found["instant submit"].startswith("it solves task 'toy/E1/count/")
    assert found["random play"].startswith("it solves task 'toy/E1/count/")


def test_process_rewards_that_make_up_for_failure(lawful: Definition[Any]) -> None:
    # Random play reaches subgoals worth 9 and loses 1; the expert gets 9 and 10.
    table = RewardTable(process=9.0, wrong=0.0, turn=0.0, invalid=0.0, unfinished=0.0)

    def subgoals(_task: Task) -> Any:
        return (replace(lawful.subgoals(_task)[0], holds=lambda state: state.answer is not None),)

    found = failed(replace(lawful, rewards=replace(table, success=9.5), subgoals=subgoals))
    assert "rewards" in found
    assert "instant submit" not in found, "both earn the process reward: success apart"
    lazy = replace(lawful, rewards=table, subgoals=subgoals, expert=honest_but_charged)
    assert "less than the success reward apart" in failed(lazy)["instant submit"]


def honest_but_charged(task: Task) -> Any:
    """Solves the task, with a repeated call on the way."""
    yield Action("rows", {"count": 1})
    yield Action("rows", {"count": 1})
    yield Action("add", {"amount": task.data["goal"] - task.data["start"]})
    yield Action("finish", {"answer": task.data["goal"]})


def test_tools_that_crash(lawful: Definition[Any]) -> None:
    @tool
    def crash(_state: Any) -> str:
        """Break."""
        raise OSError("disk gone")

    found = failed(replace(lawful, tools=(*lawful.tools, crash)))
    assert "tool 'crash' failed: OSError: disk gone" in found["random play"]


def test_tool_errors_are_no_findings(lawful: Definition[Any]) -> None:
    @tool
    def refuse(_state: Any) -> str:
        """Refuse."""
        raise ToolError("no")

    assert failed(replace(lawful, tools=(*lawful.tools, refuse))) == {}


def test_findings_are_plain_records() -> None:
    finding = Finding("tools", False, "no description: add")
    assert json.dumps([finding.name, finding.ok, finding.detail])
    with pytest.raises(AttributeError):
        finding.ok = True  # pyright: ignore[reportAttributeAccessIssue]
