from typing import Any, Literal

import pytest

from rung.core import Action
from rung.envs import Definition, parse_action, tool
from rung.envs.office import office
from rung.envs.spaces import AnyText, ToolCalls


@tool
def everything(
    _state: Any,
    text: str,
    whole: int,
    number: float,
    flag: bool,
    choice: Literal["a", "b"],
    maybe: int | None,
    items: list[str],
    later: str = "x",
) -> str:
    """Take every kind of argument."""
    return text


def test_any_text_holds_every_text() -> None:
    space = AnyText(seed=1)
    assert "" in space and "\n\ud83d" in space
    assert 3 not in space and None not in space
    assert all(space.sample() in space for _ in range(20))
    assert not space.is_np_flattenable
    assert space == AnyText() and space != ToolCalls((everything,))
    assert hash(space) == hash(AnyText())


@pytest.mark.parametrize(
    "tools", [office().tools, (everything,)], ids=["office", "every kind of argument"]
)
def test_samples_are_well_formed_calls(tools: Any) -> None:
    space = ToolCalls(tools, seed=7)
    by_name = {tool.name: tool for tool in tools}
    seen = set()
    for _ in range(200):
        action = parse_action(space.sample(), by_name, "E3")
        assert isinstance(action, Action), action
        seen.add(action.name)
    assert seen == set(by_name)


def test_sampling_follows_the_seed(toy: Definition[Any]) -> None:
    def sample(seed: int) -> list[str]:
        space = ToolCalls(toy.tools)
        space.seed(seed)
        return [space.sample() for _ in range(20)]

    assert sample(4) == sample(4)
    assert sample(4) != sample(5)
