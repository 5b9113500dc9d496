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
    assert len(json.loads(rung("env", "show", "office", "--json").stdout)["tools"]) == 10


def test_env_check_passes_on_the_office():
    done = rung("env", "check", "office", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(finding["ok"] for finding in json.loads(done.stdout))


def test_base_show_tells_where_it_comes_from():
    shown = json.loads(rung("base", "show", "--json").stdout)
    assert shown["command"].startswith("rung base build")
    assert shown["success"]["E1 sampled"] <= 0.4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_a_readable_run(tmp_path, number):
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
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert (out / "report.html").is_file()
    from rung.runs import read_run

    assert read_run(out).metrics()


def test_tasks_are_drawn_shown_and_validated(tmp_path):
    file = tmp_path / "tasks.jsonl"
    options = ["--tier", "E1", "--tier", "E3", "--count", "6", "--split", "eval", "--seed", "4"]
    assert rung("tasks", "sample", "office", *options, "--out", str(file)).returncode == 0
    assert rung("tasks", "sample", "office", *options).stdout == file.read_text()
    shown = [
        json.loads(line)
        for line in rung("tasks", "show", str(file), "--json").stdout.split("\n")
        if line
    ]
    assert {task["split"] for task in shown} == {"eval"}
    assert {task["id"].split("/")[1] for task in shown} == {"E1", "E3"}
    assert shown[0]["text"] in rung("tasks", "show", str(file)).stdout
    done = rung("tasks", "validate", str(file))
    assert (done.returncode, done.stdout) == (0, "6 of 6 tasks are sound\n")


def test_a_task_that_cannot_be_solved_is_named(tmp_path):
    line = json.loads(rung("tasks", "sample", "office", "--count", "1").stdout)
    name = line.pop("id")
    line["step_limit"] = 2
    (tmp_path / "t.jsonl").write_text(json.dumps(line) + "\n")
    done = rung("tasks", "validate", str(tmp_path / "t.jsonl"), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout) == {
        "tasks": 1,
        "wrong": {name: "the expert ends with: step_limit"},
    }
    (tmp_path / "t.jsonl").write_text("{}\n")
    done = rung("tasks", "validate", str(tmp_path / "t.jsonl"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "t.jsonl:1: not a task" in done.stderr


def test_an_audit_names_the_cheat_that_pays(tmp_path):
    (tmp_path / "generous.py").write_text(
        "from dataclasses import replace\n"
        "from rung.envs import RewardTable\n"
        "from rung.envs.office import office\n"
        "short = tuple(t for t in office().templates if t.name == 'compare_prices')\n"
        "bad = replace(office(), templates=short, rewards=RewardTable(turn=-0.05))\n"
        "good = replace(office(), templates=short)\n"
    )
    path = str(tmp_path)
    done = rung("audit", "generous:bad", "--tasks", "1", "--json", PYTHONPATH=path)
    assert done.returncode == 1, done.stderr
    wrong = [f for f in json.loads(done.stdout)["findings"] if not f["ok"]]
    assert "farm query_database" in wrong[0]["detail"]
    done = rung("audit", "generous:good", "--tasks", "1", PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert "compare_prices" in done.stdout
    assert "ok    cheating does not pay" in done.stdout


def test_a_policy_is_judged_on_the_live_stage(tmp_path):
    options = ["--tasks", "2", "--mode", "greedy", "--json"]
    live = ["--stage", "live", "--set", f"live.database=sqlite:{tmp_path}"]
    done = rung("eval", "base", *options, *live)
    assert done.returncode == 0, done.stderr
    simulated = rung("eval", "base", *options)
    assert json.loads(done.stdout) == json.loads(simulated.stdout)
    assert list(tmp_path.iterdir()) == []
    assert "no stage 'lve'" in rung("eval", "base", "--stage", "lve", "--tasks", "1").stderr
