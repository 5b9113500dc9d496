"""Strict JSON out, forgiving lines in.

What is written can be read by any strict reader: no NaN, no infinity, no lone surrogate.
What is read may be the file of a live or killed run: a last line without its newline is left
for later, and a line that is not a JSON object is skipped with a warning.
"""

import json
import logging
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np

from rung.runs.store import storing

logger = logging.getLogger(__name__)
_T = TypeVar("_T")


def strict_json(value: Any) -> str:
    """`value` as one line of strict JSON.

    NaN and infinities become null, lone surrogates U+FFFD, numpy scalars plain numbers.

    Raises:
        TypeError: the value holds something that JSON has no form for.
    """
    return json.dumps(_strict(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def json_line(record: Mapping[str, Any]) -> bytes:
    """`record` as one line of a JSONL file, with its newline."""
    return strict_json(record).encode() + b"\n"


def valid_text(text: str) -> str:
    """`text` with every lone surrogate replaced by U+FFFD, so that it has a UTF-8 form."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _strict(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {valid_text(str(key)): _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    return value


class JsonLines(Generic[_T]):
    """The records of an append-only file; each call of `read` goes on where the last stopped."""

    def __init__(self, path: Path, convert: Callable[[dict[str, Any]], _T]) -> None:
        """Watch a file.

        Args:
            path: the file, which need not exist yet.
            convert: makes a record of one line's object; raises MsgspecError if it is none.
        """
        self.path = path
        self._convert = convert
        self._offset = 0
        self._lines = 0
        self._records: list[_T] = []

    def read(self) -> list[_T]:
        """All records so far, oldest first.

        Raises:
            StoreError: the file exists and cannot be read.
        """
        fresh = self._fresh_bytes()
        end = fresh.rfind(b"\n") + 1
        for line in fresh[:end].split(b"\n")[:-1]:
            self._lines += 1
            self._add(line)
        self._offset += end
        return list(self._records)

    def _fresh_bytes(self) -> bytes:
        if not self.path.exists():
            return b""
        with storing(self.path, "read"), self.path.open("rb") as file:
            if file.seek(0, 2) < self._offset:  # a failed append was taken back
                self._offset, self._lines, self._records = 0, 0, []
            file.seek(self._offset)
            return file.read()

    def _add(self, line: bytes) -> None:
        try:
            raw = json.loads(line.decode(), parse_constant=lambda _: None)
            self._records.append(self._convert(msgspec.convert(raw, dict[str, Any])))
        except (ValueError, RecursionError, msgspec.MsgspecError) as error:
            logger.warning("line left out file=%s line=%d error=%s", self.path, self._lines, error)
