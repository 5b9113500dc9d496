"""Trajectory and Group: what rollout produces and the learner consumes.

Tokens are held once. What is trained is token for token what was sampled: text is kept for
people to read and is never encoded again. Arrays are read-only copies.

Worked example, one segment of a trajectory of two turns:

    token_ids     [p p p p  a a a  o o  a a]      p prompt, a sampled, o observation
    sampled_mask  [. . . .  x x x  . .  x x]
    turns         (start 4, stop 7), (start 9, stop 11)
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rung.core.reward import RewardParts
from rung.core.stop import StopReason
from rung.core.task import Task
from rung.core.turn import TurnInfo


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Segment:
    """A stretch of tokens that the model saw as one context. All arrays have length T."""

    token_ids: NDArray[np.int32]
    sampled_mask: NDArray[np.bool_]
    """True where the policy produced the token; only these are trained."""
    behaviour_logprobs: NDArray[np.float32]
    """Log-probability of each sampled token when it was sampled, in nats; 0 elsewhere."""

    def __post_init__(self) -> None:
        for name, kind in _ARRAYS.items():
            array = np.array(getattr(self, name), kind)
            if array.ndim != 1:
                raise ValueError(f"a segment's {name} must have one dimension, got {array.ndim}")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        lengths = {len(self.token_ids), len(self.sampled_mask), len(self.behaviour_logprobs)}
        if len(lengths) != 1:
            raise ValueError(f"a segment's arrays must have one length, got {sorted(lengths)}")
        if len(self.sampled_mask) and self.sampled_mask[0]:
            raise ValueError("the first token of a segment cannot be sampled: it has no context")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.token_ids, self.sampled_mask, self.behaviour_logprobs)


_ARRAYS = {"token_ids": np.int32, "sampled_mask": np.bool_, "behaviour_logprobs": np.float32}


def _rebuild(
    token_ids: NDArray[np.int32],
    sampled_mask: NDArray[np.bool_],
    behaviour_logprobs: NDArray[np.float32],
) -> Segment:
    return Segment(
        token_ids=token_ids, sampled_mask=sampled_mask, behaviour_logprobs=behaviour_logprobs
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One model message, one action, one reply of the environment."""

    segment: int
    """Index of the segment that holds its tokens."""
    start: int
    """First sampled token of the message, as an index into the segment."""
    stop: int
    """One past the last sampled token."""
    policy_version: int
    """Version of the policy that sampled it."""
    text: str
    """The message, decoded."""
    cut: bool
    """The message hit the token limit before its end."""
    observation: str
    """The environment's reply."""
    reward: RewardParts
    info: TurnInfo


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trajectory:
    """All turns of one attempt at one task."""

    id: str
    """Unique within a run."""
    group_id: str
    """The group it was collected in."""
    task: Task
    split: str
    """train or eval."""
    seed: int
    """Root of its sampling streams."""
    env_seed: int
    """Seed of its environment; the same for the whole group."""
    segments: tuple[Segment, ...]
    turns: tuple[Turn, ...]
    stop: StopReason
    key_hash: str
    """Hash of the sequence of (action, key arguments): equal for equal behaviour."""
    error: str = ""
    """What failed, when `stop` is an infrastructure fault."""

    @property
    def reward(self) -> RewardParts:
        """Sum of the turns' rewards, undiscounted."""
        return sum((turn.reward for turn in self.turns), RewardParts())

    @property
    def sampled_tokens(self) -> int:
        """Number of tokens that the policy produced."""
        return int(sum(segment.sampled_mask.sum() for segment in self.segments))

    @property
    def tokens(self) -> int:
        """Number of tokens, prompt and observations included."""
        return sum(len(segment.token_ids) for segment in self.segments)

    @property
    def success(self) -> bool:
        """The task was solved."""
        return self.stop is StopReason.SUCCESS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Group:
    """The trajectories of one task under one policy version."""

    id: str
    task: Task
    policy_version: int
    trajectories: tuple[Trajectory, ...]
    """Members that were scored come with those that were not; see StopReason.is_scored."""
