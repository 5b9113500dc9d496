import gc
import json
from pathlib import Path

import pytest

from rung.core import Task
from rung.envs import Guards, make
from rung.envs.office.goal import Goal
from rung.envs.office.world import (
    MAX_FILE_CHARACTERS,
    MAX_FILES,
    Message,
    Office,
    load,
    save,
)
from rung.errors import ToolError

BAD_NAMES = [
    "",
    ".",
    "..",
    "../canary.txt",
    "..\\canary.txt",
    "/etc/passwd",
    "a/b.txt",
    "a\\b.txt",
    "./notes7.txt",
    "~/notes7.txt",
    "notes7.txt\0",
    "notes7.txt\n",
    " notes7.txt",
    "notes7 .txt",
    ".hidden",
    "-rf",
    "notes7.",
    "notes7.txt.",
    "notes7.txt ",
    "nul",
    "NUL.txt",
    "Con",
    "com1.txt",
    "lpt9.tar.gz",
    "x" * 65,
    "x" * 100_000,
    "notes7.txt:stream",
    "notes*.txt",
    "n\u00f6tes.txt",
    "\uff0e\uff0e/canary.txt",
    "notes7\u200b.txt",
    "%2e%2e%2fcanary.txt",
    "file:///etc/passwd",
]


def test_a_world_becomes_files_and_tables(office: Office, goal: Goal) -> None:
    assert office.files() == dict(sorted(goal.world.files.items()))
    assert office.database.contents()["products"] == list(goal.world.products)
    assert (office.messages, office.answer) == ([], None)


def test_files_are_written_and_read_as_they_are(office: Office) -> None:
    for text in ("", "a\r\nb\rc\n", "\u00e9 \U0001f680 \ufeff", "x" * MAX_FILE_CHARACTERS):
        office.write("new.txt", text)
        assert office.read("new.txt") == office.text_of("new.txt") == text
    assert office.exists("new.txt")


def test_a_file_that_is_not_there(office: Office) -> None:
    assert not office.exists("new.txt")
    assert office.text_of("new.txt") == ""
    with pytest.raises(ToolError, match=r"no file 'new\.txt'"):
        office.read("new.txt")


@pytest.mark.parametrize("name", BAD_NAMES)
def test_bad_names_are_refused(office: Office, name: str) -> None:
    for use in (office.read, office.exists, lambda name: office.write(name, "x")):
        with pytest.raises(ToolError, match="bad file name") as caught:
            use(name)
        assert len(str(caught.value)) < 200
    assert len(office.files()) == 3


@pytest.mark.parametrize("name", ["a", "A-b_c.9", "x" * 64, "console.txt", "a.con", "0", "_"])
def test_plain_names_are_taken(office: Office, name: str) -> None:
    office.write(name, "x")
    assert office.read(name) == "x"


def test_names_that_differ_in_case_only_are_one(office: Office) -> None:
    with pytest.raises(ToolError, match=r"the name 'Notes7\.txt' is taken"):
        office.write("Notes7.txt", "x")
    assert not office.exists("NOTES7.TXT")
    with pytest.raises(ToolError, match="no file"):
        office.read("NOTES7.TXT")


def test_links_are_neither_read_nor_written_through(office: Office, tmp_path: Path) -> None:
    canary = tmp_path / "canary.txt"
    canary.write_text("alive")
    (office.folder / "link.txt").symlink_to(canary)
    (office.folder / "dangling.txt").symlink_to(tmp_path / "new.txt")
    (office.folder / "out").symlink_to(tmp_path)
    for name in ("link.txt", "dangling.txt", "out"):
        assert not office.exists(name)
        assert office.text_of(name) == ""
        with pytest.raises(ToolError, match="no file"):
            office.read(name)
        with pytest.raises(ToolError, match="is taken"):
            office.write(name, "x")
    assert canary.read_text() == "alive"
    assert [path.name for path in tmp_path.iterdir()] == ["canary.txt"]
    assert len(office.files()) == 3


def test_writing_does_not_reach_a_hard_link(office: Office, tmp_path: Path) -> None:
    canary = tmp_path / "canary.txt"
    canary.write_text("alive")
    (office.folder / "hard.txt").hardlink_to(canary)
    office.write("hard.txt", "x")
    assert (office.read("hard.txt"), canary.read_text()) == ("x", "alive")


def test_size_and_number_of_files_are_bounded(office: Office) -> None:
    with pytest.raises(ToolError, match="at most 20000 characters"):
        office.write("big.txt", "x" * (MAX_FILE_CHARACTERS + 1))
    assert not office.exists("big.txt")
    for index in range(MAX_FILES - 3):
        office.write(f"f{index}.txt", "")
    with pytest.raises(ToolError, match="at most 64 files"):
        office.write("more.txt", "")
    office.write("f0.txt", "an old one may still be written")


def test_closing_removes_the_folder(goal: Goal) -> None:
    office = Office(goal)
    assert office.folder.is_dir()
    office.close()
    office.close()
    assert not office.folder.exists()


def test_an_office_that_nobody_closed_goes_with_its_folder(goal: Goal) -> None:
    office = Office(goal)
    folder = office.folder
    del office
    gc.collect()
    assert not folder.exists()


def test_a_state_comes_back_through_json(office: Office, task: Task) -> None:
    office.write("new.txt", "a\r\nb")
    (office.folder / "memo5.txt").unlink()
    office.messages.append(
        Message(to="a@office.example", text="t", attachment="new.txt", attached_text="a")
    )
    office.answer = "4"
    saved = json.dumps(save(office))
    twin = load(task, json.loads(saved))
    assert json.dumps(save(twin)) == saved
    assert twin.files() == office.files()
    assert (twin.messages, twin.answer) == (office.messages, "4")
    twin.close()


def test_through_the_whole_stack_bad_names_are_observations() -> None:
    env = make("office", Guards(invalid_streak=None, step_limit=1_000))
    env.reset(seed=0)
    state: Office = env.base.state
    files, person = state.files(), state.goal.world.employees[0][1]
    for name in BAD_NAMES:
        for tool, arguments in (
            ("read_file", {"path": name}),
            ("edit_document", {"path": name, "text": "x"}),
            ("edit_document", {"path": name, "text": "x", "mode": "create"}),
            ("send_message", {"to": person, "text": "", "attachment": name, "confirm": True}),
        ):
            message = json.dumps({"action": tool, "arguments": arguments})
            observation, _, _, _, info = env.step(message)
            assert info["turn"].invalid
            assert observation.startswith(("error: bad file name", "format error, too_large"))
    assert (state.files(), state.messages) == (files, [])
    env.close()
