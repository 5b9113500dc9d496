"""LearnerConfig: what an update depends on. Torch-free."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from rung.algorithms import Reduction, Scale, Stream
from rung.errors import ConfigError

Credit = Literal["trajectory", "turn"]
Precision = Literal["float32", "bfloat16"]
_PROCESS = Stream(weight=0.5, discount=0.8, trace=0.95)
_OUTCOME = Stream(weight=1.0, discount=1.0, trace=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerConfig:
    """How the policy is updated from a batch of groups."""

    learning_rate: float = 2e-4
    """AdamW step size. 5e-5 to 2e-4 for the built-in base; 2e-7 to 1e-6 for 7-14B models."""
    updates_per_round: int = 4
    """Optimizer steps in which a round's batch is used up, whole groups in each."""
    micro_batch_tokens: int = 8192
    """Most tokens of one forward and backward pass; memory grows with it, results do not change
    beyond rounding."""
    precision: Precision = "float32"
    """Arithmetic of matrix products and attention. Weights, their updates and losses stay float32;
    bfloat16 is faster and moves log-probabilities by its rounding."""
    clip_low: float = 0.2
    """How far below 1 the importance ratio counts."""
    clip_high: float = 0.28
    """How far above 1 the importance ratio counts; above clip_low it keeps exploration alive."""
    dual_clip: float = 3.0
    """Largest ratio that counts for a negative advantage."""
    kl_coefficient: float = 0.01
    """Weight of the KL to the reference policy; 0 leaves it out."""
    entropy_coefficient: float = 0.001
    """Weight of the entropy bonus; 0 leaves it out."""
    reduction: Reduction = "trajectory"
    """What weighs equally in the loss: tokens, turns or trajectories."""
    scale: Scale = "deviation"
    """Advantages divided by the group's deviation, or `none`."""
    credit: Credit = "trajectory"
    """One advantage for a whole trajectory, or one for each turn from the two streams below."""
    process: Stream = _PROCESS
    """Process and efficiency rewards, where credit goes by turn."""
    outcome: Stream = _OUTCOME
    """Outcome rewards, where credit goes by turn."""
    train_zero_spread: bool = False
    """Whether groups with equal returns, whose advantages are 0, still feel KL and entropy."""
    max_grad_norm: float = 1.0
    """Norm at which gradients are clipped."""
    weight_decay: float = 0.0
    """AdamW's decoupled weight decay."""
    max_skipped: int = 3
    """Updates in a row with a non-finite loss or gradient after which training stops."""

    def __post_init__(self) -> None:
        for name in ("learning_rate", "max_grad_norm", "clip_high"):
            self._require(name, "> 0", lambda value: 0 < value < math.inf)
        for name in ("updates_per_round", "micro_batch_tokens", "max_skipped"):
            self._require(name, "a whole number >= 1", _is_count)
        for name in ("kl_coefficient", "entropy_coefficient", "weight_decay"):
            self._require(name, ">= 0", lambda value: 0 <= value < math.inf)
        self._require("clip_low", "above 0 and below 1", lambda value: 0 < value < 1)
        self._require("dual_clip", "> 1", lambda value: 1 < value < math.inf)
        kinds = {"reduction": Reduction, "scale": Scale, "credit": Credit, "precision": Precision}
        for name, kind in kinds.items():
            known = get_args(kind)
            rule = "one of " + ", ".join(known)
            self._require(name, rule, known.__contains__)
        for name, plain in (("process", _PROCESS), ("outcome", _OUTCOME)):
            if self.credit != "turn" and getattr(self, name) != plain:
                raise ConfigError(
                    f"{name} counts only where credit goes by turn", hint="set learner.credit=turn"
                )

    def _require(self, name: str, rule: str, holds: Callable[[Any], bool]) -> None:
        value = getattr(self, name)
        if not holds(value):
            raise ConfigError(f"{name} must be {rule}, got {value!r}", hint=f"set learner.{name}")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and value >= 1
