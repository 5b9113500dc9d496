import pytest

from rung.runs.comparison import comparisons, measured
from rung.runs.records import EventRecord


def evaluation(label, value, *, tier="E1", mode="greedy", **fields):
    measures = {"success_share": {"value": value, "low": None, "high": 1}}
    fields = {"label": label, "tier": tier, "mode": mode, "measures": measures, **fields}
    return EventRecord(kind="evaluation", at="", fields=fields)


def test_the_last_of_each_side_counts():
    (table,) = comparisons(
        [
            evaluation("base", 0.2),
            evaluation("round 5", 0.3),
            evaluation("trained", 0.7, stop_reasons={"success": 7, "step_limit": 3}),
        ]
    )
    (pair,) = table.pairs
    assert pair.gain() == pytest.approx(0.5)
    assert pair.after_label == "trained"
    assert [cell.value for cell in table.rows[0].cells] == [0.2, 0.7]
    assert {row.title: [c.value for c in row.cells] for row in table.reasons} == {
        "success": [None, 0.7],
        "step limit": [None, 0.3],
    }


def test_tiers_stand_in_order_and_modes_apart():
    events = [evaluation("base", 0, tier=t, mode=m) for t in ("E2", "E1") for m in ("x", "greedy")]
    found = comparisons(events)
    assert [table.mode for table in found] == ["greedy", "x"]
    assert [pair.tier for pair in found[0].pairs] == ["E1", "E2"]
    assert found[0].pairs[0].gain() is None


@pytest.mark.parametrize("measures", [None, [], "x", {"success_share": 3}, {}])
def test_what_has_the_wrong_form_is_missing(measures):
    assert measured({"measures": measures}, "success_share").value is None
    comparisons([evaluation("base", 0, measures=measures, stop_reasons=measures)])
