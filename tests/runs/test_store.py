import errno
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from by_hand import trajectory

from rung.errors import StoreError
from rung.runs import RunWriter, read_run
from rung.runs.store import LineFile, write_whole


@pytest.fixture
def size_limit():
    """Sets the largest size of a file, as the system enforces it; lifted after the test."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, before)


def test_a_line_that_does_not_fit_is_taken_back_whole(tmp_path, size_limit):
    file = LineFile(tmp_path / "a.jsonl")
    file.append(b"x" * 99 + b"\n")
    size_limit(150)
    with pytest.raises(StoreError, match=r"a\.jsonl: File too large"):
        file.append(b"y" * 99 + b"\n")
    file.append(b"z" * 9 + b"\n")
    size_limit(resource.RLIM_INFINITY)
    file.close()
    assert (tmp_path / "a.jsonl").read_bytes() == b"x" * 99 + b"\n" + b"z" * 9 + b"\n"


def test_a_whole_file_that_does_not_fit_leaves_the_old_one(tmp_path, size_limit):
    write_whole(tmp_path / "a", b"old")
    size_limit(100)
    with pytest.raises(StoreError, match="hint: raise the file size limit"):
        write_whole(tmp_path / "a", b"n" * 200)
    size_limit(resource.RLIM_INFINITY)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old"}


@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_a_failure_at_any_point_leaves_the_old_file(tmp_path, monkeypatch, name):
    def refuse(*_):
        raise OSError(errno.EROFS, "Read-only file system")

    write_whole(tmp_path / "a", b"old")
    monkeypatch.setattr(os, name, refuse)
    with pytest.raises(StoreError, match="Read-only"):
        write_whole(tmp_path / "a", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_create_that_fails_can_be_tried_again(tmp_path, monkeypatch):
    arguments = {"config": {}, "seed": 0, "recipe": "r", "versions": {}}
    real = os.replace
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "x")))
    with pytest.raises(StoreError):
        RunWriter.create(tmp_path / "run", **arguments)
    monkeypatch.setattr(os, "replace", real)
    RunWriter.create(tmp_path / "run", **arguments).close()
    assert read_run(tmp_path / "run").status == "finished"


def test_a_killed_writer_leaves_a_run_that_can_be_read(tmp_path):
    code = """
import sys
from by_hand import trajectory
from rung.runs import RunWriter
run = RunWriter.create(sys.argv[1], config={}, seed=0, recipe="r", versions={})
for number in range(10**6):
    run.trajectories(number, "train", [trajectory(f"r{number}-t0-m{m}") for m in range(4)])
    run.metrics(number, number, {"learner/loss": 1.0}, {})
    if number == 5:
        print("on", flush=True)
"""
    folders = [str(Path(__file__).parent), *sys.path]
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"on\n"
        writer.kill()
    found = read_run(tmp_path / "run")
    rounds = [record.round for record in found.metrics()]
    assert rounds == list(range(len(rounds)))
    assert len(rounds) >= 5
    assert len(list(found.trajectories())) == len(found.index()) >= 4 * len(rounds)
    assert found.status == "unfinished"


def test_a_reader_beside_a_writer_sees_whole_records_in_order(tmp_path):
    run = RunWriter.create(tmp_path / "run", config={}, seed=0, recipe="r", versions={})
    done = threading.Event()

    def write():
        for number in range(60):
            run.trajectories(number, "train", [trajectory(f"r{number}-t0-m0")])
            run.metrics(number, number, {"learner/loss": 1.0}, {})
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    found, seen = read_run(tmp_path / "run"), 0
    while not done.is_set():
        rounds = [record.round for record in found.metrics()]
        assert rounds == list(range(len(rounds)))
        assert len(rounds) >= seen
        assert len(found.index()) >= len(rounds)
        if rounds:
            assert found.trajectory(f"r{rounds[-1]}-t0-m0").turns
        seen = len(rounds)
    writer.join()
    run.close()
    assert len(found.metrics()) == 60
