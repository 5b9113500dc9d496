"""The records of a run directory as a reader sees them; the writer makes the same.

Decoding tolerates unknown fields, so a file of a later version with more fields is readable.
"""

from dataclasses import dataclass
from typing import Any

from rung.core import Trajectory
from rung.core.action import FormatError
from rung.runs.layout import SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """What run.json says besides the config."""

    schema_version: int
    created: str
    """When the run began, ISO 8601 in UTC."""
    rung_version: str
    versions: dict[str, str]
    """Versions of python, torch and whatever else the caller named."""
    seed: int
    """Root seed; see rung.seeding."""
    recipe: str
    """Name of the recipe that the config came from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsRecord:
    """One line of metrics.jsonl: the numbers of one round. None stands for NaN or infinity."""

    round: int
    policy_version: int
    """Version of the policy after the round."""
    values: dict[str, float | None]
    """Metric name to value; see metric.py for units. The same for equal runs."""
    timing: dict[str, float | None]
    """Metrics that depend on the clock or the machine."""
    at: str
    """When the line was written, ISO 8601 in UTC."""
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord:
    """One line of events.jsonl."""

    kind: str
    """One of EventKind, or a kind of a later version."""
    at: str
    """When it was written, ISO 8601 in UTC."""
    fields: dict[str, Any]
    """Everything else on the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """One line of trajectories/index.jsonl: what one trajectory is and where it lies."""

    id: str
    group_id: str
    task_id: str
    tier: str
    template: str
    split: str
    kind: str
    """What it was collected for: train, eval-greedy, eval-sampled."""
    round: int
    stop: str
    """A StopReason."""
    success: bool
    process: float | None
    """Return parts: sums over the turns, undiscounted. None stands for NaN or infinity."""
    efficiency: float | None
    outcome: float | None
    turns: int
    tokens: int
    """All tokens, prompt and observations included."""
    sampled_tokens: int
    """Tokens that the policy produced."""
    format_errors: int = 0
    """Turns whose message held no valid action."""
    invalid: int = 0
    """Turns in which nothing useful ran, format errors included."""
    repeated: int = 0
    """Turns that repeat an earlier action."""
    key_hash: str
    chunk: str
    """File in `trajectories/` that holds it."""
    offset: int
    """First byte of its frame in the chunk."""
    size: int
    """Bytes of its frame."""
    schema_version: int = SCHEMA_VERSION

    @property
    def total(self) -> float | None:
        """Sum of the return parts, or None where one of them is missing."""
        parts = (self.process, self.efficiency, self.outcome)
        return None if None in parts else sum(part for part in parts if part is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a trajectory lies: see the fields of IndexEntry."""

    round: int
    kind: str
    chunk: str
    offset: int
    size: int


def index_entry(trajectory: Trajectory, place: Place) -> IndexEntry:
    """The index line of `trajectory`, stored at `place`."""
    reward = trajectory.reward
    infos = [turn.info for turn in trajectory.turns]
    return IndexEntry(
        id=trajectory.id,
        group_id=trajectory.group_id,
        task_id=trajectory.task.id,
        tier=trajectory.task.tier,
        template=trajectory.task.template,
        split=trajectory.split,
        kind=place.kind,
        round=place.round,
        stop=str(trajectory.stop),
        success=trajectory.success,
        process=reward.process,
        efficiency=reward.efficiency,
        outcome=reward.outcome,
        turns=len(trajectory.turns),
        tokens=trajectory.tokens,
        sampled_tokens=trajectory.sampled_tokens,
        format_errors=sum(isinstance(info.move, FormatError) for info in infos),
        invalid=sum(info.invalid for info in infos),
        repeated=sum(info.repeated for info in infos),
        key_hash=trajectory.key_hash,
        chunk=place.chunk,
        offset=place.offset,
        size=place.size,
    )
