"""SQL from a model: one SELECT over known tables, with limits on time, size and rows.

Four fences:

1. Letters: outside of literals only plain characters, no comments, brackets or backticks, so that
   SQLite, sqlglot and this file split the text into the same words; and little nesting.
2. Tree: sqlglot must read a single SELECT made of the nodes listed here.
3. Authorizer: SQLite itself may read the known tables, call the functions listed here, and
   nothing else; the connection is also set to `query_only`.
4. Budgets: SQLite's steps, and the size of values, columns, rows and of the whole result.

No operator or function that is let through makes long text out of short text, and none is slow
on the short text that there is, so a step costs little.
"""

import os
import re
import sqlite3
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from rung.envs.tools import Table
from rung.errors import ToolError

MAX_SQL = 2_000
MAX_NESTING = 8
MAX_ROWS = 1_000
MAX_COLUMNS = 100
MAX_VALUE = 10_000
MAX_RESULT = 100_000
STEP_BUDGET = 1_000_000
_STEPS_PER_CHECK = 10_000

FUNCTIONS = frozenset(
    "count sum total avg min max abs round length lower upper substr substring coalesce ifnull "
    "nullif like glob instr cast iif".split()
)
NODES = frozenset(
    getattr(exp, name)
    for name in (
        "Select Subquery From Join Table TableAlias Where Group Having Order Ordered Limit Offset "
        "Distinct Column Identifier Star Alias Literal Null Boolean Paren Tuple And Or Not EQ NEQ "
        "GT GTE LT LTE Is In Between Like Glob Exists Case If Add Sub Mul Div Mod Neg Cast "
        "DataType Count Sum Avg Min Max Greatest Least Abs Round Length Lower Upper Substring "
        "Coalesce Nullif StrPosition"
    ).split()
)
_LITERAL = re.compile(r"""'(?:[^']|'')*'|"[^"]*\"""")
_PLAIN = re.compile(r"""(?:[A-Za-z0-9_ \t\r\n=<>!(),.*+%]|'x'|"x"|-(?!-)|/(?!\*))*""")


class Database:
    """An in-memory SQLite database that a model may query and nobody may change."""

    def __init__(
        self, tables: dict[str, tuple[tuple[str, ...], Any]], *, folder: Path | None = None
    ) -> None:
        """Create it with `tables`: name -> (columns, rows).

        Args:
            tables: what it holds.
            folder: where to keep it as a file of its own until it is closed; None: in memory.
        """
        self._tables = frozenset(tables)
        self._file = None
        if folder is not None:
            handle, name = tempfile.mkstemp(prefix="rung-office-", suffix=".db", dir=folder)
            os.close(handle)
            self._file = Path(name)
        self._connection = sqlite3.connect(
            self._file or ":memory:", isolation_level=None, check_same_thread=False
        )
        for name, (columns, rows) in tables.items():
            self._connection.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            marks = ", ".join("?" * len(columns))
            self._connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        self._connection.execute("PRAGMA query_only = ON")
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, MAX_SQL * 4)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, MAX_COLUMNS)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        self._connection.set_authorizer(self._authorize)
        self._connection.set_progress_handler(self._out_of_budget, _STEPS_PER_CHECK)
        self._steps = 0

    def query(self, sql: str) -> Table:
        """The rows of one SELECT.

        Raises:
            ToolError: the statement is not allowed, is wrong, or is too expensive.
        """
        sql = sql.rstrip("; \t\r\n")
        if wrong := problem(sql):
            raise ToolError(f"SQL: {wrong}")
        self._steps = 0
        try:
            cursor = self._connection.execute(sql)
            rows = _fetch(cursor)
        except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError) as error:
            if self._steps > STEP_BUDGET:
                raise ToolError("the query takes too long") from None
            raise ToolError(f"SQL: {error}") from None
        return Table(tuple(column[0] for column in cursor.description or ()), rows)

    def contents(self) -> dict[str, list[tuple[Any, ...]]]:
        """All rows of all tables, for judging that nothing changed."""
        self._steps = 0
        return {
            name: self._connection.execute(f"SELECT * FROM {name} ORDER BY rowid").fetchall()
            for name in sorted(self._tables)
        }

    def close(self) -> None:
        """Free the database."""
        self._connection.close()
        if self._file is not None:
            self._file.unlink(missing_ok=True)

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


def _fetch(cursor: sqlite3.Cursor) -> tuple[tuple[Any, ...], ...]:
    rows: list[tuple[Any, ...]] = []
    size = 0
    for row in cursor:
        rows.append(row)
        size += _size(row)
        if len(rows) > MAX_ROWS or size > MAX_RESULT:
            break
    check_size(rows)
    return tuple(rows)


def check_size(rows: Sequence[tuple[Any, ...]]) -> None:
    """Refuse a result that is too large.

    Raises:
        ToolError: it is.
    """
    if len(rows) > MAX_ROWS:
        raise ToolError(f"the query gives over {MAX_ROWS} rows")
    if sum(map(_size, rows)) > MAX_RESULT:
        raise ToolError(f"the query gives over {MAX_RESULT} characters")


def _size(row: tuple[Any, ...]) -> int:
    return sum(len(str(cell)) for cell in row)


def problem(sql: str) -> str | None:
    """Why the statement is not allowed, or None."""
    if len(sql) > MAX_SQL or "\0" in sql:
        return f"over {MAX_SQL} characters, or with a NUL"
    shape = _LITERAL.sub(lambda literal: literal[0][0] + "x" + literal[0][0], sql)
    if not _PLAIN.fullmatch(shape):
        return "use only words, numbers, quoted text and = < > ! ( ) , . * + - / %, no comments"
    if max(accumulate((c == "(") - (c == ")") for c in shape), default=0) > MAX_NESTING:
        return f"nested deeper than {MAX_NESTING} levels"
    return _judge(shape)


@lru_cache(maxsize=4096)
def _judge(shape: str) -> str | None:
    """Why statements are not allowed that differ from `shape` in their literals only."""
    one_select = "only one SELECT statement is allowed"
    if shape.lstrip()[:6].upper() != "SELECT":
        return one_select
    try:
        # In a thread of its own the recursion limit is met at the same depth whoever calls.
        with ThreadPoolExecutor(1) as fresh:
            statements = fresh.submit(sqlglot.parse, shape, read="sqlite").result()
    except (SqlglotError, RecursionError, ValueError):
        return "it cannot be parsed"
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        return one_select
    for node in statements[0].walk():
        known = isinstance(node, exp.Anonymous) and node.name.lower() in FUNCTIONS
        if type(node) not in NODES and not known:
            name = node.name if isinstance(node, exp.Anonymous) else type(node).__name__
            return f"{name.upper()} is not allowed"
    return None
