"""The command line as a user meets it: a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest


def rung(*arguments, text=None, timeout=100, **environment):
    return subprocess.run(
        [sys.executable, "-m", "rung", *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **environment},
        check=False,
    )


TINY = [
    "office-tiny",
    "--set",
    "rounds=1",
    "--set",
    "evaluation.tasks=4",
    "--set",
    "rollout.tasks_per_round=2",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("cli") / "run"
    done = rung("train", *TINY, "--out", str(out), "--json")
    assert done.returncode == 0, done.stderr
    return out, json.loads(done.stdout)


def test_train_prints_json(run):
    out, data = run
    assert data["run"] == str(out)
    assert {e["mode"] for e in data["evaluations"]["trained"]} == {"greedy", "sampled"}
    assert data["seconds"] > 0


def test_report_and_eval_read_the_run(run):
    out, _ = run
    done = rung("report", str(out))
    assert done.returncode == 0
    assert done.stdout.strip().endswith("report.html")
    done = rung("eval", str(out), "--tasks", "3", "--mode", "greedy", "--json")
    assert done.returncode == 0, done.stderr
    assert [(e["tier"], e["tasks"]) for e in json.loads(done.stdout)] == [("E1", 3)]


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (["train", "offce"], "did you mean 'office'?"),
        (["train", "--set", "learner.learning_rte=1", "--show"], "learner.learning_rate"),
        (["train", "--set", "rounds=many", "--show"], "rounds"),
        (["train", "--set", "rollout.group_size=1", "--show"], "at least 2"),
        (["train", "--set", "environment=ofice", "--out", "nowhere"], "office"),
        (["eval", "--mode", "greddy"], "greedy"),
        (["env", "show", "ofice"], "office"),
    ],
)
def test_a_wrong_word_names_the_right_one(arguments, nearest, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "rung", *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert nearest in done.stderr
    assert "Traceback" not in done.stderr


def test_show_prints_every_setting():
    done = rung("train", "--show", "--json", "--set", "rounds=3")
    settings = json.loads(done.stdout)
    assert settings["rounds"] == 3
    assert settings["rollout.group_size"] == 8


def test_play_lets_a_person_solve_a_task():
    watched = rung("play", "--expert", "--seed", "3")
    assert watched.returncode == 0, watched.stderr
    assert "success, return" in watched.stdout
    typed = [line[2:] for line in watched.stdout.splitlines() if line.startswith("> {")]
    played = rung("play", "--seed", "3", text="\n".join(["help", *typed]) + "\n")
    assert "success, return" in played.stdout
    wrong = rung("play", "--seed", "3", text="dance\nsubmit_result answer=42\n")
    assert "format error, unknown_action" in wrong.stdout
    assert "wrong_submission" in wrong.stdout


def test_env_commands():
    assert "office" in rung("env", "list").stdout
    assert json.loads(rung("env", "list", "--json").stdout)[0]["name"] == "office"
    shown = rung("env", "show", "office")
    assert "query_database(sql)" in shown.stdout
    assert len(json.loads(rung("env", "show", "office", "--json").stdout)["tools"]) == 5


def test_env_check_passes_on_the_office():
    done = rung("env", "check", "office", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(finding["ok"] for finding in json.loads(done.stdout))


def test_base_show_tells_where_it_comes_from():
    shown = json.loads(rung("base", "show", "--json").stdout)
    assert shown["command"].startswith("rung base build")
    assert shown["success"]["E1 sampled"] <= 0.4


def test_ctrl_c_leaves_a_readable_run(tmp_path):
    out = tmp_path / "run"
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "rung",
            "train",
            "office-tiny",
            "--set",
            "rounds=500",
            "--set",
            "evaluation.tiers=[]",
            "--set",
            "evaluation.every=0",
            "--out",
            str(out),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        metrics = out / "metrics.jsonl"
        if metrics.exists() and metrics.read_text().count("\n") >= 1:
            break
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert (out / "report.html").is_file()
    from rung.runs import read_run

    assert read_run(out).metrics()
