"""The whole generator: what its tasks are made of, and what its rules ask for."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from rung.core import Task
from rung.envs import Template, TextActions, make
from rung.envs.observation_limit import cut_text
from rung.envs.office import expert, office
from rung.envs.office.goal import Block, Goal, clock, goal_of, payload_of
from rung.envs.office.judge import success
from rung.envs.office.templates import BASIC, TEMPLATES
from rung.envs.office.world import OPENING, Office, Reminder
from rung.envs.playing import acting, play, saying, tasks_of
from rung.seeding import Seeds

FURTHER = [template for template in TEMPLATES if template not in BASIC]
SIZES = {"E1": {2, 3}, "E2": {4, 5, 6}, "E3": {8, 9, 10, 11, 12}}


def tasks(template: Template, count: int = 60) -> list[Task]:
    return list(tasks_of(template, count, seeds=Seeds(51)))


@pytest.fixture(params=FURTHER, ids=lambda template: f"{template.tier} {template.name}")
def template(request: pytest.FixtureRequest) -> Template:
    return request.param


def goals(tier: str) -> list[Goal]:
    return [goal_of(task) for t in FURTHER if t.tier == tier for task in tasks(t)]


def test_sizes(template: Template) -> None:
    assert {len(goal_of(task).blocks) for task in tasks(template)} == SIZES[template.tier]


def test_the_flagship_reports_and_mails_at_every_tier() -> None:
    for template in (t for t in FURTHER if t.name == "flagship"):
        forms: Counter[str] = Counter()
        deadlines = 0
        for task in tasks(template):
            blocks = goal_of(task).blocks
            (at,) = [i for i, block in enumerate(blocks) if block.sink.kind == "report"]
            report, mail = blocks[at : at + 2]
            assert (mail.sink.kind, mail.sink.file) == ("attach", report.sink.file)
            forms[report.sink.form] += 1
            deadlines += mail.sink.by > 0
        assert set(forms) == {"lines", "csv", "markdown"}
        assert 10 < deadlines < 50


def test_all_building_blocks_occur() -> None:
    sources = {b.source.kind for goal in goals("E3") for b in goal.blocks}
    sinks = {b.sink.kind for goal in goals("E3") for b in goal.blocks}
    assert sources == {
        "lookup", "order", "count", "total", "extract", "via", "join", "cost", "deep",
        "larger", "sum", "cheaper",
    }  # fmt: skip
    assert sinks == {
        "append", "create", "correct", "send", "report", "attach", "approved", "remind",
    }  # fmt: skip


def test_what_needs_a_tool_waits_until_it_is_open() -> None:
    for tier, closed in (("E1", {"deep", "approved", "remind"}), ("E2", {"approved", "remind"})):
        kinds = {
            kind
            for goal in goals(tier)
            for b in goal.blocks
            for kind in (b.source.kind, b.sink.kind)
        }
        assert not kinds & closed


def test_blocks_build_on_earlier_ones_and_entries_have_their_own_names() -> None:
    added = 0
    for goal in (*goals("E2"), *goals("E3")):
        for index, block in enumerate(goal.blocks):
            assert all(earlier < index for earlier in block.source.of)
        labels = [b.source.label for b in goal.blocks if b.sink.kind != "attach"]
        assert len(set(labels)) == len(labels)
        added += goal.plus >= 0
        if goal.plus >= 0:
            numbers = [int(goal.blocks[i].value) for i in (goal.answer, goal.plus)]
            assert goal.result == f"sum: {sum(numbers)}"
    assert added > 10


def test_both_languages_occur_and_name_everything(template: Template) -> None:
    chinese = 0
    for task in tasks(template):
        is_chinese = any("\u4e00" <= letter <= "\u9fff" for letter in task.text)
        chinese += is_chinese
        assert "{" not in task.text
        assert ("ubmit" in task.text) != is_chinese
        for block in goal_of(task).blocks:
            source, sink = block.source, block.sink
            for name in (source.item, source.customer, source.file, sink.file, sink.person):
                assert name in task.text
            assert not sink.by or clock(sink.by) in task.text
    assert 6 <= chinese <= 36  # of 60, at a share of 0.3


def test_a_long_list_is_cut_before_its_line() -> None:
    found = [(g, b) for g in goals("E2") for b in g.blocks if b.source.kind == "deep"]
    assert found
    for goal, block in found:
        text = goal.world.files[block.source.file]
        line = f"{block.source.item}: {block.value}"
        assert text.splitlines().count(line) == 1
        assert line not in cut_text(text, 2_000)


def test_the_expert_needs_at_most_four_fifths_of_the_turns() -> None:
    env = make(office())
    for template in FURTHER:
        for task in tasks(template, 20):
            played = play(env, task, acting(expert(task)))
            assert played.stop == "success"
            assert len(played.turns) <= 0.8 * task.step_limit
    env.close()


def test_a_basic_payload_has_no_fields_that_it_does_not_need() -> None:
    (task,) = tasks_of(BASIC[0], 1, seeds=Seeds(0))
    assert set(task.data) == {"answer", "blocks", "world"}
    assert set(task.data["blocks"][0]["sink"]) == {"kind", "file", "person"}
    assert json.loads(json.dumps(payload_of(goal_of(task)))) == task.data


def has_it_all(goal: Goal) -> bool:
    """An approval, a reminder and a deadline are among the blocks."""
    kinds = {block.sink.kind for block in goal.blocks}
    timed = any(block.sink.kind == "send" and block.sink.by for block in goal.blocks)
    return {"approved", "remind"} <= kinds and timed


@pytest.fixture
def finished() -> Iterator[tuple[TextActions, Task, Office]]:
    """An E3 task with everything in it, done by the expert but for handing in the result."""
    env = make(office())
    template = next(t for t in FURTHER if t.tier == "E3" and t.name == "flagship")
    task = next(task for task in tasks(template, 200) if has_it_all(goal_of(task)))
    messages = play(env, task, acting(expert(task))).messages
    play(env, task, saying(messages[:-1]))
    state: Office = env.base.state
    state.answer = goal_of(task).result
    assert success(state)
    yield env, task, state
    env.close()


def block_with(task: Task, **wanted: object) -> Block:
    return next(
        b for b in goal_of(task).blocks if all(getattr(b.sink, k) == v for k, v in wanted.items())
    )


def test_a_message_after_its_deadline_is_late(finished: tuple[TextActions, Task, Office]) -> None:
    _, task, state = finished
    block = next(b for b in goal_of(task).blocks if b.sink.kind == "send" and b.sink.by)
    at = next(i for i, m in enumerate(state.messages) if m.to == block.address)
    state.messages[at] = replace(state.messages[at], at=block.sink.by)
    assert success(state)
    state.messages[at] = replace(state.messages[at], at=block.sink.by + 1)
    assert not success(state)


def test_approval_given_later_does_not_count(finished: tuple[TextActions, Task, Office]) -> None:
    _, task, state = finished
    block = block_with(task, kind="approved")
    at = next(i for i, m in enumerate(state.messages) if m.to == block.address)
    state.messages[at] = replace(state.messages[at], approved=False)
    assert not success(state)
    state.messages.append(replace(state.messages[at], approved=True))
    assert not success(state), "the first message was not allowed"


def test_a_reminder_needs_its_time_and_its_entry(
    finished: tuple[TextActions, Task, Office],
) -> None:
    _, task, state = finished
    block = block_with(task, kind="remind")
    right = Reminder(at=block.sink.by, text=block.entry)
    others = [r for r in state.reminders if r != right]
    for reminder, holds in (
        (right, True),
        (replace(right, at=right.at + 1), False),
        (replace(right, text="see above"), False),
    ):
        state.reminders = [*others, reminder]
        assert success(state) is holds


@pytest.mark.parametrize("form", ["lines", "csv", "markdown"])
def test_a_report_holds_in_its_own_form_only(form: str) -> None:
    env = make(office())
    template = next(t for t in FURTHER if t.tier == "E1" and t.name == "flagship")
    task = next(
        t for t in tasks(template, 200)
        if any(b.sink.form == form and b.sink.kind == "report" for b in goal_of(t).blocks)
    )  # fmt: skip
    block = block_with(task, kind="report")
    messages = play(env, task, acting(expert(task))).messages
    play(env, task, saying(messages[:-1]))
    state: Office = env.base.state
    state.answer = goal_of(task).result
    for other in ("lines", "csv", "markdown"):
        text = replace(block, sink=replace(block.sink, form=other)).report
        state.write(block.sink.file, text)
        state.messages = [
            replace(m, attached_text=text) if m.attachment == block.sink.file else m
            for m in state.messages
        ]
        assert success(state) is (other == form)
    env.close()


def test_the_clock() -> None:
    assert [clock(minutes) for minutes in (OPENING, 545, 1439)] == ["9:00", "9:05", "23:59"]
