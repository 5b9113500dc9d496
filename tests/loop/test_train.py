"""The loop end to end, with the built-in base policy and real office tasks."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from rung.curriculum import split_of
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
