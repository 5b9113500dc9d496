"""Drawing tasks: a world with the rows that the blocks need, and others that distract.

Labels are distinct within a task, so that no document can hold two entries of one name.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from rung.core import Task
from rung.envs.office import names
from rung.envs.office.goal import (
    Block,
    Form,
    Goal,
    Sink,
    SinkKind,
    Source,
    SourceKind,
    World,
    payload_of,
)
from rung.envs.office.phrasing import phrase
from rung.envs.office.world import OPENING

Pattern = tuple[SourceKind, SinkKind]
Row = TypeVar("Row")

STEP_LIMITS = {"E1": 15, "E2": 30, "E3": 60}
COLUMNS = ("price", "stock", "supplier")
FIELDS = ("shelf", "minimum", "supplier")
FORMS: tuple[Form, ...] = ("lines", "csv", "markdown")
_SUFFIX = {"lines": ".txt", "csv": ".csv", "markdown": ".md"}
DEADLINE = 0.5
"""Share of messages with a deadline, among tasks with extras."""
CHINESE = 0.3
"""Share of Chinese texts among them."""
LISTED = 240
"""Lines of a long list."""


class _World:
    """A world under construction: hands out names that are not yet taken."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator
        self.products: list[tuple[str, int, int, str]] = []
        self.orders: list[tuple[str, str, int]] = []
        self.employees: list[tuple[str, str, str]] = []
        self.files: dict[str, str] = {}
        self._customers = [str(c) for c in generator.permutation(names.COMPANIES)]
        self._nouns = [str(n) for n in generator.permutation(names.NOUNS)]
        self._documents = [str(d) for d in generator.permutation(names.DOCUMENTS)]
        self._taken: set[str] = set()

    def number(self, low: int, high: int) -> int:
        return int(self.generator.integers(low, high))

    def pick(self, options: Sequence[Row]) -> Row:
        return options[self.number(0, len(options))]

    def product(self, price: int | None = None) -> str:
        noun = self._nouns[len(self.products) % len(self._nouns)]
        while (name := f"{noun}{self.number(10, 100)}") in self._taken:
            pass
        self._taken.add(name)
        price = price or self.number(10, 1000)
        self.products.append((name, price, self.number(2, 500), self.pick(names.COMPANIES)))
        return name

    def customer(self, orders: int, *, distinct: bool = False) -> tuple[str, list[tuple[str, int]]]:
        """A new customer with this many orders of distinct products, perhaps of distinct size."""
        customer = self._customers.pop()
        placed = [(self.product(), self.number(2, 100)) for _ in range(orders)]
        if distinct:
            sizes = 2 + self.generator.permutation(98)[:orders]
            placed = [(item, int(size)) for (item, _), size in zip(placed, sizes, strict=True)]
        self.orders += [(customer, product, quantity) for product, quantity in placed]
        return customer, placed

    def person(self) -> tuple[str, str]:
        while True:
            first, last = self.pick(names.FIRST_NAMES), self.pick(names.LAST_NAMES)
            email = f"{first.lower()}{self.number(10, 100)}@office.example"
            if f"{first} {last}" not in self._taken and email not in self._taken:
                break
        self._taken |= {f"{first} {last}", email}
        self.employees.append((f"{first} {last}", email, self.pick(names.TEAMS)))
        return f"{first} {last}", email

    def listing(self, item: str, value: str) -> str:
        """A list of numbers of many products, `item` so far down that no observation holds it."""
        names_ = [f"{noun}{number}" for noun in names.NOUNS for number in range(10, 100)]
        chosen = [names_[i] for i in self.generator.permutation(len(names_))[:LISTED]]
        lines = [f"{name}: {self.number(100, 1000)}" for name in chosen if name != item]
        lines.insert(self.number(180, len(lines)), f"{item}: {value}")
        return "\n".join(lines) + "\n"

    def file(self, stem: str, text: str | None, *, suffix: str = ".txt") -> str:
        """A file named after `stem`, existing when it has a text."""
        while (name := f"{stem}{self.number(1, 100)}{suffix}") in self._taken:
            pass
        self._taken.add(name)
        if text is not None:
            self.files[name] = text
        return name

    def document(self) -> str:
        return self._documents[self.number(0, len(self._documents))]

    def freeze(self) -> World:
        """The world, its rows shuffled together with a few more that distract."""
        for _ in range(3):
            self.product()
        self.customer(2)
        for _ in range(2):
            self.person()
        twins = [
            (
                f"{name.rstrip('0123456789')}{self.number(10, 100)}",
                self.number(10, 1000),
                self.number(2, 500),
                self.pick(names.COMPANIES),
            )
            for name, *_ in self.products[:3]
        ]
        self.products += [twin for twin in twins if twin[0] not in self._taken]

        def shuffled(rows: list[Row]) -> tuple[Row, ...]:
            return tuple(rows[i] for i in self.generator.permutation(len(rows)))

        products = {row[0]: row for row in self.products}
        return World(
            products=shuffled(list(products.values())),
            orders=shuffled(self.orders),
            employees=shuffled(self.employees),
            files=self.files,
        )


def draw(
    generator: np.random.Generator,
    *,
    tier: str,
    template: str,
    patterns: Sequence[Pattern],
    extras: bool = False,
) -> Task:
    """A task with one block per pattern, in order.

    Args:
        generator: where everything random comes from.
        tier: of the task.
        template: of the task.
        patterns: source and sink of each block.
        extras: deadlines, reports in several forms, results that add two numbers, and texts in
            Chinese as well.
    """
    world = _World(generator)
    blocks: list[Block] = []
    shared = world.file(world.document(), f"title: {world.document()}\n")
    for source_kind, sink_kind in patterns:
        if sink_kind == "attach":
            name, address = world.person()
            sink = Sink(kind="attach", person=name, file=blocks[-1].sink.file)
            last = blocks[-1]
            block = Block(source=last.source, sink=sink, value=last.value, address=address)
        else:
            source, value, price = _source(world, source_kind, blocks)
            form = world.pick(FORMS) if extras and sink_kind == "report" else "lines"
            sink, address = _sink(world, sink_kind, source, shared, form)
            block = Block(source=source, sink=sink, value=value, price=price, address=address)
        blocks.append(_timed(world, block, len(blocks)) if extras else block)
    answer = world.number(0, len(blocks))
    plus = _addend(world, blocks, answer) if extras else -1
    goal = Goal(world=world.freeze(), blocks=tuple(blocks), answer=answer, plus=plus)
    language = "zh" if extras and generator.random() < CHINESE else "en"
    return Task.make(
        environment="office",
        tier=tier,
        template=template,
        text=phrase(goal.blocks, answer, generator, plus=plus, language=language),
        step_limit=STEP_LIMITS[tier],
        data=payload_of(goal),
    )


def _timed(world: _World, block: Block, index: int) -> Block:
    """The block with a time, where it has or may have one: generous for who works in order."""
    by = OPENING + 30 + 35 * (index + 1)
    deadline = block.sink.kind in ("send", "attach") and world.generator.random() < DEADLINE
    if not deadline and block.sink.kind != "remind":
        return block
    return replace(block, sink=replace(block.sink, by=by))


def _numbers(blocks: Sequence[Block]) -> list[int]:
    """Indices of the blocks whose values are numbers, each label once."""
    found = {b.source.label: i for i, b in enumerate(blocks) if b.value.isdecimal()}
    return sorted(found.values())


def _addend(world: _World, blocks: Sequence[Block], answer: int) -> int:
    """Sometimes a second number for the result."""
    numbers = [i for i in _numbers(blocks) if not blocks[i].source.of]
    others = [i for i in numbers if i != answer]
    if answer not in numbers or not others or world.generator.random() < 0.5:
        return -1
    return world.pick(others)


def _source(
    world: _World, kind: SourceKind, blocks: Sequence[Block] = ()
) -> tuple[Source, str, str]:
    """A source, its value, and the price of the item that it yields, if it yields one."""
    match kind:
        case "larger" | "sum":
            return _combination(world, kind, blocks)
        case "join":
            customer, placed = world.customer(world.number(2, 5), distinct=True)
            item = max(placed, key=lambda order: order[1])[0]
            column = world.pick(COLUMNS)
            return (
                Source(kind=kind, customer=customer, column=column),
                _cell(world, item, column),
                "",
            )
        case "cost":
            customer, placed = world.customer(world.number(2, 4))
            total = sum(count * int(_cell(world, item, "price")) for item, count in placed)
            return Source(kind=kind, customer=customer), str(total), ""
        case "deep":
            item, value = world.product(), str(world.number(100, 1000))
            file = world.file("list", world.listing(item, value))
            return Source(kind=kind, item=item, file=file), value, ""
        case "lookup":
            item, column = world.product(), world.pick(COLUMNS)
            return Source(kind=kind, item=item, column=column), _cell(world, item, column), ""
        case "order":
            customer, placed = world.customer(world.number(2, 4))
            item, quantity = placed[world.number(0, len(placed))]
            return Source(kind=kind, item=item, customer=customer), str(quantity), ""
        case "count":
            customer, placed = world.customer(world.number(2, 6))
            return Source(kind=kind, customer=customer), str(len(placed)), ""
        case "total":
            customer, placed = world.customer(world.number(2, 4))
            return Source(kind=kind, customer=customer), str(sum(q for _, q in placed)), ""
        case "extract":
            column = world.pick(FIELDS)
            fields = {
                "shelf": str(world.number(10, 100)),
                "minimum": str(world.number(100, 500)),
                "supplier": world.pick(names.COMPANIES),
            }
            text = "".join(f"{name}: {value}\n" for name, value in fields.items())
            file = world.file(world.pick(names.MEMOS), text)
            return Source(kind=kind, column=column, file=file), fields[column], ""
        case "via":
            item, column = world.product(), world.pick(COLUMNS)
            file = world.file(world.pick(names.MEMOS), f"item: {item}\n")
            return Source(kind=kind, column=column, file=file), _cell(world, item, column), ""
        case "cheaper" | "dearer":
            low = world.number(10, 900)
            high = world.number(low + 1, 1000)
            first_is_low = bool(world.number(0, 2))
            item = world.product(low if first_is_low else high)
            other = world.product(high if first_is_low else low)
            wanted = low if kind == "cheaper" else high
            value = item if (wanted == low) == first_is_low else other
            return Source(kind=kind, item=item, other=other), value, str(wanted)


def _combination(
    world: _World, kind: SourceKind, blocks: Sequence[Block]
) -> tuple[Source, str, str]:
    """The larger, or the sum, of two earlier numbers; a look-up where there are no two."""
    numbers = _numbers(blocks)
    if len(numbers) < 2:
        return _source(world, "lookup")
    first, second = sorted(int(i) for i in world.generator.permutation(numbers)[:2])
    values = int(blocks[first].value), int(blocks[second].value)
    if kind == "sum":
        return Source(kind="sum", of=(first, second)), str(sum(values)), ""
    if values[0] == values[1]:
        return _source(world, "lookup")
    larger = first if values[0] > values[1] else second
    return Source(kind="larger", of=(first, second)), blocks[larger].source.label, ""


def _cell(world: _World, item: str, column: str) -> str:
    row = next(row for row in world.products if row[0] == item)
    return str(row[1 + COLUMNS.index(column)])


def _sink(
    world: _World, kind: SinkKind, source: Source, shared: str, form: Form = "lines"
) -> tuple[Sink, str]:
    """A sink, and the address of its person if it has one."""
    match kind:
        case "append":
            return Sink(kind=kind, file=shared), ""
        case "create" | "report":
            file = world.file(world.document(), None, suffix=_SUFFIX[form])
            return Sink(kind=kind, file=file, form=form), ""
        case "remind":
            return Sink(kind=kind), ""
        case "correct":
            stem = world.document()
            text = f"title: {stem}\n{source.label}: {world.number(1000, 2000)}\n"
            return Sink(kind=kind, file=world.file(stem, text)), ""
        case "send" | "attach" | "approved":
            name, address = world.person()
            return Sink(kind=kind, person=name), address
