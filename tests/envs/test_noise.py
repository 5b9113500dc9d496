from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rung.core import Action, FormatError, FormatErrorKind, StopReason, Task
from rung.envs import Definition, Guards, Noise, TextActions, ToolEnvironment, make
from rung.envs.noise import IN_A_ROW
from rung.envs.office import expert, office
from rung.envs.playing import acting, all_tasks, play, saying
from rung.errors import ConfigError
from rung.seeding import Seeds

ROWS = Action("rows", {"count": 2})
OFFICE = office()


@pytest.fixture
def noisy(toy: Definition[Any]) -> Definition[Any]:
    """The toy environment, its tool `rows` able to fail for a moment."""
    tools = tuple(replace(t, noise="out of paper") if t.name == "rows" else t for t in toy.tools)
    return replace(toy, tools=tools)


def started(definition: Definition[Any], task: Task, *, seed: int = 0, **rates: float) -> Noise:
    env = Noise(ToolEnvironment(definition), rates)
    env.reset(seed=seed, options={"task": task})
    return env


def test_a_disturbed_call_does_not_run(noisy: Definition[Any], toy_task: Task) -> None:
    env = started(noisy, toy_task, E1=0.999)
    observation, reward, terminated, truncated, info = env.step(ROWS)
    assert observation == "error: out of paper; try again"
    assert (reward, terminated, truncated, info["stop"]) == (-0.01, False, False, None)
    assert info["turn"].noise
    assert not info["turn"].invalid
    assert info["turn"].move == ROWS


def test_a_retry_succeeds_after_two_failures_at_most(
    noisy: Definition[Any], toy_task: Task
) -> None:
    env = started(noisy, toy_task, E1=0.999)
    said = [env.step(ROWS)[0].startswith("error") for _ in range(6)]
    assert said == [True, True, False, True, True, False]


def test_a_call_that_ran_before_is_busy(noisy: Definition[Any], toy_task: Task) -> None:
    env = started(noisy, toy_task, E1=0.999)
    said = [env.step(ROWS)[0] for _ in range(4)]
    assert said[3] == "error: busy for the moment; try again"


def test_only_tools_that_say_how_they_fail_are_disturbed(
    noisy: Definition[Any], toy_task: Task
) -> None:
    env = started(noisy, toy_task, E1=0.999)
    assert env.step(Action("add", {"amount": 1}))[0] == "value 1"
    error = FormatError(FormatErrorKind.NO_JSON, "nothing")
    assert env.step(error)[4]["turn"].noise is False
    assert env.step(Action("finish", {"answer": 1}))[2] is True


def test_the_rate_is_that_of_the_tier(noisy: Definition[Any], toy_task: Task) -> None:
    env = started(noisy, toy_task, E2=0.999)
    assert not env.step(ROWS)[4]["turn"].noise
    env.reset(seed=0, options={"task": replace(toy_task, tier="E2")})
    assert env.step(ROWS)[4]["turn"].noise


def test_about_as_many_calls_fail_as_the_rate_says(noisy: Definition[Any], toy_task: Task) -> None:
    env = started(noisy, toy_task, E1=0.2)
    failed = [env.step(Action("rows", {"count": n}))[4]["turn"].noise for n in range(1, 1001)]
    assert 160 <= sum(failed) <= 240  # three deviations of a binomial of 1,000 at 0.2: 38


def test_noise_is_a_function_of_the_seed(noisy: Definition[Any], toy_task: Task) -> None:
    def pattern(seed: int) -> list[bool]:
        env = started(noisy, toy_task, seed=seed, E1=0.5)
        return [env.step(ROWS)[4]["turn"].noise for _ in range(20)]

    assert pattern(1) == pattern(1)
    assert pattern(1) != pattern(2)


def test_after_the_end_no_call_is_disturbed(noisy: Definition[Any], toy_task: Task) -> None:
    env = started(noisy, toy_task, E1=0.999)
    env.step(Action("finish", {"answer": 1}))
    with pytest.raises(Exception, match="call reset"):
        env.step(ROWS)


@pytest.mark.parametrize("rates", [{"E1": 1.0}, {"E1": -0.1}, {"E9": 0.1}])
def test_rates_are_checked(toy: Definition[Any], rates: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="noise rate"):
        make(toy, Guards(noise=rates))


def test_retrying_is_free_and_disturbed_turns_do_not_count(
    noisy: Definition[Any], toy_task: Task
) -> None:
    """KNOWN: a retry after a fault is not a repeated action."""
    env = make(noisy, Guards(noise={"E1": 0.999}))
    env.reset(seed=0, options={"task": toy_task})
    steps = [env.step(ROWS.text) for _ in range(3)]
    assert [step[4]["turn"].repeated for step in steps] == [False, False, False]
    # 6 turns are allowed; the two disturbed ones are not among them.
    rest = [env.step(Action("add", {"amount": amount}).text) for amount in range(1, 6)]
    assert [step[3] for step in rest] == [False] * 4 + [True]
    assert rest[-1][4]["stop"] is StopReason.STEP_LIMIT


@given(st.integers(0, 40), st.integers(0, 2**32))
def test_a_saved_trajectory_goes_on_with_the_same_noise(half: int, seed: int) -> None:
    task = next(iter(all_tasks(OFFICE, 1, seeds=Seeds(seed))))
    one, two = (make(OFFICE, Guards(noise={"E1": 0.4})) for _ in range(2))
    messages = play(one, task, acting(expert(task)), seed=seed).messages
    half = min(half, len(messages) - 1)
    play(one, task, saying(messages[:half]), seed=seed)
    two.load_state_dict(one.state_dict())
    rest = [[repr(env.step(message)) for message in messages[half:]] for env in (one, two)]
    assert rest[0] == rest[1]
    one.close()
    two.close()


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.6])
def test_the_expert_solves_every_template_under_noise(rate: float) -> None:
    env: TextActions = make(OFFICE, Guards(noise=dict.fromkeys(("E1", "E2", "E3"), rate)))
    disturbed = 0
    for index, task in enumerate(all_tasks(OFFICE, 5, seeds=Seeds(7))):
        played = play(env, task, acting(expert(task)), seed=index)
        assert played.stop is StopReason.SUCCESS
        disturbed += sum(turn.turn.noise for turn in played.turns)
    assert disturbed > 0
    env.close()


def test_noise_makes_a_trajectory_at_most_three_times_as_long(
    noisy: Definition[Any], toy_task: Task
) -> None:
    env = started(noisy, toy_task, E1=0.999)
    calls = [Action("rows", {"count": int(n)}) for n in np.arange(5)]
    turns = 0
    for call in calls:
        while env.step(call)[4]["turn"].noise:
            turns += 1
        turns += 1
    assert turns == (IN_A_ROW + 1) * len(calls)
