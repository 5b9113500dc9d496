from rung.runs import RunWriter, read_run
from rung.runs.charts import charts


def drawn(folder, lines, events=()):
    with RunWriter.create(folder, config={}, seed=0, recipe="r", versions={}) as run:
        for number, values in lines:
            run.metrics(number, number, values, {"timing/trained_tokens_per_second": 5.0})
        for event in events:
            run.event("evaluation", **event)
    return {chart.title: chart for chart in charts(read_run(folder))}


def test_a_run_without_numbers_has_no_charts(tmp_path):
    assert drawn(tmp_path / "run", []) == {}


def test_nan_is_a_gap_and_a_curve_of_gaps_is_left_out(tmp_path):
    lines = [(1, {"learner/entropy_nats": 0.5}), (2, {"learner/entropy_nats": float("nan")})]
    found = drawn(tmp_path / "run", lines)
    assert found["Entropy"].series[0].y == [0.5, None]
    assert found["Entropy"].series[0].last == 0.5
    assert [series.name for series in found["Speed"].series] == ["trained"]
    assert set(found) == {"Entropy", "Speed"}


def test_held_out_success_comes_from_metrics_and_events(tmp_path):
    base = {"value": 0.2, "low": 0.1, "high": 0.3}
    events = [
        {"label": "base", "round": 0, "mode": "greedy", "tier": "E1", "tasks": 9},
        {"label": "base", "round": "?", "mode": "greedy", "tier": "E1", "measures": {}},
    ]
    events[0]["measures"] = {"success_share": base}
    names = {"share": 0.6, "low": 0.5, "high": 0.7}
    line = {f"eval/greedy/success_{name}_E1": value for name, value in names.items()}
    found = drawn(tmp_path / "run", [(5, line)], events)
    (series,) = found["Held-out success, greedy"].series
    assert found["Held-out success, greedy"].x == [0, 5]
    assert (series.y, series.low, series.high) == ([0.2, 0.6], [0.1, 0.5], [0.3, 0.7])


def test_no_chart_has_more_curves_than_there_are_dashes(tmp_path):
    from rung.runs.charts import _PLAIN
    from rung.runs.report import DASHES

    assert max(len(names) for *_, names in _PLAIN) <= len(set(DASHES))
