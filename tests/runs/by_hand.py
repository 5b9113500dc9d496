"""Trajectories made by hand, for the tests of this folder."""

import numpy as np

from rung.core import (
    Action,
    FormatError,
    FormatErrorKind,
    Refusal,
    RefusalKind,
    RewardParts,
    Segment,
    StopReason,
    Task,
    Trajectory,
    Turn,
    TurnInfo,
)

TASK = Task.make(environment="office", text="Note the price.", data={"a": [1, None, "é"]})


def trajectory(
    id="r1-t0-m0", *, text="hello", observation="ok", stop=StopReason.SUCCESS, turns=3, task=TASK
):
    action = Action("send_message", {"to": "x", "confirm": False, "n": [1, {"b": None}]})
    moves = [
        action,
        FormatError(FormatErrorKind.NO_JSON, "there is no JSON object"),
        Refusal(RefusalKind.UNCONFIRMED, action, "not done"),
    ]
    said = [
        Turn(
            segment=0,
            start=2 + 2 * index,
            stop=3 + 2 * index,
            policy_version=4,
            text=text,
            cut=index == 1,
            observation=observation,
            reward=RewardParts(0.5, -0.01, 0.0),
            info=TurnInfo(
                move=moves[index % 3],
                subgoals=("first",) if index == 0 else (),
                invalid=index % 3 > 0,
                repeated=index == 2,
            ),
        )
        for index in range(turns)
    ]
    length = 2 + 2 * max(turns, 1)
    mask = np.zeros(length, bool)
    mask[[turn.start for turn in said]] = True
    return Trajectory(
        id=id,
        group_id=id.rpartition("-")[0],
        task=task,
        split="train",
        seed=2**62 + 1,
        env_seed=7,
        segments=(
            Segment(
                token_ids=np.arange(length, dtype=np.int32),
                sampled_mask=mask,
                behaviour_logprobs=np.where(mask, np.float32(-0.5), np.float32(0)),
            ),
        ),
        turns=tuple(said),
        stop=stop,
        key_hash="ab" * 16,
        error="broke" if stop is StopReason.INFRASTRUCTURE_FAULT else "",
    )


def same(left, right):
    """Equality of trajectories, arrays and actions included."""

    def plain(t):
        moves = [
            (type(turn.info.move).__name__, turn.info.action and turn.info.action.canonical)
            for turn in t.turns
        ]
        turns = [
            (u.segment, u.start, u.stop, u.policy_version, u.text, u.cut, u.observation, u.reward)
            for u in t.turns
        ]
        flags = [(u.info.subgoals, u.info.invalid, u.info.repeated, u.info.noise) for u in t.turns]
        arrays = [
            (a.dtype.str, a.tolist())
            for s in t.segments
            for a in (s.token_ids, s.sampled_mask, s.behaviour_logprobs)
        ]
        names = (t.id, t.group_id, t.task, t.split, t.seed, t.env_seed, t.stop, t.key_hash, t.error)
        return names, moves, turns, flags, arrays

    return plain(left) == plain(right)
