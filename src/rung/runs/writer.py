"""RunWriter: the one process that writes a run directory.

    with RunWriter.create(path, config=..., seed=0, recipe="office", versions={...}) as run:
        for number in range(rounds):
            run.trajectories(number, "train", trajectories)
            run.metrics(number, version, values, timing)

Everything is append-only. A StoreError leaves all that was written before as it was; the
caller may go on or stop. Not safe for several threads at once.
"""

import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rung import __version__
from rung.core import Trajectory
from rung.errors import StoreError, nearest
from rung.runs.event import EventKind, RunStatus
from rung.runs.jsonl import json_line, strict_json
from rung.runs.layout import (
    EVENTS_FILE,
    INDEX_FILE,
    KIND_PATTERN,
    METRICS_FILE,
    RUN_FILE,
    SCHEMA_VERSION,
    TRAJECTORY_FOLDER,
    chunk_name,
)
from rung.runs.metric import find_metric
from rung.runs.records import IndexEntry, Place, index_entry
from rung.runs.schema import encode_trajectory
from rung.runs.store import LineFile, storing, write_whole

logger = logging.getLogger(__name__)


class RunWriter:
    """Owns a run directory while the run lives. Make one with `create`."""

    def __init__(self, path: Path, events: LineFile, metrics: LineFile, index: LineFile) -> None:
        """Take over the open files of the run at `path`; callers use `create`."""
        self.path = path
        """The run directory."""
        self._events = events
        self._metrics = metrics
        self._index = index
        self._closed = False

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        config: Mapping[str, Any],
        seed: int,
        recipe: str,
        versions: Mapping[str, str],
    ) -> Self:
        """A new run directory at `path`, with run.json and the first event written.

        Args:
            path: a folder that is empty or does not exist; parents are made.
            config: the resolved config, as JSON values. It is stored as given: no secrets.
            seed: root seed of the run.
            recipe: name of the recipe.
            versions: versions of python, torch and the like.

        Raises:
            StoreError: `path` holds something already, or cannot be written.
        """
        folder = Path(path)
        _claim(folder)
        info = {
            "schema_version": SCHEMA_VERSION,
            "created": _now(),
            "rung_version": __version__,
            "versions": dict(versions),
            "seed": seed,
            "recipe": recipe,
            "config": dict(config),
        }
        head = strict_json(info).encode() + b"\n"
        events = LineFile(folder / EVENTS_FILE, exclusive=True)  # of two at once, one gets it
        try:
            with storing(folder):
                (folder / TRAJECTORY_FOLDER).mkdir()
            metrics = LineFile(folder / METRICS_FILE)
            index = LineFile(folder / TRAJECTORY_FOLDER / INDEX_FILE)
            writer = cls(folder, events, metrics, index)
            writer.event(EventKind.RUN_STARTED)
            write_whole(folder / RUN_FILE, head)
        except StoreError:
            _empty(folder)
            raise
        return writer

    def event(self, kind: str, /, **fields: Any) -> None:
        """Append one event.

        Args:
            kind: one of EventKind, which documents the fields.
            fields: JSON values; NaN and infinities become null.

        Raises:
            StoreError: the kind is unknown, a field has a reserved name, or the disk refused.
        """
        if kind not in set(EventKind):
            raise StoreError(f"unknown event kind {kind!r}", hint=nearest(kind, list(EventKind)))
        reserved = {"schema_version", "kind", "at"} & fields.keys()
        if reserved:
            raise StoreError(f"an event field cannot be named {min(reserved)!r}")
        line = {"schema_version": SCHEMA_VERSION, "kind": str(kind), **fields, "at": _now()}
        self._append(self._events, json_line(line))

    def metrics(
        self,
        round: int,
        policy_version: int,
        values: Mapping[str, float],
        timing: Mapping[str, float],
    ) -> None:
        """Append the numbers of one round.

        Args:
            round: number of the round.
            policy_version: version of the policy after it.
            values: metric name to value; nothing that depends on the clock.
            timing: metrics of the area `timing`, which depend on the clock or machine.

        Raises:
            StoreError: a metric is not declared in metric.py or stands on the wrong side, or
                the disk refused.
        """
        for name in values:
            _check_side(name, clock=False)
        for name in timing:
            _check_side(name, clock=True)
        line = {
            "schema_version": SCHEMA_VERSION,
            "round": round,
            "policy_version": policy_version,
            "values": dict(sorted(values.items())),
            "timing": dict(sorted(timing.items())),
            "at": _now(),
        }
        self._append(self._metrics, json_line(line))

    def trajectories(self, round: int, kind: str, trajectories: Sequence[Trajectory]) -> None:
        """Store trajectories as one chunk file, then add them to the index.

        Args:
            round: number of the round.
            kind: what they were collected for: `train`, `eval-greedy`, `eval-sampled`.
            trajectories: in the order in which they shall be read. None make no chunk.

        Raises:
            StoreError: the kind cannot be part of a file name, or the disk refused.
        """
        if not KIND_PATTERN.fullmatch(kind):
            raise StoreError(
                f"a kind of trajectories cannot be named {kind!r}",
                hint="use small letters, digits and single hyphens, for example eval-greedy",
            )
        self._check_open()
        if not trajectories:
            return
        folder = self.path / TRAJECTORY_FOLDER
        chunk = _free_name(folder, round, kind)
        frames = [encode_trajectory(trajectory) for trajectory in trajectories]
        entries: list[IndexEntry] = []
        offset = 0
        for trajectory, frame in zip(trajectories, frames, strict=True):
            place = Place(round=round, kind=kind, chunk=chunk, offset=offset, size=len(frame))
            entries.append(index_entry(trajectory, place))
            offset += len(frame)
        write_whole(folder / chunk, b"".join(frames))
        lines = b"".join(json_line(asdict(entry)) for entry in entries)
        self._append(self._index, lines)

    def close(self, status: str = RunStatus.FINISHED, *, error: str = "") -> None:
        """Write the final event and close the files. A second call does nothing.

        Args:
            status: a RunStatus other than `unfinished`.
            error: why the run failed or was interrupted.

        Raises:
            StoreError: the status is unknown, or the disk refused.
        """
        if self._closed:
            return
        endings = [str(s) for s in RunStatus if s is not RunStatus.UNFINISHED]
        if status not in endings:
            raise StoreError(f"unknown run status {status!r}", hint=nearest(status, endings))
        with ExitStack() as closing:
            for file in (self._index, self._metrics, self._events):
                closing.callback(file.close)
            closing.callback(setattr, self, "_closed", True)
            if status == RunStatus.INTERRUPTED:
                self.event(EventKind.INTERRUPTED, error=error)
            else:
                self.event(EventKind.RUN_FINISHED, status=str(status), error=error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close as finished, interrupted or failed, as the block ended."""
        if error is None:
            self.close()
            return
        stopped = isinstance(error, KeyboardInterrupt)
        status = RunStatus.INTERRUPTED if stopped else RunStatus.FAILED
        try:
            self.close(status, error=f"{type(error).__name__}: {error}".rstrip(": "))
        except StoreError as second:  # the error that ended the block matters more
            logger.warning("run not closed path=%s error=%s", self.path, second.message)

    def _append(self, file: LineFile, data: bytes) -> None:
        self._check_open()
        file.append(data)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"the run at {self.path} is closed: nothing can be added to it")


def _claim(folder: Path) -> None:
    """Make `folder`, or take it over if it is empty."""
    with storing(folder, "create"):
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise StoreError(
                f"cannot create a run at {folder}: the folder is not empty",
                hint="choose another folder; a run directory is never written over",
            )


def _empty(folder: Path) -> None:
    """Take back what `create` made before it failed, so that it can be called again."""
    for name in (RUN_FILE, METRICS_FILE, f"{TRAJECTORY_FOLDER}/{INDEX_FILE}", EVENTS_FILE):
        with suppress(OSError):
            (folder / name).unlink()
    with suppress(OSError):
        (folder / TRAJECTORY_FOLDER).rmdir()


def _check_side(name: str, *, clock: bool) -> None:
    if (find_metric(name).area == "timing") != clock:
        side = "timing" if clock else "values"
        raise StoreError(
            f"metric {name!r} cannot stand in {side}",
            hint="timing holds the metrics of the area timing, values all others",
        )


def _free_name(folder: Path, round_number: int, kind: str) -> str:
    part = 0
    while (folder / chunk_name(round_number, kind, part)).exists():
        part += 1
    return chunk_name(round_number, kind, part)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
