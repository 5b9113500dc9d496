"""The audit of a reward design: does anything but doing the task pay?

Plays the expert and every cheat against every template and judges what they earn. It finds what
these policies find: passing is evidence, not proof. The contract itself (gymnasium's rules, saving,
the expert's success) is `rung env check`'s business.
"""

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

from rung.core import StopReason
from rung.curriculum import EVAL, TRAIN, TaskStream
from rung.envs import Definition, Finding, Template, TextActions, load, make
from rung.envs.cheats import Setting, cheats
from rung.envs.check import PROCESS_SHARE
from rung.envs.playing import Played, acting, all_tasks, play, tasks_of
from rung.errors import RungError, TaskError
from rung.loop.intervals import Measure, mean
from rung.seeding import Seeds, content_hash

EXPERT = "expert"
ALLOWED = 0.5
"""Largest return of a cheat, as a share of the expert's."""
_TINY = 1e-9
_FEW = 2
_SEEDS = Seeds(0).child("audit")

Build = Callable[[Definition[Any]], TextActions]
"""An environment with its guards, from a Definition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Return:
    """What one policy earns at one template."""

    tier: str
    template: str
    policy: str
    earned: Measure
    """Mean return with its 95 % bounds."""
    success: float
    """Share of the tasks that it solves."""
    reference: float
    """The expert's mean return; without an expert, what success and all subgoals pay."""

    @property
    def pays(self) -> bool:
        """It is a cheat and earns too much, or that cannot be excluded."""
        assert self.earned.high is not None
        return self.policy != EXPERT and self.earned.high > ALLOWED * self.reference


@dataclass(frozen=True, slots=True)
class Audit:
    """Everything that was found."""

    returns: tuple[Return, ...]
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """True if nothing was found that is wrong."""
        return all(finding.ok for finding in self.findings)


def audit(definition: Definition[Any] | str, *, tasks: int = 20, build: Build = make) -> Audit:
    """Judge the reward of an environment.

    Args:
        definition: the environment, or its name. By name it is also played in a second process,
            under another hash seed.
        tasks: tasks per template and policy.
        build: puts the guards around it, and wrappers of your own that pay reward.

    Raises:
        EnvError, TaskError: the environment breaks; see `rung env check`.
    """
    name = definition if isinstance(definition, str) else None
    definition = load(definition) if isinstance(definition, str) else definition
    evidence = _Evidence(definition.rewards.success)
    returns = [
        found
        for template in definition.templates
        for found in _returns(definition, template, tasks, build, evidence)
    ]
    findings = [
        _expert(returns),
        _cheats(returns),
        *evidence.findings(),
        _find("same seed, same trajectory", lambda: _determinism(definition, build, name)),
        _find("train and eval share nothing", lambda: _splits(definition, tasks, build)),
    ]
    return Audit(tuple(returns), tuple(findings))


def _returns(
    definition: Definition[Any], template: Template, tasks: int, build: Build, evidence: "_Evidence"
) -> Iterator[Return]:
    """The expert's return at a template, then each cheat's."""
    drawn = list(tasks_of(template, tasks, seeds=_SEEDS))
    table = definition.rewards
    with closing(build(definition)) as env:
        experts: list[Played | None] = [None] * tasks
        reference = table.success + table.process
        if definition.expert is not None:
            experts = [play(env, task, acting(definition.expert(task))) for task in drawn]
            reference = sum(played.total for played in experts if played) / tasks
        settings = [
            Setting(definition=definition, expert=known, seed=_SEEDS.seed("cheat", index))
            for index, known in enumerate(experts)
        ]
        policies = {EXPERT: [played for played in experts if played is not None]}
        for cheat in cheats(definition):
            pairs = zip(drawn, settings, strict=True)
            policies[cheat.name] = [play(env, task, cheat.play(known)) for task, known in pairs]
    for policy, found in policies.items():
        for played in found:
            evidence.look(policy, played)
        if found:
            yield Return(
                tier=template.tier,
                template=template.name,
                policy=policy,
                earned=mean([played.total for played in found]),
                success=sum(p.stop is StopReason.SUCCESS for p in found) / len(found),
                reference=reference,
            )


@dataclass
class _Evidence:
    """What the trajectories of all policies say about the reward's parts."""

    success: float
    most: float = 0.0
    """Largest sum of process rewards of one trajectory."""
    twice: dict[str, str] = field(default_factory=dict[str, str])
    """Policy -> the first time a subgoal paid again."""
    unearned: dict[str, str] = field(default_factory=dict[str, str])
    """Policy -> the first reward for a turn without progress."""

    def look(self, policy: str, played: Played) -> None:
        """Take in one trajectory."""
        reached: set[str] = set()
        process = 0.0
        for number, turn in enumerate(played.turns, start=1):
            parts, new = turn.reward, set(turn.turn.subgoals)
            where = f"{policy!r} in turn {number} of task {played.task.id}"
            if again := reached & new:
                self.twice.setdefault(policy, f"{min(again)!r} pays {where}")
            solved = number == len(played.turns) and played.stop is StopReason.SUCCESS
            gained = parts.efficiency + (0.0 if new else parts.process)
            if gained > _TINY or (parts.outcome > _TINY and not solved):
                self.unearned.setdefault(policy, f"+{parts.total:.3g} for {where}")
            reached |= new
            process += parts.process
        self.most = max(self.most, process)

    def findings(self) -> list[Finding]:
        """The verdicts."""
        share = f"at most {self.most:.3g} in a trajectory, success pays {self.success:g}"
        limit = PROCESS_SHARE * self.success + _TINY
        return [
            _verdict("only progress pays", self.unearned, "no turn without progress pays"),
            _verdict("subgoals pay once", self.twice, "no subgoal pays twice"),
            Finding("process rewards are small", self.most <= limit, share),
        ]


def _verdict(name: str, wrong: dict[str, str], fine: str) -> Finding:
    return Finding(name, not wrong, "; ".join(wrong.values()) or fine)


def _expert(returns: Sequence[Return]) -> Finding:
    """Cheats are measured by the expert, so it must do its work."""
    failing = [
        f"it solves {r.success:.0%} of {r.tier} {r.template}"
        for r in returns
        if r.policy == EXPERT and r.success < 1
    ]
    known = any(r.policy == EXPERT for r in returns)
    fine = "it solves every task" if known else "there is none"
    return Finding("expert", not failing, "; ".join(failing) or fine)


def _cheats(returns: Sequence[Return]) -> Finding:
    paying = [
        f"{r.policy!r} earns {r.earned.value:.2f} (up to {r.earned.high:.2f}) at {r.tier} "
        f"{r.template}, where the expert earns {r.reference:.2f}"
        for r in returns
        if r.pays
    ]
    fine = f"every cheat earns less than {ALLOWED:.0%} of what the expert earns"
    return Finding("cheating does not pay", not paying, "; ".join(paying) or fine)


def _find(name: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(name, True, look())
    except RungError as error:
        return Finding(name, False, str(error))


def _determinism(definition: Definition[Any], build: Build, name: str | None) -> str:
    here = _digest(definition, build)
    if here != _digest(definition, build):
        raise TaskError("the same seeds give other trajectories")
    if name is None:
        return "the same seeds give the same bytes, in this process"
    if build is not make:
        here = _digest(definition, make)
    with (
        _hash_seed("1"),
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other,
    ):
        if here != other.submit(_digest_of, name).result():
            raise TaskError(
                "another process gets other trajectories from the same seeds",
                hint="look for hash(), for the order of sets, and for the time of day",
            )
    return "the same seeds give the same bytes, in another process too"


def _digest(definition: Definition[Any], build: Build) -> str:
    """Content hash of a few trajectories of every policy."""
    trajectories: list[str] = []
    with closing(build(definition)) as env:
        for task in all_tasks(definition, _FEW, seeds=_SEEDS):
            known = None
            if definition.expert is not None:
                known = play(env, task, acting(definition.expert(task)))
                trajectories.append(f"{known} {env.base.fingerprint()}")
            for cheat in cheats(definition):
                setting = Setting(definition=definition, expert=known, seed=0)
                played = play(env, task, cheat.play(setting))
                trajectories.append(f"{played} {env.base.fingerprint()}")
    return content_hash("\n".join(trajectories).encode())


def _digest_of(name: str) -> str:
    return _digest(load(name), make)


@contextmanager
def _hash_seed(seed: str) -> Generator[None]:
    """Processes started meanwhile hash text with this seed."""
    key = "PYTHONHASHSEED"
    before = os.environ.get(key)
    os.environ[key] = seed
    try:
        yield
    finally:
        os.environ.pop(key)
        if before is not None:
            os.environ[key] = before


def _splits(definition: Definition[Any], tasks: int, build: Build) -> str:
    """Initial states, goals included, must not occur in both splits, whatever the payload says."""
    draws = definition.draws()
    seen: dict[str, dict[str, str]] = {TRAIN: {}, EVAL: {}}
    with closing(build(definition)) as env:
        for tier in definition.tiers:
            count = tasks * len(draws[tier])
            for split, states in seen.items():
                stream = TaskStream(draws, seeds=_SEEDS, split=split, mix={tier: 1.0})
                for task in stream.take(count):
                    env.reset(seed=0, options={"task": task})
                    states[env.base.fingerprint()] = task.id
    if shared := seen[TRAIN].keys() & seen[EVAL].keys():
        state = min(shared)
        raise TaskError(
            f"tasks {seen[TRAIN][state]!r} (train) and {seen[EVAL][state]!r} (eval) start in the "
            "same state",
            hint="keep out of the payload what changes neither the start nor the goal",
        )
    return f"{len(seen[TRAIN])} initial states of train and {len(seen[EVAL])} of eval differ"
