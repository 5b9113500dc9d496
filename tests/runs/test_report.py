import base64
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest
from by_hand import trajectory

from rung.core import StopReason, Task
from rung.errors import StoreError
from rung.runs import RunWriter, write_report
from rung.runs.report import embed

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202eabc\x00\x07 {{ 7*7 }}"
)


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


def test_the_page_holds_tables_curves_and_trajectories(tmp_path):
    page = write_report(make(tmp_path / "run")).read_text("utf-8")
    assert page.count('<details class="card trajectory"') == 5
    assert "50.0\u202f%" in page
    assert "40 to" not in page  # half an interval is none
    (text,) = re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)
    data = json.loads(text)
    drawn = {chart["title"]: chart for chart in data}
    assert drawn["Held-out success, greedy"]["x"] == [0, 3]
    assert drawn["Held-out success, greedy"]["series"][0]["y"] == [0.5, 0.5]
    assert drawn["Success in training"]["series"][0]["y"] == pytest.approx([0.1, 0.2, 0.3])
    assert "KL to the base policy" not in drawn  # nothing but NaN


def test_a_change_of_tiers_is_told_with_its_evidence(tmp_path):
    folder = tmp_path / "run"
    run = RunWriter.create(folder, config={}, seed=0, recipe="office", versions={})
    run.event("tier_changed", change="promotion", tier="E2", round=4, evidence=[0.5, 0.47])
    run.close()
    assert "promotion of E2 on success of 50%, 47%" in write_report(folder).read_text("utf-8")


def test_it_needs_nothing_from_outside(tmp_path):
    page = Page(write_report(make(tmp_path / "run")).read_text("utf-8"))
    assert not {"src", "href", "srcset", "style"} & set(page.attributes)


def test_the_policy_allows_what_the_page_brings_and_nothing_else(tmp_path):
    text = write_report(make(tmp_path / "run")).read_text("utf-8")
    (policy,) = [content for content in Page(text).contents if "default-src" in content]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    own = re.findall(r"<(?:script|style)>(.*?)</(?:script|style)>", text, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in own]
    assert len(own) == 4
    assert sorted(re.findall(r"'sha256-(.*?)'", policy)) == sorted(digests)


def test_the_licence_of_the_plotting_library_goes_with_it(tmp_path):
    page = write_report(make(tmp_path / "run")).read_text("utf-8")
    assert "Permission is hereby granted" in page


def test_hostile_text_stays_text(tmp_path):
    plain = Page(write_report(make(tmp_path / "a")).read_text("utf-8"))
    page = write_report(make(tmp_path / "b", text=HOSTILE)).read_text("utf-8")
    hostile = Page(page)
    assert hostile.tags == plain.tags
    assert set(hostile.attributes) == set(plain.attributes)
    assert "{{ 7*7 }}" in page
    assert not set("\u202e\x00\x07") & set(page)


def test_hostile_names_stay_text(tmp_path):
    run = RunWriter.create(
        tmp_path / "run",
        config={HOSTILE: HOSTILE},
        seed=0,
        recipe=HOSTILE,
        versions={HOSTILE: HOSTILE},
    )
    fields = dict.fromkeys(("label", "mode", "tier", "tasks", "round"), HOSTILE)
    measures = {"success_share": {"value": 0.5, "low": None, "high": None}}
    run.event("evaluation", **fields, measures=measures, stop_reasons={HOSTILE: 1})
    run.event("evaluation", label="base", measures=HOSTILE, stop_reasons=[1])
    run.event("evaluation", label=3, tier=None, round=1, mode="greedy", measures={"turns_mean": 1})
    run.event("warning", message=HOSTILE, round=[1])
    run.event("tier_changed", change=HOSTILE, tier=HOSTILE, evidence=HOSTILE, round=HOSTILE)
    run.close("failed", error=HOSTILE)
    page = Page(write_report(tmp_path / "run").read_text("utf-8"))
    assert "img" not in page.tags
    assert "onerror" not in page.attributes
    assert page.tags.count("script") == 3


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")
def test_a_browser_draws_the_curves_and_runs_nothing_hostile(tmp_path):
    page = write_report(
        make(tmp_path / "run", text=HOSTILE.replace("alert(1)", "document.title=1"))
    )
    flags = "--headless --no-sandbox --disable-gpu --disable-background-networking --dump-dom"
    command = ["chromium", *flags.split(), f"--user-data-dir={tmp_path / 'profile'}"]
    found = subprocess.run(
        [*command, page.as_uri()], capture_output=True, text=True, timeout=60, check=True
    )
    assert "<title>Rung: office, seed 0</title>" in found.stdout
    assert found.stdout.count("<canvas") == found.stdout.count('class="plot"') > 0


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


def test_half_an_emoji_in_a_message_does_not_stop_the_report(tmp_path):
    with RunWriter.create(tmp_path / "run", config={}, seed=0, recipe="r", versions={}) as run:
        run.trajectories(
            1, "train", [trajectory(text="half \ud83d", observation="\udc00 \U0001f600")]
        )
    page = write_report(tmp_path / "run").read_text("utf-8")
    assert "half \ufffd" in page
    assert "\ufffd \U0001f600" in page
