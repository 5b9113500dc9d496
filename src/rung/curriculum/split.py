"""Train and eval splits: a function of what a task contains, so they cannot share an instance."""

from collections.abc import Iterable

from rung.core import Task
from rung.errors import TaskError

TRAIN, EVAL = "train", "eval"
EVAL_SHARE = 0.1
"""Share of all tasks that belong to the eval split."""


def split_of(task: Task) -> str:
    """`train` or `eval`, decided by the content fingerprint alone."""
    position = int(task.fingerprint[:8], 16) / 2**32
    return EVAL if position < EVAL_SHARE else TRAIN


def assert_disjoint(train: Iterable[Task], held_out: Iterable[Task]) -> None:
    """Raise if a task occurs on both sides, whatever its phrasing.

    Raises:
        TaskError: it does; evaluation would flatter.
    """
    seen = {task.fingerprint for task in held_out}
    for task in train:
        if task.fingerprint in seen or split_of(task) == EVAL:
            raise TaskError(
                f"task {task.id!r} is used for training and belongs to the eval split",
                hint="draw training tasks from a TaskStream with split='train'",
            )
