"""An office task with one block of every sink, small enough to check by eye."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from rung.core import Task
from rung.envs.office.drawing import COLUMNS
from rung.envs.office.goal import Block, Goal, Sink, Source, World
from rung.envs.office.world import Office

BLOCKS = (
    Block(
        source=Source(kind="lookup", item="lamp33", column="price"),
        sink=Sink(kind="append", file="notes7.txt"),
        value="120",
    ),
    Block(
        source=Source(kind="order", item="desk12", customer="Acme"),
        sink=Sink(kind="send", person="Anna Reed"),
        value="4",
        address="anna11@office.example",
    ),
    Block(
        source=Source(kind="extract", column="shelf", file="memo5.txt"),
        sink=Sink(kind="create", file="ledger2.txt"),
        value="42",
    ),
    Block(
        source=Source(kind="total", customer="Borealis"),
        sink=Sink(kind="correct", file="review8.txt"),
        value="15",
    ),
    Block(
        source=Source(kind="cheaper", item="lamp33", other="desk12"),
        sink=Sink(kind="report", file="report9.txt"),
        value="desk12",
        price="80",
    ),
    Block(
        source=Source(kind="cheaper", item="lamp33", other="desk12"),
        sink=Sink(kind="attach", person="Boris Stone", file="report9.txt"),
        value="desk12",
        address="boris22@office.example",
    ),
)
WORLD = World(
    products=(("lamp33", 120, 7, "Acme"), ("desk12", 80, 3, "Summit"), ("lamp34", 99, 1, "Acme")),
    orders=(("Acme", "desk12", 4), ("Borealis", "lamp33", 5), ("Borealis", "desk12", 10)),
    employees=(
        ("Anna Reed", "anna11@office.example", "sales"),
        ("Boris Stone", "boris22@office.example", "stores"),
        ("Carla Baker", "carla33@office.example", "finance"),
    ),
    files={
        "notes7.txt": "title: notes\n",
        "memo5.txt": "shelf: 42\nminimum: 100\nsupplier: Acme\n",
        "review8.txt": "title: review\nBorealis: 1500\n",
    },
)


@pytest.fixture
def goal() -> Goal:
    return Goal(world=WORLD, blocks=BLOCKS, answer=1)


@pytest.fixture
def task(goal: Goal) -> Task:
    data: Any = msgspec.to_builtins(goal)
    return Task.make(environment="office", tier="E2", text="", step_limit=30, data=data)


@pytest.fixture
def office(goal: Goal) -> Any:
    state = Office(goal)
    yield state
    state.close()


def work_out(world: World, block: Block) -> str:
    """What a block's source yields, worked out from the rows alone."""
    source = block.source
    prices = {name: price for name, price, *_ in world.products}
    quantities = [row for row in world.orders if row[0] == source.customer]
    fields = dict(
        line.split(": ") for line in world.files.get(source.file, "").splitlines() if line
    )
    match source.kind:
        case "lookup" | "via":
            item = source.item or fields["item"]
            [row] = [row for row in world.products if row[0] == item]
            return str(row[1 + COLUMNS.index(source.column)])
        case "order":
            [row] = [row for row in quantities if row[1] == source.item]
            return str(row[2])
        case "count":
            return str(len(quantities))
        case "total":
            return str(sum(quantity for _, _, quantity in quantities))
        case "extract":
            return fields[source.column]
        case "cheaper" | "dearer":
            choose = min if source.kind == "cheaper" else max
            assert prices[source.item] != prices[source.other]
            return choose(source.item, source.other, key=lambda name: prices[name])


@pytest.fixture
def value_of() -> Callable[[World, Block], str]:
    return work_out
