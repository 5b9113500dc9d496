"""TorchEngine against plain forward passes; what is random here is drawn from fixed seeds."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from rung.engine import FinishReason, Request, Sampling
from rung.errors import ConfigError, EngineError

MANY = [(20, 4, 7), (3, 1, 1), (40,), (1, 30), (12, 2, 2, 2), (5, 5)]
"""Lengths of what is put, turn by turn, session by session."""


def ask(*ids: int, session: str = "s", most: int = 20, seed: int = 0) -> Request:
    sampling = Sampling(max_response_tokens=most)
    return Request(session=session, token_ids=ids, sampling=sampling, seed=seed)


@pytest.fixture(scope="module")
def alone(talk: Any, play: Any, engine: Any) -> list[list[tuple[int, ...]]]:
    """What each session says when nobody else is there."""
    talks = [talk(seed, *lengths) for seed, lengths in enumerate(MANY)]
    for one in talks:
        play(engine(), [one])
    return [one.words for one in talks]


@pytest.mark.parametrize("slots", [1, 3, 8])
@pytest.mark.parametrize("step_tokens", [1, 5, 8192])
def test_sessions_equal_a_plain_forward_whatever_shares_the_batch(
    talk: Any, play: Any, check: Any, engine: Any, alone: Any, slots: int, step_tokens: int
) -> None:
    talks = [talk(seed, *lengths) for seed, lengths in enumerate(MANY)]
    play(engine(slots=slots, step_tokens=step_tokens), talks)
    for one in talks:
        check(one)
    assert [one.words for one in talks] == alone


def test_the_order_of_admission_does_not_matter(
    talk: Any, play: Any, engine: Any, alone: Any
) -> None:
    order = [3, 5, 0, 4, 1, 2]
    talks = [talk(seed, *MANY[seed]) for seed in order]
    play(engine(slots=2), talks)
    assert [one.words for one in talks] == [alone[seed] for seed in order]


def test_greedy_beside_sampled(talk: Any, play: Any, check: Any, engine: Any) -> None:
    heats = [0.0, 1.0, 0.5, 0.0, 2.0]
    talks = [talk(seed, 9, 4, 2, temperature=heat) for seed, heat in enumerate(heats)]
    play(engine(slots=4), talks)
    for one in talks:
        check(one)


SIZE: dict[str, Any] = {
    "vocab_size": 300,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 512,
    "initializer_range": 0.3,
    "pad_token_id": 0,
    "bos_token_id": None,
    "eos_token_id": 1,
    "sliding_window": 6,
}
FAMILIES: dict[str, dict[str, Any]] = {
    "Qwen3": {},
    "Mistral": {},
    "SmolLM3": {"no_rope_layers": [1, 0]},
    "Gemma2": {"attn_logit_softcapping": 2.0, "query_pre_attn_scalar": 16},
    "DeepseekV3": {
        "num_key_value_heads": 4,
        "head_dim": 4,
        "kv_lora_rank": 8,
        "q_lora_rank": 8,
        "qk_rope_head_dim": 4,
        "qk_nope_head_dim": 6,
        "v_head_dim": 5,
        "first_k_dense_replace": 2,
    },
}


@pytest.mark.parametrize("family", FAMILIES)
def test_other_families(talk: Any, play: Any, check: Any, engine: Any, family: str) -> None:
    config = getattr(transformers, f"{family}Config")(**SIZE | FAMILIES[family])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = getattr(transformers, f"{family}ForCausalLM")(config).eval()
    talks = [talk(seed, *lengths) for seed, lengths in enumerate(MANY)]
    play(engine(model, slots=3, step_tokens=11), talks)
    for one in talks:
        check(one, [model])


def members(talk: Any, size: int, *lengths: int, **settings: Any) -> list[Any]:
    """Sessions that begin with the same prompt and roll their own dice."""
    talks = [talk(0, *lengths, name=f"member {number}", **settings) for number in range(size)]
    for number, one in enumerate(talks):
        one.seed = number
    return talks


@pytest.mark.parametrize("step_tokens", [7, 8192])
@pytest.mark.parametrize("slots", [2, 4])
def test_a_shared_prompt_is_read_once(
    talk: Any, play: Any, check: Any, engine: Any, slots: int, step_tokens: int
) -> None:
    """With 2 slots, the later ones take it from whoever holds it when the first has gone."""
    run, talks = engine(slots=slots, step_tokens=step_tokens), members(talk, 4, 30)
    play(run, talks)
    sizes = [len(one.said[0].token_ids) for one in talks]
    assert min(sizes) > 1  # who ends with its first token cannot hand on what it has read
    # The others read the last token of the prompt themselves: they sample from what follows it.
    assert run.processed_tokens == 30 + 3 + sum(sizes) - 4
    assert len({tuple(one.words) for one in talks}) > 1
    for one in talks:
        check(one)


def test_a_shared_prompt_changes_nothing_later(
    talk: Any, play: Any, check: Any, engine: Any
) -> None:
    talks = members(talk, 5, 30, 5, 6)
    play(engine(slots=3), talks)
    for one in talks:
        check(one)


def test_history_is_not_read_again(talk: Any, play: Any, engine: Any) -> None:
    run, one = engine(), talk(0, 20, 5, 6)
    play(run, [one])
    # The last sampled token of all was never fed back.
    assert run.processed_tokens == len(one.history) - 1


def test_sessions_wait_for_slots(engine: Any) -> None:
    run = engine(slots=1)
    run.submit(ask(5, 6, session="a", most=1))
    run.submit(ask(7, 8, session="b", most=1))
    assert [completion.session for completion in run.poll()] == ["a"]
    assert run.poll() == []
    run.release("a")
    assert [completion.session for completion in run.poll()] == ["b"]
    assert run.poll() == []


@pytest.mark.parametrize("step_tokens", [1, 64])
def test_publish_drops_what_older_weights_computed(
    talk: Any, play: Any, check: Any, engine: Any, model: Any, changed: Any, step_tokens: int
) -> None:
    """After it, everything is as in an engine that never saw other weights."""
    after = changed(1)
    run = engine(step_tokens=step_tokens)
    kept, released = talk(1, 15, 4, 3), talk(2, 25)
    for one in (kept, released):
        run.submit(one.request())
    for _ in range(2):
        for completion in run.poll():
            (kept if completion.session == kept.name else released).hear(completion)
    run.release(released.name)
    run.publish(after.state_dict(), 7)
    assert run.policy_version == 7
    read = run.processed_tokens
    again = talk(2, 25)  # the prompt that the older weights had read
    play(run, [kept, again])
    assert [completion.policy_version for completion in kept.said] == [0, 7, 7]
    assert run.processed_tokens - read == len(kept.history) + len(again.history) - 2
    for one in (kept, released, again):
        check(one, {0: model, 7: after})
    fresh = talk(2, 25)
    play(engine(after), [fresh])
    assert fresh.words == again.words
    assert fresh.said[0].logprobs == pytest.approx(again.said[0].logprobs, abs=1e-5)


def test_an_idle_session_keeps_nobody_waiting_for_its_prompt(
    talk: Any, play: Any, check: Any, engine: Any, changed: Any
) -> None:
    run, idle, after = engine(), talk(1, 15, 2, name="idle"), changed(1)
    run.submit(idle.request())
    idle.hear(run.poll()[0])
    run.publish(after.state_dict(), 1)
    again = talk(1, 15)
    play(run, [again])
    check(again, {1: after})


def test_publish_during_a_request(engine: Any, changed: Any) -> None:
    run = engine()
    run.submit(ask(5, 6))
    with pytest.raises(EngineError, match="under way"):
        run.publish(changed(1).state_dict(), 1)
    assert run.policy_version == 0


def without(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda weights: weights.pop(name)


def with_(name: str, *shape: int) -> Callable[[dict[str, Any]], object]:
    return lambda weights: weights.update({name: torch.zeros(shape)})


@pytest.mark.parametrize(
    ("damage", "match"),
    [
        (without("model.norm.weight"), "'model.norm.weight' is not among"),
        (with_("model.extra.weight", 2), "no weight named 'model.extra.weight'"),
        (with_("model.norm.weight", 1), r"'model.norm.weight' is \(1,\), not \(32,\)"),
        (with_("lm_head.weight", 300, 32), "'lm_head.weight' differs from"),
        (dict.clear, "'lm_head.weight' is not among"),
    ],
    ids=["missing", "unknown", "would broadcast", "untied", "empty"],
)
def test_weights_that_do_not_fit_change_nothing(
    engine: Any, model: Any, changed: Any, damage: Any, match: str
) -> None:
    run = engine()
    weights = dict(changed(1).state_dict())
    damage(weights)
    with pytest.raises(EngineError, match=match):
        run.publish(weights, 1)
    assert run.policy_version == 0
    for name, tensor in run._model.state_dict().items():
        assert torch.equal(tensor, model.state_dict()[name])


@pytest.mark.parametrize("left_out", ["lm_head.weight", "model.embed_tokens.weight", None])
def test_tied_weights_arrive_under_any_name(
    talk: Any, play: Any, check: Any, engine: Any, changed: Any, left_out: str | None
) -> None:
    after = changed(2)
    weights = {n: t.clone() for n, t in after.state_dict().items() if n != left_out}
    run = engine()
    run.publish(weights, 1)
    for name, tensor in after.state_dict().items():
        assert torch.equal(run._model.state_dict()[name], tensor)
    one = talk(0, 10, 3)
    play(run, [one])
    check(one, {1: after})


def test_published_weights_are_copied(talk: Any, play: Any, check: Any, engine: Any) -> None:
    source = engine()._model
    before = copy.deepcopy(source)
    run, one = engine(), talk(0, 10)
    run.publish(source.state_dict(), 1)
    with torch.no_grad():
        source.lm_head.weight.zero_()
    play(run, [one])
    check(one, {1: before})


@pytest.mark.parametrize(
    ("history", "most", "expected", "finish"),
    [
        (95, 20, 5, FinishReason.CONTEXT),
        (95, 5, 5, FinishReason.LENGTH),
        (99, 20, 1, FinishReason.CONTEXT),
        (100, 20, 0, FinishReason.CONTEXT),
        (130, 20, 0, FinishReason.CONTEXT),
        (80, 20, 20, FinishReason.LENGTH),
    ],
)
def test_the_context_is_never_exceeded(
    engine: Any, history: int, most: int, expected: int, finish: FinishReason
) -> None:
    run = engine(context=100)
    run.submit(ask(*[7] * history, most=most))
    [completion] = run.poll()
    assert (len(completion.token_ids), completion.finish) == (expected, finish)
    assert len(completion.logprobs) == expected


def test_a_full_context_stays_full(engine: Any) -> None:
    run = engine(context=30, slots=1)
    run.submit(ask(*[7] * 25))
    assert len(run.poll()[0].token_ids) == 5
    for _ in range(2):
        run.submit(ask(8, 9))
        assert run.poll()[0].token_ids == ()
    run.submit(ask(*[7] * 40, session="waits without a slot"))
    assert run.poll()[0].finish is FinishReason.CONTEXT


def test_the_models_context_is_the_default(engine: Any, model: Any) -> None:
    assert engine().context == model.config.max_position_embeddings == 512


def test_a_message_cut_by_its_limit_is_kept_as_sampled(
    talk: Any, play: Any, check: Any, engine: Any
) -> None:
    one = talk(8, 10, 3, most=1)
    play(engine(), [one])
    assert [completion.finish for completion in one.said] == [FinishReason.LENGTH] * 2
    check(one)


def test_misuse_is_refused_and_leaves_no_trace(engine: Any) -> None:
    run = engine(slots=1)
    with pytest.raises(EngineError, match="no tokens"):
        run.submit(ask(session="empty"))
    assert run.poll() == []
    run.submit(ask(5, 6, most=1))
    with pytest.raises(EngineError, match="has a request already"):
        run.submit(ask(7))
    assert len(run.poll()[0].token_ids) == 1
    with pytest.raises(EngineError, match="no tokens"):
        run.submit(ask())
    run.submit(ask(7, most=3))
    assert len(run.poll()[0].token_ids) == 3


@pytest.mark.parametrize("limit", ["slots", "context", "step_tokens"])
def test_limits_out_of_range(engine: Any, limit: str) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        engine(**{limit: 0})


def test_weights_that_are_not_finite_are_an_error(
    talk: Any, play: Any, check: Any, engine: Any, model: Any
) -> None:
    run = engine()
    with torch.no_grad():
        broken = copy.deepcopy(model)
        broken.lm_head.weight.fill_(torch.nan)
    run.publish(broken.state_dict(), 3)
    for name in ("one", "two"):
        run.submit(ask(*range(5, 30), session=name))
    with pytest.raises(EngineError, match="not finite at policy version 3"):
        run.poll()
    for name in ("one", "two"):
        run.release(name)
    # Nothing of it is left in the cache, where a short session is padded beside a long one.
    run.publish(model.state_dict(), 4)
    talks = [talk(0, 2, 1), talk(1, 20, 1)]
    play(run, talks)
    for one in talks:
        check(one, {4: model})


def test_release(talk: Any, play: Any, check: Any, engine: Any) -> None:
    run = engine(slots=1, step_tokens=4)
    for name in ("running", "waiting"):
        run.submit(ask(*range(5, 25), session=name))
    run._admit()
    run._step(run._choose())
    for name in ("running", "waiting", "unknown"):
        run.release(name)
    assert run.poll() == []
    one = talk(3, 20, 4)
    play(run, [one])
    check(one)


def test_the_leader_of_a_shared_prompt_is_released_half_way(
    talk: Any, play: Any, check: Any, engine: Any
) -> None:
    run = engine(slots=3, step_tokens=4)
    leader, follower = talk(3, 20, name="leader"), talk(3, 20, name="follower")
    for one in (leader, follower):
        run.submit(one.request())
    run._admit()
    run._step(run._choose())
    run.release("leader")
    while not (completions := run.poll()):
        pass
    follower.hear(completions[0])
    check(follower)


EVENT = st.tuples(st.sampled_from(["ask", "ask", "poll", "release", "publish"]), st.integers(0, 4))


@settings(max_examples=25)
@given(st.integers(1, 4), st.sampled_from([1, 5, 100]), st.lists(EVENT, max_size=60))
def test_any_order_of_events_equals_a_plain_forward(
    room: Any,
    check: Any,
    engine: Any,
    slots: int,
    step_tokens: int,
    events: list[tuple[str, int]],
) -> None:
    run = engine(slots=slots, step_tokens=step_tokens, context=40)
    party = room(run)
    for event, seat in events:
        getattr(party, event)(seat)
    while party.busy:
        party.poll()
    for one in [*party.past, *party.seats]:
        if one.said:
            check(one, party.models, context=40)
        run.release(one.name)
    assert run._free == list(range(slots))
    assert not run._sessions
    assert not run._waiting
    assert not run._prompts
