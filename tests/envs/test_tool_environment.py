import json
from dataclasses import replace
from typing import Any

import gymnasium
import pytest

from rung.core import (
    Action,
    FormatError,
    FormatErrorKind,
    Move,
    Refusal,
    RefusalKind,
    RewardParts,
    StopReason,
    Task,
)
from rung.envs import Definition, Subgoal, ToolEnvironment, ToolError, tool
from rung.errors import EnvError, TaskError

CUT = FormatError(FormatErrorKind.TRUNCATED, "cut")
NO_JSON = FormatError(FormatErrorKind.NO_JSON, "there is no JSON object")


def add(amount: int) -> Action:
    return Action("add", {"amount": amount})


def finish(answer: int) -> Action:
    return Action("finish", {"answer": answer})


ERASE = Action("erase", {"confirm": True})


def parts_of(env: Any, *moves: Move) -> list[tuple[float, float, float]]:
    """(process, efficiency, outcome) of each turn; they sum to the float reward."""
    found = []
    for move in moves:
        _, reward, _, _, info = env.step(move)
        parts: RewardParts = info["reward"]
        assert reward == parts.process + parts.efficiency + parts.outcome
        found.append((parts.process, parts.efficiency, parts.outcome))
    return found


def test_reset_tells_the_task(toy: Definition[Any], toy_task: Task) -> None:
    env = ToolEnvironment(toy)
    assert env.reset(seed=0, options={"task": toy_task}) == (toy_task.text, {"task": toy_task})
    assert env.render() == toy_task.text
    assert (env.task, env.state.value) == (toy_task, 0)


def test_a_solved_task_by_hand(bare: ToolEnvironment[Any]) -> None:
    # The subgoals weigh 1 and 3, process pays 2: 2 * 1/4 and 2 * 3/4. A turn costs 0.01.
    assert parts_of(bare, add(1), add(2), add(2), finish(5)) == [
        (0.0, -0.01, 0.0),
        (0.5, -0.01, 0.0),
        (1.5, -0.01, 0.0),
        (0.0, -0.01, 10.0),
    ]


def test_a_turn_tells_what_happened(bare: ToolEnvironment[Any]) -> None:
    action = add(6)
    observation, _, terminated, truncated, info = bare.step(action)
    assert (observation, terminated, truncated) == ("value 6", False, False)
    assert info["turn"].move is action
    assert info["turn"].subgoals == ("two", "five")
    assert not info["turn"].invalid
    assert (info["stop"], info["table"]) == (None, None)
    assert bare.reached == {"two", "five"}
    assert bare.render() == "value 6"


def test_a_wrong_submission_costs_one(bare: ToolEnvironment[Any]) -> None:
    _, reward, terminated, truncated, info = bare.step(finish(5))
    assert reward == pytest.approx(-1.01)
    assert (terminated, truncated) == (True, False)
    assert info["stop"] is StopReason.WRONG_SUBMISSION


def test_process_is_paid_once_when_a_subgoal_is_undone_and_redone(
    bare: ToolEnvironment[Any],
) -> None:
    paid = [process for process, _, _ in parts_of(bare, add(2), ERASE, add(2), ERASE, add(5))]
    assert paid == [0.5, 0.0, 0.0, 0.0, 1.5]
    assert sum(paid) <= 0.3 * bare.rewards.success


def test_a_subgoal_that_holds_at_the_start_is_not_paid(toy: Definition[Any]) -> None:
    task = Task.make(environment="toy", text="", data={"start": 3, "goal": 5})
    env = ToolEnvironment(toy)
    env.reset(options={"task": task})
    assert env.reached == {"two"}
    assert [process for process, _, _ in parts_of(env, add(1), add(1))] == [0.0, 1.5]


@pytest.mark.parametrize(
    ("move", "observation", "efficiency"),
    [
        pytest.param(
            NO_JSON,
            "format error, no_json: there is no JSON object. "
            'Reply with {"action": "<tool>", "arguments": {...}}',
            -0.06,
            id="format error",
        ),
        pytest.param(
            CUT,
            'format error, truncated: cut. Reply with {"action": "<tool>", "arguments": {...}}',
            -0.01,
            id="a cut costs the turn alone",
        ),
        pytest.param(
            Refusal(RefusalKind.UNCONFIRMED, Action("erase", {}), "not done"),
            "not done",
            -0.06,
            id="refusal",
        ),
        pytest.param(
            Action("fail", {"why": "no such file"}), "error: no such file", -0.06, id="tool error"
        ),
    ],
)
def test_an_invalid_turn_is_explained_and_charged(
    bare: ToolEnvironment[Any], move: Move, observation: str, efficiency: float
) -> None:
    before = bare.fingerprint()
    shown, reward, terminated, _, info = bare.step(move)
    assert (shown, terminated) == (observation, False)
    assert info["turn"].invalid
    assert reward == pytest.approx(efficiency)
    assert bare.fingerprint() == before


def test_a_final_tool_that_fails_does_not_end_the_trajectory(
    toy: Definition[Any], toy_task: Task
) -> None:
    @tool(final=True)
    def hand_in(_state: Any) -> str:
        raise ToolError("not ready")

    env = ToolEnvironment(replace(toy, tools=(*toy.tools, hand_in)))
    env.reset(options={"task": toy_task})
    _, _, terminated, _, info = env.step(Action("hand_in", {}))
    assert (terminated, info["stop"], info["turn"].invalid) == (False, None, True)


def test_a_table_is_shown_and_handed_on(bare: ToolEnvironment[Any]) -> None:
    observation, _, _, _, info = bare.step(Action("rows", {"count": 2}))
    assert observation == "n | square\n0 | 0\n1 | 1"
    assert info["table"].rows == ((0, 0), (1, 1))


def test_an_observation_can_be_encoded(bare: ToolEnvironment[Any]) -> None:
    assert bare.step(Action("fail", {"why": "a\ud83d"}))[0] == "error: a?"


def test_no_step_before_reset_or_after_the_end(toy: Definition[Any], toy_task: Task) -> None:
    env = ToolEnvironment(toy)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(add(1))
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.fingerprint()
    env.reset(options={"task": toy_task})
    env.step(finish(0))
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(finish(5))
    env.reset(options={"task": toy_task})
    env.end()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(add(1))


def broken(*_args: Any) -> Any:
    raise RuntimeError("disk gone")


def refusing(*_args: Any) -> Any:
    raise ToolError("bad name")


def divide(state: Any) -> bool:
    return 1 / (2 - state.value) < 0


def refuse_at_two(state: Any) -> bool:
    return state.value == 2 and refusing()


@tool
def crash(_state: Any) -> str:
    """Break."""
    raise RuntimeError("disk gone")


@tool
def wrong_type(_state: Any) -> Any:
    """Give no text."""
    return 5


@pytest.mark.parametrize(
    ("change", "move", "message"),
    [
        pytest.param(
            {"tools": (crash,)}, Action("crash", {}), "tool 'crash' failed: RuntimeError", id="tool"
        ),
        pytest.param(
            {"tools": (wrong_type,)},
            Action("wrong_type", {}),
            "it returned int, not text or a Table",
            id="result",
        ),
        pytest.param({"success": broken}, finish(1), "the success predicate failed", id="success"),
        pytest.param(
            {"success": refusing},
            finish(1),
            "the success predicate failed: bad name",
            id="tool error in the success predicate",
        ),
        pytest.param(
            {"subgoals": lambda _: (Subgoal("x", divide),)},
            add(1),
            "subgoal 'x' failed: ZeroDivisionError",
            id="subgoal",
        ),
        pytest.param(
            {"subgoals": lambda _: (Subgoal("x", refuse_at_two),)},
            add(1),
            "subgoal 'x' failed: bad name",
            id="tool error in a subgoal",
        ),
    ],
)
def test_a_fault_is_an_env_error_and_never_a_reward(
    toy: Definition[Any], toy_task: Task, change: dict[str, Any], move: Action, message: str
) -> None:
    change = {**change, "tools": (*toy.tools, *change.get("tools", ()))}
    env = ToolEnvironment(replace(toy, **change))
    env.reset(options={"task": toy_task})
    env.step(add(1))
    with pytest.raises(EnvError, match=message):
        env.step(move)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(add(1))
    env.reset(options={"task": toy_task})
    assert env.step(add(1))[0] == "value 1"


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, MemoryError])
def test_interrupts_are_not_faults(
    toy: Definition[Any], toy_task: Task, interrupt: type[BaseException]
) -> None:
    @tool
    def stop(_state: Any) -> str:
        raise interrupt

    env = ToolEnvironment(replace(toy, tools=(*toy.tools, stop)))
    env.reset(options={"task": toy_task})
    with pytest.raises(interrupt):
        env.step(Action("stop", {}))


@pytest.mark.parametrize(
    ("change", "fields", "error", "message"),
    [
        pytest.param({}, {"environment": "shop"}, TaskError, "is for 'shop', not 'toy'", id="name"),
        pytest.param({}, {"tier": "E9"}, TaskError, "unknown tier 'E9'", id="tier"),
        pytest.param({"start": broken}, {}, EnvError, "starting task toy/", id="start"),
        pytest.param({"start": refusing}, {}, EnvError, "starting task toy/", id="tool error"),
        pytest.param({"subgoals": broken}, {}, TaskError, "reading the subgoals", id="subgoals"),
        pytest.param(
            {"subgoals": lambda _: (Subgoal("x", bool), Subgoal("x", bool))},
            {},
            TaskError,
            "two subgoals have one name",
            id="name twice",
        ),
        pytest.param(
            {"subgoals": lambda _: (Subgoal("x", bool, weight=-1.0),)},
            {},
            TaskError,
            "negative weight",
            id="weight",
        ),
        pytest.param(
            {"subgoals": lambda _: (Subgoal("x", broken),)}, {}, EnvError, "subgoal 'x'", id="holds"
        ),
    ],
)
def test_a_reset_that_fails_leaves_nothing_to_play(
    toy: Definition[Any],
    toy_task: Task,
    change: dict[str, Any],
    fields: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    working = True

    def when_broken(name: str) -> Any:
        return lambda *args: getattr(toy, name)(*args) if working else change[name](*args)

    env = ToolEnvironment(replace(toy, **{name: when_broken(name) for name in change}))
    env.reset(options={"task": toy_task})
    working = False
    with pytest.raises(error, match=message):
        env.reset(options={"task": replace(toy_task, **fields)})
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(add(1))


def test_a_failing_template_is_named(toy: Definition[Any]) -> None:
    template = replace(toy.templates[0], draw=broken)
    env = ToolEnvironment(replace(toy, templates=(template,)))
    with pytest.raises(TaskError, match="drawing a task of template 'count' failed"):
        env.reset(seed=0)


def test_tasks_follow_the_seed(toy: Definition[Any]) -> None:
    env = ToolEnvironment(toy)
    first = [env.reset(seed=5)[0], *(env.reset()[0] for _ in range(4))]
    again = [env.reset(seed=5)[0], *(env.reset()[0] for _ in range(4))]
    other = [env.reset(seed=6)[0], *(env.reset()[0] for _ in range(4))]
    assert first == again
    assert len(set(first)) == 5
    assert first != other


def test_the_initial_state_follows_task_and_seed(toy: Definition[Any], toy_task: Task) -> None:
    def start(_task: Task, generator: Any) -> list[int]:
        return generator.integers(1_000_000, size=3).tolist()

    noisy = replace(toy, start=start, subgoals=lambda _: ())
    env = ToolEnvironment(noisy)

    def fingerprint(**how: Any) -> str:
        env.reset(options={"task": toy_task}, **how)
        return env.fingerprint()

    sequence = [fingerprint(seed=1), fingerprint(), fingerprint()]
    assert len(set(sequence)) == 3
    assert [fingerprint(seed=1), fingerprint(), fingerprint()] == sequence
    assert fingerprint(seed=2) not in sequence


def test_the_fingerprint_is_that_of_the_content(bare: ToolEnvironment[Any]) -> None:
    start = bare.fingerprint()
    bare.step(add(3))
    moved = bare.fingerprint()
    assert moved != start
    bare.reset(options={"task": bare.task})
    assert bare.fingerprint() == start
    bare.step(add(3))
    assert bare.fingerprint() == moved


def test_a_state_without_a_json_form_has_no_fingerprint(
    toy: Definition[Any], toy_task: Task
) -> None:
    env = ToolEnvironment(replace(toy, start=lambda *_: {"x": float("nan")}, subgoals=lambda _: ()))
    env.reset(options={"task": toy_task})
    with pytest.raises(TaskError, match="hashing the state failed"):
        env.fingerprint()
    env = ToolEnvironment(replace(toy, start=lambda *_: object(), subgoals=lambda _: ()))
    env.reset(options={"task": toy_task})
    with pytest.raises(TaskError, match="saving the state failed"):
        env.state_dict()


def test_a_saved_trajectory_goes_on(toy: Definition[Any], bare: ToolEnvironment[Any]) -> None:
    bare.step(add(3))
    bare.step(add(-1))
    saved = json.dumps(bare.state_dict())
    twin = ToolEnvironment(toy)
    twin.load_state_dict(json.loads(saved))
    assert json.dumps(twin.state_dict()) == saved
    assert twin.state == bare.state
    assert twin.render() == bare.render() == "value 2"
    for move in (add(1), NO_JSON, add(2), finish(5)):
        assert twin.step(move) == bare.step(move)
        assert twin.fingerprint() == bare.fingerprint()
    assert twin.reset()[0] == bare.reset()[0]


def test_an_ended_trajectory_is_restored_as_ended(bare: ToolEnvironment[Any]) -> None:
    bare.step(finish(1))
    saved = bare.state_dict()
    bare.reset(options={"task": bare.task})
    bare.load_state_dict(saved)
    with pytest.raises(gymnasium.error.ResetNeeded):
        bare.step(add(1))


def test_a_state_that_does_not_fit_is_refused(bare: ToolEnvironment[Any]) -> None:
    saved = bare.state_dict()
    saved["state"]["value"] = "five"
    with pytest.raises(TaskError, match="restoring the state of task"):
        bare.load_state_dict(saved)
    with pytest.raises(gymnasium.error.ResetNeeded):
        bare.step(add(1))
    with pytest.raises(TaskError, match="not of a bare environment"):
        bare.load_state_dict({"guard": "StepLimit", "own": 0, "inner": {}})


def test_every_state_is_closed_once(toy: Definition[Any], toy_task: Task) -> None:
    opened, closed = [], []

    def start(task: Task, generator: Any) -> Any:
        opened.append(toy.start(task, generator))
        return opened[-1]

    env = ToolEnvironment(replace(toy, start=start, close=closed.append))
    env.reset(options={"task": toy_task})
    env.load_state_dict(env.state_dict())  # opens a blank one to learn the state's type
    env.reset(options={"task": toy_task})
    env.close()
    env.close()
    assert len(opened) == 3
    assert len(closed) == 4
    assert len({id(state) for state in closed}) == 4


def test_the_expert_is_the_definitions(toy: Definition[Any], toy_task: Task) -> None:
    expert = ToolEnvironment(toy).expert(toy_task)
    assert next(expert).canonical == add(5).canonical
    with pytest.raises(TaskError, match="environment 'toy' has no expert"):
        ToolEnvironment(replace(toy, expert=None)).expert(toy_task)
