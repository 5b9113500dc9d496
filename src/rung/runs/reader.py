"""Reading a run directory: one that lives, one that was killed, one that is done.

A Run reads on demand and each call sees what has been added since the last; asking again is
cheap, as only new bytes are read. Lines that are not whole yet are left for the next call.
What is damaged is left out with a warning, except where one thing is asked for by name.
"""

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from rung.core import Trajectory
from rung.errors import StoreError
from rung.runs.event import EventKind, RunStatus
from rung.runs.jsonl import JsonLines
from rung.runs.layout import (
    EVENTS_FILE,
    INDEX_FILE,
    METRICS_FILE,
    RUN_FILE,
    SCHEMA_VERSION,
    TRAJECTORY_FOLDER,
)
from rung.runs.records import EventRecord, IndexEntry, MetricsRecord, RunInfo
from rung.runs.schema import decode_trajectory
from rung.runs.store import storing

logger = logging.getLogger(__name__)


def read_run(path: str | os.PathLike[str]) -> "Run":
    """The run at `path`.

    Raises:
        StoreError: `path` is no run directory, or one of a later schema version.
    """
    folder = Path(path)
    try:
        with storing(folder / RUN_FILE, "read"):
            raw = json.loads((folder / RUN_FILE).read_text("utf-8"))
        info = msgspec.convert(raw, RunInfo)
        config = msgspec.convert(raw["config"], dict[str, Any])
    except StoreError as error:
        if (folder / RUN_FILE).exists():
            raise
        what = "has no run.json" if folder.is_dir() else "is not a folder"
        raise StoreError(
            f"{folder} is no run: it {what}",
            hint="give the folder that a training run wrote",
        ) from error
    except (ValueError, KeyError, TypeError, RecursionError, msgspec.MsgspecError) as error:
        raise StoreError(
            f"{folder} is no run: its run.json is not valid: {error}",
            hint="give the folder that a training run wrote",
        ) from error
    if info.schema_version > SCHEMA_VERSION:
        raise StoreError(
            f"the run at {folder} has schema version {info.schema_version}, "
            f"this Rung reads {SCHEMA_VERSION}",
            hint=f"read it with Rung {info.rung_version} or later",
        )
    return Run(folder, info, config)


class Run:
    """A run directory, opened for reading. Make one with `read_run`."""

    def __init__(self, path: Path, info: RunInfo, config: dict[str, Any]) -> None:
        """Wrap the run at `path`; callers use `read_run`."""
        self.path = path
        """The run directory."""
        self.info = info
        """Recipe, seed, versions and the time it began."""
        self.config = config
        """The resolved config."""
        self._folder = path / TRAJECTORY_FOLDER
        self._metrics = JsonLines(path / METRICS_FILE, _metrics_record)
        self._events = JsonLines(path / EVENTS_FILE, _event_record)
        self._index = JsonLines(self._folder / INDEX_FILE, _index_entry)

    def metrics(self) -> list[MetricsRecord]:
        """The numbers of every round so far, oldest first."""
        return self._metrics.read()

    def events(self) -> list[EventRecord]:
        """Every event so far, oldest first."""
        return self._events.read()

    def index(self) -> list[IndexEntry]:
        """One entry for every stored trajectory, oldest first."""
        return self._index.read()

    @property
    def status(self) -> RunStatus:
        """How the run ended, or that no end is recorded."""
        for event in reversed(self.events()):
            if event.kind == EventKind.INTERRUPTED:
                return RunStatus.INTERRUPTED
            if event.kind == EventKind.RUN_FINISHED:
                failed = event.fields.get("status") == RunStatus.FAILED
                return RunStatus.FAILED if failed else RunStatus.FINISHED
        return RunStatus.UNFINISHED

    def trajectory(self, id: str) -> Trajectory:
        """The trajectory with this id.

        Raises:
            StoreError: there is none, or its chunk is missing or damaged.
        """
        for entry in reversed(self.index()):
            if entry.id == id:
                return self.load(entry)
        raise StoreError(
            f"the run at {self.path} has no trajectory {id!r}",
            hint="the ids stand in trajectories/index.jsonl",
        )

    def trajectories(
        self, *, kind: str | None = None, round: int | None = None
    ) -> Iterator[Trajectory]:
        """The stored trajectories, oldest first, one in memory at a time.

        Those whose chunk is missing or damaged are left out with a warning.

        Args:
            kind: only those of this kind, for example `train`.
            round: only those of this round.
        """
        for entry in self.index():
            if (kind is None or entry.kind == kind) and (round is None or entry.round == round):
                try:
                    yield self.load(entry)
                except StoreError as error:
                    logger.warning("trajectory left out id=%s error=%s", entry.id, error.message)

    def load(self, entry: IndexEntry) -> Trajectory:
        """The trajectory that an index entry names.

        Raises:
            StoreError: its chunk is missing or damaged.
        """
        if Path(entry.chunk).name != entry.chunk or entry.offset < 0 or entry.size < 0:
            raise StoreError(f"the index names a place outside its folder: {entry.chunk!r}")
        path = self._folder / entry.chunk
        with storing(path, "read"), path.open("rb") as file:
            file.seek(entry.offset)
            return decode_trajectory(file.read(entry.size))


def _metrics_record(raw: dict[str, Any]) -> MetricsRecord:
    return msgspec.convert(raw, MetricsRecord)


def _index_entry(raw: dict[str, Any]) -> IndexEntry:
    return msgspec.convert(raw, IndexEntry)


def _event_record(raw: dict[str, Any]) -> EventRecord:
    fields = {name: raw[name] for name in raw if name not in ("schema_version", "kind", "at")}
    line = {"kind": raw.get("kind"), "at": raw.get("at"), "fields": fields}
    return msgspec.convert(line, EventRecord)
