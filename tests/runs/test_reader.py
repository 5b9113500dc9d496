import pytest
from by_hand import same, trajectory

from rung.errors import StoreError
from rung.runs import RunWriter, read_run


@pytest.fixture
def run(tmp_path):
    writer = RunWriter.create(
        tmp_path / "run", config={"x": 1}, seed=0, recipe="r", versions={"python": "3"}
    )
    for number in (1, 2):
        writer.trajectories(number, "train", [trajectory(f"r{number}-t0-m{m}") for m in range(3)])
        writer.metrics(number, number, {"learner/loss": 1.0 / number}, {})
    writer.trajectories(2, "eval-greedy", [trajectory("eval-0")])
    return tmp_path / "run", writer


def test_everything_comes_back(run):
    folder, writer = run
    found = read_run(folder)
    assert found.config == {"x": 1}
    assert found.info.recipe == "r"
    assert [r.values["learner/loss"] for r in found.metrics()] == [1.0, 0.5]
    assert [t.id for t in found.trajectories(kind="train", round=2)] == [
        "r2-t0-m0",
        "r2-t0-m1",
        "r2-t0-m2",
    ]
    assert same(found.trajectory("r1-t0-m2"), trajectory("r1-t0-m2"))
    assert found.index()[0].total == pytest.approx(3 * 0.49)
    writer.close()


def test_a_live_run_grows_under_the_reader(run):
    folder, writer = run
    found = read_run(folder)
    assert len(found.metrics()) == 2
    writer.metrics(3, 3, {"learner/loss": 0.1}, {})
    assert len(found.metrics()) == 3


def test_a_half_written_line_is_left_for_later(run):
    folder, _ = run
    with (folder / "metrics.jsonl").open("ab") as file:
        file.write(b'{"round": 3, "val')
    assert [r.round for r in read_run(folder).metrics()] == [1, 2]


def test_a_damaged_chunk_loses_only_itself(run):
    folder, _ = run
    chunk = sorted((folder / "trajectories").glob("00001-train*"))[0]
    chunk.write_bytes(chunk.read_bytes()[:50])
    found = read_run(folder)
    assert {t.id for t in found.trajectories()} == {
        "r2-t0-m0",
        "r2-t0-m1",
        "r2-t0-m2",
        "eval-0",
    }
    with pytest.raises(StoreError):
        found.trajectory("r1-t0-m2")


def test_what_is_no_run_is_said(tmp_path):
    with pytest.raises(StoreError, match="is no run"):
        read_run(tmp_path / "nowhere")
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(StoreError, match="is no run"):
        read_run(tmp_path)


def test_an_unknown_trajectory_is_said(run):
    with pytest.raises(StoreError, match="no trajectory"):
        read_run(run[0]).trajectory("r9")
