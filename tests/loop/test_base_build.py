import json

import numpy as np
import pytest

from rung.core import StopReason
from rung.curriculum import split_of
from rung.envs import load, make
from rung.envs.office import expert
from rung.envs.playing import acting, play
from rung.loop.base_build import BaseConfig, build_base
from rung.loop.demonstrations import batch, encode, stream
from rung.models.loading import base_policy_path, load_policy
from rung.seeding import Seeds

SMALL = BaseConfig(
    vocabulary=400,
    tokenizer_tasks=50,
    width=32,
    layers=1,
    heads=2,
    key_value_heads=1,
    hidden=32,
    copy_updates=2,
    copy_tokens=300,
    clone_updates=2,
    batch_tokens=1500,
)
SHARE = {"E1": 0.5, "E2": 0.3, "E3": 0.2}


def test_a_transcript_is_encoded_turn_by_turn():
    chat = load_policy("base").chat
    task = stream(Seeds(0), SHARE).take(1)[0]
    transcript = play(make("office"), task, acting(expert(task)))
    assert transcript.stop is StopReason.SUCCESS
    ids, mask = encode(chat, "", transcript)
    said = [chat.decode(part.tolist()) for part in np.split(ids, np.nonzero(np.diff(mask))[0] + 1)]
    assert said[1::2] == [turn.message for turn in transcript.turns]
    assert mask.sum() == sum(len(chat.encode_text(t.message)) + 1 for t in transcript.turns)


def test_batches_depend_on_their_number_alone_and_fit():
    folder = base_policy_path()
    first, again, other = (batch(folder, 0, n, SHARE, 2000) for n in (3, 3, 4))
    assert all((a[0] == b[0]).all() for a, b in zip(first, again, strict=True))
    assert first[0][0].tolist() != other[0][0].tolist()
    assert sum(len(ids) for ids, _ in first) <= 2000


def test_no_eval_task_is_demonstrated():
    assert {split_of(task) for task in stream(Seeds(1), SHARE).take(200)} == {"train"}


def test_build_writes_a_policy_and_its_provenance(tmp_path):
    found = build_base(SMALL, tmp_path / "base", tasks=1)
    assert {(e.tier, e.mode) for e in found} == {
        (tier, mode) for tier in load("office").tiers for mode in ("greedy", "sampled")
    }
    provenance = json.loads((tmp_path / "base" / "provenance.json").read_text())
    assert provenance["config"]["width"] == 32
    assert len(provenance["sha256"]) == 64
    assert load_policy(str(tmp_path / "base")).model.config.hidden_size == 32


def test_the_shipped_policy_is_what_its_provenance_says():
    from hashlib import sha256

    folder = base_policy_path()
    provenance = json.loads((folder / "provenance.json").read_text())
    weights = (folder / "model.safetensors").read_bytes()
    assert sha256(weights).hexdigest() == provenance["sha256"]
    assert sum(path.stat().st_size for path in folder.iterdir()) < 8_000_000


@pytest.mark.slow
def test_the_same_seed_builds_the_same_policy(tmp_path):
    for name in ("a", "b"):
        build_base(SMALL, tmp_path / name, tasks=1)
    a, b = ((tmp_path / n / "model.safetensors").read_bytes() for n in ("a", "b"))
    assert a == b
