"""The names inside a run directory, in one place.

run.json                 what the run is: RunInfo and the resolved config
events.jsonl             what happened, one line an event; see event.py
metrics.jsonl            the numbers, one line a round; see metric.py
trajectories/            chunk files and their index; see schema.py
    index.jsonl          one line a trajectory
    00012-train.msgpack.zst
report.html              written by report.py
policy/                  weights; not touched by this package
"""

import re

SCHEMA_VERSION = 1
"""Version of every record in a run directory. Readers accept it and older ones."""

RUN_FILE = "run.json"
EVENTS_FILE = "events.jsonl"
METRICS_FILE = "metrics.jsonl"
TRAJECTORY_FOLDER = "trajectories"
INDEX_FILE = "index.jsonl"
REPORT_FILE = "report.html"

KIND_PATTERN = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
"""What a kind of trajectories looks like, for example `train` or `eval-greedy`."""


def chunk_name(round_number: int, kind: str, part: int = 0) -> str:
    """File name of the chunk of a round and kind; a second call of the pair makes part 1."""
    suffix = f".{part}" if part else ""
    return f"{round_number:05d}-{kind}{suffix}.msgpack.zst"
