from collections import Counter

import pytest

from rung.envs import Template
from rung.envs.office.goal import Goal, goal_of
from rung.envs.office.templates import BASIC, E1, TEMPLATES
from rung.seeding import Seeds

MIXED = {template.tier: template for template in TEMPLATES if template.name == "mixed"}


def goals_of(tier: str, count: int) -> list[Goal]:
    return [goal_of(MIXED[tier].draw(Seeds(31).generator(tier, n))) for n in range(count)]


def test_templates_by_tier() -> None:
    assert Counter(template.tier for template in BASIC) == {"E1": 10, "E2": 1, "E3": 1}
    assert [template.name for template in BASIC][-2:] == ["mixed", "mixed"]
    assert Counter(template.tier for template in TEMPLATES) == {"E1": 12, "E2": 3, "E3": 3}


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda t: f"{t.tier} {t.name}")
def test_a_task_names_its_template(template: Template) -> None:
    task = template.draw(Seeds(31).generator("names"))
    assert (task.environment, task.tier, task.template) == ("office", template.tier, template.name)


@pytest.mark.parametrize("name", E1)
def test_short_tasks_have_the_blocks_of_their_template(name: str) -> None:
    [template] = [template for template in TEMPLATES if template.name == name]
    goal = goal_of(template.draw(Seeds(31).generator(name)))
    assert tuple((block.source.kind, block.sink.kind) for block in goal.blocks) == E1[name]
    assert len(goal.blocks) in (2, 3)


@pytest.mark.parametrize(("tier", "sizes"), [("E2", {4, 5, 6}), ("E3", {8, 9, 10, 11, 12})])
def test_sizes_of_long_tasks(tier: str, sizes: set[int]) -> None:
    assert {len(goal.blocks) for goal in goals_of(tier, 100)} == sizes


@pytest.mark.parametrize("tier", ["E2", "E3"])
def test_long_tasks_mix_all_kinds(tier: str) -> None:
    goals = goals_of(tier, 100)
    kinds = [[(b.source.kind, b.sink.kind) for b in goal.blocks] for goal in goals]
    assert {source for blocks in kinds for source, _ in blocks} == {
        "lookup", "order", "count", "total", "extract", "via", "cheaper", "dearer",
    }  # fmt: skip
    assert {sink for blocks in kinds for _, sink in blocks} == {
        "append", "create", "correct", "send", "report", "attach",
    }  # fmt: skip
    for blocks in kinds:
        if ("cheaper", "report") in blocks:
            at = blocks.index(("cheaper", "report"))
            assert blocks[at + 1] == ("cheaper", "attach")
        labels = [source for source, sink in blocks if sink != "attach"]
        assert labels.count("cheaper") <= 1
        assert labels.count("dearer") <= 1
    reports = sum(("cheaper", "report") in blocks for blocks in kinds)
    assert 15 <= reports <= 55
