import errno
import json
import os

import pytest
from by_hand import trajectory

from rung.errors import StoreError
from rung.runs import RunWriter, read_run

ARGUMENTS = {
    "config": {"rounds": 3},
    "seed": 5,
    "recipe": "office",
    "versions": {"python": "3"},
}


def create(path):
    return RunWriter.create(path, **ARGUMENTS)


def test_what_is_written_is_strict_json_and_told_apart_from_the_clock(tmp_path):
    with create(tmp_path / "run") as run:
        values = {"learner/loss": float("nan"), "rollout/success_share": 0.5}
        run.metrics(1, 1, values, {"timing/rollout_seconds": 2.0})

    def refuse(name):
        raise AssertionError(f"not strict: {name}")

    line = (tmp_path / "run" / "metrics.jsonl").read_text()
    record = json.loads(line, parse_constant=refuse)
    assert record["values"] == {"learner/loss": None, "rollout/success_share": 0.5}
    assert record["timing"] == {"timing/rollout_seconds": 2.0}
    assert set(record) == {"schema_version", "round", "policy_version", "values", "timing", "at"}


@pytest.mark.parametrize(
    ("values", "timing", "text"),
    [
        ({"rollout/sucess_share": 1.0}, {}, "rollout/success_share"),
        ({"timing/rollout_seconds": 1.0}, {}, "values"),
        ({}, {"learner/loss": 1.0}, "timing"),
    ],
)
def test_an_undeclared_or_misplaced_metric_is_refused(tmp_path, values, timing, text):
    with create(tmp_path / "run") as run, pytest.raises(StoreError, match=text):
        run.metrics(1, 1, values, timing)


def test_a_run_is_never_written_over(tmp_path):
    create(tmp_path / "run").close()
    with pytest.raises(StoreError, match="not empty"):
        create(tmp_path / "run")


def test_a_full_disk_is_said_and_harms_nothing(tmp_path, monkeypatch):
    run = create(tmp_path / "run")
    run.metrics(1, 1, {"learner/loss": 1.0}, {})
    run.trajectories(1, "train", [trajectory()])
    real = os.write

    def full(descriptor, data):
        if len(data) > 20:
            real(descriptor, bytes(data)[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StoreError, match="No space left"):
        run.metrics(2, 2, {"learner/loss": 1.0}, {})
    with pytest.raises(StoreError, match="No space left"):
        run.trajectories(2, "train", [trajectory("r2-t0-m0")])
    monkeypatch.setattr(os, "write", real)
    run.metrics(3, 3, {"learner/loss": 1.0}, {})
    found = read_run(tmp_path / "run")
    assert [record.round for record in found.metrics()] == [1, 3]
    assert [t.id for t in found.trajectories()] == ["r1-t0-m0"]


def test_the_end_of_a_run_is_recorded(tmp_path):
    with pytest.raises(KeyboardInterrupt), create(tmp_path / "a"):
        raise KeyboardInterrupt
    with pytest.raises(ZeroDivisionError), create(tmp_path / "b"):
        raise ZeroDivisionError("no")
    with create(tmp_path / "c") as run:
        assert read_run(tmp_path / "c").status == "unfinished"
    assert [read_run(tmp_path / n).status for n in "abc"] == ["interrupted", "failed", "finished"]
    with pytest.raises(StoreError, match="closed"):
        run.event("warning", message="late")


def test_unknown_events_and_kinds_are_refused(tmp_path):
    with create(tmp_path / "run") as run:
        with pytest.raises(StoreError, match="unknown event"):
            run.event("evaluatoin")
        with pytest.raises(StoreError, match="kind"):
            run.trajectories(1, "../train", [trajectory()])
