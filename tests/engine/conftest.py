"""Playing sessions on an engine, and checking what it said against a plain forward pass."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from rung.engine import Completion, Engine, FinishReason, Request, Sampling
from rung.engine.sampling import uniforms
from rung.engine.torch_engine import TorchEngine
from rung.models.tiny import tiny_policy

STOPS = frozenset(range(1, 300, 9))
MODEL = tiny_policy().model


@dataclass
class Talk:
    """A session: what is put to the model turn by turn, and what has been said."""

    name: str
    puts: Sequence[Sequence[int]]
    seed: int = 0
    temperature: float = 1.0
    most: int = 12
    history: list[int] = field(default_factory=list[int])
    said: list[Completion] = field(default_factory=list[Completion])

    def request(self) -> Request:
        turn = len(self.said)
        self.history += self.puts[turn]
        return Request(
            session=self.name,
            token_ids=tuple(self.puts[turn]),
            sampling=Sampling(
                temperature=self.temperature, max_response_tokens=self.most, stop_ids=STOPS
            ),
            seed=self.request_seed(turn),
        )

    def request_seed(self, turn: int) -> int:
        return 1000 * self.seed + turn

    def hear(self, completion: Completion) -> bool:
        """Take a message; whether there is more to put."""
        self.said.append(completion)
        self.history += completion.token_ids
        return len(self.said) < len(self.puts)

    @property
    def versions(self) -> set[int]:
        return {completion.policy_version for completion in self.said}

    @property
    def words(self) -> list[tuple[int, ...]]:
        return [completion.token_ids for completion in self.said]


def draw_talk(seed: int, *lengths: int, name: str = "", **settings: Any) -> Talk:
    """A talk of random tokens, one put for each length."""
    generator = np.random.default_rng(seed)
    puts = [generator.integers(5, 300, length).tolist() for length in lengths]
    return Talk(name or f"talk {seed}", puts, seed, **settings)


def play_talks(engine: Engine, talks: Sequence[Talk]) -> None:
    """Play all talks to their end at the same time; each is released when it ends."""
    under_way = {talk.name: talk for talk in talks}
    for talk in talks:
        engine.submit(talk.request())
    while under_way:
        completions = engine.poll()
        assert completions
        for completion in completions:
            talk = under_way[completion.session]
            if talk.hear(completion):
                engine.submit(talk.request())
            else:
                engine.release(talk.name)
                del under_way[talk.name]


def eager(model: Any, ids: Sequence[int]) -> Tensor:
    """Logits `[T, V]` by the model's own code."""
    plain = copy.deepcopy(model)
    plain.set_attn_implementation("eager")
    with torch.no_grad():
        return plain(torch.tensor([list(ids)])).logits[0]


def check_plain(talk: Talk, models: Sequence[Any] = (MODEL,), context: int = 512) -> None:
    """Every token is what its random number picks out of a plain forward over the whole history.

    Args:
        talk: what was said.
        models: the model of every policy version.
        context: the engine's.

    Tolerances: log-probabilities 1e-4; the same for the number, where it falls between two tokens.
    """
    logits = {version: eager(models[version], talk.history) for version in talk.versions}
    ids = torch.tensor(talk.history)
    start = 0
    for turn, completion in enumerate(talk.said):
        start += len(talk.puts[turn])
        stop = start + len(completion.token_ids)
        assert completion.finish is expected_finish(talk, completion, room=context - start)
        rows = logits[completion.policy_version][start - 1 : stop - 1]
        logprobs = (rows / (talk.temperature or 1.0)).log_softmax(-1)
        chosen, found = ids[start:stop, None], torch.tensor(completion.logprobs)
        torch.testing.assert_close(logprobs.gather(1, chosen)[:, 0], found, atol=1e-4, rtol=0)
        if talk.temperature == 0:
            assert (logprobs.max(-1).values - found < 1e-4).all()
        else:
            counters = np.arange(stop - start, dtype=np.uint64)
            seeds = np.full(len(counters), talk.request_seed(turn), np.uint64)
            number = torch.from_numpy(uniforms(seeds, counters))
            upper = logprobs.double().exp().cumsum(-1).gather(1, chosen)[:, 0]
            assert (number < upper + 1e-4).all()
            assert (number > upper - found.double().exp() - 1e-4).all()
        start = stop


def expected_finish(talk: Talk, completion: Completion, *, room: int) -> FinishReason:
    """Why this message had to end where it did."""
    said = completion.token_ids
    assert STOPS.isdisjoint(said[:-1])
    assert len(said) <= min(talk.most, max(room, 0))
    if said and said[-1] in STOPS:
        return FinishReason.STOP
    if len(said) == talk.most:
        return FinishReason.LENGTH
    assert len(said) == max(room, 0)
    return FinishReason.CONTEXT


def new_engine(model: Any = MODEL, *, slots: int = 8, **settings: Any) -> TorchEngine:
    return TorchEngine(copy.deepcopy(model), slots=slots, **settings)


def change_model(number: int) -> Any:
    """Another model of the same shape, one for each number."""
    other = copy.deepcopy(MODEL)
    generator = torch.Generator().manual_seed(number)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    return other


class Room:
    """Five seats with a session each, and everything that may happen to them."""

    def __init__(self, run: TorchEngine) -> None:
        self.run = run
        self.models: list[Any] = [MODEL]
        self.past: list[Talk] = []
        self.busy: set[str] = set()
        self.seats = [self.begin(seat) for seat in range(5)]

    def begin(self, seat: int) -> Talk:
        """A session; those of a generation share their prompt, but for seat 0; seat 1 is greedy."""
        seed = len(self.past) // 3 if seat else 100 + len(self.past)
        heat = 0.0 if seat == 1 else 1.0
        one = draw_talk(seed, 9, 3, 1, 4, name=f"seat {seat}", temperature=heat, most=5)
        one.seed = 7 * len(self.past) + seat
        return one

    def ask(self, seat: int) -> None:
        one = self.seats[seat]
        if one.name not in self.busy and len(one.said) < len(one.puts):
            self.run.submit(one.request())
            self.busy.add(one.name)

    def poll(self, _seat: int = 0) -> None:
        completions = self.run.poll()
        for completion in completions:
            self.seats[int(completion.session[-1])].hear(completion)
            self.busy.remove(completion.session)
        if self.busy and not completions:  # those with nothing to do hold every slot
            for seat, one in enumerate(self.seats):
                if one.name not in self.busy:
                    self.release(seat)

    def release(self, seat: int) -> None:
        one = self.seats[seat]
        self.run.release(one.name)
        self.busy.discard(one.name)
        self.past.append(one)
        self.seats[seat] = self.begin(seat)

    def publish(self, _seat: int) -> None:
        if not self.busy:
            self.models.append(change_model(len(self.models)))
            self.run.publish(self.models[-1].state_dict(), len(self.models) - 1)


@pytest.fixture(scope="session")
def model() -> Any:
    """Shared: not to be changed."""
    return MODEL


@pytest.fixture(scope="session")
def changed() -> Callable[[int], Any]:
    return change_model


@pytest.fixture(scope="session")
def room() -> type[Room]:
    return Room


@pytest.fixture(scope="session")
def talk() -> Callable[..., Talk]:
    return draw_talk


@pytest.fixture(scope="session")
def play() -> Callable[[Engine, Sequence[Talk]], None]:
    return play_talks


@pytest.fixture(scope="session")
def check() -> Callable[..., None]:
    return check_plain


@pytest.fixture(scope="session")
def engine() -> Callable[..., TorchEngine]:
    return new_engine
