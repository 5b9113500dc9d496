"""A database on a PostgreSQL server that a model may query: one schema for each trajectory.

The same allow-list as for SQLite decides first. Then the statement is written anew from its tree in
PostgreSQL's dialect, with every name quoted, over the known tables only, and runs in a read-only
transaction with a time limit. Differences that remain: double quotes never mean text, and integer
sums are exact.
"""

import secrets
from collections.abc import Generator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, ClassVar

import sqlglot
from sqlglot import exp

from rung.envs.office.sql import MAX_ROWS, check_size, problem
from rung.envs.tools import Table
from rung.errors import ConfigError, EnvError, ToolError

TIMEOUT_MS = 2_000
CONNECT_SECONDS = 10


class PostgresDatabase:
    """Tables in a schema of their own; `close` drops it."""

    def __init__(self, url: str, tables: dict[str, tuple[tuple[str, ...], Any]]) -> None:
        """Create it with `tables`: name -> (columns, rows).

        Raises:
            ConfigError: the extra `live` is not installed.
            EnvError: the server cannot be reached, or refuses.
        """
        self._server = _Server.at(url)
        self._tables = tables
        self.schema = f"rung_{secrets.token_hex(8)}"
        self._closed = False
        try:
            with self._server.working() as connection, connection.transaction():
                connection.execute(f'CREATE SCHEMA "{self.schema}"')
                for name, (columns, rows) in tables.items():
                    self._create(connection, name, columns, rows)
        except BaseException:
            self._closed = True
            self._server.leave()
            raise

    def _create(
        self, connection: Any, name: str, columns: tuple[str, ...], rows: tuple[Any, ...]
    ) -> None:
        first = rows[0] if rows else columns
        kinds = ["bigint" if isinstance(cell, int) else "text" for cell in first]
        fields = ", ".join(f'"{c}" {kind}' for c, kind in zip(columns, kinds, strict=True))
        table = f'"{self.schema}"."{name}_rows"'
        connection.execute(f"CREATE TABLE {table} (number serial, {fields})")
        marks = ", ".join(["%s"] * len(columns))
        names = ", ".join(f'"{column}"' for column in columns)
        with connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)
        view = f'"{self.schema}"."{name}"'
        connection.execute(f"CREATE VIEW {view} AS SELECT {names} FROM {table} ORDER BY number")

    def query(self, sql: str) -> Table:
        """The rows of one SELECT.

        Raises:
            ToolError: the statement is not allowed, is wrong, or is too expensive.
            EnvError: the server failed.
        """
        psycopg = _psycopg()
        tree = self._tree(sql)
        try:
            with self._reading() as connection, connection.cursor(name="model") as cursor:
                cursor.execute(tree.sql(dialect="postgres", identify=True))
                rows = [tuple(map(_plain, row)) for row in cursor.fetchmany(MAX_ROWS + 1)]
                columns = _columns(tree) or tuple(c.name for c in cursor.description or ())
        except psycopg.errors.QueryCanceled:
            raise ToolError("the query takes too long") from None
        except psycopg.Error as error:
            raise ToolError(f"SQL: {str(error).partition(chr(10))[0]}") from None
        check_size(rows)
        return Table(columns, tuple(rows))

    def _tree(self, sql: str) -> Any:
        sql = sql.rstrip("; \t\r\n")
        if wrong := problem(sql):
            raise ToolError(f"SQL: {wrong}")
        tree = sqlglot.parse_one(sql, read="sqlite")
        for table in tree.find_all(exp.Table):
            if table.db or table.catalog or table.name.lower() not in self._tables:
                raise ToolError(f"SQL: no such table: {table.sql()}")
        for like in list(tree.find_all(exp.Like)):
            like.replace(exp.ILike(this=like.this, expression=like.expression))
        for name in tree.find_all(exp.Identifier):
            name.set("this", name.this.lower())
        return tree

    def contents(self) -> dict[str, list[tuple[Any, ...]]]:
        """All rows of all tables, for judging that nothing changed."""
        with self._reading() as connection:
            return {
                name: connection.execute(f'SELECT * FROM "{name}"').fetchall()
                for name in sorted(self._tables)
            }

    def close(self) -> None:
        """Drop the schema."""
        if self._closed:
            return
        self._closed = True
        try:
            with self._server.working() as connection:
                connection.execute(f'DROP SCHEMA IF EXISTS "{self.schema}" CASCADE')
        finally:
            self._server.leave()

    @contextmanager
    def _reading(self) -> Generator[Any]:
        with self._server.working() as connection, connection.transaction():
            connection.execute("SET TRANSACTION READ ONLY")
            connection.execute(f'SET LOCAL search_path TO "{self.schema}"')
            connection.execute(f"SET LOCAL statement_timeout TO {TIMEOUT_MS}")
            yield connection


class _Server:
    """The one connection of this process to a server: trajectories take turns on it."""

    _known: ClassVar[dict[str, "_Server"]] = {}

    def __init__(self, url: str) -> None:
        self._url = url
        self._users = 0
        self._connection: Any = None

    @classmethod
    def at(cls, url: str) -> "_Server":
        """The server at `url`, with one user more."""
        server = cls._known.setdefault(url, cls(url))
        server._users += 1
        return server

    def leave(self) -> None:
        """One user less; the last one closes the connection."""
        self._users -= 1
        if not self._users:
            del self._known[self._url]
            if self._connection is not None:
                self._connection.close()

    @contextmanager
    def working(self) -> Generator[Any]:
        """The connection, made anew if it broke; a failure of the server is a fault."""
        psycopg = _psycopg()
        try:
            if self._connection is None or self._connection.closed:
                self._connection = psycopg.connect(
                    self._url, autocommit=True, connect_timeout=CONNECT_SECONDS
                )
            yield self._connection
        except psycopg.errors.QueryCanceled:
            raise
        except psycopg.OperationalError as error:
            raise EnvError(f"PostgreSQL failed: {error}") from error


def _psycopg() -> Any:
    """The driver.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import psycopg
    except ImportError as error:
        raise ConfigError(
            "the live stage on PostgreSQL needs psycopg", hint="pip install 'rung[live]'"
        ) from error
    return psycopg


def _columns(tree: Any) -> tuple[str, ...]:
    """Column names as SQLite gives them; empty where a star stands for them."""
    if any(part.is_star for part in tree.expressions):
        return ()
    return tuple(
        part.alias_or_name
        if isinstance(part, exp.Alias | exp.Column)
        else part.sql(dialect="sqlite")
        for part in tree.expressions
    )


def _plain(cell: Any) -> Any:
    if isinstance(cell, Decimal):
        return int(cell) if cell == cell.to_integral_value() else float(cell)
    return int(cell) if isinstance(cell, bool) else cell
