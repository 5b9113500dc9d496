from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rung.core import Action, FormatErrorKind, Task
from rung.envs import Definition, RewardTable, Template, make
from rung.errors import ConfigError, TaskError


def never(_generator: np.random.Generator) -> Task:
    raise AssertionError("not drawn in this test")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(
            lambda toy: {"tools": (*toy.tools, toy.tools[0])},
            "two tools have one name",
            id="tool twice",
        ),
        pytest.param(
            lambda toy: {"tools": toy.tools[:-1]}, "no tool ends the trajectory", id="no end"
        ),
        pytest.param(lambda _: {"templates": ()}, "no task template", id="no template"),
        pytest.param(
            lambda _: {"templates": (Template("count", "E4", never),)},
            "'count' is of unknown tier 'E4'",
            id="tier of a template",
        ),
        pytest.param(
            lambda toy: {"tools": (*toy.tools, replace(toy.tools[0], name="more", tier="e1"))},
            "'more' is of unknown tier 'e1'",
            id="tier of a tool",
        ),
        pytest.param(
            lambda _: {"save": lambda state: state}, "`save` and `load` belong together", id="save"
        ),
    ],
)
def test_a_wrong_definition_is_refused(toy: Definition[Any], change: Any, message: str) -> None:
    with pytest.raises(TaskError, match=message):
        replace(toy, **change(toy))


def test_templates_by_tier(toy: Definition[Any]) -> None:
    hard, easy = Template("hard", "E3", never), Template("easy", "E1", never)
    definition = replace(toy, templates=(hard, easy))
    assert definition.tiers == ("E1", "E3")
    assert definition.of_tier("E3") == (hard,)
    with pytest.raises(TaskError, match=r"no tasks of tier 'E2'\nhint: its tiers: E1, E3"):
        definition.of_tier("E2")


def test_instructions_describe_everything(toy: Definition[Any]) -> None:
    assert replace(toy, about="Be brief.").instructions() == (
        "You work with tools. Reply to every message with one JSON object:\n"
        '{"action": "<tool>", "arguments": {<its arguments>}}\n'
        "Tools:\n"
        "- add(amount): Add to the value.\n"
        "- rows(count): Show rows.\n"
        "- fail(why): Refuse to work.\n"
        '- erase(confirm): Set the value to zero. It cannot be undone: add "confirm": true.\n'
        "- late(): Open from E2.\n"
        "- finish(answer): Hand in the value. This ends the task.\n"
        "Be brief."
    )


def test_short_instructions_are_signatures(toy: Definition[Any]) -> None:
    assert toy.instructions(style="short") == (
        "add(amount)\nrows(count)\nfail(why)\nerase(confirm)\nlate()\nfinish(answer)"
    )


def test_process_rewards_are_a_fifth_of_success_by_default() -> None:
    assert RewardTable().process == 2.0
    assert RewardTable().success == 10.0


def test_tools_open_at_other_tiers(toy: Definition[Any], toy_task: Task) -> None:
    later = toy.opening({"rows": "E2", "late": "E1"})
    assert {tool.name: tool.tier for tool in later.tools}["rows"] == "E2"
    env = make(later)
    env.reset(seed=0, options={"task": toy_task})
    closed = env.step(Action("rows", {"count": 1}).text)
    assert closed[4]["turn"].move.kind is FormatErrorKind.NOT_OPEN_YET
    assert env.step(Action("late", {}).text)[0] == "late"
    assert [tool.tier for tool in toy.opening({}).tools] == [tool.tier for tool in toy.tools]


@pytest.mark.parametrize(
    ("tiers", "message"),
    [
        ({"row": "E2"}, "did you mean 'rows'"),
        ({"rows": "E9"}, "cannot open at tier 'E9'"),
        ({"finish": "E2"}, "no tool that ends the trajectory is open at E1"),
    ],
)
def test_tools_that_cannot_open_so(
    toy: Definition[Any], tiers: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        toy.opening(tiers)
