from collections.abc import Sequence

import pytest

from rung.engine import Completion, FinishReason, Request, Sampling, ScriptedEngine
from rung.errors import EngineError

STOP, LENGTH, CONTEXT = FinishReason.STOP, FinishReason.LENGTH, FinishReason.CONTEXT
END = 1


def ask(*ids: int, session: str = "s", most: int = 8) -> Request:
    sampling = Sampling(max_response_tokens=most, stop_ids=frozenset({END}))
    return Request(session=session, token_ids=ids, sampling=sampling, seed=0)


def say(*ids: int, context: int = 100, most: int = 8) -> Completion:
    engine = ScriptedEngine(lambda _session, _turn, _history: ids, context=context)
    engine.submit(ask(5, 6, most=most))
    [completion] = engine.poll()
    return completion


@pytest.mark.parametrize(
    ("said", "most", "context", "kept", "finish"),
    [
        pytest.param((7, END), 8, 100, (7, END), STOP, id="ended"),
        pytest.param((END,), 8, 100, (END,), STOP, id="empty message"),
        pytest.param((7, END, 9, END), 8, 100, (7, END), STOP, id="goes on after its end"),
        pytest.param((7, 8), 8, 100, (7, 8), LENGTH, id="never ended"),
        pytest.param((7, 8, 9, END), 3, 100, (7, 8, 9), LENGTH, id="too long"),
        pytest.param((7, 8, END), 3, 100, (7, 8, END), STOP, id="just fits"),
        pytest.param((7, 8, 9, END), 8, 5, (7, 8, 9), CONTEXT, id="context full"),
        pytest.param((7, 8, END), 8, 5, (7, 8, END), STOP, id="fills the context"),
        pytest.param((7, 8, 9, END), 3, 5, (7, 8, 9), LENGTH, id="both at once"),
        pytest.param((7, END), 8, 2, (), CONTEXT, id="no room"),
        pytest.param((7, END), 8, 1, (), CONTEXT, id="prompt too long"),
    ],
)
def test_finish(
    said: tuple[int, ...], most: int, context: int, kept: tuple[int, ...], finish: FinishReason
) -> None:
    completion = say(*said, context=context, most=most)
    assert (completion.token_ids, completion.finish) == (kept, finish)
    assert completion.logprobs == (-1.0,) * len(kept)


def test_the_script_sees_the_session_so_far() -> None:
    seen: list[tuple[str, int, list[int]]] = []

    def script(session: str, turn: int, history: Sequence[int]) -> list[int]:
        seen.append((session, turn, list(history)))
        return [7 + turn, END]

    engine = ScriptedEngine(script, logprob=-0.5)
    for request in (ask(5, 6), ask(9), ask(4, session="t")):
        engine.submit(request)
        assert engine.poll()[0].logprobs == (-0.5, -0.5)
    assert seen == [("s", 0, [5, 6]), ("s", 1, [5, 6, 7, END, 9]), ("t", 0, [4])]
    assert [request.token_ids for request in engine.requests] == [(5, 6), (9,), (4,)]
    engine.release("s")
    engine.submit(ask(3))
    engine.poll()
    assert seen[-1] == ("s", 0, [3])


def test_first_come_first_served() -> None:
    engine = ScriptedEngine(lambda _session, _turn, _history: [END])
    for name in "bac":
        engine.submit(ask(5, session=name))
    engine.release("a")
    engine.release("unknown")
    assert [engine.poll()[0].session for _ in range(2)] == ["b", "c"]
    assert engine.poll() == []


def test_publish_stamps_the_version() -> None:
    engine = ScriptedEngine(lambda _session, _turn, _history: [END])
    engine.publish({}, 4)
    engine.submit(ask(5))
    assert engine.poll()[0].policy_version == 4


def test_what_the_contract_forbids() -> None:
    engine = ScriptedEngine(lambda _session, _turn, _history: [])
    with pytest.raises(EngineError, match="no tokens"):
        engine.submit(ask())
    engine.submit(ask(5))
    with pytest.raises(EngineError, match="has a request already"):
        engine.submit(ask(6))
    with pytest.raises(EngineError, match="under way"):
        engine.publish({}, 1)
    assert engine.policy_version == 0
    with pytest.raises(EngineError, match="said nothing in turn 0 of 's'"):
        engine.poll()
