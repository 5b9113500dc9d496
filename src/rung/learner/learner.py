"""Learner: owns the policy's weights and its optimizer, and turns groups into updates.

One round: its groups, in seeded order, are split into optimizer batches; each is split into
micro-batches by a token budget. Only sampled tokens are projected to logits. The loss does not
depend on the split.
"""

import copy
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
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
    """Sums over the tokens of a round."""

    tokens: int = 0
    weighted: dict[str, float] = field(default_factory=dict)
    clipped: int = 0
    entropy: float = 0.0
    kl: float = 0.0
    ratio_max: float = 0.0
    gap_max: float = 0.0


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
        if temperature <= 0:
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
        parts = np.array_split(order, min(self._config.updates_per_round, max(len(useful), 1)))
        tally = _Tally()
        norms: list[float] = []
        skipped = 0
        for number, part in enumerate(parts):
            rows = rows_of([useful[index] for index in part], self._config)
            if not rows:
                continue
            norm = self._step(rows, tally, is_first=number == 0)
            if math.isfinite(norm):
                norms.append(norm)
            else:
                skipped += 1
        return self._metrics(tally, norms, skipped)

    def _step(self, rows: list[Row], tally: _Tally, *, is_first: bool) -> float:
        """One optimizer step; returns the gradient norm, which is not finite if it was skipped."""
        self._optimizer.zero_grad(set_to_none=True)
        for batch in micro_batches(rows, self._config.micro_batch_tokens):
            self._loss(batch, tally, is_first=is_first).backward()
        norm = float(
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self._config.max_grad_norm)
        )
        if math.isfinite(norm):
            self._optimizer.step()
            self._skipped_in_a_row = 0
            return norm
        self._skipped_in_a_row += 1
        logger.warning("update skipped: gradient_norm=%s", norm)
        if self._skipped_in_a_row >= self._config.max_skipped:
            raise TrainError(
                f"{self._skipped_in_a_row} updates in a row had a non-finite gradient",
                hint="lower learner.learning_rate; the weights before them are intact",
            )
        return norm

    def _loss(self, batch: list[Row], tally: _Tally, *, is_first: bool) -> Tensor:
        """The micro-batch's share of the optimizer batch's loss."""
        config = self._config
        flat, layout, targets = _flatten(batch)
        weights = torch.from_numpy(np.concatenate([r.weights for r in batch])).float()
        advantages = torch.from_numpy(np.concatenate([r.advantages for r in batch])).float()
        behaviour = torch.from_numpy(np.concatenate([r.behaviour for r in batch]))
        logits = packed_logits(self.model, flat, layout, targets - 1).float() / self._temperature
        logprobs = _chosen(logits, flat[targets])
        token = policy_loss(
            logprobs,
            behaviour,
            advantages,
            clip_low=config.clip_low,
            clip_high=config.clip_high,
            dual_clip=config.dual_clip,
        )
        spread = entropy(logits)
        terms = {"policy_loss": token.loss, "entropy": -config.entropy_coefficient * spread}
        if self._reference is not None:
            with torch.no_grad():
                reference = packed_logits(self._reference, flat, layout, targets - 1).float()
            kl = kl_k3(logprobs, _chosen(reference / self._temperature, flat[targets]))
            terms["kl"] = config.kl_coefficient * kl
            tally.kl += float(kl.detach().sum())
        losses = {name: (weights * term).sum() for name, term in terms.items()}
        for name, loss in losses.items():
            tally.weighted[name] = tally.weighted.get(name, 0.0) + float(loss.detach())
        tally.tokens += len(targets)
        tally.clipped += int(token.clipped.sum())
        tally.entropy += float(spread.detach().sum())
        tally.ratio_max = max(tally.ratio_max, float(token.ratio.max()))
        if is_first:
            gap = float((logprobs.detach() - behaviour).abs().max())
            tally.gap_max = max(tally.gap_max, gap)
        return torch.stack(list(losses.values())).sum()

    def _metrics(self, tally: _Tally, norms: list[float], skipped: int) -> dict[str, float]:
        tokens = max(tally.tokens, 1)
        updates = max(len(norms) + skipped, 1)
        return {
            "learner/loss": sum(tally.weighted.values()) / updates,
            "learner/policy_loss": tally.weighted.get("policy_loss", 0.0) / updates,
            "learner/kl_nats": tally.kl / tokens,
            "learner/entropy_nats": tally.entropy / tokens,
            "learner/clip_share": tally.clipped / tokens,
            "learner/grad_norm": float(np.mean(norms)) if norms else 0.0,
            "learner/ratio_max": tally.ratio_max,
            "learner/logprob_gap_max": tally.gap_max,
            "learner/updates_count": len(norms),
            "learner/skipped_count": skipped,
            "learner/trained_tokens_count": tally.tokens,
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
