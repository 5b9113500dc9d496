"""ToolEnvironment: plays a Definition. The innermost environment of every stack.

It receives an Action, a FormatError or a Refusal, never raw text; `TextActions` does the
parsing. Guards around it add limits and penalties. What it charges itself: the process reward
of subgoals, the outcome, the cost of a turn and of an invalid turn.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import gymnasium
import msgspec
import numpy as np

from rung.core import (
    Action,
    FormatError,
    FormatErrorKind,
    Move,
    Refusal,
    RewardParts,
    StopReason,
    Task,
    TurnInfo,
)
from rung.core.jsontext import canonical_json
from rung.envs.definition import TIERS, Definition, Subgoal
from rung.envs.parsing import FORM
from rung.envs.saving import from_json_value, to_json_value
from rung.envs.spaces import AnyText
from rung.envs.tools import CONFIRM, Table, ToolSpec, encodable
from rung.errors import EnvError, TaskError, ToolError, boundary
from rung.seeding import Seeds, content_hash

S = TypeVar("S")


class ToolEnvironment(gymnasium.Env[str, Move], Generic[S]):
    """Tools, subgoals and a success predicate on a state.

    `reset` takes `options={"task": Task}`; without it a task is drawn from the environment's
    own generator. `info` holds `reward` (RewardParts), `turn` (TurnInfo) and `stop`
    (StopReason or None); after `reset` it holds `task`.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}

    def __init__(self, definition: Definition[S]) -> None:
        self.definition = definition
        self.tools: dict[str, ToolSpec] = {tool.name: tool for tool in definition.tools}
        self.rewards = definition.rewards
        self.observation_space = AnyText()
        self.render_mode = "ansi"
        self.task: Task | None = None
        self._state: S | None = None
        self._subgoals: tuple[Subgoal[S], ...] = ()
        self._reached: set[str] = set()
        self._ended = False
        self._observation = ""
        self.start_seed = 0
        """Seed of the current trajectory."""

    @property
    def ended(self) -> bool:
        """True when no further move is accepted."""
        return self._ended or self.task is None

    @property
    def state(self) -> S:
        """The current state.

        Raises:
            ResetNeeded: there is none yet.
        """
        if self._state is None:
            raise gymnasium.error.ResetNeeded("call reset() first")
        return self._state

    @property
    def reached(self) -> frozenset[str]:
        """Names of the subgoals reached so far."""
        return frozenset(self._reached)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start a task; the observation is its text.

        Raises:
            TaskError: the task is not for this environment, or its goal cannot be read.
            EnvError: the initial state cannot be made.
        """
        super().reset(seed=seed)
        self._ended = True  # until all of this has worked
        task = (options or {}).get("task") or self._draw()
        if task.environment != self.definition.name:
            raise TaskError(
                f"task {task.id!r} is for {task.environment!r}, not {self.definition.name!r}"
            )
        if task.tier not in TIERS:
            raise TaskError(
                f"task {task.id!r} is of unknown tier {task.tier!r}",
                hint=f"tiers: {', '.join(TIERS)}",
            )
        self.close()
        self.start_seed = seed if seed is not None else int(self.np_random.integers(2**62))
        with _fault(f"starting task {task.id}"):
            self._state = self.definition.start(task, Seeds(self.start_seed).generator("start"))
        self.task, self._subgoals = task, self._goals_of(task)
        self._reached = set()
        self._reached = set(self._newly_reached())
        self._observation = task.text
        self._ended = False
        return task.text, {"task": task}

    def _goals_of(self, task: Task) -> tuple[Subgoal[S], ...]:
        with boundary(TaskError, f"reading the subgoals of task {task.id}"):
            goals = self.definition.subgoals(task)
        if len({goal.name for goal in goals}) < len(goals):
            raise TaskError(f"task {task.id!r}: two subgoals have one name")
        if any(goal.weight < 0 for goal in goals):
            raise TaskError(f"task {task.id!r}: a subgoal has a negative weight")
        return goals

    def _draw(self) -> Task:
        templates = self.definition.templates
        template = templates[int(self.np_random.integers(len(templates)))]
        with boundary(TaskError, f"drawing a task of template {template.name!r}"):
            return template.draw(self.np_random)

    def step(self, action: Move) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Carry out one move.

        Raises:
            ResetNeeded: the trajectory has ended or was never started.
            EnvError: a tool or predicate broke; the trajectory cannot be scored.
        """
        if self.ended:
            raise gymnasium.error.ResetNeeded("the trajectory has ended: call reset()")
        self._ended = True  # stays so when the environment breaks in this turn
        observation, table, invalid = self._run(action)
        observation = encodable(observation)
        new = self._newly_reached() if isinstance(action, Action) else ()
        stop = None
        if isinstance(action, Action) and not invalid and self.tools[action.name].final:
            stop = self._judge()
        turn = TurnInfo(move=action, subgoals=new, invalid=invalid)
        reward = self._reward(turn, stop)
        self._ended = stop is not None
        self._observation = observation
        info = {"reward": reward, "turn": turn, "stop": stop, "table": table}
        return observation, reward.total, self._ended, False, info

    def end(self) -> None:
        """Accept no further move: a limit of a guard has ended the trajectory."""
        self._ended = True

    def _run(self, move: Move) -> tuple[str, Table | None, bool]:
        match move:
            case FormatError():
                return f"format error, {move.kind}: {move.message}. Reply with {FORM}", None, True
            case Refusal():
                return move.message, None, True
            case Action():
                try:
                    return *self._call(move), False
                except ToolError as error:
                    return f"error: {error}", None, True

    def _call(self, action: Action) -> tuple[str, Table | None]:
        arguments = {k: v for k, v in action.arguments.items() if k != CONFIRM}
        with boundary(EnvError, f"tool {action.name!r}"):
            result: Any = self.tools[action.name].run(self.state, **arguments)
            if isinstance(result, Table):
                return result.render(), result
            if isinstance(result, str):
                return result, None
            raise TypeError(f"it returned {type(result).__name__}, not text or a Table")

    def _newly_reached(self) -> tuple[str, ...]:
        new = []
        for goal in self._subgoals:
            if goal.name in self._reached:
                continue
            with _fault(f"subgoal {goal.name!r}"):
                if goal.holds(self.state):
                    new.append(goal.name)
        self._reached.update(new)
        return tuple(new)

    def _judge(self) -> StopReason:
        with _fault("the success predicate"):
            solved = self.definition.success(self.state)
        return StopReason.SUCCESS if solved else StopReason.WRONG_SUBMISSION

    def _reward(self, turn: TurnInfo, stop: StopReason | None) -> RewardParts:
        total = sum(goal.weight for goal in self._subgoals)
        gained = sum(goal.weight for goal in self._subgoals if goal.name in turn.subgoals)
        # A cut message is charged for its turn only: the limit, not the format, was at fault.
        cut = isinstance(turn.move, FormatError) and turn.move.kind is FormatErrorKind.TRUNCATED
        invalid = self.rewards.invalid if turn.invalid and not cut else 0.0
        outcome = {StopReason.SUCCESS: self.rewards.success, None: 0.0}
        return RewardParts(
            process=self.rewards.process * gained / total if gained else 0.0,
            efficiency=-self.rewards.turn - invalid,
            outcome=outcome.get(stop, -self.rewards.wrong),
        )

    def render(self) -> str:
        """The last observation."""
        return self._observation

    def fingerprint(self) -> str:
        """Content hash of the current state; right after `reset`, of the initial state."""
        saved = self._save()
        with boundary(TaskError, "hashing the state"):
            return content_hash(canonical_json(saved).encode())

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on from here, as a JSON value."""
        return {
            "task": msgspec.to_builtins(self.task),
            "state": self._save(),
            "reached": sorted(self._reached),
            "ended": self._ended,
            "observation": self._observation,
            "generator": self.np_random.bit_generator.state,
        }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave.

        Raises:
            TaskError: it was given by a stack of other guards, or the state cannot be restored.
        """
        if "generator" not in saved:
            raise TaskError(
                "the saved state is not of a bare environment",
                hint="restore into an environment with the same guards",
            )
        task = msgspec.convert(saved["task"], Task)
        self._ended = True  # until all of this has worked
        self.close()
        with boundary(TaskError, f"restoring the state of task {task.id}"):
            self._state = self._load(task, saved["state"])
        self.task, self._subgoals = task, self._goals_of(task)
        self._reached, self._ended = set(saved["reached"]), saved["ended"]
        self._observation = saved["observation"]
        self.np_random.bit_generator.state = saved["generator"]

    def _save(self) -> Any:
        save, state = self.definition.save or to_json_value, self.state
        with boundary(TaskError, "saving the state"):
            return save(state)

    def _load(self, task: Task, saved: Any) -> S:
        if self.definition.load is not None:
            return self.definition.load(task, saved)
        blank = self.definition.start(task, np.random.default_rng(0))
        self.definition.close(blank)
        return from_json_value(saved, type(blank))

    def expert(self, task: Task) -> Any:
        """The expert's policy for `task`.

        Raises:
            TaskError: this environment has no expert.
        """
        if self.definition.expert is None:
            raise TaskError(f"environment {self.definition.name!r} has no expert")
        return self.definition.expert(task)

    def close(self) -> None:
        """Free what the state holds."""
        if self._state is not None:
            state, self._state = self._state, None
            with boundary(EnvError, "closing the state"):
                self.definition.close(state)


@contextmanager
def _fault(what: str) -> Generator[None]:
    """Make every failure of code that the model did not call an EnvError, ToolError included."""
    try:
        with boundary(EnvError, what):
            yield
    except ToolError as error:
        raise EnvError(f"{what} failed: {error}") from error
