"""RunConfig: everything a run depends on. Recipes are functions that return one."""

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

from rung.curriculum import LadderConfig
from rung.envs import TIERS, Guards, LiveConfig
from rung.errors import ConfigError
from rung.learner import LearnerConfig

Prompt = Literal["short", "full"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutConfig:
    """How trajectories are collected."""

    tasks_per_round: int = 24
    """Groups per round."""
    group_size: int = 8
    """Trajectories per task, K; at least 2, for GRPO compares them."""
    concurrent: int = 192
    """Trajectories that run at once; memory for the cache grows with it."""
    temperature: float = 1.0
    """Sampling temperature in training; above 0."""
    max_response_tokens: int = 80
    """Longest message in tokens."""
    max_trajectory_tokens: int = 2048
    """Longest trajectory in tokens, prompt and observations included."""
    prompt: Prompt = "short"
    """System message: tool signatures only, or everything described."""
    retries: int = 2
    """How often a trajectory is tried again after its environment broke."""

    def __post_init__(self) -> None:
        if self.group_size < 2:
            raise ConfigError(
                f"group_size must be at least 2, got {self.group_size}: GRPO compares the "
                "trajectories of one task with each other",
                hint="set rollout.group_size=8",
            )
        if not 0 < self.temperature < math.inf:
            raise ConfigError(
                f"temperature must be > 0 in training, got {self.temperature}",
                hint="evaluation is greedy by itself; set rollout.temperature=1.0",
            )
        for name in ("tasks_per_round", "concurrent", "max_response_tokens"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.retries < 0:
            raise ConfigError(f"retries must be >= 0, got {self.retries}")
        if self.prompt not in get_args(Prompt):
            raise ConfigError(
                f"prompt must be one of {', '.join(get_args(Prompt))}, got {self.prompt!r}",
                hint="set rollout.prompt",
            )
        if self.max_trajectory_tokens <= self.max_response_tokens:
            raise ConfigError(
                f"max_trajectory_tokens ({self.max_trajectory_tokens}) must be above "
                f"max_response_tokens ({self.max_response_tokens})"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationConfig:
    """Which held-out tasks are played, and when. Evaluation never changes training."""

    tiers: tuple[str, ...] = ("E1", "E2", "E3")
    """Tiers evaluated before and after training."""
    tasks: int = 200
    """Held-out tasks per trained tier before and after training."""
    tasks_untrained: int = 60
    """The same for tiers that are not trained, which are longer and slower."""
    every: int = 5
    """Rounds between evaluations during training, on the trained tiers; 0: none."""
    tasks_between: int = 60
    """Held-out tasks per tier in those."""
    seed: int = 0
    """Which tasks are drawn: the same for every run, whatever its own seed."""

    def __post_init__(self) -> None:
        if min(self.tasks, self.tasks_untrained, self.every) < 0 or self.tasks_between < 1:
            raise ConfigError(
                "evaluation needs tasks, tasks_untrained and every >= 0 and tasks_between >= 1, "
                f"got {self.tasks}, {self.tasks_untrained}, {self.every}, {self.tasks_between}"
            )
        if unknown := set(self.tiers) - set(TIERS):
            raise ConfigError(f"unknown tier {min(unknown)!r}; tiers: {', '.join(TIERS)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """A run, complete: what is not here does not influence the result."""

    recipe: str
    """Name of the recipe it came from."""
    environment: str = "office-basic"
    """Built-in name, or `module:attribute` of your own."""
    stage: str = "simulated"
    """`simulated`, or `live` on the services of `live`."""
    live: LiveConfig = field(default_factory=LiveConfig)
    tools: dict[str, str] = field(default_factory=dict[str, str])
    """Tool -> tier from which it is open, where that is not the environment's own choice."""
    model: str = "base"
    """`base`, a folder, or a hub name."""
    seed: int = 0
    """Root of every random stream of training."""
    rounds: int = 32
    """Passes of collect and update."""
    minutes: float = 0.0
    """Minutes after which no further round begins; 0: no limit. How many rounds that makes is up
    to the machine: leave it out where runs must be alike."""
    mix: dict[str, float] = field(default_factory=lambda: {"E1": 1.0})
    """Tier -> share of the training tasks, where there is no ladder."""
    ladder: LadderConfig = field(default_factory=LadderConfig)
    replay_capacity: int = 1024
    """Most trajectories held between rollout and learner."""
    guards: Guards = field(default_factory=Guards)
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    @property
    def trained_tiers(self) -> tuple[str, ...]:
        """The tiers that training can reach."""
        return self.ladder.tiers or tuple(self.mix)

    def __post_init__(self) -> None:
        if self.rounds < 0 or self.seed < 0:
            raise ConfigError(
                f"rounds and seed must not be negative, got {self.rounds} and {self.seed}"
            )
        if not 0 <= self.minutes < math.inf:
            raise ConfigError(
                f"minutes must be >= 0 and finite, got {self.minutes}",
                hint="set minutes=0 for no limit",
            )
        needed = self.rollout.group_size * self.rollout.tasks_per_round
        if needed > self.replay_capacity:
            raise ConfigError(
                f"a round of {needed} trajectories does not fit into replay_capacity="
                f"{self.replay_capacity}",
                hint="raise replay_capacity, or lower rollout.tasks_per_round",
            )
