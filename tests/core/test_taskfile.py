import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rung.core import Task
from rung.core.taskfile import MAX_LINE, read_tasks, task_line, task_of, write_tasks
from rung.errors import TaskError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text("ab\n\u2028é"),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("ab"), inner),
    max_leaves=8,
)
TASK = Task.make(environment="toy", text="Count to 5.", data={"goal": 5}, step_limit=6)


def line(**fields: object) -> str:
    return json.dumps({"environment": "toy", "text": "Count.", "data": 1, **fields})


@given(data=JSON, text=st.text("ab\n\r\u2028é"), limit=st.integers(1, 100))
def test_a_task_comes_back(data: object, text: str, limit: int) -> None:
    task = Task.make(environment="toy", tier="E2", text=text, data=data, step_limit=limit)
    assert task_of(task_line(task)) == task
    assert "\n" not in task_line(task)


def test_a_file_comes_back(tmp_path: Path) -> None:
    tasks = [TASK, Task.make(environment="toy", text="2", data=2)]
    write_tasks(tmp_path / "tasks.jsonl", tasks)
    assert read_tasks(tmp_path / "tasks.jsonl") == tasks
    assert [path.name for path in tmp_path.iterdir()] == ["tasks.jsonl"]


def test_what_is_left_out_has_a_default() -> None:
    task = task_of(line())
    assert (task.tier, task.template, task.step_limit) == ("E1", "default", 15)


def test_empty_lines_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(f"\n{line()}\n\n{task_line(TASK)}\n\n")
    assert len(read_tasks(tmp_path / "t")) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a task"),
        ("[]", "not a task"),
        (line(step_limit="6"), "step_limit"),
        (line(step_limit=0), "step_limit must be at least 1, got 0"),
        (line(tiers="E1"), "tiers"),
        ('{"environment": "toy", "text": "x"}', "data"),
        ("[" * 100_000, "not a task"),
        ('{"environment": "toy", "text": "x", "data": NaN}', "not a task"),
        (line(text="x" * MAX_LINE), "at most"),
    ],
)
def test_a_line_that_is_no_task(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(f"{task_line(TASK)}\n{text}\n")
    with pytest.raises(TaskError, match=message) as caught:
        read_tasks(path)
    assert str(caught.value).startswith(f"{path}:2: ")


def test_a_changed_task_is_noticed() -> None:
    changed = task_line(TASK).replace('"goal":5', '"goal":6')
    with pytest.raises(TaskError, match="is not that of the content"):
        task_of(changed)


def test_a_task_that_stands_twice(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(f"{task_line(TASK)}\n{task_line(TASK)}\n")
    with pytest.raises(TaskError, match=":2: the same task as line 1"):
        read_tasks(tmp_path / "t")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="No such file"):
        read_tasks(tmp_path / "missing.jsonl")
    with pytest.raises(TaskError, match="cannot write tasks"):
        write_tasks(tmp_path / "missing" / "t", [TASK])


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b'{"environment": "\xff"}')
    with pytest.raises(TaskError, match=":1: not a task"):
        read_tasks(tmp_path / "t")
