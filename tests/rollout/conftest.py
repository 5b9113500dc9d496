"""A small environment that breaks when told to, and an engine that says what is written down."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from rung.core import Action, Segment, Task, Trajectory
from rung.engine import Sampling, ScriptedEngine
from rung.envs import Definition, Subgoal, Template, tool
from rung.models.chat import Chat
from rung.models.tiny import tiny_policy
from rung.rollout import Limits, Plan
from rung.seeding import Seeds

POLICY = tiny_policy()


@dataclass
class Count:
    value: int
    answer: int | None = None


@tool
def add(state: Count, amount: int) -> str:
    """Add to the value."""
    state.value += amount
    return f"value {state.value}"


@tool(key_arguments=("size",))
def show(_state: Count, size: int, note: str = "") -> str:
    """Show a long text."""
    return "~" * size + note


@tool(final=True)
def finish(state: Count, answer: int) -> str:
    """Hand in the value."""
    state.answer = answer
    return "finished"


@dataclass
class Trouble:
    """Which starts and steps raise: task text -> errors still to come."""

    starts: dict[str, list[BaseException]] = field(default_factory=dict[str, list[BaseException]])
    steps: dict[str, list[BaseException]] = field(default_factory=dict[str, list[BaseException]])
    started: Counter[str] = field(default_factory=Counter[str])
    seeds: list[float] = field(default_factory=list[float])
    """A number drawn from the generator of every start."""
    open_states: int = 0


def raise_next(errors: list[BaseException] | None) -> None:
    if errors:
        raise errors.pop(0)


@pytest.fixture
def trouble() -> Trouble:
    return Trouble()


@pytest.fixture
def toy(trouble: Trouble) -> Definition[Count]:
    """Count to 5 and hand it in: a subgoal for the 5, which is all of the process reward of 2."""

    def start(task: Task, generator: Any) -> Count:
        trouble.started[task.text] += 1
        trouble.seeds.append(float(generator.random()))
        raise_next(trouble.starts.get(task.text))
        trouble.open_states += 1
        return Count(0)

    def close(_state: Count) -> None:
        trouble.open_states -= 1

    def subgoals(task: Task) -> tuple[Subgoal[Count], ...]:
        def holds(state: Count) -> bool:
            if state.value:
                raise_next(trouble.steps.get(task.text))
            return state.value == 5

        return (Subgoal("five", holds),)

    return Definition(
        name="toy",
        tools=(add, show, finish),
        templates=(Template("count", "E1", lambda _generator: make_task()),),
        start=start,
        close=close,
        subgoals=subgoals,
        success=lambda state: state.answer == state.value == 5,
    )


def make_task(text: str = "Count to 5.", step_limit: int = 6) -> Task:
    return Task.make(environment="toy", text=text, data={}, step_limit=step_limit)


def make_plan(name: str = "a", **changes: Any) -> Plan:
    seed = Seeds(0).seed(name)
    settings: dict[str, Any] = {
        "group_id": "g",
        "task": make_task(),
        "split": "train",
        "seed": seed,
        "env_seed": 11,
    }
    return Plan(id=name, **settings | changes)


def make_limits(tokens: int = 2_000, most: int = 60, temperature: float = 1.0) -> Limits:
    sampling = Sampling(
        temperature=temperature, max_response_tokens=most, stop_ids=POLICY.chat.stop_ids
    )
    return Limits(sampling=sampling, max_trajectory_tokens=tokens)


def write(chat: Chat, text: str) -> list[int]:
    """Tokens of a whole message."""
    return [*chat.encode_text(text), chat.tokenizer.eos_token_id]


def make_script(said: dict[str, Sequence[str]]) -> Callable[..., list[int]]:
    """A script out of the messages of each session, replacements included; the last is repeated."""

    def script(session: str, turn: int, _history: Sequence[int]) -> list[int]:
        messages = said[session.partition("-replacement")[0]]
        return write(POLICY.chat, messages[min(turn, len(messages) - 1)])

    return script


@pytest.fixture
def chat() -> Chat:
    return POLICY.chat


@pytest.fixture
def plan() -> Callable[..., Plan]:
    return make_plan


@pytest.fixture
def task() -> Callable[..., Task]:
    return make_task


@pytest.fixture
def limits() -> Callable[..., Limits]:
    return make_limits


@pytest.fixture
def scripted() -> Callable[..., ScriptedEngine]:
    """An engine that says what is given for each session."""
    return lambda said, **settings: ScriptedEngine(make_script(said), **settings)


def call(name: str, **arguments: Any) -> str:
    return Action(name, arguments).text


@pytest.fixture
def calls() -> dict[str, str]:
    """Messages of the toy environment."""
    return {
        "one": call("add", amount=1),
        "five": call("add", amount=5),
        "right": call("finish", answer=5),
        "wrong": call("finish", answer=4),
        "nonsense": "I wonder.",
        "empty": "",
        "long": call("show", size=300),
    }


def check_consistent(trajectory: Trajectory) -> Segment:
    """Turns are exactly the sampled tokens, in order, and nothing follows the last of them."""
    (segment,) = trajectory.segments
    sampled = [at for turn in trajectory.turns for at in range(turn.start, turn.stop)]
    assert segment.sampled_mask.nonzero()[0].tolist() == sampled
    assert all(turn.start < turn.stop for turn in trajectory.turns)
    assert (segment.behaviour_logprobs[~segment.sampled_mask] == 0).all()
    assert (segment.behaviour_logprobs[segment.sampled_mask] < 0).all()
    if trajectory.turns and trajectory.stop.is_scored:
        assert len(segment.token_ids) == trajectory.turns[-1].stop
    return segment


@pytest.fixture
def check() -> Callable[[Trajectory], Segment]:
    return check_consistent


@pytest.fixture
def signature() -> Callable[[Iterable[Trajectory]], list[object]]:
    """What must be equal between two runs of the same plans."""

    def describe(trajectories: Iterable[Trajectory]) -> list[object]:
        return [
            (t.id, t.stop, t.key_hash, t.error, t.turns, t.segments[0].token_ids.tolist())
            for t in trajectories
        ]

    return describe
