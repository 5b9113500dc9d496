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
    chunk = folder / "trajectories" / "00001-train.msgpack.zst"
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


def test_a_missing_chunk_loses_only_itself(run):
    folder, _ = run
    (folder / "trajectories" / "00001-train.msgpack.zst").unlink()
    assert len(list(read_run(folder).trajectories())) == 4


def test_a_cut_chunk_still_gives_what_comes_before_the_cut(run):
    folder, _ = run
    chunk = folder / "trajectories" / "00001-train.msgpack.zst"
    chunk.write_bytes(chunk.read_bytes()[:-1])
    found = [t.id for t in read_run(folder).trajectories(kind="train", round=1)]
    assert found == ["r1-t0-m0", "r1-t0-m1"]


def test_a_damaged_line_loses_only_itself(run):
    folder, _ = run
    lines = (folder / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "metrics.jsonl").write_bytes(lines[0] + b'{"round"\xff\n[1]\n{}\n' + lines[1])
    assert [r.round for r in read_run(folder).metrics()] == [1, 2]


def test_an_index_cannot_point_out_of_its_folder(run):
    folder, _ = run
    index = folder / "trajectories" / "index.jsonl"
    index.write_text(index.read_text().replace("00001-train", "../../00001-train"))
    with pytest.raises(StoreError, match="outside"):
        read_run(folder).trajectory("r1-t0-m0")


def test_a_run_of_a_later_version_is_said(run):
    folder, _ = run
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_text(text.replace('"schema_version":1', '"schema_version":2,"x":1'))
    with pytest.raises(StoreError, match="schema version 2"):
        read_run(folder)
    (folder / "run.json").write_text(text.replace('"schema_version":1', '"schema_version":1,"x":1'))
    assert read_run(folder).info.schema_version == 1
