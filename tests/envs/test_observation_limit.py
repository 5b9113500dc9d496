from typing import Any

import pytest

from rung.core import Action
from rung.envs import ObservationLimit, ToolEnvironment
from rung.envs.observation_limit import cut_text
from rung.errors import ConfigError


def test_short_observations_pass(bare: ToolEnvironment[Any]) -> None:
    env = ObservationLimit(bare, characters=20)
    assert env.step(Action("fail", {"why": "x" * 13}))[0] == "error: " + "x" * 13


def test_long_text_is_cut_with_a_marker(bare: ToolEnvironment[Any]) -> None:
    env = ObservationLimit(bare, characters=20)
    observation, reward, terminated, truncated, info = env.step(Action("fail", {"why": "x" * 33}))
    assert observation == "error: " + "x" * 13 + "\n[cut: 20 more characters]"
    # A turn 0.01 and an invalid one 0.05: the cut itself costs nothing.
    assert reward == info["reward"].total == pytest.approx(-0.06)
    assert (terminated, truncated) == (False, False)


@pytest.mark.parametrize(
    ("count", "first", "last"),
    [
        pytest.param(3, "n | square", "2 | 4", id="at the limit"),
        pytest.param(4, "4 rows, the first 3 shown", "2 | 4", id="over the limit"),
        pytest.param(0, "no rows", "no rows", id="empty"),
    ],
)
def test_long_tables_become_a_summary(
    bare: ToolEnvironment[Any], count: int, first: str, last: str
) -> None:
    env = ObservationLimit(bare, rows=3)
    lines = env.step(Action("rows", {"count": count}))[0].splitlines()
    assert (lines[0], lines[-1]) == (first, last)


def test_a_summary_is_cut_as_well(bare: ToolEnvironment[Any]) -> None:
    env = ObservationLimit(bare, characters=30, rows=3)
    assert env.step(Action("rows", {"count": 9}))[0] == (
        "9 rows, the first 3 shown\nn | \n[cut: 24 more characters]"
    )


def test_a_cut_does_not_split_a_character() -> None:
    cut = cut_text("\U0001f680" * 3, 2)
    assert cut == "\U0001f680" * 2 + "\n[cut: 1 more characters]"
    cut.encode()


def test_without_the_guard_nothing_is_cut(bare: ToolEnvironment[Any]) -> None:
    assert len(bare.step(Action("fail", {"why": "x" * 5_000}))[0]) == 5_007
    assert bare.step(Action("rows", {"count": 100}))[0].count("\n") == 100


@pytest.mark.parametrize("limits", [{"characters": 0}, {"rows": 0}])
def test_limits_must_be_positive(bare: ToolEnvironment[Any], limits: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        ObservationLimit(bare, **limits)
