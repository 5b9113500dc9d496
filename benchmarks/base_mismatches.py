"""Where a policy departs from the expert, token by token.

    python benchmarks/base_mismatches.py [FOLDER] [--tasks 20]

Reads the expert's held-out trajectories and counts the tokens that the policy, asked at each place
with all that went before, would not have written (greedily). A policy that copies and formats well
departs only where the expert decides: which block comes next, whether to confirm.
"""

import argparse
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from rung.core import Task
from rung.envs import Definition, TextActions, load, make
from rung.envs.office import expert
from rung.envs.playing import acting, play
from rung.loop.build import Parts, build_parts, held_out
from rung.loop.demonstrations import encode
from rung.loop.recipes import recipe
from rung.models.packed import PackedRows, packed_logits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--show", type=int, default=15, help="most frequent departures to print")
    args = parser.parse_args()
    config = recipe("office")
    if args.folder:
        config = replace(config, model=str(args.folder))
    parts = build_parts(config)
    definition, env = load("office-basic"), make("office-basic")
    for tier in definition.tiers:
        tasks = held_out(config, definition, tier, args.tasks)
        wrong, places = 0, Counter[str]()
        for task in tasks:
            found = departures(parts, definition, env, task)
            wrong += len(found)
            places.update(found)
        print(f"{tier}: {wrong / len(tasks):.2f} tokens per task")
        for place, count in places.most_common(args.show):
            print(f"  {count:4d}  {place}")
    parts.pool.close()


@torch.no_grad()
def departures(
    parts: Parts, definition: Definition[Any], env: TextActions, task: Task
) -> list[str]:
    """One line for each token of the expert that the policy would not have written."""
    chat = parts.policy.chat
    played = play(env, task, acting(expert(task)))
    ids, mask = encode(chat, definition.instructions(style="short"), played)
    tokens = torch.from_numpy(ids).long()
    places = torch.from_numpy(mask).nonzero().squeeze(1)
    logits = packed_logits(parts.policy.model, tokens, PackedRows([len(ids)]), places - 1).float()
    chosen = logits.argmax(-1)
    chance = logits.softmax(-1)
    lines = []
    for row in (chosen != tokens[places]).nonzero().squeeze(1).tolist():
        place = int(places[row])
        said, right = int(chosen[row]), int(tokens[place])
        before = chat.tokenizer.decode(ids[max(0, place - 8) : place].tolist())
        lines.append(
            f"{before[-24:]!r}: {chat.tokenizer.decode([said])!r} for "
            f"{chat.tokenizer.decode([right])!r} (p {float(chance[row, right]):.1f})"
        )
    return lines


if __name__ == "__main__":
    main()
