"""Every number that a run writes, declared once: name, unit, kind, meaning, formula.

A name reads `area/thing_unit`. It may hold `{tier}` (E1, E2, E3) and `{mode}` (greedy,
sampled); `named` fills them in. A name that is not declared here cannot be written. Metrics of
the area `timing` depend on the clock or the machine; all others are equal for equal runs.

Terms: a turn is *invalid* if nothing useful ran; K is the group size; means over trajectories
and turns are taken over the scored ones of the round (StopReason.is_scored).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product
from typing import Literal

from rung.errors import StoreError

TIERS = ("E1", "E2", "E3")
MODES = ("greedy", "sampled")

MetricKind = Literal["mean", "sum", "max", "last"]
"""How numbers of one round become one: their mean, sum or maximum, or the last of them."""


@dataclass(frozen=True, slots=True)
class Metric:
    """The declaration of one metric, or of a family of them where the name has placeholders."""

    name: str
    unit: str
    """Unit of the number; `1` for a share between 0 and 1, and for pure numbers."""
    kind: MetricKind
    meaning: str
    """What it tells, in one sentence."""
    formula: str
    """How it is computed, over one round."""

    @property
    def area(self) -> str:
        """The part of the name before the first slash."""
        return self.name.partition("/")[0]

    @property
    def names(self) -> tuple[str, ...]:
        """Every name of the family; just the one where there is no placeholder."""
        return tuple(
            dict.fromkeys(
                self.name.format(tier=tier, mode=mode) for tier, mode in product(TIERS, MODES)
            )
        )

    def named(self, *, tier: str = "", mode: str = "") -> str:
        """The name with its placeholders filled in.

        Raises:
            StoreError: that name is not one of the family.
        """
        name = self.name.format(tier=tier, mode=mode)
        if name not in self.names:
            raise StoreError(
                f"metric {self.name!r} has no member for tier {tier!r} and mode {mode!r}",
                hint=f"tiers: {', '.join(TIERS)}; modes: {', '.join(MODES)}",
            )
        return name


ROLLOUT_SUCCESS = Metric(
    "rollout/success_share", "1", "mean",
    "Share of training trajectories that solved their task, over all tiers.",
    "successes / scored trajectories",
)  # fmt: skip
ROLLOUT_SUCCESS_TIER = Metric(
    "rollout/success_share_{tier}", "1", "mean",
    "Share of training trajectories of one tier that solved their task.",
    "successes / scored trajectories of the tier; absent where the tier was not drawn",
)  # fmt: skip
ROLLOUT_RETURN = Metric(
    "rollout/return_mean", "reward", "mean",
    "Reward of a trajectory, all parts.",
    "mean of process + efficiency + outcome, undiscounted",
)  # fmt: skip
ROLLOUT_PROCESS = Metric(
    "rollout/process_mean", "reward", "mean",
    "Reward for subgoals.",
    "mean over trajectories of the sum of process rewards",
)  # fmt: skip
ROLLOUT_EFFICIENCY = Metric(
    "rollout/efficiency_mean", "reward", "mean",
    "Costs of turns, of invalid and repeated ones, and of leaving a task unfinished; negative.",
    "mean over trajectories of the sum of efficiency rewards",
)  # fmt: skip
ROLLOUT_OUTCOME = Metric(
    "rollout/outcome_mean", "reward", "mean",
    "Reward for the end: success or a wrong submission.",
    "mean over trajectories of the outcome reward",
)  # fmt: skip
ROLLOUT_TURNS = Metric(
    "rollout/turns_mean", "turns", "mean",
    "Length of a trajectory.",
    "turns / scored trajectories",
)  # fmt: skip
ROLLOUT_SAMPLED_TOKENS = Metric(
    "rollout/sampled_tokens_mean", "tokens", "mean",
    "Tokens that the policy produced in a trajectory.",
    "sum of sampled_mask / scored trajectories",
)  # fmt: skip
ROLLOUT_TRAJECTORIES = Metric(
    "rollout/trajectories_count", "trajectories", "sum",
    "Trajectories collected, scored or not.",
    "number of trajectories",
)  # fmt: skip
ROLLOUT_UNSCORED = Metric(
    "rollout/unscored_count", "trajectories", "sum",
    "Trajectories that say nothing about the policy: infrastructure faults and cancellations.",
    "number of trajectories whose stop reason is not scored",
)  # fmt: skip
ROLLOUT_FORMAT_ERROR = Metric(
    "rollout/format_error_share", "1", "mean",
    "Share of turns whose message held no valid action.",
    "turns with a FormatError / turns",
)  # fmt: skip
ROLLOUT_INVALID = Metric(
    "rollout/invalid_share", "1", "mean",
    "Share of turns in which nothing useful ran; format errors and refusals are among them.",
    "invalid turns / turns",
)  # fmt: skip
ROLLOUT_REPEATED = Metric(
    "rollout/repeated_share", "1", "mean",
    "Share of turns whose action repeats an earlier one of the trajectory.",
    "repeated turns / turns",
)  # fmt: skip
ROLLOUT_UNCONFIRMED = Metric(
    "rollout/unconfirmed_share", "1", "mean",
    "Share of turns in which an irreversible action was held back for want of a confirmation.",
    "turns with a Refusal / turns",
)  # fmt: skip
ROLLOUT_CUT = Metric(
    "rollout/cut_share", "1", "mean",
    "Share of messages that were cut at the token limit.",
    "turns with `cut` / turns",
)  # fmt: skip
ROLLOUT_TRUNCATED = Metric(
    "rollout/truncated_share", "1", "mean",
    "Share of trajectories that a limit ended: turns, tokens, context or invalid streak.",
    "trajectories with a truncated stop reason / scored trajectories",
)  # fmt: skip
ROLLOUT_ZERO_SPREAD = Metric(
    "rollout/zero_spread_share", "1", "mean",
    "Share of groups that teach nothing, as all their returns are equal.",
    "groups with max R - min R < 1e-6 / groups",
)  # fmt: skip
ROLLOUT_DISTINCT = Metric(
    "rollout/distinct_behaviour_share", "1", "mean",
    "Variety of behaviour; it falls to 1/K when every member of a group does the same.",
    "distinct pairs of group and key hash / scored trajectories",
)  # fmt: skip

REPLAY_SIZE = Metric(
    "replay/size_count", "trajectories", "last",
    "Trajectories in the replay pool after the round.",
    "size of the pool",
)  # fmt: skip
REPLAY_DROPPED = Metric(
    "replay/dropped_count", "trajectories", "last",
    "Trajectories dropped from the pool since the run began: stale or over capacity.",
    "running total",
)  # fmt: skip

CURRICULUM_OPEN = Metric(
    "curriculum/open_count", "tiers", "last",
    "Tiers that the ladder has open after the round; absent without a ladder.",
    "number of open tiers",
)  # fmt: skip
CURRICULUM_SHARE = Metric(
    "curriculum/share_{tier}", "1", "last",
    "Share of the next round's tasks that come from one tier; absent without a ladder.",
    "the ladder's mix after the round",
)  # fmt: skip

LEARNER_LOSS = Metric(
    "learner/loss", "1", "mean",
    "The loss that was minimised, with all its terms.",
    "mean over updates",
)  # fmt: skip
LEARNER_POLICY_LOSS = Metric(
    "learner/policy_loss", "1", "mean",
    "The clipped policy term of the loss alone.",
    "mean over updates of -min(rho A, clip(rho) A), reduced as configured",
)  # fmt: skip
LEARNER_KL = Metric(
    "learner/kl_nats", "nats", "mean",
    "Distance of the policy from the reference policy, per trained token.",
    "mean of exp(d) - d - 1 with d = log p_ref - log p (k3)",
)  # fmt: skip
LEARNER_ENTROPY = Metric(
    "learner/entropy_nats", "nats", "mean",
    "How undecided the policy is, per trained token; near 0 it explores no more.",
    "mean entropy of the full distribution at the sampling temperature",
)  # fmt: skip
LEARNER_CLIP = Metric(
    "learner/clip_share", "1", "mean",
    "Share of trained tokens whose ratio was clipped and gave no gradient.",
    "clipped tokens / trained tokens",
)  # fmt: skip
LEARNER_GRAD_NORM = Metric(
    "learner/grad_norm", "1", "mean",
    "Length of the gradient before it was clipped.",
    "mean over updates of the 2-norm over all parameters",
)  # fmt: skip
LEARNER_RATIO = Metric(
    "learner/ratio_max", "1", "max",
    "Largest probability ratio of a token between the policy and the one that sampled it.",
    "max of exp(log p - log p_behaviour)",
)  # fmt: skip
LEARNER_LOGPROB_GAP = Metric(
    "learner/logprob_gap_max", "nats", "max",
    "Disagreement of learner and engine on the same weights; should be rounding noise.",
    "max |log p - log p_behaviour| in the first pass of the round, before any update",
)  # fmt: skip
LEARNER_UPDATES = Metric(
    "learner/updates_count", "updates", "sum",
    "Optimizer steps taken.",
    "number of updates",
)  # fmt: skip
LEARNER_SKIPPED = Metric(
    "learner/skipped_count", "updates", "sum",
    "Updates left out because the loss or the gradient norm was not finite.",
    "number of skipped updates",
)  # fmt: skip
LEARNER_TRAINED_TOKENS = Metric(
    "learner/trained_tokens_count", "tokens", "sum",
    "Sampled tokens that entered the loss, counted once for each pass.",
    "sum over updates",
)  # fmt: skip
LEARNER_RATE = Metric(
    "learner/learning_rate", "1", "last",
    "Step size of the optimizer.",
    "value at the last update of the round",
)  # fmt: skip

EVAL_SUCCESS = Metric(
    "eval/{mode}/success_share_{tier}", "1", "mean",
    "Share of held-out tasks of one tier that the policy solved.",
    "successes / scored tasks",
)  # fmt: skip
EVAL_SUCCESS_LOW = Metric(
    "eval/{mode}/success_low_{tier}", "1", "last",
    "Lower end of the 95 % interval of the success share.",
    "as the evaluation states it",
)  # fmt: skip
EVAL_SUCCESS_HIGH = Metric(
    "eval/{mode}/success_high_{tier}", "1", "last",
    "Upper end of the 95 % interval of the success share.",
    "as the evaluation states it",
)  # fmt: skip
EVAL_TURNS = Metric(
    "eval/{mode}/turns_mean_{tier}", "turns", "mean",
    "Length of an evaluated trajectory.",
    "turns / scored tasks",
)  # fmt: skip
EVAL_EFFICIENCY = Metric(
    "eval/{mode}/step_efficiency_{tier}", "1", "mean",
    "How close solved tasks come to the shortest known way.",
    "mean over solved tasks of expert turns / turns",
)  # fmt: skip

TIMING_ROLLOUT = Metric(
    "timing/rollout_seconds", "s", "sum", "Time spent on collecting trajectories.", "wall clock"
)
TIMING_UPDATE = Metric("timing/update_seconds", "s", "sum", "Time spent on updates.", "wall clock")
TIMING_EVALUATE = Metric(
    "timing/evaluate_seconds", "s", "sum", "Time spent on evaluation.", "wall clock"
)
TIMING_ROUND = Metric("timing/round_seconds", "s", "sum", "Time of the whole round.", "wall clock")
TIMING_ELAPSED = Metric(
    "timing/elapsed_seconds", "s", "last", "Time since the run began.", "wall clock"
)
TIMING_SAMPLED = Metric(
    "timing/sampled_tokens_per_second", "tokens/s", "mean",
    "Speed of rollout, counting the tokens that the policy produced.",
    "sampled tokens / rollout seconds",
)  # fmt: skip
TIMING_PROCESSED = Metric(
    "timing/processed_tokens_per_second", "tokens/s", "mean",
    "Speed of rollout, counting prompts and observations too.",
    "all tokens / rollout seconds",
)  # fmt: skip
TIMING_TRAINED = Metric(
    "timing/trained_tokens_per_second", "tokens/s", "mean",
    "Speed of updates.",
    "trained tokens / update seconds",
)  # fmt: skip
TIMING_MEMORY = Metric(
    "timing/memory_peak_mb", "MB", "max",
    "Largest memory use of the process so far.",
    "peak resident memory, or peak device memory where a device is used; 1 MB = 10^6 bytes",
)  # fmt: skip

METRICS: tuple[Metric, ...] = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Metric)
)
"""Every declared metric, in the order of this file."""

REGISTRY: Mapping[str, Metric] = {name: metric for metric in METRICS for name in metric.names}
"""Every name that can be written, with its declaration."""


def find_metric(name: str) -> Metric:
    """The declaration behind `name`, a name without placeholders.

    Raises:
        StoreError: no metric has this name.
    """
    if name in REGISTRY:
        return REGISTRY[name]
    close = get_close_matches(name, REGISTRY, n=1, cutoff=0.5)
    raise StoreError(
        f"unknown metric {name!r}",
        hint=f"did you mean {close[0]!r}?" if close else "declare it in rung/runs/metric.py",
    )


def metrics_markdown() -> str:
    """The glossary of all metrics as a Markdown page: one table for each area."""
    lines = ["# Metrics", "", "Generated from `rung.runs.metric`; do not edit."]
    lines += ["", "Unit 1 marks shares between 0 and 1 and pure numbers."]
    for area in dict.fromkeys(metric.area for metric in METRICS):
        lines += ["", f"## {area}", "", "| name | unit | kind | meaning | formula |"]
        lines += ["| --- | --- | --- | --- | --- |"]
        for metric in METRICS:
            if metric.area == area:
                cells = (f"`{metric.name}`", metric.unit, metric.kind, metric.meaning)
                lines.append(f"| {' | '.join((*cells, _cell(metric.formula)))} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
