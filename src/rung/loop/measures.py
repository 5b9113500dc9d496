"""What trajectories say about a policy: metrics of a round, measures of an evaluation."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from rung.algorithms import group_returns, has_spread
from rung.core import FormatError, Group, Trajectory, Turn
from rung.curriculum import Ladder, Tally
from rung.loop.intervals import NOTHING, Measure, mean, ratio, share


def round_metrics(groups: Sequence[Group]) -> dict[str, float]:
    """Metrics of a round's trajectories, by metric name. Unscored ones are only counted."""
    every = [t for group in groups for t in group.trajectories]
    scored = [t for t in every if _is_scored(t)]
    turns = [turn for t in scored for turn in t.turns]
    values = {
        "rollout/trajectories_count": float(len(every)),
        "rollout/unscored_count": float(len(every) - len(scored)),
        "rollout/zero_spread_share": _share(
            [not has_spread(*group_returns(group.trajectories)) for group in groups]
        ),
    }
    if not scored:
        return values
    rewards = [t.reward for t in scored]
    values |= {
        "rollout/success_share": _share([t.success for t in scored]),
        "rollout/return_mean": float(np.mean([r.total for r in rewards])),
        "rollout/process_mean": float(np.mean([r.process for r in rewards])),
        "rollout/efficiency_mean": float(np.mean([r.efficiency for r in rewards])),
        "rollout/outcome_mean": float(np.mean([r.outcome for r in rewards])),
        "rollout/turns_mean": float(np.mean([len(t.turns) for t in scored])),
        "rollout/sampled_tokens_mean": float(np.mean([t.sampled_tokens for t in scored])),
        "rollout/truncated_share": _share([t.stop.is_truncated for t in scored]),
        "rollout/cut_share": _share([turn.cut for turn in turns]),
        "rollout/distinct_behaviour_share": len({(t.group_id, t.key_hash) for t in scored})
        / len(scored),
    }
    values |= {
        f"rollout/{name}": _share([of(turn) for turn in turns]) for name, of in RATES.items()
    }
    for tier in sorted({t.task.tier for t in scored}):
        solved = [t.success for t in scored if t.task.tier == tier]
        values[f"rollout/success_share_{tier}"] = _share(solved)
    return values


def tallies(groups: Sequence[Group]) -> list[Tally]:
    """Solved and scored trajectories of each template, for the ladder."""
    found: dict[tuple[str, str], list[bool]] = {}
    for group in groups:
        solved = found.setdefault((group.task.tier, group.task.template), [])
        solved += [t.success for t in group.trajectories if _is_scored(t)]
    return [
        Tally(tier=tier, template=template, solved=sum(solved), tried=len(solved))
        for (tier, template), solved in found.items()
    ]


def ladder_metrics(ladder: Ladder) -> dict[str, float]:
    """Where the ladder stands after a round."""
    return {
        "curriculum/open_count": float(len(ladder.open)),
        **{f"curriculum/share_{tier}": share for tier, share in ladder.mix.items()},
    }


RATES: dict[str, Callable[[Turn], bool]] = {
    "format_error_share": lambda turn: isinstance(turn.info.move, FormatError),
    "invalid_share": lambda turn: turn.info.invalid,
    "repeated_share": lambda turn: turn.info.repeated,
    "unconfirmed_share": lambda turn: turn.info.unconfirmed,
}
"""Shares of turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What a policy did on held-out tasks of one tier."""

    tier: str
    mode: str
    """`greedy` or `sampled`."""
    tasks: int
    """Tasks that could be scored."""
    unscored: int
    """Tasks lost to infrastructure faults or without a finite reward; neither solved nor
    failed."""
    measures: dict[str, Measure]
    stop_reasons: dict[str, int]
    """Over all trajectories, those that were replaced included."""

    @property
    def success(self) -> float:
        """Share of tasks solved; 0 if none could be scored."""
        return self.measures["success_share"].value or 0.0


def evaluation_of(
    trajectories: Sequence[Trajectory],
    expert_turns: Mapping[str, int],
    *,
    tier: str,
    mode: str,
    process_total: float,
) -> Evaluation:
    """Measures of one tier.

    Args:
        trajectories: one per task, in a group of its own; where one broke, its replacement may be
            there as well.
        expert_turns: task id -> turns the expert needs; empty without an expert.
        tier: the tier.
        mode: `greedy` or `sampled`.
        process_total: sum of a task's process rewards; what was paid of it is the share of
            subgoals reached.
    """
    scored = [t for t in trajectories if _is_scored(t)]
    solved = [t for t in scored if t.success and t.task.id in expert_turns]
    errors = [_errors(t) for t in scored]
    recoveries = [[turns for turns in found if turns is not None] for found in errors]
    paid = [min(t.reward.process / process_total, 1.0) if process_total else 0.0 for t in scored]
    measures = {
        "success_share": share(sum(t.success for t in scored), len(scored)),
        "step_efficiency": mean([expert_turns[t.task.id] / len(t.turns) for t in solved]),
        "recovery_share": ratio([len(r) for r in recoveries], [len(e) for e in errors]),
        "recovery_turns_mean": ratio([sum(r) for r in recoveries], [len(r) for r in recoveries]),
        "subgoal_share": mean(paid) if process_total else NOTHING,
        "turns_mean": mean([len(t.turns) for t in scored]),
    }
    for name, of in RATES.items():
        hits = [sum(of(turn) for turn in t.turns) for t in scored]
        measures[name] = ratio(hits, [len(t.turns) for t in scored])
    return Evaluation(
        tier=tier,
        mode=mode,
        tasks=len(scored),
        unscored=len({t.group_id for t in trajectories} - {t.group_id for t in scored}),
        measures=measures,
        stop_reasons=dict(Counter(t.stop.value for t in trajectories)),
    )


def _is_scored(trajectory: Trajectory) -> bool:
    """A return that is no number says nothing about the policy, and would poison every mean."""
    return trajectory.stop.is_scored and isfinite(trajectory.reward.total)


def _errors(trajectory: Trajectory) -> list[int | None]:
    """For each invalid turn, the turns until the next progress, or None if none came."""
    progress = [bool(turn.info.subgoals) for turn in trajectory.turns]
    if progress and trajectory.success:
        progress[-1] = True
    found: list[int | None] = []
    for index, turn in enumerate(trajectory.turns):
        if turn.info.invalid:
            later = [i - index for i in range(index + 1, len(progress)) if progress[i]]
            found.append(later[0] if later else None)
    return found


def _share(flags: Sequence[bool]) -> float:
    return float(np.mean(flags)) if flags else 0.0
