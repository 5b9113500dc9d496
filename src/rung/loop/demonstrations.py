"""Demonstrations of office tasks as token arrays, for cloning the built-in base policy."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rung.core import StopReason, Task
from rung.curriculum import TRAIN, TaskStream
from rung.envs import Expert, TextActions, load, make
from rung.envs.office import demonstrator
from rung.models.chat import Chat
from rung.seeding import Seeds


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was said in one trajectory."""

    task: Task
    turns: tuple[tuple[str, str], ...]
    """Pairs of message and observation."""
    stop: StopReason


def play(env: TextActions, task: Task, policy: Expert, *, seed: int = 0) -> Transcript:
    """The transcript of `policy` on `task`."""
    env.reset(seed=seed, options={"task": task})
    turns: list[tuple[str, str]] = []
    action = next(policy)
    while True:
        observation, _, terminated, truncated, info = env.step(action.text)
        turns.append((action.text, observation))
        if terminated or truncated:
            return Transcript(task, tuple(turns), info["stop"])
        action = policy.send(observation)


def encode(
    chat: Chat, instructions: str, transcript: Transcript
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Token ids of a transcript and the mask of those that the policy is to produce."""
    ids = chat.prompt(
        [
            {"role": "system", "content": instructions},
            {"role": "user", "content": transcript.task.text},
        ]
    )
    mask = [False] * len(ids)
    end = chat.tokenizer.eos_token_id
    last = len(transcript.turns) - 1
    for index, (message, observation) in enumerate(transcript.turns):
        said = [*chat.encode_text(message), end]
        ids += said
        mask += [True] * len(said)
        if index < last:
            heard = chat.observation(observation, ended=True)
            ids += heard
            mask += [False] * len(heard)
    return np.array(ids, np.int32), np.array(mask)


def stream(seeds: Seeds, share: dict[str, float]) -> TaskStream:
    """Office tasks of the train split, mixed by tier."""
    definition = load("office-basic")
    draws = {tier: [t.draw for t in definition.of_tier(tier)] for tier in definition.tiers}
    return TaskStream(draws, seeds=seeds, split=TRAIN, mix=share)


@lru_cache(maxsize=1)
def _worker(tokenizer: str) -> tuple[Chat, TextActions, str]:
    from transformers import AutoTokenizer

    loaded: Any = AutoTokenizer.from_pretrained(tokenizer)
    return Chat(loaded), make("office-basic"), load("office-basic").instructions(style="short")


def batch(
    tokenizer: Path, root: int, index: int, share: dict[str, float], tokens: int
) -> list[tuple[NDArray[np.int32], NDArray[np.bool_]]]:
    """Batch number `index`: encoded demonstrations of at most `tokens` tokens in all.

    Runs in worker processes: a function of its arguments alone.
    """
    chat, env, instructions = _worker(str(tokenizer))
    seeds = Seeds(root).child("demonstrations", index)
    generator = seeds.generator("slips")
    encoded: list[tuple[NDArray[np.int32], NDArray[np.bool_]]] = []
    supply = stream(seeds, share)
    size = 0
    while True:
        for task in supply.take(8):
            pair = encode(chat, instructions, play(env, task, demonstrator(task, generator)))
            size += len(pair[0])
            if size > tokens:
                return encoded
            encoded.append(pair)
