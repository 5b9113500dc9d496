"""The task templates of the office, by tier.

`BASIC` is what the built-in base policy is cloned from and trained on: English texts, five tools,
eight sources and six sinks. `TEMPLATES` adds the rest: work over two tables, long files, results
that combine earlier ones, deadlines, approvals, reminders, reports in three forms, and Chinese.
The flagship family, at every tier, is the job on which agents are known to fail: look up, compare,
write the report in the required form, and mail it to the right person before the deadline.
"""

from functools import partial
from typing import TypeVar

import numpy as np

from rung.core import Task
from rung.envs.definition import Template
from rung.envs.office.drawing import Pattern, draw
from rung.envs.office.goal import SinkKind, SourceKind

Kind = TypeVar("Kind")

E1: dict[str, tuple[Pattern, ...]] = {
    "note_and_tell": (("lookup", "append"), ("lookup", "send")),
    "order_quantity": (("order", "append"), ("order", "send")),
    "count_orders": (("count", "create"), ("count", "append"), ("lookup", "append")),
    "total_quantity": (("total", "append"), ("total", "send")),
    "read_memo": (("extract", "append"), ("extract", "send")),
    "follow_memo": (("via", "append"), ("via", "create")),
    "compare_prices": (("cheaper", "append"), ("dearer", "send")),
    "correct_entry": (("lookup", "correct"), ("order", "append")),
    "report_and_mail": (("cheaper", "report"), ("cheaper", "attach")),
    "tell_and_file": (("extract", "send"), ("lookup", "create"), ("count", "append")),
}
_SOURCES: tuple[SourceKind, ...] = ("lookup", "order", "count", "total", "extract", "via")
_ONCE: tuple[SourceKind, ...] = ("cheaper", "dearer")
_SINKS: tuple[SinkKind, ...] = ("append", "create", "correct", "send")
_SUBGOALS = {"E1": (2, 3), "E2": (4, 6), "E3": (8, 12)}
_FURTHER_SOURCES: dict[str, tuple[SourceKind, ...]] = {
    "E1": ("join", "cost"),
    "E2": ("join", "cost", "deep"),
    "E3": ("join", "cost", "deep"),
}
_FURTHER_SINKS: dict[str, tuple[SinkKind, ...]] = {
    "E1": (),
    "E2": (),
    "E3": ("approved", "remind"),
}
_COMBINED: tuple[SourceKind, ...] = ("larger", "sum")
_REPORT: tuple[Pattern, ...] = (("cheaper", "report"), ("cheaper", "attach"))


def _mixed(generator: np.random.Generator, *, tier: str) -> Task:
    """A long task of random blocks; about half of them hold the report that is mailed."""
    low, high = _SUBGOALS[tier]
    count = int(generator.integers(low, high + 1))
    once: list[SourceKind] = [kind for kind in _ONCE if generator.random() < 0.4]
    patterns: list[Pattern] = [(kind, _choose(generator, _SINKS[:2])) for kind in once]
    report = generator.random() < 0.5 and "cheaper" not in once
    while len(patterns) < count - 2 * report:
        patterns.append((_choose(generator, _SOURCES), _choose(generator, _SINKS)))
    order = [patterns[i] for i in generator.permutation(len(patterns))]
    if report:
        at = int(generator.integers(len(order) + 1))
        order[at:at] = _REPORT
    return draw(generator, tier=tier, template="mixed", patterns=order)


def _composed(generator: np.random.Generator, *, tier: str, template: str) -> Task:
    """A task of random blocks of all kinds that are open; later ones may build on earlier ones."""
    low, high = _SUBGOALS[tier]
    count = int(generator.integers(low, high + 1))
    report = template == "flagship"
    sources: tuple[SourceKind, ...] = (*_SOURCES, *_FURTHER_SOURCES[tier])
    sinks: tuple[SinkKind, ...] = (*_SINKS, *_FURTHER_SINKS[tier])
    # One report, one comparison and one sum at most: their entries would have the same name.
    plain = count - 2 * report
    combined: list[SourceKind] = [
        kind for kind in _COMBINED if plain > 2 and generator.random() < 0.5
    ]
    kinds: list[SourceKind] = [_choose(generator, sources) for _ in range(plain - len(combined))]
    kinds += combined
    patterns: list[Pattern] = [(kind, _choose(generator, sinks)) for kind in kinds]
    if report:
        at = int(generator.integers(len(patterns) + 1))
        patterns[at:at] = _REPORT
    return draw(generator, tier=tier, template=template, patterns=patterns, extras=True)


def _choose(generator: np.random.Generator, options: tuple[Kind, ...]) -> Kind:
    return options[int(generator.integers(len(options)))]


BASIC = (
    *(
        Template(name, "E1", partial(draw, tier="E1", template=name, patterns=patterns))
        for name, patterns in E1.items()
    ),
    *(Template("mixed", tier, partial(_mixed, tier=tier)) for tier in ("E2", "E3")),
)
TEMPLATES = (
    *BASIC,
    *(
        Template(name, tier, partial(_composed, tier=tier, template=name))
        for name in ("flagship", "composed")
        for tier in _SUBGOALS
    ),
)
