"""SQL from a model: one SELECT over known tables, with limits on time, size and rows.

Three fences, each enough for the common attack: sqlglot's tree must be a single SELECT made of
allowed nodes; SQLite's authorizer allows reading the known tables and a list of functions and
nothing else; a step budget and size limits stop what is merely expensive. The connection is
also set to `query_only`.
"""

import re
import sqlite3
from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import exp

from rung.envs.tools import Table
from rung.errors import ToolError

MAX_SQL = 2_000
MAX_ROWS = 1_000
MAX_TEXT = 100_000
STEP_BUDGET = 1_000_000
_STEPS_PER_CHECK = 10_000

FUNCTIONS = frozenset(
    "count sum total avg min max abs round length lower upper substr substring trim ltrim rtrim "
    "coalesce ifnull nullif like glob instr cast iif".split()
)
_PLAIN = re.compile(r"[\w\s'=<>(),.*@]*")
_LITERAL = re.compile(r"'[^']*'")
_REFUSED = (exp.Into, exp.With, exp.Command, exp.DDL, exp.DML, exp.Pragma, exp.Attach)


class Database:
    """An in-memory SQLite database that a model may query and nobody may change."""

    def __init__(self, tables: dict[str, tuple[tuple[str, ...], Any]]) -> None:
        """Create it with `tables`: name -> (columns, rows)."""
        self._tables = frozenset(tables)
        self._connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False
        )
        for name, (columns, rows) in tables.items():
            self._connection.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            marks = ", ".join("?" * len(columns))
            self._connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        self._connection.execute("PRAGMA query_only = ON")
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_TEXT)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, MAX_SQL * 4)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        self._connection.set_authorizer(self._authorize)
        self._connection.set_progress_handler(self._out_of_budget, _STEPS_PER_CHECK)
        self._steps = 0

    def query(self, sql: str) -> Table:
        """The rows of one SELECT.

        Raises:
            ToolError: the statement is not allowed, is wrong, or is too expensive.
        """
        if problem := _problem(sql):
            raise ToolError(problem)
        self._steps = 0
        try:
            cursor = self._connection.execute(sql)
            rows = cursor.fetchmany(MAX_ROWS + 1)
        except sqlite3.Error as error:
            if self._steps > STEP_BUDGET:
                raise ToolError("the query takes too long") from None
            raise ToolError(f"SQL: {error}") from None
        if len(rows) > MAX_ROWS:
            raise ToolError(f"the query gives over {MAX_ROWS} rows")
        return Table(tuple(column[0] for column in cursor.description), tuple(rows))

    def contents(self) -> dict[str, list[tuple[Any, ...]]]:
        """All rows of all tables, for judging that nothing changed."""
        return {
            name: self._connection.execute(f"SELECT * FROM {name} ORDER BY rowid").fetchall()
            for name in sorted(self._tables)
        }

    def close(self) -> None:
        """Free the database."""
        self._connection.close()

    def _out_of_budget(self) -> int:
        self._steps += _STEPS_PER_CHECK
        return int(self._steps > STEP_BUDGET)

    def _authorize(self, code: int, first: str | None, second: str | None, *_rest: Any) -> int:
        match code:
            case sqlite3.SQLITE_SELECT:
                return sqlite3.SQLITE_OK
            case sqlite3.SQLITE_READ if first in self._tables:
                return sqlite3.SQLITE_OK
            case sqlite3.SQLITE_FUNCTION if (second or "").lower() in FUNCTIONS:
                return sqlite3.SQLITE_OK
            case _:
                return sqlite3.SQLITE_DENY


def _problem(sql: str) -> str | None:
    """Why the statement is not allowed, or None.

    Plain statements that differ in their string literals only are judged once: no other quotes,
    comments or escapes can hide in them.
    """
    if len(sql) > MAX_SQL or "\0" in sql:
        return f"SQL: over {MAX_SQL} characters, or with a NUL"
    if _PLAIN.fullmatch(sql) and sql.count("'") % 2 == 0:
        sql = _LITERAL.sub("'x'", sql)
    return _judge(sql)


@lru_cache(maxsize=4096)
def _judge(sql: str) -> str | None:
    try:
        statements = sqlglot.parse(sql, read="sqlite")
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError):
        return "SQL: it cannot be parsed"
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        return "SQL: only one SELECT statement is allowed"
    for node in statements[0].walk():
        if isinstance(node, _REFUSED):
            return f"SQL: {type(node).__name__.upper()} is not allowed"
    return None
