import json
import threading
from collections.abc import Iterator

import pytest

from rung.envs import Guards, make
from rung.envs.office import sql
from rung.envs.office.sql import MAX_SQL, Database, _judge, problem
from rung.errors import ToolError

PRODUCTS = [(f"lamp{n}", n * 7, n, "Acme") for n in range(40)]
ORDERS = [("Acme", f"lamp{n}", n) for n in range(40)]
EMPLOYEES = [("Anna Reed", "anna11@office.example", "sales"), ("Tim O'Neil", "t@o.example", "x")]


@pytest.fixture
def database() -> Iterator[Database]:
    database = Database(
        {
            "products": (("name", "price", "stock", "supplier"), PRODUCTS),
            "orders": (("customer", "product", "quantity"), ORDERS),
            "employees": (("name", "email", "team"), EMPLOYEES),
        }
    )
    before = database.contents()
    yield database
    assert database.contents() == before
    database.close()


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT price FROM products WHERE name = 'lamp3'", ((21,),)),
        ("select price from products where name='lamp3';", ((21,),)),
        ("SELECT COUNT(*) FROM orders WHERE customer = 'Acme'", ((40,),)),
        ("SELECT SUM(quantity) AS total FROM orders", ((780,),)),
        ("SELECT AVG(price), MIN(price), MAX(price) FROM products", ((136.5, 0, 273),)),
        ("SELECT COUNT(DISTINCT supplier), TOTAL(stock) FROM products", ((1, 780.0),)),
        (
            "SELECT name FROM products WHERE name IN ('lamp3', 'lamp9') "
            "ORDER BY price DESC LIMIT 1 OFFSET 0",
            (("lamp9",),),
        ),
        (
            "SELECT p.price FROM orders AS o JOIN products p ON p.name = o.product "
            "WHERE o.quantity BETWEEN 2 AND 3",
            ((14,), (21,)),
        ),
        ("SELECT DISTINCT team FROM employees WHERE name LIKE 'Anna%'", (("sales",),)),
        ('SELECT email FROM employees WHERE name = "Anna Reed"', (("anna11@office.example",),)),
        ("SELECT email FROM employees WHERE name = 'Tim O''Neil'", (("t@o.example",),)),
        ("SELECT name FROM products WHERE name = 'a -- b /* c'", ()),
        ("SELECT name FROM products WHERE name = 'x; DROP TABLE products'", ()),
        ("SELECT '\u00e9\U0001f680[`'", (("\u00e9\U0001f680[`",),)),
        ("SELECT supplier, COUNT(*) FROM products GROUP BY supplier HAVING COUNT(*) > 1",
         (("Acme", 40),)),
        ("SELECT name FROM products WHERE price = (SELECT MAX(price) FROM products)",
         (("lamp39",),)),
        ("SELECT MAX(price) FROM (SELECT price FROM products WHERE stock < 3) AS t", ((14,),)),
        ("SELECT name FROM employees e WHERE NOT EXISTS (SELECT 1 FROM orders)", ()),
        ("SELECT name FROM products WHERE supplier IS NULL OR price IS NOT NULL LIMIT 1",
         (("lamp0",),)),
        ("SELECT CASE WHEN 2 > 1 THEN 'yes' ELSE 'no' END, IIF(1 = 2, 1, 0)", (("yes", 0),)),
        ("SELECT CAST(7 AS TEXT), ABS(-3), ROUND(10 / 4.0, 1), 7 % 4, -(1 + 2) * 3 - 1",
         (("7", 3, 2.5, 3, -10),)),
        ("SELECT LENGTH('abc'), LOWER('A'), UPPER('b'), SUBSTR('abc', 2, 1), INSTR('abc', 'c')",
         ((3, "a", "B", "b", 3),)),
        ("SELECT COALESCE(NULL, 1), IFNULL(NULL, 2), NULLIF(3, 3), MAX(1, 5), MIN(4, 2)",
         ((1, 2, None, 5, 2),)),
        ("SELECT name FROM products WHERE name GLOB 'lamp3*' AND (stock, price) IN "
         "(SELECT stock, price FROM products) LIMIT 1", (("lamp3",),)),
    ],
)  # fmt: skip
def test_plain_queries_run(
    database: Database, query: str, rows: tuple[tuple[object, ...], ...]
) -> None:
    assert database.query(query).rows == rows


def test_columns_are_named(database: Database) -> None:
    table = database.query("SELECT name, price AS cost FROM products WHERE price < 0")
    assert (table.columns, table.render()) == (("name", "cost"), "no rows")
    assert database.query("SELECT * FROM employees").columns == ("name", "email", "team")


BOMBS = {
    "recursive": "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM t) SELECT * FROM t",
    "recursive, hidden": "SELECT * FROM (WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 "
    "FROM t) SELECT x FROM t)",
    "plain with": "WITH t AS (SELECT 1 AS x) SELECT x FROM t",
    "randomblob": "SELECT randomblob(1000000000)",
    "zeroblob": "SELECT zeroblob(1000000000)",
    "printf": "SELECT printf('%1000000000d', 1)",
    "format": "SELECT format('%1000000000d', 1)",
    "hex": "SELECT hex(zeroblob(100000000))",
    "group_concat": "SELECT group_concat(a.name) FROM products a, products b, products c",
    "replace": "SELECT replace('aaaa', 'a', 'aaaa')",
    "concatenation": "SELECT a || a || a || a FROM (SELECT name || name AS a FROM products)",
    "trim": "SELECT trim('aaaa', 'a')",
    "char": "SELECT char(65, 66)",
    "quote": "SELECT quote(name) FROM products",
    "json": "SELECT json_array(1, 2)",
    "json table": "SELECT * FROM json_each('[1]')",
    "series": "SELECT * FROM generate_series(1, 1000000000)",
    "cross join": "SELECT COUNT(*) FROM products a, products b, products c, products d, orders e",
    "cross join of rows": "SELECT a.name FROM products a, products b, products c, products d "
    "WHERE a.price + b.price + c.price + d.price > 99999",
    "sort": "SELECT a.name FROM products a, products b, products c, products d ORDER BY b.price, "
    "c.name LIMIT 1",
    "distinct": "SELECT COUNT(DISTINCT a.price * b.price + c.price * d.price) "
    "FROM products a, products b, products c, products d",
    "correlated": "SELECT COUNT(*) FROM products a, products b, products c WHERE EXISTS "
    "(SELECT 1 FROM products d WHERE d.price + a.price + b.price + c.price > 99999)",
    "60 joins": "SELECT COUNT(*) FROM " + ", ".join(f"orders o{n}" for n in range(60)),
    "65 joins": "SELECT COUNT(*) FROM " + ", ".join(f"orders o{n}" for n in range(65)),
    "rows": "SELECT a.name FROM products a, products b",
    "columns": "SELECT " + ", ".join(["*"] * 300) + " FROM products",
    "text": f"SELECT {', '.join(['t.x'] * 40)} FROM (SELECT '{'x' * 400}' AS x) t, orders",
    "parentheses": "SELECT " + "(" * 500 + "1" + ")" * 500,
    "unclosed parentheses": "SELECT " + "(" * 900,
    "struct": "SELECT " + "struct(" * 200 + "1" + ")" * 200,
    "nested from": "SELECT * " + "FROM x, (SELECT * FROM (" * 80,
    "not": "SELECT " + "NOT " * 400 + "1",
    "minus": "SELECT " + "- " * 900 + "1",
    "case": "SELECT " + "CASE WHEN 1 THEN " * 100 + "1" + " END" * 100,
    "long": f"SELECT '{'x' * MAX_SQL}'",
    "quotes": "SELECT " + "'" * 1_901,
}
ATTACKS = {
    "union": "SELECT name FROM employees UNION SELECT sql FROM sqlite_master",
    "union of known tables": "SELECT name FROM employees UNION ALL SELECT name FROM products",
    "union in a subquery": "SELECT * FROM (SELECT name FROM employees UNION SELECT 1)",
    "intersect": "SELECT 1 INTERSECT SELECT 1",
    "except": "SELECT 1 EXCEPT SELECT 2",
    "master": "SELECT * FROM sqlite_master",
    "schema": "SELECT sql FROM sqlite_schema",
    "temp master": "SELECT * FROM sqlite_temp_master",
    "qualified master": "SELECT * FROM main.sqlite_master",
    "quoted master": 'SELECT * FROM "sqlite_master"',
    "master by subquery": "SELECT (SELECT sql FROM sqlite_master LIMIT 1)",
    "attach": "ATTACH DATABASE '/tmp/x.db' AS x",
    "detach": "DETACH DATABASE main",
    "pragma": "PRAGMA query_only = OFF",
    "pragma function": "SELECT * FROM pragma_table_info('products')",
    "pragma after select": "SELECT 1; PRAGMA query_only = OFF",
    "load_extension": "SELECT load_extension('evil.so')",
    "writefile": "SELECT writefile('/tmp/x', 'x')",
    "readfile": "SELECT readfile('/etc/passwd')",
    "edit": "SELECT edit('x')",
    "fts tokenizer": "SELECT fts3_tokenizer('simple')",
    "version": "SELECT sqlite_version()",
    "changes": "SELECT changes(), last_insert_rowid()",
    "random": "SELECT random()",
    "time": "SELECT datetime('now')",
    "current time": "SELECT CURRENT_TIMESTAMP",
    "two statements": "SELECT 1; SELECT 2",
    "drop after select": "SELECT 1; DROP TABLE products",
    "drop": "DROP TABLE products",
    "create": "CREATE TABLE x (y)",
    "create as": "CREATE TABLE x AS SELECT * FROM products",
    "create trigger": "CREATE TRIGGER t AFTER INSERT ON orders BEGIN SELECT 1; END",
    "insert": "INSERT INTO products VALUES ('x', 1, 1, 'x')",
    "insert returning": "INSERT INTO products VALUES ('x', 1, 1, 'x') RETURNING name",
    "update": "UPDATE products SET price = 0",
    "delete": "DELETE FROM products",
    "replace into": "REPLACE INTO products VALUES ('lamp1', 0, 0, 'x')",
    "alter": "ALTER TABLE products RENAME TO x",
    "vacuum": "VACUUM",
    "vacuum into": "VACUUM INTO '/tmp/x.db'",
    "reindex": "REINDEX",
    "analyze": "ANALYZE",
    "begin": "BEGIN",
    "explain": "EXPLAIN SELECT 1",
    "query plan": "EXPLAIN QUERY PLAN SELECT 1",
    "values": "VALUES (1), (2)",
    "values table": "SELECT * FROM (VALUES (1), (2))",
    "select into": "SELECT * INTO x FROM products",
    "table": "TABLE products",
    "describe": "DESCRIBE products",
    "show": "SHOW TABLES",
    "set": "SET x = 1",
    "nothing": "",
    "semicolons": ";;;",
    "words": "give me the price of lamp3",
    "line comment": "SELECT 1 -- DROP TABLE products",
    "line comment in between": "SELECT 1 --\n, 2",
    "block comment": "SELECT /* hm */ 1",
    "nested comment": "SELECT 1 /* /* */ UNION SELECT sql FROM sqlite_master -- */",
    "comment never closed": "SELECT 1 /* UNION",
    "comment as space": "SELECT/**/name/**/FROM/**/employees",
    "comment hides a statement": "SELECT 1 /*; DROP TABLE products; */",
    "mysql comment": "SELECT 1 /*! UNION SELECT 2 */",
    "hash comment": "SELECT 1 # UNION SELECT 2",
    "backticks": "SELECT `name` FROM `employees`",
    "brackets": "SELECT [name] FROM [employees]",
    "dollar quotes": "SELECT $$x$$",
    "backslash": "SELECT '\\' UNION SELECT sql FROM sqlite_master WHERE '' = '\\'",
    "open quote": "SELECT 'abc",
    "open double quote": 'SELECT "abc',
    "quotes in turn": "SELECT \"a'b\" || 'c\"d'",
    "hex literal": "SELECT x'53454c454354'",
    "parameter": "SELECT ?",
    "named parameter": "SELECT :x",
    "at parameter": "SELECT @x",
    "json operator": "SELECT '{}' -> 'a'",
    "bits": "SELECT 1 | 2",
    "shift": "SELECT 1 << 2",
    "window": "SELECT ROW_NUMBER() OVER (ORDER BY price) FROM products",
    "collation": "SELECT name FROM products ORDER BY name COLLATE NOCASE",
    "indexed": "SELECT name FROM products INDEXED BY x",
    "raise": "SELECT RAISE(ABORT, 'x')",
    "rowid of master": "SELECT rowid FROM sqlite_master",
    "escape": "SELECT name FROM products WHERE name LIKE '%a' ESCAPE 'a'",
    "regexp": "SELECT name FROM products WHERE name REGEXP '(a+)+$'",
    "match": "SELECT name FROM products WHERE name MATCH 'x'",
    "NUL": "SELECT 1\0; DROP TABLE products",
    "NUL in text": "SELECT 'a\0b'",
    "vertical tab": "SELECT\v1",
    "no-break space": "SELECT\u00a01",
    "byte order mark": "\ufeffSELECT 1",
    "full-width quote": "SELECT \uff07x\uff07",
    "full-width semicolon": "SELECT 1\uff1b DROP TABLE products",
    "full-width select": "\uff33\uff25\uff2c\uff25\uff23\uff34 1",
    "look-alike": "S\u0415LECT 1",
    "curly quotes": "SELECT \u2018x\u2019",
    "long s": "\u017felect 1",
    "dotless i": "SELECT 1 LIM\u0131T 1",
    "half of a pair": "SELECT '\ud83d'",
}


@pytest.mark.parametrize("query", ATTACKS.values(), ids=ATTACKS.keys())
def test_attacks_are_refused(database: Database, query: str) -> None:
    with pytest.raises(ToolError) as caught:
        database.query(query)
    message = str(caught.value)
    assert message.startswith("SQL: ")
    assert "CREATE TABLE" not in message


@pytest.mark.parametrize("query", BOMBS.values(), ids=BOMBS.keys())
def test_bombs_are_refused(database: Database, query: str) -> None:
    with pytest.raises(ToolError):
        database.query(query)
    assert database.query("SELECT 1").rows == ((1,),), "the next query runs"


def test_bombs_meet_the_limit_that_is_meant_for_them(database: Database) -> None:
    limits = {
        "cross join": "the query takes too long",
        "60 joins": "the query takes too long",
        "65 joins": "SQL: at most 64 tables in a join",
        "rows": "the query gives over 1000 rows",
        "columns": "SQL: too many columns in result set",
        "text": "the query gives over 100000 characters",
        "parentheses": "SQL: nested deeper than 8 levels",
        "struct": "SQL: nested deeper than 8 levels",
        "long": "SQL: over 2000 characters, or with a NUL",
    }
    for name, message in limits.items():
        with pytest.raises(ToolError) as caught:
            database.query(BOMBS[name])
        assert str(caught.value) == message


def test_sqlite_itself_refuses_what_slips_through(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without the two fences in front, the authorizer still stands.
    monkeypatch.setattr(sql, "problem", lambda _sql: None)
    for name in ("master", "attach", "pragma", "drop", "update", "create", "vacuum", "recursive",
                 "load_extension", "randomblob", "pragma function", "two statements",
                 "drop after select", "random", "begin"):  # fmt: skip
        with pytest.raises(ToolError, match="SQL: "):
            database.query({**ATTACKS, **BOMBS}[name])


def test_literals_do_not_matter_to_the_judgement() -> None:
    _judge.cache_clear()
    for name in ("lamp3", "a -- b", "it''s", ""):
        assert problem(f"SELECT price FROM products WHERE name = '{name}'") is None
    assert _judge.cache_info().misses == 1


def test_the_judgement_does_not_depend_on_the_depth_of_the_caller() -> None:
    found = []

    def deep(query: str, left: int) -> str | None:
        return deep(query, left - 1) if left else problem(query)

    def judge() -> None:
        for terms in (20, 60, 100, 120, 140):
            query = f"SELECT {'NOT ' * terms}1"
            _judge.cache_clear()
            shallow = problem(query)
            _judge.cache_clear()
            found.append(shallow == deep(query, 850))

    thread = threading.Thread(target=judge)
    thread.start()
    thread.join()
    assert found == [True] * 5


def test_through_the_whole_stack_every_refusal_is_an_observation() -> None:
    env = make("office", Guards(invalid_streak=None, step_limit=1_000))
    env.reset(seed=0)
    before = env.base.state.database.contents()
    for query in (ATTACKS | BOMBS).values():
        action = {"action": "query_database", "arguments": {"sql": query}}
        observation, _, terminated, truncated, info = env.step(json.dumps(action))
        if query not in BOMBS.values():  # on the few rows of a task some are harmless
            assert info["turn"].invalid, query
            assert observation.startswith(("error: ", "format error, "))
        assert not (terminated or truncated)
        assert env.base.state.database.contents() == before
    env.close()
