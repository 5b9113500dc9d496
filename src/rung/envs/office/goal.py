"""What an office task holds: a world, and blocks to carry out in it.

A block is one subgoal: find a value (its source) and put it somewhere (its sink). Both are flat
records with a kind, so that a task is plain JSON.
"""

from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from rung.core import Task

SourceKind = Literal[
    "lookup", "order", "count", "total", "extract", "via", "cheaper", "dearer",
    "join", "cost", "deep", "larger", "sum",
]  # fmt: skip
SinkKind = Literal[
    "append", "create", "correct", "send", "report", "attach", "approved", "remind"
]  # fmt: skip
Form = Literal["lines", "csv", "markdown"]
_LATER = {"of": (), "by": 0, "form": "lines", "plus": -1}
"""Fields that are left out of a payload where they have no part: a task's fingerprint is that of
what it asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a value comes from.

    lookup: a column of a product. order: the quantity of one product ordered by one customer.
    count, total: a customer's orders. extract: a field of a file. via: a column of the product
    that a file names. cheaper, dearer: one of two products by price. join: a column of the
    product of which a customer ordered most. cost: what a customer's orders cost in all. deep: a
    product's number in a list that is longer than an observation. larger, sum: of the numbers of
    two earlier blocks.
    """

    kind: SourceKind
    item: str = ""
    other: str = ""
    customer: str = ""
    column: str = ""
    file: str = ""
    of: tuple[int, ...] = ()
    """For larger and sum: indices of the two blocks."""

    @property
    def label(self) -> str:
        """The name under which the value is written down."""
        match self.kind:
            case "lookup" | "deep":
                return self.item
            case "order" | "count" | "total" | "join" | "cost":
                return self.customer
            case "extract" | "via":
                return self.file.removesuffix(".txt")
            case "cheaper" | "dearer" | "larger" | "sum":
                return self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """Where a value goes.

    append, create, correct: an entry of a document. send: an entry mailed to a person.
    report: a document with the item and its price, in a form. attach: that document mailed to a
    person. approved: an entry mailed after approval was given. remind: an entry in a reminder.
    """

    kind: SinkKind
    file: str = ""
    person: str = ""
    by: int = 0
    """For send and attach the deadline, 0 for none; for remind the time; minutes since midnight."""
    form: Form = "lines"
    """Of a report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One subgoal, with the value that makes it right."""

    source: Source
    sink: Sink
    value: str
    """What the source yields in this world."""
    price: str = ""
    """For a report: the price of the item."""
    address: str = ""
    """For send and attach: the person's address."""

    @property
    def entry(self) -> str:
        """The line to be written."""
        return f"{self.source.label}: {self.value}"

    @property
    def report(self) -> str:
        """The report to be written."""
        match self.sink.form:
            case "lines":
                return f"item: {self.value}\nprice: {self.price}"
            case "csv":
                return f"item,price\n{self.value},{self.price}"
            case "markdown":
                return f"# Report\n- item: {self.value}\n- price: {self.price}"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The initial state: rows of three tables, and files of the workspace by name."""

    products: tuple[tuple[str, int, int, str], ...]
    """name, price, stock, supplier"""
    orders: tuple[tuple[str, str, int], ...]
    """customer, product, quantity"""
    employees: tuple[tuple[str, str, str], ...]
    """name, email, team"""
    files: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A world, what to do in it, and what to submit."""

    world: World
    blocks: tuple[Block, ...]
    answer: int
    """Index of the block whose value is to be submitted."""
    plus: int = -1
    """Index of a block whose number is to be added to it; -1 for none."""

    @property
    def result(self) -> str:
        """What is to be submitted."""
        block = self.blocks[self.answer]
        if self.plus < 0:
            return block.entry
        return f"sum: {int(block.value) + int(self.blocks[self.plus].value)}"


def payload_of(goal: Goal) -> dict[str, Any]:
    """The goal as a task's data."""
    data = msgspec.to_builtins(goal)
    for part in (data, *(block[end] for block in data["blocks"] for end in ("source", "sink"))):
        for name in [name for name, default in _LATER.items() if part.get(name) == default]:
            del part[name]
    return data


def clock(minutes: int) -> str:
    """A time of day, from minutes since midnight."""
    return f"{minutes // 60}:{minutes % 60:02}"


def goal_of(task: Task) -> Goal:
    """The goal in a task's payload."""
    return msgspec.json.decode(task.payload.encode(), type=Goal)


def entry_holds(text: str, block: Block) -> bool:
    """True if `text` has the block's entry as a line, and no other entry of that name."""
    entries = [line for line in text.splitlines() if ":" in line]
    named = [line for line in entries if same(line.partition(":")[0], block.source.label)]
    return bool(named) and all(same(line, block.entry) for line in named)


def report_holds(text: str, block: Block) -> bool:
    """True if `text` is the block's report: its two lines in order and nothing else."""
    lines = [line for line in text.splitlines() if line.strip()]
    wanted = block.report.splitlines()
    return len(lines) == len(wanted) and all(map(same, lines, wanted))


def same(left: str, right: str) -> bool:
    """True if two lines are equal but for case and spaces."""
    return _bare(left) == _bare(right)


def _bare(text: str) -> str:
    return "".join(text.split()).casefold()
