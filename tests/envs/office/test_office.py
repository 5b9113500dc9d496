"""The office as a whole: it can be solved, and only by doing the work."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from rung.core import Action, StopReason, Task
from rung.envs import Expert, Template, TextActions, make
from rung.envs.office import expert, names, office, office_basic
from rung.envs.office.goal import Block, World, goal_of, payload_of
from rung.envs.spaces import ToolCalls
from rung.seeding import Seeds

DEFINITION = office()
Agent = Callable[[str], str]


@pytest.fixture(scope="module")
def env() -> Iterator[TextActions]:
    env = make(DEFINITION)
    yield env
    env.close()


@pytest.fixture(
    params=DEFINITION.templates, ids=lambda template: f"{template.tier} {template.name}"
)
def template(request: pytest.FixtureRequest) -> Template:
    return request.param


def tasks_of(template: Template, count: int) -> Iterator[Task]:
    seeds = Seeds(41).child(template.tier, template.name)
    return (template.draw(seeds.generator(index)) for index in range(count))


def following(policy: Expert, said: list[str]) -> Agent:
    """The policy as an agent; what it says is added to `said`."""

    def act(observation: str) -> str:
        action = policy.send(observation) if said else next(policy)
        said.append(action.text)
        return action.text

    return act


def play(env: TextActions, task: Task, agent: Agent) -> tuple[StopReason, float, float]:
    """Why it ended, the sum of all rewards, and that of process rewards."""
    observation, _ = env.reset(seed=0, options={"task": task})
    total = process = 0.0
    while True:
        observation, reward, _, _, info = env.step(agent(observation))
        total += reward
        process += info["reward"].process
        if info["stop"] is not None:
            return info["stop"], total, process


def assert_solved(env: TextActions, task: Task) -> float:
    said: list[str] = []
    stop, total, process = play(env, task, following(expert(task), said))
    assert stop is StopReason.SUCCESS, (task.id, stop)
    assert process == pytest.approx(DEFINITION.rewards.process)
    assert process <= 0.3 * DEFINITION.rewards.success
    assert len(said) <= task.step_limit
    assert total == pytest.approx(12.0 - 0.01 * len(said)), "it is never charged for more"
    return total


def test_the_expert_solves_every_template(env: TextActions, template: Template) -> None:
    for task in tasks_of(template, 30):
        assert_solved(env, task)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_expert_solves_a_thousand_tasks(env: TextActions, template: Template) -> None:
    for task in tasks_of(template, 1_000):
        assert_solved(env, task)


def say(name: str, **arguments: Any) -> Agent:
    return lambda _observation: Action(name, arguments).text


@pytest.mark.parametrize(
    "cheat",
    [
        pytest.param(say("submit_result", answer="unknown"), id="submits at once"),
        pytest.param(say("query_database", sql="SELECT * FROM products"), id="repeats a query"),
        pytest.param(say("read_file", path="report.txt"), id="repeats what is invalid"),
        pytest.param(lambda _: "", id="says nothing"),
        pytest.param(None, id="random"),
    ],
)
def test_cheats_stay_below_the_expert_by_the_success_reward(
    env: TextActions, template: Template, cheat: Agent | None
) -> None:
    calls = ToolCalls(DEFINITION.tools, seed=9)
    for task in tasks_of(template, 20):
        stop, total, _ = play(env, task, cheat or (lambda _: calls.sample()))
        assert stop is not StopReason.SUCCESS
        # The expert gets 12 less 0.01 a turn; see assert_solved.
        assert total + DEFINITION.rewards.success <= 12.0 - 0.01 * task.step_limit


def shifted(value: str) -> str:
    """Another value of the same kind."""
    if value.isdigit():
        return str(int(value) + 1)
    companies: list[str] = [*names.COMPANIES]
    return companies[companies.index(value) - 1]


def elsewhere(task: Task, value_of: Callable[[World, Block, Sequence[Block]], str]) -> Task:
    """The same task in a world where every value and address is another one."""
    goal = goal_of(task)
    world = goal.world
    extra = [
        (customer, next(p[0] for p in world.products if (customer, p[0]) not in
                        {row[:2] for row in world.orders}), 7)
        for customer in sorted({row[0] for row in world.orders})
    ]  # fmt: skip
    memos = {
        name: "".join(
            line if line.startswith("item: ") else f"{field}: {shifted(value.strip())}\n"
            for line in text.splitlines(keepends=True)
            for field, _, value in [line.partition(": ")]
        )
        for name, text in world.files.items()
        if not text.startswith("title: ")
    }
    world = World(
        products=tuple((n, 1009 - p, s + 1, shifted(c)) for n, p, s, c in world.products),
        orders=(*((c, p, q + 1) for c, p, q in world.orders), *extra),
        employees=tuple((n, f"x{email}", team) for n, email, team in world.employees),
        files={**world.files, **memos},
    )
    prices = {name: str(price) for name, price, *_ in world.products}
    blocks: list[Block] = []
    for block in goal.blocks:
        value = value_of(world, block, blocks)
        blocks.append(
            replace(
                block,
                value=value,
                price=block.price and prices[value],
                address=block.address and f"x{block.address}",
            )
        )
    data = payload_of(replace(goal, world=world, blocks=tuple(blocks)))
    return Task.make(
        environment=task.environment,
        tier=task.tier,
        template=task.template,
        text=task.text,
        step_limit=task.step_limit,
        data=data,
    )


def test_later_steps_need_the_results_of_earlier_ones(
    env: TextActions, template: Template, value_of: Callable[[World, Block, Sequence[Block]], str]
) -> None:
    for task in tasks_of(template, 5):
        said: list[str] = []
        play(env, task, following(expert(task), said))
        other = elsewhere(task, value_of)
        assert_solved(env, other)
        by_heart = iter(said)
        stop, _, process = play(env, other, lambda _, by_heart=by_heart: next(by_heart))
        assert stop is not StopReason.SUCCESS
        # Which of two is larger may be the same in both worlds.
        larger = sum(block.source.kind == "larger" for block in goal_of(task).blocks)
        free = DEFINITION.rewards.process * larger / len(goal_of(task).blocks)
        assert process <= free + 1e-9, "not one block can be done by heart"


def test_the_definition_says_what_a_model_must_know() -> None:
    text = DEFINITION.instructions()
    for table in ("products(name, price", "orders(customer,", "employees(name, email"):
        assert table in text
    assert office_basic().instructions(style="short") == (
        "read_file(path)\nquery_database(sql)\nedit_document(path, text, mode, find)\n"
        "send_message(to, text, attachment, confirm)\nsubmit_result(answer)"
    )
