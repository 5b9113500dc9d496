"""The live office: real rows, files and messages, and nothing irreversible without being told."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rung.core import Action, StopReason, Task
from rung.envs import Definition, LiveConfig, make
from rung.envs.office import expert, office
from rung.envs.office.goal import goal_of
from rung.envs.office.postgres import PostgresDatabase
from rung.envs.office.sql import MAX_ROWS, Database
from rung.envs.office.world import tables_of
from rung.envs.playing import acting, all_tasks, play
from rung.errors import ConfigError, EnvError, ToolError
from rung.seeding import Seeds

OFFICE = office()
TASKS = list(all_tasks(OFFICE, 1, seeds=Seeds(11)))
MAILED = next(task for task in TASKS if task.template == "report_and_mail")


def live(**config: Any) -> Definition[Any]:
    return OFFICE.on("live", LiveConfig(**config))


def solve(definition: Definition[Any], task: Task) -> StopReason | None:
    env = make(definition)
    try:
        return play(env, task, acting(expert(task))).stop
    finally:
        env.close()


def test_the_expert_works_on_postgres_and_by_mail(
    postgres: str, mailbox: Any, tmp_path: Path
) -> None:
    """The same tasks as in the simulation; messages arrive with what was asked for."""
    definition = live(
        database=postgres,
        folder=str(tmp_path),
        mail=mailbox.address,
        send=True,
        recipients=("@office.example",),
    )
    for task in TASKS:
        assert solve(definition, task) is StopReason.SUCCESS, task.id
    blocks = [block for task in TASKS for block in goal_of(task).blocks]
    wanted = [
        block.address for block in blocks if block.sink.kind in ("send", "attach", "approved")
    ]
    assert sorted(mailbox.recipients) == sorted(wanted)
    assert wanted
    assert list(tmp_path.iterdir()) == [], "every workspace is gone"


def test_a_report_arrives_as_an_attachment(mailbox: Any) -> None:
    settings = {"mail": mailbox.address, "send": True, "recipients": ("@office.example",)}
    assert solve(live(**settings), MAILED) is StopReason.SUCCESS
    (mail,) = mailbox.mails
    report = next(b for b in goal_of(MAILED).blocks if b.sink.kind == "report")
    (attachment,) = mail.iter_attachments()
    assert attachment.get_filename() == report.sink.file
    assert attachment.get_content().split() == report.report.split()
    assert mail["From"] == "agent@office.example"


def test_by_default_nothing_is_sent(mailbox: Any) -> None:
    assert solve(live(mail=mailbox.address), MAILED) is StopReason.SUCCESS
    assert mailbox.mails == []


@pytest.mark.parametrize(
    "recipients", [("@elsewhere.example",), ("other@office.example",), ("office.example",)]
)
def test_only_listed_recipients_are_written_to(mailbox: Any, recipients: tuple[str, ...]) -> None:
    config = {"mail": mailbox.address, "send": True, "recipients": recipients}
    assert solve(live(**config), MAILED) is not StopReason.SUCCESS
    assert mailbox.mails == []


def test_a_single_address_may_be_listed(mailbox: Any) -> None:
    address = next(b.address for b in goal_of(MAILED).blocks if b.address)
    config = {"mail": mailbox.address, "send": True, "recipients": (address.upper(),)}
    assert solve(live(**config), MAILED) is StopReason.SUCCESS
    assert mailbox.recipients == [address]


def test_a_refused_recipient_is_an_answer_and_a_dead_server_a_fault(mailbox: Any) -> None:
    address = next(b.address for b in goal_of(MAILED).blocks if b.address)
    mailbox.refused.add(address)
    config = {"mail": mailbox.address, "send": True, "recipients": ("@office.example",)}
    call = Action("send_message", {"to": address, "text": "x", "confirm": True})
    env = make(live(**config))
    env.reset(seed=0, options={"task": MAILED})
    observation, *_, info = env.step(call.text)
    assert observation == f"error: the mail server refuses {address}"
    assert info["turn"].invalid
    env.close()
    env = make(live(**{**config, "mail": "127.0.0.1:1"}))
    env.reset(seed=0, options={"task": MAILED})
    with pytest.raises(EnvError, match=r"the mail server 127\.0\.0\.1:1 failed"):
        env.step(call.text)
    env.close()


def test_rows_lie_in_a_file_as_long_as_they_are_needed(tmp_path: Path) -> None:
    env = make(live(database=f"sqlite:{tmp_path}"))
    for task in TASKS[:2]:
        assert play(env, task, acting(expert(task))).stop is StopReason.SUCCESS
        (file,) = tmp_path.iterdir()
        assert file.read_bytes().startswith(b"SQLite format 3")
    env.close()
    assert list(tmp_path.iterdir()) == []


def test_a_live_trajectory_goes_on_from_where_it_was_saved(postgres: str) -> None:
    one, two = (make(live(database=postgres)) for _ in range(2))
    messages = play(one, MAILED, acting(expert(MAILED))).messages
    one.reset(seed=0, options={"task": MAILED})
    for message in messages[:4]:
        one.step(message)
    two.load_state_dict(one.state_dict())
    assert [two.step(message) for message in messages[4:]] == [
        one.step(message) for message in messages[4:]
    ]
    one.close()
    two.close()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"database": "mysql://x"}, "must begin with"),
        ({"database": "postgresql://me:secret@host/db"}, "holds a password"),
        ({"database": "postgresql://host/db?password=x"}, "holds a password"),
        ({"mail": "localhost"}, "host:port"),
        ({"send": True}, "needs a server and recipients"),
        ({"send": True, "mail": "localhost:25"}, "needs a server and recipients"),
    ],
)
def test_settings_that_cannot_be(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        LiveConfig(**config)


def test_stages_are_known(toy_definition: Definition[Any]) -> None:
    assert toy_definition.on("simulated", LiveConfig()) is toy_definition
    for stage in ("live", "lve"):
        with pytest.raises(ConfigError, match="has no stage"):
            toy_definition.on(stage, LiveConfig())


@pytest.fixture
def toy_definition() -> Definition[Any]:
    return replace(OFFICE, live=None)


QUERIES = (
    "SELECT name, price FROM products",
    "SELECT * FROM orders",
    "SELECT COUNT(*) FROM orders",
    "SELECT COUNT(DISTINCT customer) FROM orders;",
    "SELECT SUM(quantity) FROM orders WHERE customer = 'nobody'",
    "SELECT price * stock AS worth FROM products ORDER BY worth DESC LIMIT 3",
    "SELECT supplier, COUNT(*), MAX(price) FROM products GROUP BY supplier ORDER BY supplier",
    "SELECT o.customer, p.price FROM orders o JOIN products p ON p.name = o.product "
    "ORDER BY o.customer, p.price, o.quantity",
    "SELECT name FROM employees WHERE email LIKE '%OFFICE%' ORDER BY name",
    "SELECT name FROM products WHERE price = (SELECT MAX(price) FROM products)",
    "SELECT NAME FROM Products WHERE Price BETWEEN 10 AND 400 ORDER BY 1",
    "SELECT UPPER(name), LENGTH(name) FROM employees ORDER BY name",
    "SELECT stock / 7, stock % 7 FROM products",
)


@pytest.mark.parametrize("sql", QUERIES)
def test_both_databases_give_the_same_table(postgres: str, sql: str) -> None:
    for task in TASKS[:3]:
        tables = tables_of(goal_of(task).world)
        one, two = Database(tables), PostgresDatabase(postgres, tables)
        found = two.query(sql)
        assert found.rows == one.query(sql).rows
        assert [c.lower() for c in found.columns] == [c.lower() for c in one.query(sql).columns]
        one.close()
        two.close()


@pytest.fixture
def database(postgres: str) -> Any:
    found = PostgresDatabase(postgres, tables_of(goal_of(MAILED).world))
    yield found
    found.close()


ATTACKS = (
    "DROP TABLE products",
    "SELECT 1; DROP TABLE products",
    "SELECT * FROM pg_catalog.pg_user",
    "SELECT * FROM pg_user",
    "SELECT * FROM pg_shadow",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM products_rows",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_sleep(10)",
    "SELECT version()",
    "SELECT user",
    "SELECT current_user",
    "SELECT lo_import('/etc/passwd')",
    "SELECT * FROM products, pg_class",
    "SELECT name FROM products WHERE price = (SELECT COUNT(*) FROM pg_class)",
    'SELECT * FROM "PRODUCTS; DROP TABLE products"',
    "SELECT name FROM products UNION SELECT usename FROM pg_user",
    "SELECT * INTO stolen FROM products",
    "SELECT * FROM products FOR UPDATE",
    "SELECT $$x$$",
    "SELECT U&'x'",
    "SELECT E'\\\\x'",
    "COPY products TO '/tmp/x'",
)


@pytest.mark.parametrize("sql", ATTACKS)
def test_a_model_reads_the_known_tables_and_nothing_else(database: Any, sql: str) -> None:
    before = database.contents()
    with pytest.raises(ToolError):
        database.query(sql)
    assert database.contents() == before


def test_text_stays_text(database: Any) -> None:
    for text in ("x'' OR ''1''=''1", "%s", "\\", "\\'' OR 1=1 --", "{}", ":a"):
        assert database.query(f"SELECT '{text}'").rows == ((text.replace("''", "'"),),)


def test_costs_are_bounded(database: Any) -> None:
    many = ", ".join(f"products p{n}" for n in range(8))
    with pytest.raises(ToolError, match="takes too long|over"):
        database.query(f"SELECT COUNT(*) FROM {many}")
    with pytest.raises(ToolError, match=f"over {MAX_ROWS} rows"):
        database.query("SELECT p0.name FROM products p0, products p1, products p2, products p3")
    assert database.query("SELECT COUNT(*) FROM products").rows


def test_a_trajectory_does_not_see_another_ones_rows(postgres: str, database: Any) -> None:
    other = PostgresDatabase(postgres, {"products": (("name",), (("secret9",),))})
    assert "secret9" not in str(database.query("SELECT * FROM products"))
    with pytest.raises(ToolError):
        database.query(f"SELECT * FROM {other.schema}.products")
    other.close()


def test_nothing_is_left_on_the_server(postgres: str) -> None:
    import psycopg

    def schemas() -> set[str]:
        with psycopg.connect(postgres) as connection:
            rows = connection.execute("SELECT nspname FROM pg_namespace").fetchall()
        return {name for (name,) in rows if name.startswith("rung_")}

    before = schemas()
    database = PostgresDatabase(postgres, tables_of(goal_of(MAILED).world))
    assert schemas() - before == {database.schema}
    database.close()
    database.close()
    assert schemas() == before


def test_a_server_that_is_not_there_is_a_fault() -> None:
    with pytest.raises(EnvError, match="PostgreSQL failed"):
        PostgresDatabase("postgresql://rung@127.0.0.1:1/x", {})
