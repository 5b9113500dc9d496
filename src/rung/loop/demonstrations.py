"""Demonstrations of office tasks as token arrays, for cloning the built-in base policy."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rung.curriculum import TRAIN, TaskStream
from rung.envs import TextActions, load, make
from rung.envs.office import demonstrator
from rung.envs.playing import Played, acting, play
from rung.models.chat import Chat
from rung.seeding import Seeds


def encode(
    chat: Chat, instructions: str, played: Played
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Token ids of a trajectory and the mask of those that the policy is to produce."""
    ids = chat.prompt(
        [
            {"role": "system", "content": instructions},
            {"role": "user", "content": played.task.text},
        ]
    )
    mask = [False] * len(ids)
    end = chat.tokenizer.eos_token_id
    last = len(played.turns) - 1
    for index, turn in enumerate(played.turns):
        said = [*chat.encode_text(turn.message), end]
        ids += said
        mask += [True] * len(said)
        if index < last:
            heard = chat.observation(turn.observation, ended=True)
            ids += heard
            mask += [False] * len(heard)
    return np.array(ids, np.int32), np.array(mask)


def stream(seeds: Seeds, share: dict[str, float]) -> TaskStream:
    """Office tasks of the train split, mixed by tier."""
    definition = load("office-basic")
    return TaskStream(definition.draws(), seeds=seeds, split=TRAIN, mix=share)


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
            pair = encode(
                chat, instructions, play(env, task, acting(demonstrator(task, generator)))
            )
            size += len(pair[0])
            if size > tokens:
                return encoded
            encoded.append(pair)
