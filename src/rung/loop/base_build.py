"""Builds the built-in base policy from nothing: tokenizer, copying, cloning.

A small Llama learns first to go on with a random segment that repeats, then clones
demonstrations with slips. What comes out writes well-formed actions and copies values, and
decides as poorly as its teacher: reinforcement learning can supply the rest. Long tasks are among
the demonstrations, so that it can find its way in a long context. Tasks of the eval split are
never demonstrated.
"""

import itertools
import json
import logging
import math
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from rung.envs import load, make
from rung.envs.office import demonstrator
from rung.envs.playing import acting, play
from rung.loop.build import build_parts, held_out
from rung.loop.demonstrations import batch, stream
from rung.loop.evaluate import MODES, evaluate
from rung.loop.measures import Evaluation
from rung.loop.recipes import recipe
from rung.loop.versions import versions
from rung.models.base_tokenizer import train_tokenizer
from rung.models.muon import Muon
from rung.models.packed import PackedRows, packed_logits, use_packed_attention
from rung.seeding import Seeds

logger = logging.getLogger(__name__)

Pair = tuple[np.ndarray, np.ndarray]
_AHEAD = 100
"""Batches of demonstrations made at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseConfig:
    """Everything that the base policy depends on besides the code."""

    seed: int = 0
    vocabulary: int = 1024
    tokenizer_tasks: int = 3000
    """Demonstrations that the tokenizer is trained on."""
    width: int = 192
    layers: int = 4
    heads: int = 6
    key_value_heads: int = 2
    hidden: int = 512
    """Width of the feed-forward layers."""
    context: int = 2048
    """Positions, in tokens."""
    copy_updates: int = 400
    """Optimizer steps of copying; without them cloning takes several times as long to begin."""
    copy_tokens: int = 4096
    """Tokens of one of these."""
    clone_updates: int = 2800
    """Optimizer steps of cloning."""
    batch_tokens: int = 10_000
    """Tokens of one of these."""
    learning_rate: float = 5e-3
    """Peak, for AdamW on embeddings and norms, and for Muon on matrices."""
    share: dict[str, float] = field(default_factory=lambda: {"E1": 0.6, "E2": 0.25, "E3": 0.15})
    """Share of each tier among the demonstrations."""


def train_base(config: BaseConfig, out: Path) -> dict[str, Any]:
    """Train the base policy into the folder `out`; returns what training measured."""
    from transformers import LlamaConfig, LlamaForCausalLM

    started = time.monotonic()
    seeds = Seeds(config.seed)
    torch.manual_seed(seeds.seed("weights"))
    out.mkdir(parents=True, exist_ok=True)
    tokenizer = train_tokenizer(list(_texts(seeds, config)), vocabulary=config.vocabulary)
    tokenizer.save_pretrained(out)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=config.width,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            num_key_value_heads=config.key_value_heads,
            intermediate_size=config.hidden,
            max_position_embeddings=config.context,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    use_packed_attention(model)
    copying = _copies(seeds, config, len(tokenizer))
    copied = _fit(model, copying, config.copy_updates, config.learning_rate, final=1.0)
    cloning = _demonstrations(out, config)
    cloned = _fit(model, cloning, config.clone_updates, config.learning_rate, final=0.02)
    model.bfloat16().save_pretrained(out)
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "copy": copied,
        "clone": cloned,
        "training_seconds": round(time.monotonic() - started),
    }


def _texts(seeds: Seeds, config: BaseConfig) -> Iterator[str]:
    """Text to train the tokenizer on."""
    definition, env = load("office-basic"), make("office-basic")
    generator = seeds.generator("tokenizer")
    yield definition.instructions()
    for task in stream(seeds.child("tokenizer"), config.share).take(config.tokenizer_tasks):
        yield task.text
        for turn in play(env, task, acting(demonstrator(task, generator))).turns:
            yield turn.message
            yield turn.observation


def _copies(seeds: Seeds, config: BaseConfig, vocabulary: int) -> Iterator[list[Pair]]:
    """Batches of random segments that repeat; all but the first saying is learned."""
    generator = seeds.generator("copies")
    while True:
        pairs: list[Pair] = []
        size = 0
        while size < config.copy_tokens:
            length = int(generator.integers(4, 20))
            said = np.tile(generator.integers(5, vocabulary, length), max(2, 80 // length))
            pairs.append((said.astype(np.int32), np.arange(len(said)) > length))
            size += len(said)
        yield pairs


def _demonstrations(tokenizer: Path, config: BaseConfig) -> Iterator[list[Pair]]:
    """Batches of demonstrations, made by other processes while training waits.

    Side by side both would take longer: torch's threads wait for one another, and so for whatever
    shares a core with one of them.
    """
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as workers:
        for first in itertools.count(step=_AHEAD):
            asked = [
                workers.submit(
                    batch, tokenizer, config.seed, index, config.share, config.batch_tokens
                )
                for index in range(first, first + _AHEAD)
            ]
            yield from [future.result() for future in asked]


def _fit(
    model: Any, batches: Iterator[list[Pair]], updates: int, learning_rate: float, *, final: float
) -> dict[str, float]:
    """Train on `updates` batches; returns loss and accuracy of the last twentieth.

    The learning rate rises over the first 3 % and falls by a cosine to the share `final`.
    """
    matrices = [p for p in model.model.layers.parameters() if p.ndim == 2]
    chosen = {id(p) for p in matrices}
    others = [p for p in model.parameters() if id(p) not in chosen]
    optimizers = [
        Muon(matrices, lr=learning_rate, weight_decay=0.01),
        torch.optim.AdamW(others, lr=learning_rate, betas=(0.9, 0.98), weight_decay=0.0),
    ]
    recent: list[tuple[float, float]] = []
    started = time.monotonic()
    tokens = 0
    for update in range(updates):
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = learning_rate * _schedule((update + 1) / updates, final)
        loss, right, size = _loss(model, next(batches))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        tokens += size
        recent = [*recent, (float(loss.detach()), right)][-max(updates // 20, 1) :]
        if update % 50 == 49:
            speed = tokens / (time.monotonic() - started)
            mean = np.mean(recent[-50:], axis=0)
            logger.info(
                "update=%d of=%d loss=%.4f accuracy=%.4f tokens_per_second=%.0f",
                update + 1,
                updates,
                mean[0],
                mean[1],
                speed,
            )
    loss_mean, accuracy = np.mean(recent, axis=0)
    return {
        "updates": updates,
        "tokens": tokens,
        "loss": float(loss_mean),
        "accuracy": float(accuracy),
    }


def _schedule(progress: float, final: float) -> float:
    cosine = (1 + math.cos(math.pi * progress)) / 2
    return min(progress / 0.03, 1.0) * (final + (1 - final) * cosine)


def _loss(model: Any, pairs: list[Pair]) -> tuple[Tensor, float, int]:
    """Cross-entropy per learned token in nats, accuracy, and number of tokens."""
    ids = torch.from_numpy(np.concatenate([ids for ids, _ in pairs])).long()
    mask = torch.from_numpy(np.concatenate([mask for _, mask in pairs]))
    layout = PackedRows([len(ids) for ids, _ in pairs])
    target = mask.nonzero().squeeze(1)
    with torch.autocast("cpu", torch.bfloat16, enabled=_multiplies_bfloat16()):
        logits = packed_logits(model, ids, layout, target - 1).float()
    loss = functional.cross_entropy(logits, ids[target])
    right = (logits.argmax(-1) == ids[target]).float().mean()
    return loss, float(right), len(ids)


def _multiplies_bfloat16() -> bool:
    """Whether this CPU multiplies bfloat16 fast; without AVX-512 that is 100 times slower."""
    return torch.backends.cpu.get_cpu_capability().startswith("AVX512")


def build_base(config: BaseConfig, out: Path, *, tasks: int) -> list[Evaluation]:
    """Train the base policy into `out`, judge it, and write down where it comes from.

    Args:
        config: everything it depends on.
        out: folder to write.
        tasks: held-out tasks per tier to judge it on.

    Returns:
        one evaluation per tier and mode.
    """
    return judge_base(config, out, train_base(config, out), tasks=tasks)


def judge_base(
    config: BaseConfig, out: Path, facts: dict[str, Any], *, tasks: int
) -> list[Evaluation]:
    """Evaluate the policy in `out` and write its `provenance.json`; see `build_base`."""
    run = replace(recipe("office"), model=str(out))
    parts = build_parts(run)
    evaluations = []
    for tier in parts.definition.tiers:
        chosen = held_out(run, parts.definition, tier, tasks)
        for mode in MODES:
            found, _ = evaluate(parts, run, chosen, tier=tier, mode=mode, label="base")
            logger.info("tier=%s mode=%s success=%.3f", tier, mode, found.success)
            evaluations.append(found)
    parts.pool.close()
    provenance = {
        "command": f"rung base build --seed {config.seed}",
        "config": asdict(config),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "sha256": sha256((out / "model.safetensors").read_bytes()).hexdigest(),
        "success": {f"{e.tier} {e.mode}": round(e.success, 4) for e in evaluations},
        "tasks_per_tier": tasks,
        "versions": versions(),
        **facts,
    }
    text = json.dumps(provenance, indent=1, sort_keys=True)
    (out / "provenance.json").write_text(text + "\n", encoding="utf-8")
    return evaluations
