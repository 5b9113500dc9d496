"""Each rule of the audit, broken on purpose once, on the shop of the examples and on the office."""

import itertools
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rung.core import Action, Task
from rung.envs import Definition, Expert, RewardTable, Template, TextActions, load, make, tool
from rung.envs.guard import Guard, Step, charge
from rung.envs.office import office
from rung.loop.audit import EXPERT, Audit, audit

EXAMPLES = Path(__file__).parents[2] / "examples"
SHOP = "own_environment:shop"


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Definition[Any]:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return load(SHOP)


def some_office(**changes: Any) -> Definition[Any]:
    """The office with two of its templates."""
    definition = office()
    chosen = [t for t in definition.templates if t.name in ("report_and_mail", "compare_prices")]
    return replace(definition, templates=tuple(chosen), **changes)


def wrong(found: Audit) -> dict[str, str]:
    """Name and detail of what failed."""
    return {f.name: f.detail for f in found.findings if not f.ok}


def test_the_shop_passes_by_name(shop: Definition[Any]) -> None:
    found = audit(SHOP, tasks=3)
    assert wrong(found) == {}
    assert [r.policy for r in found.returns] == [
        EXPERT,
        "submit at once",
        "random actions",
        "farm price",
        "spam buy",
        "burn turns",
        "toggle",
        "undo and redo",
        "never submit",
        "skip last subgoal",
    ]
    details = {finding.name: finding.detail for finding in found.findings}
    assert "in another process too" in details["same seed, same trajectory"]


def test_the_office_passes() -> None:
    found = audit(some_office(), tasks=2)
    assert wrong(found) == {}
    earned = {(r.template, r.policy): r.earned.value for r in found.returns}
    # Name, price, report, address, mail, result.
    assert earned["report_and_mail", EXPERT] == pytest.approx(10 + 2 - 0.01 * 6)
    assert earned["report_and_mail", "submit at once"] == pytest.approx(-1 - 0.01)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_whole_office_passes() -> None:
    assert wrong(audit("office")) == {}


def test_every_tool_call_pays(shop: Definition[Any]) -> None:
    """A cost that is a reward, as a sign error makes it."""
    found = wrong(audit(some_office(rewards=RewardTable(turn=-0.05)), tasks=1))
    assert set(found) == {"only progress pays"}
    assert "+0.05 for 'farm query_database' in turn 1" in found["only progress pays"]


class Bonus(Guard):
    """Pays for every call of a tool."""

    pays = 0.05

    def step(self, action: Any) -> Step:
        step = super().step(action)
        return charge(step, -self.pays) if isinstance(action, Action) else step


class BigBonus(Bonus):
    pays = 1.0


def with_guard(guard: type[Guard]) -> Any:
    def build(definition: Definition[Any]) -> TextActions:
        inner: Any = make(definition).env
        return TextActions(guard(inner))

    return build


def test_a_wrapper_pays_for_every_tool_call() -> None:
    found = wrong(audit(some_office(), tasks=1, build=with_guard(Bonus)))
    assert "for 'farm query_database' in turn 1 of task office/E1/" in found["only progress pays"]
    assert "'spam send_message'" in found["only progress pays"]


def test_farming_earns_more_than_half_of_what_the_expert_earns() -> None:
    found = audit(some_office(), tasks=1, build=with_guard(BigBonus))
    assert "'farm query_database' earns" in wrong(found)["cheating does not pay"]
    assert {r.policy for r in found.returns if r.pays} >= {"farm query_database", "never submit"}
    assert EXPERT not in {r.policy for r in found.returns if r.pays}


def test_process_rewards_are_too_large() -> None:
    found = wrong(audit(some_office(rewards=RewardTable(process=3.1)), tasks=1))
    assert found == {"process rewards are small": "at most 3.1 in a trajectory, success pays 10"}


class Forgetful(Guard):
    """Forgets which subgoals were reached whenever nothing new was."""

    def step(self, action: Any) -> Step:
        step = super().step(action)
        if not step[4]["turn"].subgoals:
            self.base._reached.clear()  # pyright: ignore[reportPrivateUsage]
        return step


def test_a_subgoal_pays_twice() -> None:
    found = wrong(audit(some_office(), tasks=1, build=with_guard(Forgetful)))
    assert "pays 'toggle' in turn 3 of task" in found["subgoals pay once"]
    assert "'undo and redo' in turn" in found["subgoals pay once"]


def test_success_without_work(shop: Definition[Any]) -> None:
    found = audit(replace(shop, success=lambda _: True), tasks=2)
    assert (
        "'submit at once' earns 9.99 (up to 9.99) at E1 cheapest"
        in (wrong(found)["cheating does not pay"])
    )
    submit = next(r for r in found.returns if r.policy == "submit at once")
    assert (submit.success, submit.earned.value) == (1.0, pytest.approx(9.99))


def test_without_expert_cheats_are_measured_by_the_table(shop: Definition[Any]) -> None:
    found = audit(replace(shop, expert=None), tasks=2)
    assert wrong(found) == {}
    assert {r.reference for r in found.returns} == {12.0}
    assert not {"never submit", EXPERT} & {r.policy for r in found.returns}


def test_a_tool_that_remembers_other_trajectories(shop: Definition[Any]) -> None:
    calls = itertools.count()

    @tool
    def price(_shop: Any, item: str) -> str:
        """Say what an item costs."""
        return str(len(item) + next(calls))

    found = wrong(audit(replace(shop, tools=(price, *shop.tools[1:]), expert=None), tasks=1))
    assert found == {"same seed, same trajectory": "the same seeds give other trajectories"}


HASHING = """
from dataclasses import replace
from own_environment import shop
from rung.envs import tool

@tool
def price(_shop, item: str) -> str:
    \"\"\"Say what an item costs.\"\"\"
    return str(hash(item))

definition = replace(shop, tools=(price, *shop.tools[1:]), expert=None)
"""


def test_a_tool_that_depends_on_the_hash_seed(
    shop: Definition[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hashing_shop.py").write_text(HASHING)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = os.environ.get("PYTHONHASHSEED")
    found = wrong(audit("hashing_shop:definition", tasks=1))
    assert "another process gets other trajectories" in found["same seed, same trajectory"]
    assert os.environ.get("PYTHONHASHSEED") == before


def test_a_payload_with_a_serial_number(shop: Definition[Any]) -> None:
    """Equal problems with different payloads land in both splits."""

    def draw(generator: np.random.Generator) -> Task:
        prices = {"tea": 1, "rice": int(generator.integers(2, 4))}
        serial = int(generator.integers(10**9))
        data = {"prices": prices, "serial": serial}
        return Task.make(environment="shop", template="cheapest", text="Buy.", data=data)

    def start(task: Task, generator: np.random.Generator) -> Any:
        data = {"prices": task.data["prices"]}
        return shop.start(replace(task, payload=Task.make(
            environment="shop", text="", data=data).payload), generator)  # fmt: skip

    definition = replace(shop, templates=(Template("cheapest", "E1", draw),), start=start)
    found = wrong(audit(definition, tasks=3))
    assert "start in the same state" in found["train and eval share nothing"]


def test_the_expert_that_fails_is_no_measure(shop: Definition[Any]) -> None:
    def lazy(_task: Task) -> Expert:
        yield Action("leave", {})

    found = audit(replace(shop, expert=lazy), tasks=1)
    assert wrong(found)["expert"] == "it solves 0% of E1 cheapest"
