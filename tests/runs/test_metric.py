from pathlib import Path

import pytest

from rung.errors import StoreError
from rung.runs import METRICS, find_metric, metrics_markdown


def test_names_are_unique_and_read_area_thing_unit():
    names = [name for metric in METRICS for name in metric.names]
    assert len(set(names)) == len(names)
    assert all(name.count("/") in (1, 2) for name in names)
    assert all(metric.meaning and metric.unit for metric in METRICS)


def test_a_wrong_name_brings_the_nearest():
    with pytest.raises(StoreError, match="learner/entropy_nats"):
        find_metric("learner/entropy")
    assert find_metric("eval/greedy/success_share_E2").area == "eval"


def test_the_glossary_page_is_what_the_code_says():
    page = Path(__file__).parents[2] / "docs" / "metrics.md"
    assert page.read_text("utf-8") == metrics_markdown()
