"""The main job with several seeds, one after the other: success before and after, and the spread.

    python benchmarks/office_seeds.py [--seeds 3] [--out runs/seeds] [--recipe office]

Prints a Markdown table, one row per seed, and the mean and range over the seeds.
"""

import argparse
import platform
from dataclasses import replace
from pathlib import Path

from rung.loop.recipes import recipe
from rung.loop.train import Summary, train


def main() -> None:
    """Run the recipe once per seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("runs/seeds"))
    parser.add_argument("--recipe", default="office")
    options = parser.parse_args()
    summaries = {
        seed: train(replace(recipe(options.recipe), seed=seed), options.out / f"seed{seed}")
        for seed in range(options.seeds)
    }
    print(
        f"{platform.machine()}, {platform.processor() or 'CPU'}, seeds 0 to {options.seeds - 1}\n"
    )
    print(*table(summaries), sep="\n")


def table(summaries: dict[int, Summary]) -> list[str]:
    """Lines of a Markdown table."""
    kinds = [
        (label, e.tier, e.mode)
        for label, found in next(iter(summaries.values())).evaluations.items()
        for e in found
    ]
    kinds.sort(key=lambda kind: (kind[1], kind[2], kind[0]))
    seeds = " | ".join(f"seed {seed}" for seed in summaries)
    lines = [
        f"| tier | mode | policy | {seeds} | mean | range |",
        "| --- | --- | --- |" + " ---: |" * (len(summaries) + 2),
    ]
    for label, tier, mode in kinds:
        values = [
            100 * e.success
            for s in summaries.values()
            for e in s.evaluations[label]
            if (e.tier, e.mode) == (tier, mode)
        ]
        cells = " | ".join(f"{value:.1f} %" for value in values)
        mean, spread = sum(values) / len(values), max(values) - min(values)
        lines.append(f"| {tier} | {mode} | {label} | {cells} | {mean:.1f} % | {spread:.1f} |")
    minutes = " | ".join(f"{s.seconds / 60:.1f}" for s in summaries.values())
    memory = " | ".join(f"{s.memory_peak_mb:.0f}" for s in summaries.values())
    return [*lines, f"| | | minutes | {minutes} | | |", f"| | | MB at most | {memory} | | |"]


if __name__ == "__main__":
    main()
