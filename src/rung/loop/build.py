"""Building the parts of a run out of its configuration. Nothing else wires parts together."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rung.core import Task
from rung.curriculum import EVAL, TRAIN, Ladder, TaskStream
from rung.engine import Engine, Sampling
from rung.envs import Definition, load, make
from rung.errors import ConfigError
from rung.learner.learner import Learner
from rung.loop.recipe import RunConfig
from rung.models.loading import Policy, load_policy
from rung.rollout import Limits, RolloutPool
from rung.seeding import Seeds


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The parts of a run. The learner and the engine have weights of their own."""

    definition: Definition[Any]
    simulated: Definition[Any]
    """The same environment without real services, for plays that must leave no trace."""
    policy: Policy
    engine: Engine
    pool: RolloutPool
    train_limits: Limits


def build_parts(config: RunConfig) -> Parts:
    """Environment, policy, engine and rollout pool.

    Raises:
        ConfigError: the model's context is too short for the limits, or a part is unknown.
    """
    from rung.engine.torch_engine import TorchEngine

    simulated = load(config.environment).opening(config.tools)
    definition = simulated.on(config.stage, config.live)
    policy = load_policy(config.model)
    context = int(policy.model.config.max_position_embeddings)
    limit = min(config.rollout.max_trajectory_tokens, context)
    if config.rollout.max_response_tokens >= context:
        raise ConfigError(
            f"max_response_tokens={config.rollout.max_response_tokens} leaves no room in the "
            f"model's context of {context} tokens",
            hint="lower rollout.max_response_tokens",
        )
    engine = TorchEngine(
        copy.deepcopy(policy.model), slots=config.rollout.concurrent, context=context
    )
    limits = Limits(
        sampling=sampling(config, policy, temperature=config.rollout.temperature),
        max_trajectory_tokens=limit,
    )
    pool = RolloutPool(
        engine,
        policy.chat,
        lambda: make(definition, config.guards),
        limits=limits,
        instructions=definition.instructions(style=config.rollout.prompt),
        concurrent=config.rollout.concurrent,
        retries=config.rollout.retries,
    )
    return Parts(definition, simulated, policy, engine, pool, limits)


def sampling(config: RunConfig, policy: Policy, *, temperature: float) -> Sampling:
    """How messages are sampled, at the given temperature."""
    return Sampling(
        temperature=temperature,
        max_response_tokens=config.rollout.max_response_tokens,
        stop_ids=policy.chat.stop_ids,
    )


def build_learner(config: RunConfig, policy: Policy) -> Learner:
    """The learner, around the policy's own model."""
    return Learner(
        policy.model,
        config.learner,
        Seeds(config.seed).child("learner"),
        temperature=config.rollout.temperature,
    )


def train_stream(config: RunConfig, definition: Definition[Any]) -> TaskStream:
    """Training tasks: the order depends on the run's seed.

    Raises:
        ConfigError: the mix or the ladder names a tier without tasks.
    """
    mix = dict.fromkeys(config.ladder.tiers, 1.0) or config.mix
    return TaskStream(definition.draws(), seeds=Seeds(config.seed), split=TRAIN, mix=mix)


def held_out(config: RunConfig, definition: Definition[Any], tier: str, count: int) -> list[Task]:
    """The first `count` evaluation tasks of a tier, all different; the same for every run."""
    stream = TaskStream(
        definition.draws(), seeds=Seeds(config.evaluation.seed), split=EVAL, mix={tier: 1.0}
    )
    found: dict[str, Task] = {}
    patience = 20 * count + 100
    while len(found) < count and stream.cursor < patience:
        task = stream.take(1)[0]
        found.setdefault(task.fingerprint, task)
    return list(found.values())


def evaluated_tiers(config: RunConfig, definition: Definition[Any]) -> Sequence[str]:
    """The tiers to evaluate that the environment has."""
    return [tier for tier in config.evaluation.tiers if tier in definition.tiers]


def template_weights(ladder: Ladder, definition: Definition[Any]) -> dict[str, list[float]]:
    """For each open tier one weight per template, in the order of the stream's draw functions."""
    return {
        tier: [ladder.learnability(tier, t.name) for t in definition.of_tier(tier)]
        for tier in ladder.open
    }
