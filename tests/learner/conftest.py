"""Hand-made groups: a string for each segment, x for a sampled token, anything else for others."""

import re
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

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

TASK = Task.make(environment="office", text="Find it.", data={})
NOTHING = TurnInfo(move=Action("read", {}))


def make_turn(
    segment: int, start: int, stop: int, *, process: float = 0.0, outcome: float = 0.0
) -> Turn:
    return Turn(
        segment=segment,
        start=start,
        stop=stop,
        policy_version=0,
        text="",
        cut=False,
        observation="",
        reward=RewardParts(process=process, outcome=outcome),
        info=NOTHING,
    )


def make_trajectory(
    *masks: str,
    reward: float = 0.0,
    process: Sequence[float] = (),
    ids: Sequence[Sequence[int]] | None = None,
    behaviour: float = -1.0,
    stop: StopReason = StopReason.SUCCESS,
    turns: Sequence[tuple[int, int, int]] | None = None,
    name: str = "t",
) -> Trajectory:
    """Every run of x is a turn, unless `turns` (segment, start, stop) says otherwise.

    `reward` is the outcome of the last turn, `process` holds one number for each.
    """
    found = [
        (s, *match.span()) for s, mask in enumerate(masks) for match in re.finditer("x+", mask)
    ]
    spans = found if turns is None else turns
    last = len(spans) - 1
    segments = []
    for index, mask in enumerate(masks):
        sampled = np.array([letter == "x" for letter in mask], np.bool_)
        segments.append(
            Segment(
                token_ids=np.array(range(len(mask)) if ids is None else ids[index], np.int32),
                sampled_mask=sampled,
                behaviour_logprobs=np.where(sampled, behaviour, 0.0).astype(np.float32),
            )
        )
    return Trajectory(
        id=name,
        group_id="g",
        task=TASK,
        split="train",
        seed=0,
        env_seed=0,
        segments=tuple(segments),
        turns=tuple(
            make_turn(*span, process=gained, outcome=reward * (i == last))
            for i, (span, gained) in enumerate(
                zip(spans, process or [0.0] * len(spans), strict=True)
            )
        ),
        stop=stop,
        key_hash="",
    )


def make_group(*trajectories: Trajectory, name: str = "g") -> Group:
    return Group(id=name, task=TASK, policy_version=0, trajectories=trajectories)


@pytest.fixture
def trajectory() -> Callable[..., Trajectory]:
    return make_trajectory


@pytest.fixture
def group() -> Callable[..., Group]:
    return make_group


class Bigram(nn.Module):
    """Logits after a token are that token's row of a table: who predicts what is plain to see."""

    def __init__(self, vocabulary: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(vocabulary, vocabulary))
        self.dropout = nn.Dropout(dropout)

    def set_attn_implementation(self, _name: str) -> None:
        """It has no attention."""

    def forward(self, input_ids: Tensor, logits_to_keep: Tensor, **_: Any) -> SimpleNamespace:
        kept = self.dropout(self.table[input_ids[:, logits_to_keep]])
        return SimpleNamespace(logits=kept)


def make_llama(seed: int = 0, **changes: Any) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        initializer_range=0.3,
        **changes,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return LlamaForCausalLM(config)


@pytest.fixture
def bigram() -> Callable[..., Bigram]:
    return Bigram


@pytest.fixture
def llama() -> Callable[..., Any]:
    return make_llama
