"""The task templates of the office, by tier."""

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
_SUBGOALS = {"E2": (4, 6), "E3": (8, 12)}


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
        order[at:at] = [("cheaper", "report"), ("cheaper", "attach")]
    return draw(generator, tier=tier, template="mixed", patterns=order)


def _choose(generator: np.random.Generator, options: tuple[Kind, ...]) -> Kind:
    return options[int(generator.integers(len(options)))]


TEMPLATES = (
    *(
        Template(name, "E1", partial(draw, tier="E1", template=name, patterns=patterns))
        for name, patterns in E1.items()
    ),
    *(Template("mixed", tier, partial(_mixed, tier=tier)) for tier in _SUBGOALS),
)
