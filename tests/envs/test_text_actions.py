from dataclasses import replace
from typing import Any

import pytest

from rung.core import Action, FormatErrorKind, Response, Task
from rung.envs import Definition, StepLimit, TextActions, ToolEnvironment
from rung.errors import TaskError

ADD = '{"action": "add", "arguments": {"amount": 2}}'
LATE = '{"action": "late", "arguments": {}}'


@pytest.fixture
def env(bare: ToolEnvironment[Any]) -> TextActions:
    return TextActions(bare)


def test_text_becomes_an_action(env: TextActions) -> None:
    observation, reward, terminated, truncated, info = env.step(f"I add two. {ADD}")
    assert (observation, terminated, truncated) == ("value 2", False, False)
    assert reward == pytest.approx(0.5 - 0.01)
    move = info["turn"].move
    assert isinstance(move, Action)
    assert move.text == ADD


@pytest.mark.parametrize("message", ["", "  \n ", "add 2", ADD[:-1]])
def test_text_without_an_action_is_an_invalid_turn(env: TextActions, message: str) -> None:
    observation, reward, _, _, info = env.step(message)
    assert info["turn"].move.kind is FormatErrorKind.NO_JSON
    assert observation.startswith("format error, no_json: ")
    assert reward == pytest.approx(-0.06)
    assert env.base.state.value == 0


def test_a_cut_message_costs_its_turn_alone(env: TextActions) -> None:
    observation, reward, _, _, info = env.step(Response(ADD[:-1], cut=True))
    assert info["turn"].move.kind is FormatErrorKind.TRUNCATED
    assert info["turn"].invalid
    assert reward == pytest.approx(-0.01)
    assert "was cut before its JSON object ended" in observation
    assert env.step(Response(ADD, cut=True))[0] == "value 2"


def test_a_message_must_be_text(env: TextActions) -> None:
    message: Any = {"action": "add"}
    with pytest.raises(TaskError, match="an action is text, got dict"):
        env.step(message)
    message = None
    with pytest.raises(TaskError, match="an action is text, got NoneType"):
        env.step(message)


def test_tools_open_with_the_tier_of_the_task(env: TextActions, toy_task: Task) -> None:
    assert env.step(LATE)[4]["turn"].move.kind is FormatErrorKind.NOT_OPEN_YET
    env.reset(options={"task": replace(toy_task, tier="E2")})
    assert env.step(LATE)[0] == "late"


def test_an_empty_reply_cannot_loop_for_ever(bare: ToolEnvironment[Any]) -> None:
    env = TextActions(StepLimit(bare))
    assert [env.step("")[3] for _ in range(6)] == [False] * 5 + [True]


def test_spaces_are_of_text(env: TextActions) -> None:
    env.action_space.seed(3)
    message = env.action_space.sample()
    assert isinstance(message, str) and message in env.action_space
    assert env.step(message)[0] in env.observation_space


def test_state_goes_on(toy: Definition[Any], env: TextActions) -> None:
    env.step(ADD)
    twin = TextActions(ToolEnvironment(toy))
    twin.load_state_dict(env.state_dict())
    assert twin.base.state == env.base.state
