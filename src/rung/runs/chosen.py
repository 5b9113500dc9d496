"""Which five trajectories a report shows: the ones that teach a reader most."""

from collections.abc import Callable, Iterable

from rung.core import Trajectory
from rung.errors import StoreError
from rung.runs.reader import Run
from rung.runs.records import IndexEntry

COUNT = 5
TRAIN = "train"
"""The kind of trajectories that were collected to train on."""


def chosen_trajectories(run: Run) -> list[tuple[str, IndexEntry, Trajectory]]:
    """At most five trajectories, each with why it was chosen; damaged ones are left out."""
    found: dict[tuple[str, int], tuple[str, IndexEntry, Trajectory]] = {}
    for why, entry in _wishes(run.index()):
        if len(found) == COUNT:
            break
        if entry is None or (entry.chunk, entry.offset) in found:
            continue
        try:
            found[entry.chunk, entry.offset] = why, entry, run.load(entry)
        except StoreError:
            continue
    return list(found.values())


def _wishes(index: list[IndexEntry]) -> Iterable[tuple[str, IndexEntry | None]]:
    """What to show, most instructive first; the later ones fill gaps."""
    training = [entry for entry in index if entry.kind == TRAIN]
    evaluated = [entry for entry in index if entry.kind != TRAIN and entry.success]
    rounds = [entry.round for entry in training]
    first = [entry for entry in training if entry.round == min(rounds)]
    last = [entry for entry in training if entry.round == max(rounds)]
    yield "A failure of the first round", _first(first, _failed)
    yield "A failure of the last round", _first(last, _failed)
    yield "A success of the last evaluation", _hardest(evaluated)
    yield "An error, and success after it", _first(training[::-1], _recovered)
    yield "The longest", max(index, key=lambda entry: entry.turns, default=None)
    yield (
        "The longest success",
        max(
            (entry for entry in index if entry.success), key=lambda entry: entry.turns, default=None
        ),
    )
    for entry in index[::-1][:COUNT]:
        yield "One more", entry


def _failed(entry: IndexEntry) -> bool:
    return not entry.success and entry.turns > 0


def _recovered(entry: IndexEntry) -> bool:
    return entry.success and entry.invalid > 0


def _first(
    entries: Iterable[IndexEntry], wanted: Callable[[IndexEntry], bool]
) -> IndexEntry | None:
    return next((entry for entry in entries if wanted(entry)), None)


def _hardest(entries: list[IndexEntry]) -> IndexEntry | None:
    """Of the last round among `entries`, one of the highest tier."""
    return max(entries, key=lambda entry: (entry.round, entry.tier, entry.turns), default=None)
