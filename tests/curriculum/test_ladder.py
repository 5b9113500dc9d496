import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rung.curriculum import Change, Ladder, LadderConfig, Tally
from rung.errors import ConfigError

TIERS = ("E1", "E2", "E3")


def ladder(**changes: Any) -> Ladder:
    return Ladder(LadderConfig(**{"tiers": TIERS, "held_for": 2, "patience": 2, **changes}))


def tally(tier: str, solved: int, tried: int = 10, template: str = "t") -> Tally:
    return Tally(tier=tier, template=template, solved=solved, tried=tried)


def climb(it: Ladder, *shares: int, tier: str | None = None) -> list[Change]:
    """Observe rounds in which so many of ten are solved at the highest open tier."""
    found: list[Change] = []
    for solved in shares:
        found += it.observe([tally(tier or it.open[-1], solved)])
    return found


def test_a_ladder_starts_on_its_lowest_rung() -> None:
    assert ladder().open == ("E1",)
    assert ladder().mix == {"E1": 1.0}


def test_a_tier_opens_when_the_one_below_holds_the_bar() -> None:
    it = ladder()
    assert climb(it, 4, 3, 5) == []
    assert climb(it, 4) == [Change(change="promotion", tier="E2", round=4, evidence=(0.5, 0.4))]
    assert it.open == ("E1", "E2")
    assert it.mix == pytest.approx({"E1": 0.4, "E2": 0.6})


def test_each_rung_has_to_be_earned_anew() -> None:
    it = ladder()
    assert [c.tier for c in climb(it, 9, 9, 9, 9, 9)] == ["E2", "E3"]
    assert it.mix == pytest.approx({"E1": 0.2, "E2": 0.2, "E3": 0.6})
    assert climb(it, 9, 9, 9) == [], "there is no rung above the last"


def test_success_at_another_tier_does_not_count() -> None:
    it = ladder()
    climb(it, 9, 9)
    assert climb(it, 9, 9, 9, tier="E1") == []
    assert it.open == ("E1", "E2")


def test_a_tier_closes_below_the_floor() -> None:
    it = ladder(demote_below=0.2)
    climb(it, 9, 9)
    assert climb(it, 1, 2, 1) == []
    assert climb(it, 1) == [Change(change="demotion", tier="E2", round=6, evidence=(0.1, 0.1))]
    assert it.open == ("E1",)
    assert climb(it, 0, 0, 0) == [], "the lowest rung stays"


def test_a_round_without_scored_trajectories_says_nothing() -> None:
    it = ladder()
    climb(it, 9)
    assert it.observe([tally("E1", 0, tried=0)]) == ()
    assert it.observe([]) == ()
    assert [c.tier for c in climb(it, 9)] == ["E2"]


def test_all_templates_of_the_tier_count_together() -> None:
    it = ladder(held_for=1)
    assert it.observe([tally("E1", 0, template="a"), tally("E1", 7, template="b")]) == ()
    assert it.observe([tally("E1", 0, template="a"), tally("E1", 8, template="b")]) != ()


def test_learnability_is_the_variance_of_success() -> None:
    it = ladder(memory=0.5)
    assert it.learnability("E1", "new") == 0.25
    it.observe([tally("E1", 10, template="a"), tally("E1", 2, template="b")])
    assert it.learnability("E1", "a") == 0.01, "never out of sight"
    assert it.learnability("E1", "b") == pytest.approx(0.2 * 0.8)
    it.observe([tally("E1", 6, template="b")])  # 0.5 * 0.2 + 0.5 * 0.6 = 0.4
    assert it.learnability("E1", "b") == pytest.approx(0.4 * 0.6)
    assert it.learnability("E2", "b") == 0.25


def test_the_step_limit_grows_on_its_own_schedule() -> None:
    it = ladder(step_limits=(30, 60, 100), step_rounds=2)
    limits = []
    for _ in range(7):
        limits.append(it.step_limit)
        it.observe([])
    assert limits == [30, 30, 60, 60, 100, 100, 100]
    assert ladder().step_limit is None


@given(st.lists(st.integers(0, 10), max_size=30), st.integers(0, 30))
def test_a_saved_ladder_goes_on_as_if_nothing_had_happened(shares: list[int], cut: int) -> None:
    one, two = ladder(demote_below=0.3), ladder(demote_below=0.3)
    climb(one, *shares[:cut])
    two.load_state_dict(json.loads(json.dumps(one.state_dict())))
    assert climb(one, *shares[cut:]) == climb(two, *shares[cut:])
    assert one.state_dict() == two.state_dict()


def test_a_ladder_of_other_tiers_is_refused() -> None:
    saved = ladder().state_dict()
    with pytest.raises(ConfigError, match="the saved ladder has"):
        ladder(tiers=("E2", "E3")).load_state_dict(saved)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tiers": ()}, "needs tiers"),
        ({"tiers": ("E1", "E1")}, "distinct tiers"),
        ({"promote_at": 1.1}, "promote_at"),
        ({"demote_below": 0.4}, "demote_below < promote_at"),
        ({"held_for": 0}, "at least 1"),
        ({"newest_share": 0.0}, "newest_share"),
        ({"memory": 1.0}, "memory"),
        ({"step_limits": (60, 30)}, "must grow"),
        ({"step_limits": (0, 30)}, "must grow"),
    ],
)
def test_nonsense_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ladder(**changes)
