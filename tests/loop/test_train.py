"""The loop end to end, with the built-in base policy and real office tasks."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from rung.curriculum import LadderConfig, split_of
from rung.envs import load
from rung.errors import ConfigError
from rung.loop.build import held_out, train_stream
from rung.loop.recipe import EvaluationConfig
from rung.loop.recipes import recipe
from rung.loop.saved import config_of
from rung.loop.train import train
from rung.models.loading import load_policy
from rung.models.packed import PackedRows, packed_logits, use_packed_attention
from rung.runs import read_run

TINY = recipe("office-tiny")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "a"
    heard = []
    summary = train(TINY, out, listener=heard.append)
    return out, summary, heard


def metric_lines(out):
    lines = (out / "metrics.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    return [{k: v for k, v in r.items() if k not in ("timing", "at")} for r in records]


def test_a_run_directory_holds_everything(run):
    out, summary, heard = run
    found = read_run(out)
    assert config_of(out) == TINY
    assert len(metric_lines(out)) == TINY.rounds
    assert summary.report.is_file()
    assert (out / "policy" / "model.safetensors").is_file()
    assert {p.stage for p in heard} == {"evaluate", "round", "finished"}
    assert {e.tier for e in summary.evaluations["trained"]} == {"E1"}
    trained = list(found.trajectories(kind="train"))
    assert len(trained) == TINY.rounds * 4 * 4
    assert {split_of(t.task) for t in trained} == {"train"}


def test_the_same_seed_gives_the_same_metrics(run, tmp_path):
    train(TINY, tmp_path / "again")
    assert metric_lines(tmp_path / "again") == metric_lines(run[0])
    train(replace(TINY, seed=1), tmp_path / "other")
    assert metric_lines(tmp_path / "other") != metric_lines(run[0])


def test_minutes_end_a_run_before_its_rounds(tmp_path):
    """The base's evaluation alone takes longer; what there is gets judged and reported."""
    summary = train(replace(TINY, rounds=50, minutes=1e-6), tmp_path / "a")
    assert metric_lines(tmp_path / "a") == []
    assert summary.report.is_file()
    assert [e.mode for e in summary.evaluations["trained"]] == ["greedy", "sampled"]


def test_minutes_that_suffice_change_nothing(run, tmp_path):
    train(replace(TINY, minutes=600.0), tmp_path / "a")
    assert metric_lines(tmp_path / "a") == metric_lines(run[0])


def test_evaluation_does_not_change_training(run, tmp_path):
    config = replace(TINY, evaluation=EvaluationConfig(tiers=(), every=0))
    train(config, tmp_path / "blind")
    seen = metric_lines(run[0])
    for record in seen:
        record["values"] = {k: v for k, v in record["values"].items() if not k.startswith("eval/")}
    assert metric_lines(tmp_path / "blind") == seen
    weights = [
        load_policy(str(out / "policy")).model.state_dict() for out in (run[0], tmp_path / "blind")
    ]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_stored_logprobs_are_those_of_the_policy(run):
    """Recomputed from the stored tokens with the base policy, for every turn of round 1."""
    model = load_policy("base").model
    use_packed_attention(model)
    trajectories = list(read_run(run[0]).trajectories(kind="train", round=1))
    assert trajectories
    for trajectory in trajectories:
        (segment,) = trajectory.segments
        ids = torch.tensor(segment.token_ids.astype(np.int64))
        with torch.no_grad():
            every = torch.arange(len(ids))
            logits = packed_logits(model, ids, PackedRows([len(ids)]), every)
        logprobs = logits.log_softmax(-1)
        for turn in trajectory.turns:
            where = torch.arange(turn.start, turn.stop)
            again = logprobs[where - 1, ids[where]].numpy()
            stored = segment.behaviour_logprobs[turn.start : turn.stop]
            np.testing.assert_allclose(again, stored, atol=1e-4)


def test_the_learner_sees_what_the_engine_sampled(run):
    for record in metric_lines(run[0]):
        assert record["values"]["learner/logprob_gap_max"] < 1e-3


def test_an_interrupt_leaves_a_readable_run(tmp_path):
    def stop(progress):
        if progress.stage == "round":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(TINY, tmp_path / "cut", listener=stop)
    found = read_run(tmp_path / "cut")
    assert len(found.metrics()) == 1
    assert (tmp_path / "cut" / "report.html").is_file()
    assert (tmp_path / "cut" / "policy" / "config.json").is_file()


def test_a_run_does_not_overwrite_another(run):
    from rung.errors import StoreError

    with pytest.raises(StoreError, match="hint"):
        train(TINY, run[0])


def test_group_members_share_the_task_and_not_the_dice(run):
    groups = {}
    for trajectory in read_run(run[0]).trajectories(kind="train"):
        groups.setdefault(trajectory.group_id, []).append(trajectory)
    for members in groups.values():
        assert len({t.task for t in members}) == 1
        assert len({t.env_seed for t in members}) == 1
        assert len({t.seed for t in members}) == len(members)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_training_raises_success(tmp_path):
    """Six rounds are enough to see it climb."""
    config = replace(
        recipe("office"),
        rounds=6,
        evaluation=EvaluationConfig(tiers=("E1",), tasks=60, every=0),
    )
    summary = train(config, tmp_path / "climb")
    before, after = (
        next(e for e in summary.evaluations[label] if e.mode == "sampled").success
        for label in ("base", "trained")
    )
    assert before <= 0.5
    assert after >= before + 0.15


def test_a_broken_environment_costs_its_trajectories_and_nothing_else(tmp_path, monkeypatch):
    """Every fourth start of a task fails for good: unscored, recorded, never a reward of 0."""
    from rung.envs.office import world

    real, calls = world.Office.read, []

    def flaky(office, name):
        calls.append(name)
        if len(calls) % 3 == 0:
            raise OSError("the disk is on holiday")
        return real(office, name)

    monkeypatch.setattr(world.Office, "read", flaky)
    config = replace(
        TINY,
        rounds=1,
        evaluation=EvaluationConfig(tiers=(), every=0),
        rollout=replace(TINY.rollout, retries=0),
    )
    train(config, tmp_path / "run")
    found = read_run(tmp_path / "run")
    faults = [e for e in found.events() if e.kind == "infrastructure_fault"]
    unscored = found.metrics()[0].values["rollout/unscored_count"]
    assert unscored
    assert len(faults) == unscored
    assert all("on holiday" in e.fields["error"] for e in faults)
    broken = [t for t in found.trajectories() if t.error]
    assert {t.stop.value for t in broken} == {"infrastructure_fault"}


def test_a_ladder_opens_the_next_tier(tmp_path):
    config = replace(
        TINY,
        ladder=LadderConfig(tiers=("E1", "E2"), promote_at=0.05, demote_below=0.0, held_for=1),
        rollout=replace(TINY.rollout, max_trajectory_tokens=1024),
        evaluation=EvaluationConfig(tiers=("E1", "E2"), tasks=2, every=0),
    )
    train(config, tmp_path / "run")
    found = read_run(tmp_path / "run")
    (change,) = (e for e in found.events() if e.kind == "tier_changed")
    success = found.metrics()[0].values["rollout/success_share_E1"]
    assert change.fields["change"] == "promotion"
    assert (change.fields["tier"], change.fields["round"]) == ("E2", 1)
    assert change.fields["evidence"] == [pytest.approx(success)]
    first, second = (record.values for record in found.metrics())
    assert "rollout/success_share_E2" not in first
    assert "rollout/success_share_E2" in second
    assert (first["curriculum/open_count"], first["curriculum/share_E2"]) == (2, 0.6)
    assert {e.fields["tasks"] for e in found.events() if e.kind == "evaluation"} == {2}


def test_a_ladder_with_a_tier_that_the_environment_lacks(tmp_path):
    config = replace(TINY, ladder=LadderConfig(tiers=("E1", "E9")))
    with pytest.raises(ConfigError, match="E9"):
        train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_ladder_sets_the_step_limit(tmp_path):
    config = replace(
        TINY,
        ladder=LadderConfig(tiers=("E1",), step_limits=(2, 3), step_rounds=1),
        evaluation=EvaluationConfig(tiers=(), every=0),
    )
    train(config, tmp_path / "run")
    turns = [
        max(len(t.turns) for t in read_run(tmp_path / "run").trajectories(kind="train", round=n))
        for n in (1, 2)
    ]
    assert turns == [2, 3]


def test_a_redacted_run_holds_nobodys_name(tmp_path, capfd, caplog):
    """Not in records, metrics, events, the report or the logs; not as tokens either."""
    config = replace(TINY, rounds=1, guards=replace(TINY.guards, redaction=True, noise={"E1": 0.1}))
    with caplog.at_level("DEBUG"):
        train(config, tmp_path / "run")
    definition, found = load("office"), read_run(tmp_path / "run")
    streams = [train_stream(config, definition).take(4), held_out(config, definition, "E1", 8)]
    names = {i.value for tasks in streams for task in tasks for i in definition.identities(task)}
    assert len(names) > 50
    chat = load_policy("base").chat
    recorded = [
        repr(t) + chat.decode(t.segments[0].token_ids.tolist()) for t in found.trajectories()
    ]
    files = [
        p.read_text("utf-8", "replace")
        for p in (tmp_path / "run").rglob("*")
        if p.suffix in (".json", ".jsonl", ".html") and "policy" not in p.parts
    ]
    assert len(files) >= 4
    everything = "\n".join([*recorded, *files, *capfd.readouterr(), caplog.text]).lower()
    assert "[person-" in everything
    assert not [name for name in names if name.lower() in everything]
