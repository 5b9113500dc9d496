"""The loop: collect, update, publish, evaluate; written out, top to bottom.

    tasks --> rollout --> replay --> learner --> engine
                                        `--> metrics, trajectories, evaluation --> run directory

Same seed, same bytes: everything random has a stream of its own (see `rung.seeding`), results
are ordered by plan and not by time, and evaluation neither reads nor moves what training uses.
"""

import logging
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from rung.core import Group, Task, Trajectory
from rung.curriculum import TRAIN, Ladder, TaskStream, assert_disjoint
from rung.envs import redacted
from rung.loop.build import (
    Parts,
    build_learner,
    build_parts,
    evaluated_tiers,
    held_out,
    template_weights,
    train_stream,
)
from rung.loop.evaluate import MODES, evaluate
from rung.loop.measures import Evaluation, ladder_metrics, round_metrics, tallies
from rung.loop.recipe import RunConfig
from rung.loop.versions import versions
from rung.replay import ReplayPool
from rung.rollout import Plan
from rung.runs import RunWriter, write_report
from rung.seeding import Seeds

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a listener is told."""

    stage: str
    """`evaluate`, `round` or `finished`."""
    round: int = 0
    """Rounds finished."""
    rounds: int
    metrics: dict[str, float] = field(default_factory=dict)
    timing: dict[str, float] = field(default_factory=dict)
    evaluation: Evaluation | None = None
    label: str = ""


Listener = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a finished run has to show."""

    out: Path
    report: Path
    evaluations: dict[str, list[Evaluation]]
    """`base` and `trained` -> one evaluation per tier and mode."""
    seconds: float
    memory_peak_mb: float


def _quiet(_progress: Progress) -> None:
    return None


def train(config: RunConfig, out: Path, *, listener: Listener = _quiet) -> Summary:
    """Train as `config` says, into the new run directory `out`.

    An interrupt leaves a readable run: the policy so far and the report are written first.
    """
    clock = _Clock()
    parts = build_parts(config)
    learner = build_learner(config, parts.policy)
    stream = train_stream(config, parts.definition)
    ladder = Ladder(config.ladder) if config.ladder.tiers else None
    replay = ReplayPool(config.replay_capacity)
    with RunWriter.create(
        out, config=asdict(config), seed=config.seed, recipe=config.recipe, versions=versions()
    ) as writer:
        judge = _Judge(config, parts, writer, listener)
        status = "failed"
        round = 0
        try:
            judge.full("base", round=0)
            while round < config.rounds and not clock.past(config.minutes):
                round += 1
                clock.start()
                tasks = _tasks(config, parts, stream, ladder)
                assert_disjoint(tasks, judge.every_task())
                trajectories = parts.pool.collect(_plans(config, tasks, round))
                groups = _groups(trajectories, parts.engine.policy_version)
                replay.add(groups)
                clock.lap("rollout")

                batch = replay.draw(parts.engine.policy_version)
                learned = learner.update(batch, round=round)
                parts.engine.publish(learner.weights(), parts.engine.policy_version + 1)
                clock.lap("update")

                evaluated = judge.between(round)
                clock.lap("evaluate")
                climbed = ladder.observe(tallies(groups)) if ladder else ()
                for change in climbed:
                    writer.event("tier_changed", **asdict(change))
                metrics = {
                    **round_metrics(groups),
                    **(ladder_metrics(ladder) if ladder else {}),
                    **learned,
                    **evaluated,
                    "replay/size_count": float(len(replay)),
                    "replay/dropped_count": float(replay.dropped),
                }
                timing = clock.timing(trajectories, learned["learner/trained_tokens_count"])
                _record(writer, round, _recorded(config, parts, trajectories))
                writer.metrics(round, parts.engine.policy_version, metrics, timing)
                listener(
                    Progress(
                        stage="round",
                        round=round,
                        rounds=config.rounds,
                        metrics=metrics,
                        timing=timing,
                    )
                )
            if config.rounds:
                judge.full("trained", round=round)
            status = "finished"
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        finally:
            parts.pool.close()
            parts.policy.save(out / "policy")
            writer.close(status)
            report = write_report(out)
    summary = Summary(
        out=out,
        report=report,
        evaluations=judge.full_results,
        seconds=clock.elapsed(),
        memory_peak_mb=_memory_peak_mb(),
    )
    listener(Progress(stage="finished", round=round, rounds=config.rounds))
    return summary


def _record(writer: RunWriter, round: int, trajectories: Sequence[Trajectory]) -> None:
    """Write down what was played in a round, and each fault."""
    for broken in (t for t in trajectories if t.error):
        writer.event("infrastructure_fault", round=round, task=broken.task.id, error=broken.error)
    writer.trajectories(round, TRAIN, trajectories)


def _tasks(
    config: RunConfig, parts: Parts, stream: TaskStream, ladder: Ladder | None
) -> tuple[Task, ...]:
    """The next round's tasks: the fixed mix, or what the ladder wants."""
    count = config.rollout.tasks_per_round
    if ladder is None:
        return stream.take(count)
    weights = template_weights(ladder, parts.definition)
    tasks = stream.take(count, mix=ladder.mix, weights=weights)
    limit = ladder.step_limit
    return tuple(replace(task, step_limit=limit) for task in tasks) if limit else tasks


def _plans(config: RunConfig, tasks: Sequence[Task], round: int) -> list[Plan]:
    """K plans per task: one environment seed for the group, a sampling seed for each member."""
    seeds = Seeds(config.seed).child("rollout", round)
    return [
        Plan(
            id=f"r{round}-t{index}-m{member}",
            group_id=f"r{round}-t{index}",
            task=task,
            split=TRAIN,
            seed=seeds.seed("sampling", index, member),
            env_seed=seeds.seed("environment", index),
        )
        for index, task in enumerate(tasks)
        for member in range(config.rollout.group_size)
    ]


def _groups(trajectories: Sequence[Trajectory], policy_version: int) -> list[Group]:
    """Trajectories by group, in order."""
    members: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        members.setdefault(trajectory.group_id, []).append(trajectory)
    return [
        Group(id=name, task=found[0].task, policy_version=policy_version, trajectories=tuple(found))
        for name, found in members.items()
    ]


def _recorded(
    config: RunConfig, parts: Parts, trajectories: Sequence[Trajectory]
) -> list[Trajectory]:
    """Trajectories as the run directory may hold them."""
    if not config.guards.redaction:
        return list(trajectories)
    return [redacted(parts.definition, trajectory) for trajectory in trajectories]


class _Judge:
    """Evaluates on fixed held-out tasks, and writes down what it finds."""

    def __init__(
        self, config: RunConfig, parts: Parts, writer: RunWriter, listener: Listener
    ) -> None:
        self._config = config
        self._parts = parts
        self._writer = writer
        self._listener = listener
        self._tiers = evaluated_tiers(config, parts.definition)
        evaluation = config.evaluation
        self._counts = {
            tier: evaluation.tasks if tier in config.trained_tiers else evaluation.tasks_untrained
            for tier in self._tiers
        }
        self._tasks = {
            tier: held_out(config, parts.definition, tier, max(count, evaluation.tasks_between))
            for tier, count in self._counts.items()
        }
        self.full_results: dict[str, list[Evaluation]] = {}

    def every_task(self) -> list[Task]:
        """All held-out tasks."""
        return [task for tasks in self._tasks.values() for task in tasks]

    def full(self, label: str, *, round: int) -> None:
        """Every tier, greedy and sampled."""
        self.full_results[label] = [
            self._play(tier, mode, count, label=label, round=round)
            for tier, count in self._counts.items()
            for mode in MODES
            if count
        ]

    def between(self, round: int) -> dict[str, float]:
        """The trained tiers, at the rounds that the configuration names; metrics by name."""
        every = self._config.evaluation.every
        if not every or round % every or round == self._config.rounds:
            return {}
        metrics: dict[str, float] = {}
        count = self._config.evaluation.tasks_between
        for tier in [tier for tier in self._tiers if tier in self._config.trained_tiers]:
            for mode in MODES:
                found = self._play(tier, mode, count, label=f"round {round}", round=round)
                metrics |= _eval_metrics(found)
        return metrics

    def _play(self, tier: str, mode: str, count: int, *, label: str, round: int) -> Evaluation:
        evaluation, trajectories = evaluate(
            self._parts,
            self._config,
            self._tasks[tier][:count],
            tier=tier,
            mode=mode,
            label=label.replace(" ", ""),
        )
        recorded = _recorded(self._config, self._parts, trajectories)
        self._writer.trajectories(round, f"eval-{mode}-{tier.lower()}", recorded)
        self._writer.event(
            "evaluation",
            label=label,
            round=round,
            mode=mode,
            tier=tier,
            tasks=evaluation.tasks,
            measures={name: asdict(measure) for name, measure in evaluation.measures.items()},
            stop_reasons=evaluation.stop_reasons,
        )
        self._listener(
            Progress(
                stage="evaluate",
                round=round,
                rounds=self._config.rounds,
                evaluation=evaluation,
                label=label,
            )
        )
        return evaluation


def _eval_metrics(evaluation: Evaluation) -> dict[str, float]:
    prefix, tier = f"eval/{evaluation.mode}", evaluation.tier
    success = evaluation.measures["success_share"]
    found = {
        f"{prefix}/success_share_{tier}": success.value,
        f"{prefix}/success_low_{tier}": success.low,
        f"{prefix}/success_high_{tier}": success.high,
        f"{prefix}/turns_mean_{tier}": evaluation.measures["turns_mean"].value,
        f"{prefix}/step_efficiency_{tier}": evaluation.measures["step_efficiency"].value,
    }
    return {name: value for name, value in found.items() if value is not None}


class _Clock:
    """Seconds of each stage of a round. Monotonic."""

    def __init__(self) -> None:
        self._origin = self._round = self._last = time.monotonic()
        self._laps: dict[str, float] = {}

    def start(self) -> None:
        """A round begins."""
        self._round = self._last = time.monotonic()
        self._laps = {}

    def lap(self, stage: str) -> None:
        """A stage ends."""
        now = time.monotonic()
        self._laps[stage] = now - self._last
        self._last = now

    def elapsed(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._origin

    def past(self, minutes: float) -> bool:
        """True once the run has taken so many minutes; never for 0."""
        return 0 < minutes * 60 <= self.elapsed()

    def timing(self, trajectories: Sequence[Trajectory], trained_tokens: float) -> dict[str, float]:
        """The round's timing, by metric name."""
        rollout = max(self._laps["rollout"], 1e-9)
        return {
            **{f"timing/{stage}_seconds": seconds for stage, seconds in self._laps.items()},
            "timing/round_seconds": time.monotonic() - self._round,
            "timing/elapsed_seconds": self.elapsed(),
            "timing/sampled_tokens_per_second": sum(t.sampled_tokens for t in trajectories)
            / rollout,
            "timing/processed_tokens_per_second": sum(t.tokens for t in trajectories) / rollout,
            "timing/trained_tokens_per_second": trained_tokens / max(self._laps["update"], 1e-9),
            "timing/memory_peak_mb": _memory_peak_mb(),
        }


def _memory_peak_mb() -> float:
    """Largest resident memory of this process so far, in MB (Linux counts in kB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
