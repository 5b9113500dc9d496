"""Updates of a hand-made bigram model, where all can be counted, and of a tiny Llama."""

import copy
import logging
import math
from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from rung.algorithms import Stream
from rung.core import StopReason
from rung.errors import TrainError
from rung.learner import LearnerConfig
from rung.learner.learner import Learner
from rung.models.packed import PackedRows, packed_logits, use_packed_attention
from rung.seeding import Seeds

PLAIN = LearnerConfig(
    learning_rate=1e-3,
    updates_per_round=1,
    kl_coefficient=0.0,
    entropy_coefficient=0.0,
    max_grad_norm=1e9,
    scale="none",
)
FULL = replace(PLAIN, kl_coefficient=0.3, entropy_coefficient=0.2)


def learner(model, config=PLAIN, temperature=1.0, seed=0):
    return Learner(model, config, Seeds(seed), temperature=temperature)


def logprobs(model, token_ids, temperature=1.0):
    """`[T - 1]`: log-probability of each token but the first."""
    use_packed_attention(model)
    ids = torch.tensor(np.array(token_ids)).long()
    every = torch.arange(len(ids) - 1)
    with torch.no_grad():
        logits = packed_logits(model, ids, PackedRows([len(ids)]), every) / temperature
    return logits.log_softmax(-1)[every, ids[1:]].numpy()


def sampled_by(model, found, temperature=1.0, shift=0.0):
    """The trajectory with the log-probabilities of `model`, moved by `shift`."""
    segments = []
    for segment in found.segments:
        values = np.array([0.0, *logprobs(model, segment.token_ids, temperature)]) + shift
        values = np.where(segment.sampled_mask, values, 0.0)
        segments.append(replace(segment, behaviour_logprobs=values))
    return replace(found, segments=tuple(segments))


def total(model, found):
    """Log-probability of all sampled tokens of a trajectory."""
    return sum(logprobs(model, s.token_ids)[s.sampled_mask[1:]].sum() for s in found.segments)


def disturb(model, size, seed=1):
    """Move the weights away from the reference."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight += size * torch.randn(weight.shape, generator=generator)


def weights_of(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def distance(one, other):
    return max(float((one[name] - other[name]).abs().max()) for name in one)


@pytest.fixture
def batch(trajectory, group, llama):
    """Three groups of three, off policy on both sides, one member unscored, one in two segments."""
    model = llama()
    generator = np.random.default_rng(0)
    masks = ["...xxx..xx.", "..xxxx", "....x...x...xxxx"]

    def member(index, number):
        chosen = ["...xx", "..x.xx."] if (index, number) == (0, 0) else [masks[number]]
        lost = (index, number) == (1, 2)
        made = trajectory(
            *chosen,
            ids=[generator.integers(0, 64, len(mask)) for mask in chosen],
            reward=float(generator.normal()),
            stop=StopReason.INFRASTRUCTURE_FAULT if lost else StopReason.SUCCESS,
            name=f"{index}-{number}",
        )
        return sampled_by(model, made, shift=[-0.3, 0.4, -1.5][number])

    return [group(*(member(index, number) for number in range(3))) for index in range(3)]


# What is trained


def test_no_gradient_from_any_unsampled_token(bigram, trajectory, group):
    """TOK-4: rows of the table get gradient exactly where they predict a sampled token."""
    pair = group(
        # ids       0  1  2  3  4  5  6  7           8  9 10 11
        trajectory("...xx..x", "..x.", ids=[range(8), range(8, 12)], reward=1.0),
        trajectory("..x", ids=[[12, 13, 14]]),
    )
    subject = learner(bigram(16), FULL)
    disturb(subject.model, 0.5)
    metrics = subject.update([pair], round=1)
    moved = subject.model.table.grad.abs().sum(-1) > 0
    assert moved.nonzero().flatten().tolist() == [2, 3, 6, 9, 13]
    assert metrics["learner/trained_tokens_count"] == 5


@pytest.mark.parametrize("value", [50.0, -50.0, math.nan, math.inf], ids=str)
def test_predictions_of_unsampled_tokens_do_not_matter(bigram, trajectory, group, value):
    """TOK-4, LOSS-4: selected, not multiplied by 0."""
    pair = group(
        trajectory("...xx..x", ids=[range(8)], reward=1.0),
        trajectory("..x", ids=[[12, 13, 14]]),
    )
    found = []
    for rows in ([], [0, 1, 4, 5, 7, 12, 14]):
        subject = learner(bigram(16), FULL)
        with torch.no_grad():
            subject.model.table[rows] = value
        metrics = subject.update([pair], round=1)
        found.append((metrics, subject.model.table.detach()[[2, 3, 6, 13]]))
    assert found[0][0] == found[1][0]
    assert torch.equal(found[0][1], found[1][1])


def test_only_sampled_tokens_are_projected_to_logits(llama, batch):
    subject = learner(llama(), PLAIN)
    seen = []
    subject.model.lm_head.register_forward_hook(lambda _m, given, _out: seen.append(given[0]))
    metrics = subject.update(batch, round=1)
    assert sum(hidden.shape[1] for hidden in seen) == metrics["learner/trained_tokens_count"]


def test_tokens_become_likelier_or_less_likely_by_their_advantage(bigram, trajectory, group):
    good = trajectory(".xx..x", ids=[range(6)], reward=1.0, behaviour=-math.log(16))
    bad = trajectory(".xx.x", ids=[range(6, 11)], behaviour=-math.log(16))
    subject = learner(bigram(16), PLAIN)
    subject.update([group(good, bad)], round=1)
    for found, sign in ((good, 1), (bad, -1)):
        (segment,) = found.segments
        change = logprobs(subject.model, segment.token_ids) + math.log(16)
        sampled = segment.sampled_mask[1:]
        assert (sign * change[sampled] > 1e-4).all()
        assert np.abs(change[~sampled]).max() < 1e-6


def test_a_segment_without_sampled_tokens_changes_nothing(bigram, trajectory, group):
    """Alone in its micro-batch it must not break the update either."""
    found = []
    for extra in ([], ["." * 20]):
        pair = group(trajectory(*extra, ".x", reward=1.0), trajectory(".x"))
        subject = learner(bigram(32), replace(PLAIN, micro_batch_tokens=2))
        found.append((subject.update([pair], round=1), weights_of(subject.model)))
    assert found[0][0] == found[1][0]
    assert distance(found[0][1], found[1][1]) == 0


# The numbers


def test_hand_numbers(bigram, trajectory, group):
    """Vocabulary of 8, uniform: log p = -ln 8 everywhere.

    Good, A = +1, ratio 1.5: -1.28. Bad, A = -1, ratio 0.5: +0.8. Weights 1/2 each, over two
    tokens of the good one: (-1.28 + 0.8) / 2 = -0.24; entropy bonus 0.2 ln 8; KL 0.
    """
    good = trajectory(".xx", reward=2.0, behaviour=-math.log(8) - math.log(1.5))
    bad = trajectory(".x", behaviour=-math.log(8) - math.log(0.5))
    metrics = learner(bigram(8), FULL).update([group(good, bad)], round=1)
    expected = {
        "learner/policy_loss": -0.24,
        "learner/loss": -0.24 - 0.2 * math.log(8),
        "learner/entropy_nats": math.log(8),
        "learner/kl_nats": 0.0,
        "learner/clip_share": 1.0,
        "learner/ratio_max": 1.5,
        "learner/logprob_gap_max": math.log(2),
        "learner/grad_norm": 0.0,
        "learner/updates_count": 1,
        "learner/skipped_count": 0,
        "learner/trained_tokens_count": 3,
        "learner/learning_rate": 1e-3,
    }
    assert metrics == pytest.approx(expected, abs=1e-6)


def test_temperature_is_applied_to_policy_and_reference(bigram, trajectory, group):
    """LOGP-1: logits [2, 0] at 0.5, token 0: -0.01815; without it -0.12693."""
    model = bigram(2)
    with torch.no_grad():
        model.table[:] = torch.tensor([2.0, 0.0])
    pair = [
        trajectory(".x", ids=[[1, 0]], reward=reward, behaviour=-0.0181499) for reward in (0, 1)
    ]
    subject = learner(model, FULL, temperature=0.5)
    metrics = subject.update([group(*pair)], round=1)
    assert metrics["learner/logprob_gap_max"] < 1e-6
    assert metrics["learner/kl_nats"] == 0.0
    # p = 0.98201, 0.01799: 0.98201 * 0.01815 + 0.01799 * 4.01815 = 0.0901
    assert metrics["learner/entropy_nats"] == pytest.approx(0.0901, abs=1e-4)


def naive(model, reference, groups, config, temperature):
    """The loss from DESIGN's formulas: padded rows, every logit, one token at a time."""
    rows = []
    for group in groups:
        scored = [t for t in group.trajectories if t.stop.is_scored]
        returns = [t.reward.total for t in scored]
        mean = sum(returns) / len(returns)
        for found, value in zip(scored, returns, strict=True):
            for index, segment in enumerate(found.segments):
                spans = [range(t.start, t.stop) for t in found.turns if t.segment == index]
                rows.append((found, segment, spans, value - mean))
    longest = max(len(segment.token_ids) for _, segment, _, _ in rows)
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    mask = torch.zeros(len(rows), longest, dtype=torch.long)
    for index, (_, segment, _, _) in enumerate(rows):
        ids[index, : len(segment.token_ids)] = torch.tensor(np.array(segment.token_ids))
        mask[index, : len(segment.token_ids)] = 1
    logits = model(input_ids=ids, attention_mask=mask).logits / temperature
    with torch.no_grad():
        others = reference(input_ids=ids, attention_mask=mask).logits / temperature
    members = {found.id: found for found, *_ in rows}.values()
    weight = {
        "token": lambda found, span: 1 / sum(t.sampled_tokens for t in members),
        "trajectory": lambda found, span: 1 / (len(members) * found.sampled_tokens),
        "turn": lambda found, span: 1 / (sum(len(t.turns) for t in members) * len(span)),
    }[config.reduction]
    loss = torch.zeros(())
    for index, (found, segment, spans, advantage) in enumerate(rows):
        for span in spans:
            for at in span:
                distribution = logits[index, at - 1].log_softmax(-1)
                logprob = distribution[ids[index, at]]
                ratio = (logprob - float(segment.behaviour_logprobs[at])).exp()
                clipped = ratio.clamp(1 - config.clip_low, 1 + config.clip_high)
                gain = torch.min(ratio * advantage, clipped * advantage)
                if advantage < 0:
                    gain = torch.clamp(gain, min=config.dual_clip * advantage)
                difference = others[index, at - 1].log_softmax(-1)[ids[index, at]] - logprob
                kl = difference.exp() - difference - 1
                spread = -(distribution.exp() * distribution).sum()
                term = -gain + config.kl_coefficient * kl - config.entropy_coefficient * spread
                loss = loss + weight(found, span) * term
    return loss


@pytest.mark.parametrize("reduction", ["token", "turn", "trajectory"])
@pytest.mark.parametrize("temperature", [1.0, 0.7], ids=str)
def test_loss_and_gradient_are_those_of_a_plain_twin(llama, batch, reduction, temperature):
    config = replace(FULL, reduction=reduction, micro_batch_tokens=20)
    subject = learner(llama(), config, temperature)
    disturb(subject.model, 0.03)
    twin, reference = (llama(attn_implementation="eager").eval() for _ in range(2))
    twin.load_state_dict(subject.model.state_dict())
    loss = naive(twin, reference, batch, config, temperature)
    loss.backward()
    metrics = subject.update(batch, round=1)
    assert metrics["learner/kl_nats"] > 1e-3
    assert 0 < metrics["learner/clip_share"] < 1
    assert metrics["learner/loss"] == pytest.approx(float(loss.detach()), abs=1e-5)
    for (name, one), other in zip(subject.model.named_parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, atol=1e-5, rtol=1e-4, msg=name)


def test_the_update_does_not_depend_on_the_split_or_on_the_order_of_members(llama, batch):
    """LOGP-9. Gradients are compared, for AdamW blows up the rounding of tiny ones."""
    found = []
    for tokens, turned in ((10_000, False), (16, False), (64, False), (64, True)):
        subject = learner(llama(), replace(FULL, micro_batch_tokens=tokens))
        disturb(subject.model, 0.03)
        order = -1 if turned else 1
        groups = [replace(g, trajectories=g.trajectories[::order]) for g in batch]
        metrics = subject.update(groups, round=1)
        grads = {name: p.grad for name, p in subject.model.named_parameters()}
        found.append((metrics, grads))
    for metrics, grads in found[1:]:
        assert metrics == pytest.approx(found[0][0], rel=1e-4, abs=1e-6)
        assert distance(grads, found[0][1]) < 1e-6


def test_logprobs_of_the_same_model_leave_no_gap(llama, batch):
    """The first pass is compared, so the second update of the round does not count."""
    model = llama()
    groups = [
        replace(g, trajectories=tuple(sampled_by(model, t, 0.7) for t in g.trajectories))
        for g in batch
    ]
    same = learner(llama(), replace(PLAIN, updates_per_round=3, learning_rate=0.05), 0.7)
    assert same.update(groups, round=1)["learner/logprob_gap_max"] < 1e-5
    colder = learner(llama(), PLAIN, 0.6)
    assert colder.update(groups, round=1)["learner/logprob_gap_max"] > 0.1


def test_bfloat16_computes_about_the_same_and_keeps_float32_weights(llama, batch):
    model = llama()
    groups = [
        replace(g, trajectories=tuple(sampled_by(model, t) for t in g.trajectories)) for g in batch
    ]
    exact, rounded = (
        learner(llama(), replace(FULL, precision=precision))
        for precision in ("float32", "bfloat16")
    )
    metrics = exact.update(groups, round=1), rounded.update(groups, round=1)
    assert metrics[0]["learner/logprob_gap_max"] < 1e-5
    assert 1e-5 < metrics[1]["learner/logprob_gap_max"] < 0.1
    assert metrics[1]["learner/kl_nats"] == 0.0
    for one, other in zip(exact.model.parameters(), rounded.model.parameters(), strict=True):
        assert other.dtype == other.grad.dtype == torch.float32
        assert torch.cosine_similarity(one.grad.flatten(), other.grad.flatten(), dim=0) > 0.99


@pytest.mark.parametrize("architecture", ["bigram", "gpt2"])
def test_dropout_is_off(bigram, trajectory, group, architecture):
    """LOSS-10: the ratio before any update is 1, and the KL to an equal reference 0."""
    if architecture == "bigram":
        model = bigram(16, dropout=0.5)
        disturb(model, 1.0)
    else:
        from transformers import GPT2Config, GPT2LMHeadModel

        model = GPT2LMHeadModel(
            GPT2Config(
                vocab_size=16, n_positions=16, n_embd=32, n_layer=2, n_head=4, resid_pdrop=0.5
            )
        )
    model.train()
    still = copy.deepcopy(model).eval()
    pair = [
        sampled_by(still, trajectory(".xx..x", ids=[range(n, n + 6)], reward=n)) for n in (0, 5)
    ]
    metrics = learner(model, FULL).update([group(*pair)], round=1)
    assert metrics["learner/logprob_gap_max"] < 1e-5
    assert metrics["learner/ratio_max"] == pytest.approx(1, abs=1e-5)
    assert metrics["learner/kl_nats"] == 0.0


# Optimizer steps


def test_repeated_updates_raise_the_good_trajectory(llama, trajectory, group):
    """With log-probabilities sampled anew each time, so that the ratio starts at 1."""
    subject = learner(llama(), replace(FULL, learning_rate=3e-3, entropy_coefficient=0.0))
    good = trajectory("...xxx..xx", ids=[range(10)], reward=1.0)
    bad = trajectory("...xxx.xxx", ids=[range(20, 30)])
    start = total(subject.model, good), total(subject.model, bad)
    last = start[0]
    for round in range(1, 11):
        pair = group(*(sampled_by(subject.model, found) for found in (good, bad)))
        subject.update([pair], round=round)
        assert total(subject.model, good) > last
        last = total(subject.model, good)
    assert last > start[0] + 5
    assert total(subject.model, bad) < start[1]


def test_kl_pulls_back_to_the_reference(llama, trajectory, group):
    """LOSS-5: a group of equal returns feels nothing but the KL."""
    config = replace(FULL, entropy_coefficient=0.0, train_zero_spread=True, kl_coefficient=1.0)
    subject = learner(llama(), config)
    disturb(subject.model, 0.05)
    pair = group(*(trajectory("..xxx.xx", ids=[range(n, n + 8)], reward=1.0) for n in (0, 9)))
    found = [subject.update([pair], round=r)["learner/kl_nats"] for r in range(1, 21)]
    assert found[0] > 0.05
    assert found[-1] < 0.2 * found[0]


def test_without_kl_there_is_no_reference(llama):
    assert learner(llama(), replace(PLAIN, kl_coefficient=0.0))._reference is None
    subject = learner(llama(), replace(PLAIN, kl_coefficient=0.01))
    assert not any(p.requires_grad for p in subject._reference.parameters())
    assert all(p.requires_grad for p in subject.model.parameters())


def test_the_reference_stays_where_it_was(llama, batch):
    subject = learner(llama(), FULL)
    subject.update(batch, round=1)
    assert distance(subject._reference.state_dict(), llama().state_dict()) == 0
    assert distance(subject.model.state_dict(), llama().state_dict()) > 0


BASE = replace(FULL, updates_per_round=2, reduction="trajectory", scale="deviation")
OTHER = {
    "learning_rate": 2e-3,
    "updates_per_round": 3,
    "micro_batch_tokens": 20,
    "precision": "bfloat16",
    "clip_low": 0.1,
    "clip_high": 0.1,
    "dual_clip": 1.5,
    "kl_coefficient": 0.0,
    "entropy_coefficient": 0.0,
    "reduction": "token",
    "scale": "none",
    "credit": "turn",
    "process": Stream(weight=0.1, discount=0.8, trace=0.95),
    "outcome": Stream(weight=2.0, discount=1.0, trace=1.0),
    "train_zero_spread": True,
    "max_grad_norm": 0.01,
    "weight_decay": 0.1,
    "max_skipped": 1,
}
NO_EFFECT = {"micro_batch_tokens", "max_skipped"}
STREAMS = {"process", "outcome"}


def trained(llama, batch, config):
    subject = learner(llama(), config)
    for round in (1, 2):
        subject.update(batch, round=round)
    return weights_of(subject.model)


def test_every_setting_is_tried():
    assert OTHER.keys() == {field.name for field in fields(LearnerConfig)}
    assert all(getattr(BASE, name) != value for name, value in OTHER.items())


@pytest.mark.parametrize("name", sorted(OTHER.keys() - NO_EFFECT))
def test_every_setting_changes_the_update(llama, batch, trajectory, group, name):
    """LOSS-7. Two rounds, so that KL and the gradient's norm matter; one group without spread."""
    flat = group(*(trajectory("..xx", ids=[range(n, n + 4)], reward=1.0) for n in (0, 5)))
    ways = group(
        trajectory("..x.x", process=[0.5, 0], behaviour=-3.0),
        trajectory("..x", process=[0.1], reward=-1.0, behaviour=-3.0),
    )
    groups = [*batch, flat, *([ways] if name in {"credit", *STREAMS} else [])]
    base = replace(BASE, credit="turn") if name in STREAMS else BASE
    changed = replace(base, **{name: OTHER[name]})
    assert distance(trained(llama, groups, base), trained(llama, groups, changed)) > 1e-5


@pytest.mark.parametrize("scale", ["deviation", "none"])
def test_equal_returns_leave_the_weights_alone(llama, trajectory, group, scale):
    """ADV-1, LOSS-3, LOSS-8: no step, whatever KL and entropy say."""
    config = replace(BASE, scale=scale, weight_decay=0.1)
    subject = learner(llama(), config)
    disturb(subject.model, 0.05)
    before = weights_of(subject.model)
    flat = group(*(trajectory("..xx", reward=value) for value in (0.1 + 0.2, 0.3)))
    metrics = subject.update([flat, flat], round=1)
    assert distance(before, weights_of(subject.model)) == 0
    assert metrics["learner/updates_count"] == metrics["learner/skipped_count"] == 0
    assert all(math.isfinite(value) for value in metrics.values())


@pytest.mark.parametrize("groups", [0, 1], ids=["no groups", "nobody scored"])
def test_nothing_to_train_on_is_no_update(llama, trajectory, group, groups):
    lost = trajectory("..xx", reward=9.0, stop=StopReason.INFRASTRUCTURE_FAULT)
    config = replace(BASE, train_zero_spread=True)
    subject = learner(llama(), config)
    before = weights_of(subject.model)
    metrics = subject.update([group(lost, lost)] * groups, round=1)
    assert distance(before, weights_of(subject.model)) == 0
    assert metrics["learner/trained_tokens_count"] == 0
    assert all(math.isfinite(value) for value in metrics.values())


def spoil(subject, value=math.nan):
    weight = next(subject.model.parameters())
    return weight.register_hook(lambda grad: torch.full_like(grad, value))


@pytest.mark.parametrize("value", [math.nan, math.inf], ids=str)
def test_an_update_with_a_bad_gradient_is_skipped(llama, batch, caplog, value):
    """LOSS-9: weights and optimizer stay intact, and the next good update counts anew."""
    subject = learner(llama(), replace(PLAIN, max_skipped=2))
    untouched = learner(llama(), replace(PLAIN, max_skipped=2))
    for round in (1, 2, 3):
        before = weights_of(subject.model)
        handle = spoil(subject, value)
        with caplog.at_level(logging.WARNING):
            metrics = subject.update(batch, round=round)
        handle.remove()
        assert distance(before, weights_of(subject.model)) == 0
        assert "update skipped" in caplog.text
        assert metrics["learner/skipped_count"] == 1
        assert metrics["learner/updates_count"] == 0
        assert all(math.isfinite(number) for number in metrics.values())
        subject.update(batch, round=round)
        untouched.update(batch, round=round)
    assert distance(weights_of(subject.model), weights_of(untouched.model)) == 0


@pytest.mark.parametrize("limit", [1, 3])
def test_too_many_bad_gradients_in_a_row_stop_training(llama, batch, limit):
    subject = learner(llama(), replace(PLAIN, max_skipped=limit))
    before = weights_of(subject.model)
    spoil(subject)
    for round in range(1, limit):
        subject.update(batch, round=round)
    with pytest.raises(TrainError, match=rf"^{limit} updates in a row had a non-finite .*\nhint"):
        subject.update(batch, round=limit)
    assert distance(before, weights_of(subject.model)) == 0


def test_an_update_with_a_bad_loss_is_skipped(bigram, trajectory, group):
    """A reference that rules a token out: KL is infinite although its gradient is 1."""
    model = bigram(4)
    with torch.no_grad():
        model.table[0, 1] = -math.inf
    subject = learner(model, FULL)
    with torch.no_grad():
        model.table[0, 1] = 0.0
    pair = group(trajectory(".x", reward=1.0), trajectory(".x"))
    metrics = subject.update([pair], round=1)
    assert metrics["learner/skipped_count"] == 1
    assert metrics["learner/loss"] == 0.0
    assert not model.table.any()


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, math.inf], ids=str)
def test_training_needs_a_temperature_above_zero(bigram, temperature):
    """LOGP-3."""
    with pytest.raises(TrainError, match=rf"got {temperature}\nhint: .*rollout.temperature"):
        learner(bigram(4), PLAIN, temperature)


def test_the_same_seed_gives_the_same_weights(llama, batch):
    found = []
    for seed in (0, 0, 1):
        subject = learner(llama(), BASE, seed=seed)
        metrics = [subject.update(batch, round=round) for round in (1, 2)]
        found.append((metrics, weights_of(subject.model)))
    assert found[0][0] == found[1][0]
    assert distance(found[0][1], found[1][1]) == 0
    assert distance(found[0][1], found[2][1]) > 0


@pytest.mark.parametrize(
    ("updates", "groups", "steps"),
    [(1, 3, 1), (2, 3, 2), (3, 3, 3), (4, 3, 3), (8, 1, 1), (2, 0, 0)],
)
def test_as_many_steps_as_asked_for_and_as_there_are_groups(llama, batch, updates, groups, steps):
    """CFG-3: whole groups in each; every token counts once."""
    subject = learner(llama(), replace(PLAIN, updates_per_round=updates))
    done = []
    subject._optimizer.register_step_post_hook(lambda *_: done.append(1))
    metrics = subject.update(batch[:groups], round=1)
    assert metrics["learner/updates_count"] == len(done) == steps
    scored = [t for g in batch[:groups] for t in g.trajectories if t.stop.is_scored]
    assert metrics["learner/trained_tokens_count"] == sum(t.sampled_tokens for t in scored)


def test_shares_are_taken_over_all_tokens(bigram, trajectory, group):
    """EVAL-7: 1 clipped token of 2, then 0 of 6: 1/8, not the mean of 1/2 and 0."""
    level = -math.log(16)
    short = group(
        trajectory(".x", ids=[[0, 1]], reward=1.0, behaviour=level - 1),
        trajectory(".x", ids=[[2, 3]], behaviour=level),
    )
    long = group(
        trajectory(".xxx", ids=[range(4, 8)], reward=1.0, behaviour=level),
        trajectory(".xxx", ids=[range(8, 12)], behaviour=level),
    )
    config = replace(PLAIN, updates_per_round=2, learning_rate=1e-9)
    metrics = learner(bigram(16), config).update([short, long], round=1)
    assert metrics["learner/clip_share"] == 1 / 8
    assert metrics["learner/ratio_max"] == pytest.approx(math.e)


def test_weights_are_the_models_own(llama, batch):
    subject = learner(llama(), PLAIN)
    shared = subject.weights()
    subject.update(batch, round=1)
    assert distance(shared, subject.model.state_dict()) == 0
