from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rung.core import Task
from rung.envs import Definition, RewardTable, Template
from rung.errors import TaskError


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
