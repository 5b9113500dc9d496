"""Which five trajectories a report shows: the ones that teach a reader most."""

from collections.abc import Callable, Sequence

from rung.core import Trajectory
from rung.errors import StoreError
from rung.runs.reader import Run
from rung.runs.records import IndexEntry

COUNT = 5


def chosen_trajectories(run: Run) -> list[tuple[str, Trajectory]]:
    """At most five trajectories, each with why it was chosen; damaged ones are left out."""
    index = run.index()
    training = [entry for entry in index if entry.kind == "train"]
    evaluated = [entry for entry in index if entry.kind != "train"]
    last = max((entry.round for entry in training), default=0)
    wishes: list[tuple[str, IndexEntry | None]] = [
        ("A failure of the first round", _first(training, lambda e: not e.success)),
        (
            "A failure of the last round",
            _first([e for e in training if e.round == last], lambda e: not e.success),
        ),
        (
            "An error, and success after it",
            _first(training[::-1], lambda e: e.success and e.invalid > 0),
        ),
        ("A success on a held-out task", _first(evaluated[::-1], lambda e: e.success)),
        ("The longest success", _longest([e for e in index if e.success])),
        ("The longest", _longest(index)),
        *(("One more", entry) for entry in index[::-1][:COUNT]),
    ]
    found: dict[tuple[str, int], tuple[str, Trajectory]] = {}
    for why, entry in wishes:
        if entry is None or (entry.chunk, entry.offset) in found or len(found) == COUNT:
            continue
        try:
            found[entry.chunk, entry.offset] = why, run.load(entry)
        except StoreError:
            continue
    return list(found.values())


def _first(
    entries: Sequence[IndexEntry], wanted: Callable[[IndexEntry], bool]
) -> IndexEntry | None:
    return next((entry for entry in entries if wanted(entry)), None)


def _longest(entries: Sequence[IndexEntry]) -> IndexEntry | None:
    return max(entries, key=lambda entry: entry.turns, default=None)
