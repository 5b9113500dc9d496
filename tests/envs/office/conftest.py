"""An office task with one block of every sink, small enough to check by eye."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

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


def work_out(world: World, block: Block, blocks: Sequence[Block]) -> str:
    """What a block's source yields, worked out from the rows alone and from earlier blocks."""
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
        case "join":
            [most] = [row for row in quantities if row[2] == max(q for _, _, q in quantities)]
            [row] = [row for row in world.products if row[0] == most[1]]
            return str(row[1 + COLUMNS.index(source.column)])
        case "cost":
            return str(sum(quantity * prices[item] for _, item, quantity in quantities))
        case "deep":
            return fields[source.item]
        case "larger" | "sum":
            values = {blocks[i].source.label: int(blocks[i].value) for i in source.of}
            assert len(values) == 2
            larger = max(values, key=lambda label: values[label])
            return larger if source.kind == "larger" else str(sum(values.values()))
        case "cheaper" | "dearer":
            choose = min if source.kind == "cheaper" else max
            assert prices[source.item] != prices[source.other]
            return choose(source.item, source.other, key=lambda name: prices[name])


@pytest.fixture
def value_of() -> Callable[[World, Block, Sequence[Block]], str]:
    return work_out


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Address of a PostgreSQL server of our own, on loopback."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    initdb = shutil.which("initdb", path=os.pathsep.join([os.environ["PATH"], *map(str, debian)]))
    if initdb is None:
        pytest.skip("PostgreSQL is not installed")
    # It refuses to run as root, and pytest's own folders are closed to others.
    user = "postgres" if os.getuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="rung-postgres-") as folder:
        if user is not None:
            shutil.chown(folder, user)
        run = partial(subprocess.run, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL)
        data, port = f"{folder}/data", free_port()
        run([initdb, "--pgdata", data, "--auth", "trust", "--username", "rung", "--no-sync"])
        control = [Path(initdb).with_name("pg_ctl"), "--pgdata", data, "--wait"]
        settings = f"-c listen_addresses=127.0.0.1 -p {port} -k {folder} -c fsync=off"
        run([*control, "--log", f"{folder}/log", "--options", settings, "start"])
        try:
            yield f"postgresql://rung@127.0.0.1:{port}/postgres"
        finally:
            run([*control, "--mode", "immediate", "stop"])


class Mailbox(NamedTuple):
    """A mail server's address and what it received; it refuses the addresses in `refused`."""

    address: str
    mails: list[EmailMessage]
    recipients: list[str]
    refused: set[str]


class _Handler:
    def __init__(self, mailbox: Mailbox) -> None:
        self.mailbox = mailbox

    async def handle_RCPT(self, _server: Any, _session: Any, envelope: Any, to: str, _: Any) -> str:  # noqa: N802
        if to in self.mailbox.refused:
            return "550 no such user"
        envelope.rcpt_tos.append(to)
        return "250 OK"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        mail = message_from_bytes(envelope.content, policy=default)
        assert isinstance(mail, EmailMessage)
        self.mailbox.mails.append(mail)
        self.mailbox.recipients.extend(envelope.rcpt_tos)
        return "250 OK"


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    """A real SMTP server on loopback."""
    from aiosmtpd.controller import Controller

    port = free_port()
    box = Mailbox(f"127.0.0.1:{port}", [], [], set())
    server = Controller(_Handler(box), hostname="127.0.0.1", port=port)
    server.start()
    try:
        yield box
    finally:
        server.stop()
