"""Which tasks come when: splits by content, the stream of tasks, and the ladder of tiers."""

from rung.curriculum.ladder import Change, Ladder, LadderConfig, Tally
from rung.curriculum.split import EVAL, EVAL_SHARE, TRAIN, assert_disjoint, split_of
from rung.curriculum.stream import TaskStream

__all__ = [
    "EVAL",
    "EVAL_SHARE",
    "TRAIN",
    "Change",
    "Ladder",
    "LadderConfig",
    "Tally",
    "TaskStream",
    "assert_disjoint",
    "split_of",
]
