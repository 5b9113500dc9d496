"""The whole stack: its order, finding environments, and what all bundled environments promise."""

import hashlib
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from rung.core import Task
from rung.envs import Definition, Guards, TextActions, ToolEnvironment, load, make, names, stack
from rung.envs.office import office
from rung.errors import ConfigError, TaskError
from rung.seeding import Seeds

# Guessing a number, as a user would write an environment.
GUESS = '''
from dataclasses import dataclass, field

from rung.core import Action, Task
from rung.envs import Definition, Subgoal, Template, ToolError, tool


@dataclass
class Game:
    secret: int
    asked: set[int] = field(default_factory=set)
    answer: int | None = None


@tool
def compare(game: Game, number: int) -> str:
    """Tell whether the secret is larger than a number."""
    if not 0 <= number < 100:
        raise ToolError("numbers are from 0 to 99")
    game.asked.add(number)
    return "larger" if game.secret > number else "not larger"


@tool(final=True)
def answer(game: Game, number: int) -> str:
    """Answer with the secret."""
    game.answer = number
    return "answered"


def draw(generator):
    secret = int(generator.integers(100))
    return Task.make(environment="guess", text="Find the secret.", data=secret, step_limit=12)


def expert(task):
    low, high = 0, 99
    while low < high:
        middle = (low + high) // 2
        reply = yield Action("compare", {"number": middle})
        low, high = (middle + 1, high) if reply == "larger" else (low, middle)
    yield Action("answer", {"number": low})


guess = Definition(
    name="guess",
    tools=(compare, answer),
    templates=(Template("default", "E1", draw),),
    start=lambda task, generator: Game(task.data),
    subgoals=lambda task: (Subgoal("asked three", lambda game: len(game.asked) >= 3),),
    success=lambda game: game.answer == game.secret,
    expert=expert,
)
'''

# Plays both environments at random and by their experts, and prints a hash of every byte.
PLAY = """
import hashlib, json
from rung.envs import load, make
from rung.envs.spaces import ToolCalls
from rung.seeding import Seeds

digest = hashlib.sha256()
for name in ("office", "guess:guess"):
    definition = load(name)
    env = make(definition)
    calls = ToolCalls(definition.tools, seed=5)
    for index, template in enumerate(definition.templates):
        task = template.draw(Seeds(1).generator(index))
        for policy in (None, definition.expert(task)):
            observation, _ = env.reset(seed=index, options={"task": task})
            digest.update(f"{task} {observation} {env.base.fingerprint()}".encode())
            action = policy and next(policy)
            while True:
                step = env.step(action.text if action else calls.sample())
                digest.update(repr(step).encode())
                digest.update(json.dumps(env.state_dict()).encode())
                digest.update(env.base.fingerprint().encode())
                if step[2] or step[3]:
                    break
                action = policy and policy.send(step[0])
    env.close()
print(digest.hexdigest())
"""


@pytest.fixture
def guess(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Definition[Any]]:
    (tmp_path / "guess.py").write_text(GUESS)
    monkeypatch.syspath_prepend(tmp_path)
    yield load("guess:guess")
    sys.modules.pop("guess", None)


@pytest.fixture(params=["office", "guess"])
def definition(request: pytest.FixtureRequest) -> Definition[Any]:
    """Every bundled environment, whose state saves itself, and one of a plain dataclass."""
    return office() if request.param == "office" else request.getfixturevalue("guess")


def layers(env: Any) -> list[str]:
    found = [type(env).__name__]
    while isinstance(env, gymnasium.Wrapper):
        env = env.env
        found.append(type(env).__name__)
    return found[::-1]


def task_of(definition: Definition[Any], index: int = 0) -> Task:
    template = definition.templates[index % len(definition.templates)]
    return template.draw(Seeds(3).generator(index))


def messages_of(definition: Definition[Any], task: Task) -> list[str]:
    """A script with an invalid turn and a repeated call in front of the expert's."""
    env = make(definition, Guards(step_limit=1_000))
    observation, _ = env.reset(seed=0, options={"task": task})
    assert definition.expert is not None
    expert = definition.expert(task)
    action = next(expert)
    said = ["no action", action.text]
    while True:
        said.append(action.text)
        observation, _, terminated, _, _ = env.step(action.text)
        if terminated:
            return said
        action = expert.send(observation)


def test_guards_stand_in_order() -> None:
    assert layers(make("office")) == [
        "ToolEnvironment",
        "Confirmation",
        "Repetition",
        "InvalidStreak",
        "ObservationLimit",
        "StepLimit",
        "TextActions",
    ]


@pytest.mark.parametrize(
    ("guards", "missing"),
    [
        (Guards(confirmation=False), "Confirmation"),
        (Guards(repetition=False), "Repetition"),
        (Guards(invalid_streak=None), "InvalidStreak"),
        (Guards(observation_characters=None), "ObservationLimit"),
    ],
)
def test_each_guard_can_be_left_out(
    definition: Definition[Any], guards: Guards, missing: str
) -> None:
    env = make(definition, guards)
    assert missing not in layers(env)
    assert len(layers(env)) == 6
    task = task_of(definition)
    env.reset(seed=0, options={"task": task})
    steps = [env.step(message) for message in messages_of(definition, task)]
    assert [step[2] for step in steps] == [False] * (len(steps) - 1) + [True]
    assert steps[-1][4]["reward"].outcome == 10.0
    env.close()


def test_limits_are_handed_to_the_guards(definition: Definition[Any]) -> None:
    env = make(definition, Guards(invalid_streak=2))
    env.reset(seed=0)
    assert [env.step("")[3] for _ in range(2)] == [False, True]
    env = make(definition, Guards(invalid_streak=None, step_limit=4))
    env.reset(seed=0)
    assert [env.step("")[3] for _ in range(4)] == [False, False, False, True]
    env = make(definition, Guards(observation_characters=10))
    env.reset(seed=0)
    assert env.step("")[0].startswith("format err\n[cut: ")
    env.close()


def test_gymnasiums_checker_passes(definition: Definition[Any]) -> None:
    env = make(definition)
    with warnings.catch_warnings():
        # True of every wrapper, and of every environment that was not made by gymnasium.
        warnings.filterwarnings("ignore", ".*is different from the unwrapped version")
        warnings.filterwarnings("ignore", ".*Not able to test alternative render modes")
        check_env(env)
    env.close()


def test_rewards_keep_their_promises(definition: Definition[Any]) -> None:
    env = make(definition)
    for index in range(len(definition.templates)):
        task = task_of(definition, index)
        env.reset(seed=0, options={"task": task})
        process = outcome = 0.0
        for message in messages_of(definition, task):
            _, reward, _, truncated, info = env.step(message)
            parts = info["reward"]
            assert reward == parts.process + parts.efficiency + parts.outcome
            process += parts.process
            outcome += parts.outcome
            assert not truncated
        assert 0 < process <= 0.3 * definition.rewards.success + 1e-9
        assert outcome == definition.rewards.success
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step("")
    env.close()


def test_a_trajectory_does_not_depend_on_those_before(definition: Definition[Any]) -> None:
    task = task_of(definition)
    messages = messages_of(definition, task)

    def play(env: TextActions) -> list[str]:
        first = repr(env.reset(seed=4, options={"task": task}))
        return [first, *(repr(env.step(message)) for message in messages), env.base.fingerprint()]

    env = make(definition)
    fresh = play(env)
    for before in range(6):
        other = task_of(definition, before)
        env.reset(seed=before, options={"task": other})
        for message in messages_of(definition, other)[: 3 * before]:
            if env.step(message)[2]:
                break
        if before in (0, 5):
            assert play(env) == fresh
    env.close()


@pytest.mark.parametrize("at", [0, 1, 3, 5])
def test_a_trajectory_saved_as_json_goes_on_the_same(definition: Definition[Any], at: int) -> None:
    for index in (0, 8, 10):
        task = task_of(definition, index)
        messages = messages_of(definition, task)
        at = min(at, len(messages) - 1)
        env, twin = make(definition), make(definition)
        env.reset(seed=1, options={"task": task})
        twin.reset(seed=2)
        for message in messages[:at]:
            env.step(message)
        saved = json.dumps(env.state_dict())
        twin.load_state_dict(json.loads(saved))
        assert json.dumps(twin.state_dict()) == saved
        for message in messages[at:]:
            assert repr(twin.step(message)) == repr(env.step(message))
            assert twin.base.fingerprint() == env.base.fingerprint()
            assert json.dumps(twin.state_dict()) == json.dumps(env.state_dict())
        assert twin.reset()[0] == env.reset()[0]
        env.close()
        twin.close()


def test_resets_follow_the_seed(definition: Definition[Any]) -> None:
    env = make(definition)

    def sequence(seed: int) -> list[str]:
        env.reset(seed=seed)
        found = [env.base.fingerprint()]
        for _ in range(3):
            env.reset()
            found.append(env.base.fingerprint())
        return found

    first = sequence(3)
    assert sequence(3) == first
    assert len(set(first)) > 1
    assert sequence(4) != first
    env.close()


@pytest.mark.usefixtures("guess")
def test_processes_with_different_hash_seeds_agree(tmp_path: Path) -> None:
    def play(hash_seed: str) -> str:
        path = os.pathsep.join([str(tmp_path), *sys.path])
        done = subprocess.run(
            [sys.executable, "-c", PLAY],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert len(play("1")) == hashlib.sha256().digest_size * 2
    assert play("1") == play("2")


def test_names_are_those_of_bundled_and_installed_environments(
    monkeypatch: pytest.MonkeyPatch, toy: Definition[Any]
) -> None:
    assert "office" in names()
    points = [SimpleNamespace(name="toy", load=lambda: toy)]

    def entry_points(group: str, name: str = "toy") -> list[Any]:
        assert group == "rung.environments"
        return [point for point in points if point.name == name]

    monkeypatch.setattr(stack, "entry_points", entry_points)
    assert names() == ["office", "office-basic", "toy"]
    assert load("toy") is toy


def test_load_takes_a_definition_or_a_function(guess: Definition[Any]) -> None:
    assert guess.name == "guess"
    assert load("rung.envs.office:office").name == "office"


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("offfice", ConfigError, "no environment named 'offfice'\nhint: did you mean 'office'?"),
        ("", ConfigError, "no environment named ''"),
        ("no_such_module:x", TaskError, "loading environment 'no_such_module:x' failed: Module"),
        ("rung.envs:missing", TaskError, "AttributeError"),
        ("rung.envs:TIERS", TaskError, "is a tuple, not a Definition"),
    ],
)
def test_load_says_what_is_wrong(name: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        load(name)
    assert message in str(caught.value)


def test_make_takes_a_definition(toy: Definition[Any]) -> None:
    env = make(replace(toy, name="mine"))
    assert isinstance(env.unwrapped, ToolEnvironment)
    assert env.base.definition.name == "mine"
