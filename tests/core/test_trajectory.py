import numpy as np
import pytest

from rung.core import (
    Action,
    Group,
    RewardParts,
    Segment,
    StopReason,
    Task,
    Trajectory,
    Turn,
    TurnInfo,
)

TASK = Task.make(environment="office", text="Find it.", data={"rows": []})


def segment(mask: str, **arrays: np.ndarray) -> Segment:
    """A segment whose sampled tokens are the x of `mask`."""
    sampled = np.array([letter == "x" for letter in mask], dtype=np.bool_)
    fields = {
        "token_ids": np.arange(len(mask), dtype=np.int32),
        "sampled_mask": sampled,
        "behaviour_logprobs": np.where(sampled, -0.5, 0.0).astype(np.float32),
    }
    return Segment(**{**fields, **arrays})


def turn(start: int, stop: int, reward: RewardParts, *, segment: int = 0) -> Turn:
    return Turn(
        segment=segment,
        start=start,
        stop=stop,
        policy_version=0,
        text="",
        cut=False,
        observation="",
        reward=reward,
        info=TurnInfo(move=Action("read", {})),
    )


def trajectory(
    segments: tuple[Segment, ...],
    turns: tuple[Turn, ...] = (),
    stop: StopReason = StopReason.SUCCESS,
) -> Trajectory:
    return Trajectory(
        id="t0",
        group_id="g0",
        task=TASK,
        split="train",
        seed=1,
        env_seed=2,
        segments=segments,
        turns=turns,
        stop=stop,
        key_hash="",
    )


@pytest.mark.parametrize("name", ["token_ids", "sampled_mask", "behaviour_logprobs"])
@pytest.mark.parametrize("length", [0, 3, 5])
def test_arrays_of_different_length_are_refused(name: str, length: int) -> None:
    with pytest.raises(ValueError, match=rf"one length, got \[{min(4, length)}, {max(4, length)}"):
        segment(".xx.", **{name: np.zeros(length, dtype=getattr(segment(".xx."), name).dtype)})


def test_first_token_cannot_be_sampled() -> None:
    with pytest.raises(ValueError, match="first token"):
        segment("xx")


@pytest.mark.parametrize("mask", ["", ".", "....", ".x"], ids=["empty", "one", "prompt", "two"])
def test_short_segments_are_allowed(mask: str) -> None:
    assert len(segment(mask).token_ids) == len(mask)


@pytest.mark.parametrize("name", ["token_ids", "sampled_mask", "behaviour_logprobs"])
def test_arrays_are_read_only(name: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        getattr(segment(".xx."), name)[1] = 0


def test_segment_is_frozen_and_compares_by_identity() -> None:
    one, other = segment(".xx."), segment(".xx.")
    assert one == one
    assert one != other
    with pytest.raises(AttributeError):
        one.token_ids = other.token_ids  # pyright: ignore[reportAttributeAccessIssue]


def test_worked_example_of_the_module_docstring() -> None:
    path = trajectory(
        (segment("....xxx..xx"),),
        (
            turn(4, 7, RewardParts(process=0.5, efficiency=-0.25)),
            turn(9, 11, RewardParts(efficiency=-0.25, outcome=10.0)),
        ),
    )
    mask = path.segments[0].sampled_mask
    assert path.tokens == 11
    assert path.sampled_tokens == 5
    assert all(mask[turn.start : turn.stop].all() for turn in path.turns)
    assert sum(turn.stop - turn.start for turn in path.turns) == path.sampled_tokens
    # 0.5 process, -0.25 - 0.25 efficiency, 10 outcome
    assert path.reward == RewardParts(process=0.5, efficiency=-0.5, outcome=10.0)
    assert path.reward.total == 10.0


def test_tokens_are_counted_over_all_segments() -> None:
    path = trajectory((segment("..xx"), segment("..xx.xxx"), segment("...")))
    assert path.tokens == 15
    assert path.sampled_tokens == 7
    assert type(path.sampled_tokens) is int


def test_a_trajectory_without_turns_has_no_reward() -> None:
    path = trajectory((), stop=StopReason.INFRASTRUCTURE_FAULT)
    assert (path.tokens, path.sampled_tokens, path.reward) == (0, 0, RewardParts())


@pytest.mark.parametrize("stop", list(StopReason), ids=str)
def test_only_the_stop_reason_decides_success(stop: StopReason) -> None:
    assert trajectory((), stop=stop).success is (stop == "success")


def test_group_compares_by_identity() -> None:
    members = (trajectory(()),)
    one, other = (
        Group(id="g0", task=TASK, policy_version=0, trajectories=members) for _ in range(2)
    )
    assert one != other
    assert one.trajectories is members
