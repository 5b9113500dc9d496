import json
import re
from html.parser import HTMLParser

import pytest
from by_hand import trajectory

from rung.core import StopReason, Task
from rung.errors import StoreError
from rung.runs import RunWriter, write_report
from rung.runs.report import embed

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202eabc\x00\x07 {{ 7*7 }}"


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.contents = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.contents += [value for name, value in attrs if name == "content"]


def make(folder, *, rounds=3, text="hello", evaluations=True, close=True):
    run = RunWriter.create(folder, config={}, seed=0, recipe="office", versions={"python": "3"})
    measure = {"value": 0.5, "low": 0.4, "high": None}
    for number in range(rounds + 1):
        if evaluations and number in (0, rounds):
            for mode in ("greedy", "sampled"):
                run.event(
                    "evaluation",
                    label="base" if not number else "trained",
                    round=number,
                    mode=mode,
                    tier="E1",
                    tasks=4,
                    measures={"success_share": measure, "turns_mean": measure},
                    stop_reasons={"success": 2, "step_limit": 2},
                )
        if number:
            task = Task.make(environment="office", text=text, data={})
            found = [
                trajectory(f"r{number}-t0-m{m}", text=text, observation=text, stop=stop, task=task)
                for m, stop in enumerate([StopReason.SUCCESS, StopReason.STEP_LIMIT])
            ]
            run.trajectories(number, "train", found)
            run.metrics(
                number,
                number,
                {"rollout/success_share_E1": 0.1 * number, "learner/kl_nats": float("nan")},
                {"timing/elapsed_seconds": 60.0},
            )
    if close:
        run.close()
    return folder


def test_the_page_holds_table_curves_and_trajectories(tmp_path):
    page = write_report(make(tmp_path / "run")).read_text("utf-8")
    assert page.count("<details") == 5
    assert "trained" in page
    assert "50.0 %" in page
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    (success,) = [chart for chart in data if chart["title"] == "Success"]
    curves = {series["name"]: series["y"] for series in success["series"]}
    assert curves["E1 training"] == [None, 0.1, 0.2, pytest.approx(0.3)]
    assert curves["E1 held-out greedy"] == [0.5, None, None, 0.5]


def test_it_needs_nothing_from_outside(tmp_path):
    page = Page(write_report(make(tmp_path / "run")).read_text("utf-8"))
    assert any("default-src 'none'" in content for content in page.contents)
    assert not {"src", "href", "srcset"} & set(page.attributes)


def test_hostile_text_stays_text(tmp_path):
    plain = Page(write_report(make(tmp_path / "a")).read_text("utf-8"))
    page = write_report(make(tmp_path / "b", text=HOSTILE)).read_text("utf-8")
    hostile = Page(page)
    assert hostile.tags == plain.tags
    assert "onerror" not in hostile.attributes
    assert "{{ 7*7 }}" in page


def test_embedded_data_cannot_close_its_element():
    text = embed({"a": HOSTILE, "b": "\u2028 & <!--", "c": float("inf")})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": HOSTILE, "b": "\u2028 & <!--", "c": None}


@pytest.mark.parametrize(
    "options", [{"rounds": 0}, {"rounds": 0, "evaluations": False}, {"close": False}]
)
def test_a_run_without_much_still_has_a_report(tmp_path, options):
    page = write_report(make(tmp_path / "run", **options)).read_text("utf-8")
    assert "</html>" in page


def test_a_damaged_chunk_does_not_stop_the_report(tmp_path):
    folder = make(tmp_path / "run")
    for chunk in (folder / "trajectories").glob("*.zst"):
        chunk.write_bytes(b"damaged")
    assert "No trajectory" in write_report(folder).read_text("utf-8")


def test_what_is_no_run_has_no_report(tmp_path):
    with pytest.raises(StoreError):
        write_report(tmp_path)
