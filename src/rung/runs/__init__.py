"""Run directories, written while training and read by everyone else.

Start at `RunWriter` and `read_run`.
"""

from rung.runs.event import EventKind, RunStatus
from rung.runs.metric import METRICS, Metric, find_metric, metrics_markdown
from rung.runs.reader import Run, read_run
from rung.runs.records import EventRecord, IndexEntry, MetricsRecord, RunInfo
from rung.runs.report import write_report
from rung.runs.writer import RunWriter

__all__ = [
    "METRICS",
    "EventKind",
    "EventRecord",
    "IndexEntry",
    "Metric",
    "MetricsRecord",
    "Run",
    "RunInfo",
    "RunStatus",
    "RunWriter",
    "find_metric",
    "metrics_markdown",
    "read_run",
    "write_report",
]
