import os
import pickle
import subprocess
import sys
from typing import Any

import pytest

from rung.core import Task


def make(text: str = "Find the total.", data: Any = None, **fields: Any) -> Task:
    data = {"rows": [1, 2], "goal": {"total": 3}} if data is None else data
    return Task.make(environment="office", text=text, data=data, **fields)


def test_fingerprint_has_its_recorded_value() -> None:
    # blake2b-128 of office\n{"goal":{"total":3},"rows":[1,2]}; it decides a task's split.
    assert make().fingerprint == "50c00618b6baf7d4cd0dda29467c9ad9"


@pytest.mark.parametrize(
    "twin",
    [
        pytest.param(make(text="What is the total?"), id="phrasing"),
        pytest.param(make(data={"goal": {"total": 3}, "rows": [1, 2]}), id="order of keys"),
        pytest.param(make(data={"rows": (1, 2), "goal": {"total": 3}}), id="tuple for list"),
        pytest.param(make(tier="E3"), id="tier"),
        pytest.param(make(template="sums"), id="template"),
        pytest.param(make(step_limit=60), id="step limit"),
    ],
)
def test_fingerprint_is_that_of_the_payload_alone(twin: Task) -> None:
    assert twin.fingerprint == make().fingerprint


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(make(data={"rows": [2, 1], "goal": {"total": 3}}), id="initial state"),
        pytest.param(make(data={"rows": [1, 2], "goal": {"total": 4}}), id="goal"),
        pytest.param(make(data={"rows": [1, 2], "goal": {"total": "3"}}), id="type"),
        pytest.param(
            Task.make(environment="shop", text="Find the total.", data=make().data),
            id="environment",
        ),
    ],
)
def test_fingerprint_differs_with_state_goal_and_environment(other: Task) -> None:
    assert other.fingerprint != make().fingerprint


def test_id_names_the_task_and_tells_phrasings_apart() -> None:
    task = make(tier="E2", template="sums")
    assert task.id.startswith("office/E2/sums/")
    assert task.id == make(tier="E2", template="sums").id
    assert task.id != make(text="What is the total?", tier="E2", template="sums").id


def test_data_is_decoded_afresh() -> None:
    task = make()
    task.data["rows"].append(9)
    assert task.data == {"rows": [1, 2], "goal": {"total": 3}}


def test_task_is_a_value() -> None:
    assert make() == make()
    assert len({make(), make(), make(tier="E2")}) == 2
    assert pickle.loads(pickle.dumps(make())) == make()
    with pytest.raises(AttributeError):
        make().tier = "E2"  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("data", [float("nan"), {"x": [float("inf")]}], ids=["nan", "inf"])
def test_payload_is_strict_json(data: Any) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        make(data=data)


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_fingerprint_is_the_same_under_any_pythonhashseed(hash_seed: str) -> None:
    script = (
        "from rung.core import Task;"
        "data = {'rows': [1, 2], 'goal': {'total': 3}};"
        "print(Task.make(environment='office', text='x', data=data).fingerprint)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    )
    assert done.stdout.strip() == make().fingerprint
