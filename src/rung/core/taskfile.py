"""Task files: one JSON object per line, to keep, share and inspect tasks.

A line holds `environment`, `tier`, `template`, `text`, `step_limit` and `data`; an `id` as well
where the task shall not be changed unnoticed.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from rung.core.task import Task
from rung.errors import TaskError

MAX_LINE = 10_000_000
"""Longest line, in bytes."""


class _Line(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    environment: str
    text: str
    data: Any
    tier: str = "E1"
    template: str = "default"
    step_limit: int = 15
    id: str | None = None


def task_line(task: Task) -> str:
    """A task as one line of a task file."""
    line = _Line(
        id=task.id,
        environment=task.environment,
        tier=task.tier,
        template=task.template,
        text=task.text,
        step_limit=task.step_limit,
        data=task.data,
    )
    return msgspec.json.encode(line).decode()


def task_of(line: str | bytes) -> Task:
    """The task of one line of a task file.

    Raises:
        TaskError: the line is no task, or its id is not that of its content.
    """
    if len(line) > MAX_LINE:
        raise TaskError(f"a task takes at most {MAX_LINE} bytes, got {len(line)}")
    try:
        found = msgspec.json.decode(line, type=_Line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise TaskError(f"not a task: {error}") from error
    if found.step_limit < 1:
        raise TaskError(f"not a task: step_limit must be at least 1, got {found.step_limit}")
    task = Task.make(
        environment=found.environment,
        tier=found.tier,
        template=found.template,
        text=found.text,
        step_limit=found.step_limit,
        data=found.data,
    )
    if found.id not in (None, task.id):
        raise TaskError(
            f"the id {found.id!r} is not that of the content, {task.id!r}",
            hint="remove the id if the task was changed on purpose",
        )
    return task


def read_tasks(path: Path) -> list[Task]:
    """The tasks of a file, in order. Empty lines are skipped.

    Raises:
        TaskError: the file cannot be read, a line is no task (named by its number), or two lines
            hold the same one.
    """
    tasks: dict[str, tuple[int, Task]] = {}
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise TaskError(f"cannot read tasks from {path}: {error.strerror}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            task = task_of(line)
        except TaskError as error:
            raise TaskError(f"{path}:{number}: {error.message}", hint=error.hint) from error
        if task.id in tasks:
            raise TaskError(f"{path}:{number}: the same task as line {tasks[task.id][0]}")
        tasks[task.id] = (number, task)
    return [task for _, task in tasks.values()]


def write_tasks(path: Path, tasks: Iterable[Task]) -> None:
    """Write a task file, whole or not at all.

    Raises:
        TaskError: the file cannot be written.
    """
    text = "".join(f"{task_line(task)}\n" for task in tasks)
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    except OSError as error:
        raise TaskError(f"cannot write tasks to {path}: {error.strerror}") from error
