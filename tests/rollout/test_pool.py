"""Many trajectories at once: order, faults, interrupts, and independence of one another."""

import logging
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from rung.core import Action, StopReason
from rung.engine import Completion, ScriptedEngine
from rung.engine.torch_engine import TorchEngine
from rung.envs import Guards, load, make
from rung.errors import ConfigError, EngineError, EnvError, TaskError
from rung.models.tiny import tiny_policy
from rung.rollout import Plan, RolloutPool

SUCCESS, FAULT = StopReason.SUCCESS, StopReason.INFRASTRUCTURE_FAULT


class Shuffled(ScriptedEngine):
    """Answers what is queued in a random order, and counts the sessions it holds."""

    def __init__(self, *args: Any, seed: int = 0, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.most = 0
        self._random = random.Random(seed)

    def poll(self) -> list[Completion]:
        self.most = max(self.most, len({*self._histories, *(r.session for r in self._queue)}))
        self._random.shuffle(self._queue)
        return super().poll()


@pytest.fixture
def solution(calls: Any) -> list[str]:
    return [calls["one"], calls["nonsense"], calls["five"].replace("5", "4"), calls["right"]]


@pytest.fixture
def pool(
    toy: Any, chat: Any, limits: Any, scripted: Any, solution: Any
) -> Callable[..., RolloutPool]:
    """A pool whose engine solves the toy task, unless it is given another engine."""

    def build(engine: Any = None, **settings: Any) -> RolloutPool:
        said = dict.fromkeys("abcdefghijkl", solution)
        standard: dict[str, Any] = {
            "limits": limits(),
            "instructions": "Be good.",
            "concurrent": 4,
            "make_env": lambda: make(toy),
        }
        standard |= settings
        return RolloutPool(engine or scripted(said), chat, standard.pop("make_env"), **standard)

    return build


def shuffled(chat: Any, said: dict[str, Sequence[str]], seed: int = 0) -> Shuffled:
    def script(session: str, turn: int, _history: Sequence[int]) -> list[int]:
        messages = said[session.partition("-")[0]]
        text = messages[min(turn, len(messages) - 1)]
        return [*chat.encode_text(text), chat.tokenizer.eos_token_id]

    return Shuffled(script, seed=seed)


def test_results_are_in_the_order_of_the_plans(
    pool: Any, plan: Any, chat: Any, check: Any, calls: Any, solution: Any, signature: Any
) -> None:
    """SEED-6: the same whatever finishes first, and however many run at once."""
    said = {"a": solution, "b": [calls["wrong"]], "c": [calls["empty"]], "d": [calls["one"]],
            "e": [calls["five"], calls["right"]]}  # fmt: skip
    plans = [plan(name) for name in said]
    expected = None
    for seed, concurrent in enumerate((1, 2, 5, 9)):
        engine = shuffled(chat, said, seed)
        found = pool(engine, concurrent=concurrent).collect(plans)
        assert [t.id for t in found] == list(said)
        assert [t.stop for t in found] == [
            SUCCESS,
            StopReason.WRONG_SUBMISSION,
            StopReason.INVALID_STREAK,
            StopReason.STEP_LIMIT,
            SUCCESS,
        ]
        for trajectory in found:
            check(trajectory)
        expected = expected or signature(found)
        assert signature(found) == expected
        assert engine.most == min(concurrent, 5)


def test_no_plans_no_trajectories(pool: Any) -> None:
    assert pool().collect([]) == []


def test_limits_of_one_call(pool: Any, plan: Any, limits: Any) -> None:
    run = pool()
    for temperature in (1.0, 0.0):
        run.collect([plan()], limits=limits(temperature=temperature))
    requests = run._engine.requests
    assert [request.sampling.temperature for request in requests] == [1.0] * 4 + [0.0] * 4
    assert all(request.sampling.stop_ids for request in requests)


def test_environments_are_used_again(pool: Any, plan: Any, toy: Any, trouble: Any) -> None:
    made = []

    def make_env() -> Any:
        made.append(make(toy))
        return made[-1]

    run = pool(make_env=make_env, concurrent=3)
    for _ in range(2):
        run.collect([plan(name) for name in "abcdefgh"])
    assert len(made) == 3
    assert trouble.open_states == 3
    run.close()
    assert trouble.open_states == 0
    run.close()


def test_a_group_shares_its_start_and_not_its_dice(pool: Any, plan: Any, trouble: Any) -> None:
    run = pool()
    run.collect([plan(name) for name in "abcd"])
    assert len(set(trouble.seeds)) == 1
    seeds = [request.seed for request in run._engine.requests]
    assert len(seeds) == len(set(seeds)) == 16


def trouble_for(trouble: Any, where: str, text: str, count: int) -> None:
    errors = [RuntimeError(f"fault {number}") for number in range(count)]
    getattr(trouble, where)[text] = errors


@pytest.fixture
def five(plan: Any, task: Any) -> list[Plan]:
    """Five plans; the task of the third says so."""
    return [plan(name, task=task("third") if name == "c" else task()) for name in "abcde"]


@pytest.mark.parametrize("where", ["starts", "steps"])
@pytest.mark.parametrize("faults", [1, 2])
def test_a_fault_is_tried_again_with_the_same_seeds(
    pool: Any, five: Any, trouble: Any, signature: Any, where: str, faults: int
) -> None:
    expected = signature(pool().collect(five))
    trouble.started.clear()
    trouble_for(trouble, where, "third", faults)
    run = pool()
    assert signature(run.collect(five)) == expected
    assert trouble.started["third"] == 1 + faults
    assert len(set(trouble.seeds)) == 1
    run.close()
    assert trouble.open_states == 4  # those of the first pool


@pytest.mark.parametrize("where", ["starts", "steps"])
def test_a_member_that_stays_broken_is_recorded_and_replaced(
    pool: Any, five: Any, trouble: Any, check: Any, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    """ENV-2, ENV-3: nobody else is touched, and the fault is no low reward."""
    trouble_for(trouble, where, "third", 3)
    run = pool(concurrent=2)
    with caplog.at_level(logging.WARNING):
        found = run.collect(five)
    assert [t.id for t in found] == ["a", "b", "c", "c-replacement1", "d", "e"]
    assert [t.stop for t in found] == [SUCCESS, SUCCESS, FAULT, SUCCESS, SUCCESS, SUCCESS]
    broken, replacement = found[2:4]
    assert "fault 2" in broken.error
    assert not broken.stop.is_scored
    assert broken.turns == ()
    assert [t.error for t in found if t is not broken] == [""] * 5
    assert replacement.seed != broken.seed
    for name in ("task", "group_id", "split", "env_seed"):
        assert getattr(replacement, name) == getattr(broken, name)
    for trajectory in found:
        if trajectory is not broken:
            check(trajectory)
    assert caplog.text.count("trajectory=c failure=") == 3


def test_a_member_is_replaced_once(pool: Any, five: Any, trouble: Any) -> None:
    trouble_for(trouble, "steps", "third", 100)
    found = pool(retries=1).collect(five)
    assert [t.id for t in found] == ["a", "b", "c", "c-replacement1", "d", "e"]
    assert [t.stop for t in found].count(FAULT) == 2
    assert trouble.started["third"] == 4
    trouble_for(trouble, "steps", "third", 100)
    found = pool(retries=0, replacements=0).collect(five)
    assert [t.id for t in found] == list("abcde")
    trouble_for(trouble, "steps", "third", 100)
    found = pool(retries=0, replacements=3).collect(five)
    assert [t.stop for t in found].count(FAULT) == 4
    assert len({t.seed for t in found}) == 8


def test_a_broken_environment_is_not_used_again(
    pool: Any, five: Any, toy: Any, trouble: Any
) -> None:
    made = []

    def make_env() -> Any:
        made.append(make(toy))
        return made[-1]

    trouble_for(trouble, "steps", "third", 1)
    run = pool(make_env=make_env, concurrent=1)
    run.collect(five)
    assert len(made) == 2
    assert run._idle == made[1:]
    assert trouble.open_states == 1


def test_an_error_without_words_is_still_an_error(pool: Any, plan: Any, trouble: Any) -> None:
    trouble.steps["Count to 5."] = [EnvError("") for _ in range(3)]
    [broken] = pool(replacements=0).collect([plan()])
    assert broken.stop is FAULT
    assert broken.error


def test_an_environment_that_cannot_be_closed(pool: Any, five: Any, toy: Any, trouble: Any) -> None:
    class Stuck(type(make(toy))):
        def close(self) -> None:
            raise OSError("busy")

    trouble_for(trouble, "steps", "third", 1)
    found = pool(make_env=lambda: Stuck(make(toy).env)).collect(five)
    assert [t.stop for t in found] == [SUCCESS] * 5


@pytest.mark.parametrize(("faults", "retries"), [(1, 1), (2, 2), (3, 2)])
def test_an_environment_that_cannot_be_made(
    pool: Any, five: Any, toy: Any, faults: int, retries: int
) -> None:
    errors = [OSError(f"no port {number}") for number in range(faults)]

    def make_env() -> Any:
        if errors:
            raise errors.pop(0)
        return make(toy)

    run = pool(make_env=make_env, retries=retries)
    if faults > retries:
        with pytest.raises(EnvError, match="making an environment failed: OSError: no port 2"):
            run.collect(five)
        assert not run._engine._queue
    assert [t.stop for t in run.collect(five)] == [SUCCESS] * 5


@pytest.mark.parametrize("where", ["starts", "steps"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, TaskError("wrong goal")])
def test_what_is_not_a_fault_passes_and_leaves_the_pool_usable(
    pool: Any, five: Any, trouble: Any, signature: Any, where: str, error: Any
) -> None:
    expected = signature(pool().collect(five))
    run = pool()
    getattr(trouble, where)["third"] = [error]
    with pytest.raises(error if isinstance(error, type) else type(error)):
        run.collect(five)
    assert not run._engine._queue
    assert not run._engine._histories
    assert signature(run.collect(five)) == expected
    assert len(run._idle) == 4


def test_an_interrupt_in_the_engine_releases_its_sessions(
    pool: Any, five: Any, signature: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tiny_policy(context=128)
    engine = TorchEngine(policy.model, slots=4)
    run = pool(engine)
    expected = signature(run.collect(five))
    poll, polls = engine.poll, []

    def interrupted() -> list[Completion]:
        polls.append(None)
        if len(polls) == 5:
            raise KeyboardInterrupt
        return poll()

    monkeypatch.setattr(engine, "poll", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.collect(five)
    assert engine._free == [0, 1, 2, 3]
    assert not engine._sessions
    assert signature(run.collect(five)) == expected


def test_an_engine_with_fewer_slots_than_trajectories(
    pool: Any, five: Any, check: Any, limits: Any
) -> None:
    engine = TorchEngine(tiny_policy().model, slots=1)
    found = pool(engine, concurrent=5, limits=limits(tokens=200, most=8)).collect(five)
    assert [t.id for t in found] == list("abcde")
    for trajectory in found:
        check(trajectory)


def test_an_engine_that_gives_no_answer(
    pool: Any, five: Any, scripted: Any, monkeypatch: Any
) -> None:
    engine = scripted({})
    monkeypatch.setattr(engine, "poll", list)
    with pytest.raises(EngineError, match="idle while 4 trajectories wait"):
        pool(engine).collect(five)
    assert not engine._queue


def test_empty_messages_come_to_an_end(
    pool: Any, plan: Any, task: Any, toy: Any, scripted: Any
) -> None:
    """ENV-15: even without a limit on invalid turns."""
    for guards, stop in (
        (Guards(), StopReason.INVALID_STREAK),
        (Guards(invalid_streak=None), StopReason.STEP_LIMIT),
    ):
        engine = scripted({"a": [""]})
        [found] = pool(engine, make_env=lambda guards=guards: make(toy, guards)).collect([plan()])
        assert found.stop is stop
        assert {turn.text for turn in found.turns} == {""}
        assert len(found.turns) == (3 if stop is StopReason.INVALID_STREAK else 6)


def test_trajectories_do_not_depend_on_others(
    plan: Any, toy: Any, limits: Any, signature: Any
) -> None:
    """EVAL-8, ENV-14: in any order, with any number at once, in used environments and alone."""
    policy = tiny_policy(context=256)
    plans = [plan(name, env_seed=number) for number, name in enumerate("abcdef")]

    def collect(chosen: Sequence[Plan], slots: int) -> dict[str, object]:
        engine = TorchEngine(policy.model, slots=slots)
        run = RolloutPool(
            engine,
            policy.chat,
            lambda: make(toy),
            limits=limits(tokens=256, most=20),
            instructions="",
            concurrent=slots,
        )
        found = run.collect(chosen)
        assert not engine._sessions
        return dict(zip([t.id for t in found], signature(found), strict=True))

    expected = collect(plans, 6)
    assert collect(plans[::-1], 2) == expected
    assert collect(plans[3:] + plans[:3], 1) == expected
    for one in plans:
        assert collect([one], 1) == {one.id: expected[one.id]}


def test_the_office_expert_solves_the_office(check: Any, limits: Any) -> None:
    """The whole way: template, tokens, parsing, tools, judge; the expert reads the tokens."""
    definition = load("office")
    chat = tiny_policy().chat
    tasks = [t.draw(np.random.default_rng(0)) for t in definition.templates]
    plans = [
        Plan(id=str(number), group_id="g", task=task, split="eval", seed=number, env_seed=0)
        for number, task in enumerate(tasks)
    ]
    assert definition.expert is not None
    experts = {plan.id: definition.expert(plan.task) for plan in plans}

    def script(session: str, turn: int, history: Sequence[int]) -> list[int]:
        heard = chat.tokenizer.decode(list(history)).rpartition("<|user|>")[2]
        observation = heard.removesuffix("<|end|><|assistant|>")
        assert observation != heard
        expert = experts[session]
        action: Action = expert.send(observation) if turn else next(expert)
        return [*chat.encode_text(action.text), chat.tokenizer.eos_token_id]

    pool = RolloutPool(
        ScriptedEngine(script),
        chat,
        lambda: make(definition),
        limits=limits(50_000, 2_000),
        instructions=definition.instructions(),
        concurrent=5,
    )
    found = pool.collect(plans)
    pool.close()
    assert {t.stop for t in found} == {SUCCESS}
    assert len({t.key_hash for t in found}) > len(found) // 2
    for trajectory in found:
        check(trajectory)
        assert trajectory.reward.process == pytest.approx(definition.rewards.process)


def test_plans_with_one_id(pool: Any, plan: Any) -> None:
    with pytest.raises(ConfigError, match="one id"):
        pool().collect([plan("a"), plan("b"), plan("a")])


@pytest.mark.parametrize("wrong", [{"concurrent": 0}, {"retries": -1}, {"replacements": -1}])
def test_settings_out_of_range(pool: Any, wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="concurrent >= 1"):
        pool(**wrong)
