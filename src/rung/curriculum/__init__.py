"""Which tasks come when: splits by content, and the stream of tasks."""

from rung.curriculum.split import EVAL, EVAL_SHARE, TRAIN, assert_disjoint, split_of
from rung.curriculum.stream import TaskStream

__all__ = ["EVAL", "EVAL_SHARE", "TRAIN", "TaskStream", "assert_disjoint", "split_of"]
