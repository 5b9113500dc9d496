"""Learner: owns the policy's weights and its optimizer, and turns groups into updates.

One round: its groups, in seeded order, are split into optimizer batches; each is split into
micro-batches by a token budget. Only sampled tokens are projected to logits. The loss does not
depend on the split.
"""

import copy
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rung.algorithms.policy_loss import entropy, kl_k3, policy_loss
from rung.core import Group
from rung.errors import TrainError
from rung.learner.config import LearnerConfig
from rung.learner.rows import Row, micro_batches, rows_of, trainable
from rung.models.packed import PackedRows, packed_logits, use_packed_attention
from rung.seeding import Seeds

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Tally:
    """Sums and maxima over the tokens of one update."""

    loss: float = 0.0
    policy_loss: float = 0.0
    tokens: int = 0
    clipped: int = 0
    entropy: float = 0.0
    kl: float = 0.0
    ratio_max: float = 0.0
    gap_max: float = 0.0
    """Largest difference between log-probabilities here and when they were sampled."""
    norm: float = 0.0
    """Length of the gradient before it is clipped."""


class Learner:
    """Updates a policy.

    Args:
        model: a Hugging Face causal LM in float32; the learner takes it over.
        config: how to update.
        seeds: where the order of the groups comes from.
        temperature: at which trajectories are sampled; losses are at the same.
    """

    def __init__(
        self, model: Any, config: LearnerConfig, seeds: Seeds, *, temperature: float
    ) -> None:
        if not 0 < temperature < math.inf:
            raise TrainError(
                f"training needs a temperature above 0, got {temperature}",
                hint="greedy sampling belongs to evaluation; set rollout.temperature",
            )
        self._config = config
        self._seeds = seeds
        self._temperature = temperature
        self.model = model.eval().requires_grad_(True)
        use_packed_attention(model)
        self._reference: Any = None
        if config.kl_coefficient:
            self._reference = copy.deepcopy(model).requires_grad_(False)
        self._optimizer = torch.optim.AdamW(
            model.parameters(),
            lr=config.learning_rate,
            betas=(0.9, 0.95),
            weight_decay=config.weight_decay,
        )
        self._skipped_in_a_row = 0

    def weights(self) -> dict[str, Tensor]:
        """The policy's weights, by name; shared, not copied."""
        return self.model.state_dict()

    def update(self, groups: Sequence[Group], *, round: int) -> dict[str, float]:
        """Use up a round's groups; returns metrics by name.

        Raises:
            TrainError: too many updates in a row had a non-finite loss or gradient.
        """
        useful = trainable(groups, self._config)
        order = self._seeds.generator("order", round).permutation(len(useful))
        parts = np.array_split(order, min(self._config.updates_per_round, len(useful)) or 1)
        batches = [[useful[index] for index in part] for part in parts if len(part)]
        updates = [self._step(rows_of(batch, self._config)) for batch in batches]
        return self._metrics([tally for tally in updates if tally is not None], len(batches))

    def _step(self, rows: list[Row]) -> _Tally | None:
        """One optimizer step; None if it was skipped."""
        self._optimizer.zero_grad(set_to_none=True)
        tally = _Tally()
        for batch in micro_batches(rows, self._config.micro_batch_tokens):
            self._loss(batch, tally).backward()
        tally.norm = float(
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self._config.max_grad_norm)
        )
        if math.isfinite(tally.loss) and math.isfinite(tally.norm):
            self._optimizer.step()
            self._skipped_in_a_row = 0
            return tally
        self._skipped_in_a_row += 1
        logger.warning("update skipped: loss=%s gradient_norm=%s", tally.loss, tally.norm)
        if self._skipped_in_a_row >= self._config.max_skipped:
            raise TrainError(
                f"{self._skipped_in_a_row} updates in a row had a non-finite loss or gradient",
                hint="lower learner.learning_rate; the weights before them are intact",
            )
        return None

    def _loss(self, batch: list[Row], tally: _Tally) -> Tensor:
        """The micro-batch's share of the optimizer batch's loss."""
        config = self._config
        flat, layout, targets = _flatten(batch)
        weights = torch.from_numpy(np.concatenate([r.weights for r in batch])).float()
        advantages = torch.from_numpy(np.concatenate([r.advantages for r in batch])).float()
        behaviour = torch.from_numpy(np.concatenate([r.behaviour for r in batch]))
        logits = self._logits(self.model, flat, layout, targets - 1)
        logprobs = _chosen(logits, flat[targets])
        token = policy_loss(
            logprobs,
            behaviour,
            advantages,
            clip_low=config.clip_low,
            clip_high=config.clip_high,
            dual_clip=config.dual_clip,
        )
        spread = entropy(logits if config.entropy_coefficient else logits.detach())
        total = token.loss - config.entropy_coefficient * spread
        if self._reference is not None:
            with torch.no_grad():
                reference = self._logits(self._reference, flat, layout, targets - 1)
            kl = kl_k3(logprobs, _chosen(reference, flat[targets]))
            total = total + config.kl_coefficient * kl
            tally.kl += float(kl.detach().sum())
        loss = (weights * total).sum()
        tally.loss += float(loss.detach())
        tally.policy_loss += float((weights * token.loss.detach()).sum())
        tally.tokens += len(targets)
        tally.clipped += int(token.clipped.sum())
        tally.entropy += float(spread.detach().sum())
        tally.ratio_max = max(tally.ratio_max, float(token.ratio.max()))
        gap = (logprobs.detach() - behaviour).abs().max()
        tally.gap_max = max(tally.gap_max, float(gap))
        return loss

    def _logits(self, model: Any, flat: Tensor, layout: PackedRows, keep: Tensor) -> Tensor:
        """Logits `[M, V]` at the sampling temperature, in float32."""
        low = self._config.precision == "bfloat16"
        with torch.autocast(flat.device.type, torch.bfloat16, enabled=low):
            logits = packed_logits(model, flat, layout, keep)
        return logits.float() / self._temperature

    def _metrics(self, taken: list[_Tally], tried: int) -> dict[str, float]:
        """Metrics of a round, over the updates that were taken; `tried` counts the others too."""
        tokens = sum(tally.tokens for tally in taken)
        updates = max(len(taken), 1)
        return {
            "learner/loss": sum(t.loss for t in taken) / updates,
            "learner/policy_loss": sum(t.policy_loss for t in taken) / updates,
            "learner/kl_nats": sum(t.kl for t in taken) / max(tokens, 1),
            "learner/entropy_nats": sum(t.entropy for t in taken) / max(tokens, 1),
            "learner/clip_share": sum(t.clipped for t in taken) / max(tokens, 1),
            "learner/grad_norm": sum(t.norm for t in taken) / updates,
            "learner/ratio_max": max((t.ratio_max for t in taken), default=0.0),
            "learner/logprob_gap_max": taken[0].gap_max if taken else 0.0,
            "learner/updates_count": len(taken),
            "learner/skipped_count": tried - len(taken),
            "learner/trained_tokens_count": tokens,
            "learner/learning_rate": self._config.learning_rate,
        }


def _flatten(batch: list[Row]) -> tuple[Tensor, PackedRows, Tensor]:
    """Flat tokens, their layout, and the flat indices of the sampled tokens."""
    lengths = [len(row.token_ids) for row in batch]
    starts = np.cumsum([0, *lengths[:-1]])
    flat = torch.from_numpy(np.concatenate([row.token_ids for row in batch])).long()
    targets = np.concatenate([r.positions + s for r, s in zip(batch, starts, strict=True)])
    return flat, PackedRows(lengths), torch.from_numpy(targets)


def _chosen(logits: Tensor, token_ids: Tensor) -> Tensor:
    """Log-probability of one token per row of `[M, V]` logits."""
    return logits.gather(1, token_ids.unsqueeze(1)).squeeze(1) - logits.logsumexp(-1)
