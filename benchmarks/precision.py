"""An update in bfloat16 beside one in float32: how much faster, and how far off.

    python benchmarks/precision.py [--model FOLDER] [--tier E2] [--tasks 12] [--repeats 3]

Plays one round of the tier, then gives the same groups to a learner of each precision, in turn.
Prints the seconds of each update, their ratio, the largest gap between a log-probability in the
update and when the token was sampled, and the cosine between the two first gradients.
"""

import argparse
import copy
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import get_args

import torch

from rung.core import Group
from rung.learner import LearnerConfig
from rung.learner.config import Precision
from rung.learner.learner import Learner
from rung.loop.build import build_parts, held_out
from rung.loop.recipes import recipe
from rung.models.loading import Policy
from rung.rollout import Plan
from rung.seeding import Seeds

PRECISIONS = get_args(Precision)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--tier", default="E2")
    parser.add_argument("--tasks", type=int, default=12)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    config = recipe("office-ladder")
    if args.model:
        config = replace(config, model=str(args.model))
    parts = build_parts(config)
    tasks = held_out(config, parts.definition, args.tier, args.tasks)
    plans = [
        Plan(id=f"{n}-{k}", group_id=str(n), task=task, split="eval", seed=97 * n + k, env_seed=n)
        for n, task in enumerate(tasks)
        for k in range(config.rollout.group_size)
    ]
    played = parts.pool.collect(plans)
    parts.pool.close()
    groups = [
        Group(
            id=str(n),
            task=task,
            policy_version=0,
            trajectories=tuple(t for t in played if t.group_id == str(n)),
        )
        for n, task in enumerate(tasks)
    ]
    seconds: dict[str, list[float]] = {name: [] for name in PRECISIONS}
    gradients: dict[str, torch.Tensor] = {}
    gap: dict[str, float] = {}
    for _ in range(args.repeats):
        for name in PRECISIONS:
            took, gap[name], gradients[name] = update(parts.policy, config.learner, name, groups)
            seconds[name].append(took)
    cosine = torch.cosine_similarity(*(gradients[name] for name in PRECISIONS), dim=0)
    for name in PRECISIONS:
        times = ", ".join(f"{value:.1f}" for value in seconds[name])
        print(f"{name}: {times} s, gap {gap[name]:.4f} nats")
    ratio = median(seconds["float32"]) / median(seconds["bfloat16"])
    print(f"bfloat16 is {ratio:.2f} times as fast; cosine of the gradients {float(cosine):.4f}")


def update(
    policy: Policy, config: LearnerConfig, precision: Precision, groups: list[Group]
) -> tuple[float, float, torch.Tensor]:
    """One update from the same start: its seconds, its largest gap, and its gradient."""
    changed = replace(config, precision=precision, updates_per_round=1)
    learner = Learner(copy.deepcopy(policy.model), changed, Seeds(0), temperature=1.0)
    started = time.monotonic()
    metrics = learner.update(groups, round=1)
    took = time.monotonic() - started
    gradients = [p.grad for p in learner.model.parameters() if p.grad is not None]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    return took, metrics["learner/logprob_gap_max"], flat


if __name__ == "__main__":
    main()
