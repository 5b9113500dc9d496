from collections import Counter
from typing import Any

import numpy as np
import pytest

from rung.core import Action, StopReason, Task
from rung.envs import Guards, TextActions, make
from rung.envs.office import HUMAN, Slips, demonstrator, expert, office
from rung.seeding import Seeds

DEFINITION = office()


def tasks_of(tier: str, count: int) -> list[Task]:
    templates = DEFINITION.of_tier(tier)
    return [
        templates[index % len(templates)].draw(Seeds(21).generator(tier, index))
        for index in range(count)
    ]


def play(env: TextActions, task: Task, policy: Any) -> tuple[StopReason, list[Action]]:
    env.reset(seed=0, options={"task": task})
    actions = [next(policy)]
    while True:
        observation, _, _, _, info = env.step(actions[-1].text)
        if info["stop"] is not None:
            return info["stop"], actions
        actions.append(policy.send(observation))


def test_the_expert_by_hand(task: Task) -> None:
    env = make(DEFINITION)
    stop, actions = play(env, task, expert(task))
    assert stop is StopReason.SUCCESS
    price = "SELECT price FROM products WHERE name = 'lamp33'"
    quantity = "SELECT quantity FROM orders WHERE customer = 'Acme' AND product = 'desk12'"
    total = "SELECT SUM(quantity) FROM orders WHERE customer = 'Borealis'"
    cheaper = "SELECT name FROM products WHERE name IN ('lamp33', 'desk12') ORDER BY price LIMIT 1"
    anna, boris = (f"SELECT email FROM employees WHERE name = '{name}'"
                   for name in ("Anna Reed", "Boris Stone"))  # fmt: skip
    assert [(action.name, dict(action.arguments)) for action in actions] == [
        ("query_database", {"sql": price}),
        ("edit_document", {"path": "notes7.txt", "text": "lamp33: 120"}),
        ("query_database", {"sql": quantity}),
        ("query_database", {"sql": anna}),
        ("send_message", {"to": "anna11@office.example", "text": "Acme: 4", "confirm": True}),
        ("read_file", {"path": "memo5.txt"}),
        ("edit_document", {"path": "ledger2.txt", "text": "memo5: 42", "mode": "create"}),
        ("query_database", {"sql": total}),
        ("read_file", {"path": "review8.txt"}),
        (
            "edit_document",
            {
                "path": "review8.txt",
                "text": "Borealis: 15",
                "mode": "replace",
                "find": "Borealis: 1500",
            },
        ),
        ("query_database", {"sql": cheaper}),
        ("query_database", {"sql": "SELECT price FROM products WHERE name = 'desk12'"}),
        (
            "edit_document",
            {"path": "report9.txt", "text": "item: desk12\nprice: 80", "mode": "create"},
        ),
        ("query_database", {"sql": boris}),
        (
            "send_message",
            {
                "to": "boris22@office.example",
                "text": "report",
                "attachment": "report9.txt",
                "confirm": True,
            },
        ),
        ("submit_result", {"answer": "Acme: 4"}),
    ]


def test_human_slips_are_the_recorded_ones() -> None:
    recorded = Slips(
        skip=0.25, early=0.12, forget=0.4, ignore=0.5, repeat=0.08, wander=0.06, confuse=0.12
    )
    assert recorded == HUMAN


def test_a_human_succeeds_at_25_to_50_percent_of_short_tasks() -> None:
    env = make(DEFINITION)
    stops = Counter(
        play(env, task, demonstrator(task, Seeds(22).generator(index)))[0]
        for index, task in enumerate(tasks_of("E1", 300))
    )
    assert 0.25 <= stops[StopReason.SUCCESS] / 300 <= 0.50, stops
    assert stops[StopReason.WRONG_SUBMISSION] >= 100
    env.close()


def test_a_demonstrator_without_slips_is_the_expert() -> None:
    env = make(DEFINITION)
    for task in tasks_of("E1", 10):
        plain = demonstrator(task, np.random.default_rng(5), Slips())
        one = [action.text for action in play(env, task, plain)[1]]
        assert one == [action.text for action in play(env, task, expert(task))[1]]
    env.close()


def test_a_demonstrator_follows_its_generator() -> None:
    env = make(DEFINITION)
    [task] = tasks_of("E3", 1)

    def actions(seed: int) -> list[str]:
        policy = demonstrator(task, np.random.default_rng(seed))
        return [action.text for action in play(env, task, policy)[1]]

    assert actions(1) == actions(1)
    assert len({tuple(actions(seed)) for seed in range(8)}) > 4
    env.close()


@pytest.mark.parametrize(
    ("slips", "solved"),
    [
        (Slips(skip=1.0), False),
        (Slips(early=1.0), False),
        (Slips(forget=1.0), True),  # it confirms when it is told to
        (Slips(forget=1.0, ignore=1.0), False),
        (Slips(wander=1.0), True),
        (Slips(confuse=1.0), False),
    ],
)
def test_each_slip_has_its_effect(slips: Slips, solved: bool) -> None:
    env = make(DEFINITION, Guards(step_limit=200))
    [task] = [task for task in tasks_of("E1", 10) if task.template == "note_and_tell"]
    stop, _ = play(env, task, demonstrator(task, np.random.default_rng(0), slips))
    assert stop is (StopReason.SUCCESS if solved else StopReason.WRONG_SUBMISSION)
    env.close()


def test_repeating_spoils_what_is_done_once() -> None:
    env = make(DEFINITION, Guards(step_limit=200))
    [task] = [task for task in tasks_of("E1", 10) if task.template == "note_and_tell"]
    stop, actions = play(env, task, demonstrator(task, np.random.default_rng(0), Slips(repeat=1)))
    # The same entry and the same message twice contradict nothing.
    assert stop is StopReason.SUCCESS
    texts = [action.text for action in actions]
    assert texts[0] == texts[1] and len(texts) == 2 * len(set(texts)) - 1
    env.close()
