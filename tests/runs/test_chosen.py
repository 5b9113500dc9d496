from by_hand import trajectory

from rung.core import StopReason
from rung.runs import RunWriter, read_run
from rung.runs.chosen import chosen_trajectories

FAILED = StopReason.STEP_LIMIT


def chosen(folder, stored):
    with RunWriter.create(folder, config={}, seed=0, recipe="r", versions={}) as run:
        for number, kind, trajectories in stored:
            run.trajectories(number, kind, trajectories)
    return {why: t.id for why, _, t in chosen_trajectories(read_run(folder))}


def test_each_of_the_five_has_its_reason(tmp_path):
    found = chosen(
        tmp_path / "run",
        [
            (1, "train", [trajectory("a"), trajectory("b", stop=FAILED)]),
            (2, "train", [trajectory("c", stop=FAILED, turns=9)]),
            (3, "train", [trajectory("d"), trajectory("e", stop=FAILED, turns=1)]),
            (1, "eval-greedy", [trajectory("f")]),
            (3, "eval-greedy", [trajectory("g"), trajectory("h", stop=FAILED)]),
        ],
    )
    assert found == {
        "A failure of the first round": "b",
        "A failure of the last round": "e",
        "A success of the last evaluation": "g",
        "An error, and success after it": "d",
        "The longest": "c",
    }


def test_few_are_all_shown_and_none_twice(tmp_path):
    found = chosen(tmp_path / "run", [(1, "train", [trajectory("a", stop=FAILED)])])
    assert list(found.values()) == ["a"]
    assert chosen(tmp_path / "empty", []) == {}
