"""RolloutPool: many trajectories at once, and the only place where an error becomes a record.

    plans --> attempts (environment + session) <--> engine
                  `-- EnvError --> tried again with the same seeds --> recorded as unscored

One thread: the engine works in batches, and environments answer between its steps. The order of
the results is the order of the plans, whatever finishes first.
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial

from rung.core import Trajectory
from rung.engine import Engine, Request
from rung.envs import TextActions
from rung.errors import ConfigError, EngineError, EnvError, RungError, boundary
from rung.models.chat import Chat
from rung.rollout.attempt import Attempt, Limits, Plan
from rung.seeding import Seeds

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Job:
    """A plan, where its result goes, and how often it failed and was replaced."""

    index: int
    plan: Plan
    failures: int = 0
    replaced: int = 0


class _Round:
    """What one call of `collect` has under way."""

    def __init__(self, size: int, limits: Limits) -> None:
        self.limits = limits
        self.waiting: deque[_Job] = deque()
        self.running: dict[str, tuple[_Job, Attempt]] = {}
        self.results: list[list[Trajectory]] = [[] for _ in range(size)]


class RolloutPool:
    """Produces trajectories with one engine and one kind of environment.

    Args:
        engine: samples the messages.
        chat: turns observations into tokens; the engine's tokenizer.
        make_env: makes one environment; called for each trajectory that runs at once, and again
            after an environment broke.
        limits: bounds of a trajectory.
        instructions: the system message; empty for none.
        concurrent: trajectories that run at once.
        retries: how often a broken trajectory is tried again with the same seeds.
        replacements: how often a member that stays broken is replaced by one with other
            sampling seeds.

    Raises:
        ConfigError: `concurrent` is below 1, or `retries` or `replacements` below 0.
    """

    def __init__(
        self,
        engine: Engine,
        chat: Chat,
        make_env: Callable[[], TextActions],
        *,
        limits: Limits,
        instructions: str,
        concurrent: int,
        retries: int = 2,
        replacements: int = 1,
    ) -> None:
        if concurrent < 1 or min(retries, replacements) < 0:
            raise ConfigError(
                f"a rollout pool needs concurrent >= 1, retries >= 0 and replacements >= 0, got "
                f"{concurrent}, {retries} and {replacements}"
            )
        self._engine = engine
        self._chat = chat
        self._make_env = make_env
        self._limits = limits
        self._instructions = instructions
        self._concurrent = concurrent
        self._retries = retries
        self._replacements = replacements
        self._idle: list[TextActions] = []

    def collect(self, plans: Sequence[Plan], *, limits: Limits | None = None) -> list[Trajectory]:
        """The trajectories of `plans`, in their order.

        A member that stayed broken is there as unscored, and its replacement follows it.

        Args:
            plans: what to produce; ids must differ.
            limits: in place of the pool's own, for this call.

        Raises:
            ConfigError: two plans have one id.
            EnvError: an environment cannot be made, however often it is tried.
            EngineError: the engine failed.
        """
        if len({plan.id for plan in plans}) < len(plans):
            raise ConfigError(f"two of the {len(plans)} plans to collect have one id")
        round_ = _Round(len(plans), limits or self._limits)
        round_.waiting.extend(_Job(index, plan) for index, plan in enumerate(plans))
        try:
            while round_.waiting or round_.running:
                while round_.waiting and len(round_.running) < self._concurrent:
                    self._begin(round_, round_.waiting.popleft())
                completions = self._engine.poll()
                if round_.running and not completions:
                    raise EngineError(
                        f"the engine is idle while {len(round_.running)} trajectories wait for it",
                        hint="an engine's poll() must answer every request in the end",
                    )
                for completion in completions:
                    job, attempt = round_.running[completion.session]
                    self._advance(round_, job, partial(attempt.receive, completion))
        finally:
            for name, (_, attempt) in round_.running.items():
                self._engine.release(name)
                self._idle.append(attempt.env)
        return [trajectory for members in round_.results for trajectory in members]

    def _begin(self, round_: _Round, job: _Job) -> None:
        env = self._idle.pop() if self._idle else self._make(self._retries)
        attempt = Attempt(job.plan, env, self._chat, round_.limits, self._instructions)
        round_.running[job.plan.id] = job, attempt
        self._advance(round_, job, attempt.start)

    def _make(self, retries: int) -> TextActions:
        """A new environment; one that cannot be made is tried again."""
        try:
            with boundary(EnvError, "making an environment"):
                return self._make_env()
        except EnvError as error:
            logger.warning("retries=%d %s", retries, error)
            if not retries:
                raise
        return self._make(retries - 1)

    def _advance(self, round_: _Round, job: _Job, act: Callable[[], Request | None]) -> None:
        """Let an attempt act; submit what it asks for, or put away what it has become."""
        attempt = round_.running[job.plan.id][1]
        try:
            request = act()
        except EnvError as error:
            self._put_away(round_, job)
            self._failed(round_, job, attempt, error)
            return
        if request is not None:
            self._engine.submit(request)
            return
        self._put_away(round_, job)
        self._idle.append(attempt.env)
        round_.results[job.index].append(attempt.trajectory())

    def _put_away(self, round_: _Round, job: _Job) -> None:
        del round_.running[job.plan.id]
        self._engine.release(job.plan.id)

    def _failed(self, round_: _Round, job: _Job, attempt: Attempt, error: EnvError) -> None:
        """Try again with the same seeds, or record the fault and replace the member."""
        logger.warning("trajectory=%s failure=%d %s", job.plan.id, job.failures + 1, error)
        with suppress(RungError), boundary(EnvError, "closing a broken environment"):
            attempt.env.close()
        if job.failures < self._retries:
            round_.waiting.appendleft(replace(job, failures=job.failures + 1))
            return
        round_.results[job.index].append(attempt.trajectory(error=str(error) or "EnvError"))
        if job.replaced < self._replacements:
            number = job.replaced + 1
            plan = replace(
                job.plan,
                id=f"{job.plan.id}-replacement{number}",
                seed=Seeds(job.plan.seed).seed("replacement", number),
            )
            round_.waiting.appendleft(_Job(job.index, plan, replaced=number))

    def close(self) -> None:
        """Close the idle environments."""
        idle, self._idle = self._idle, []
        with ExitStack() as stack:
            for env in idle:
                stack.callback(env.close)
