import time

import torch

from rung.models.tiny import tiny_policy


def test_equal_seeds_give_equal_policies() -> None:
    one, two, other = tiny_policy(3), tiny_policy(3), tiny_policy(4)
    pairs = zip(one.model.parameters(), two.model.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert one.tokenizer.get_vocab() == two.tokenizer.get_vocab()
    assert not torch.equal(one.model.lm_head.weight, other.model.lm_head.weight)


def test_the_global_generator_is_left_alone() -> None:
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    tiny_policy()
    assert torch.equal(torch.rand(3), expected)


def test_shape_and_context() -> None:
    policy = tiny_policy(context=64, texts=["hello hello hello"])
    config = policy.model.config
    assert (config.num_hidden_layers, config.hidden_size) == (2, 32)
    assert config.max_position_embeddings == 64
    assert config.vocab_size == len(policy.tokenizer)
    assert len(policy.tokenizer.encode("hello", add_special_tokens=False)) == 1
    assert policy.model.lm_head.weight is policy.model.get_input_embeddings().weight


def test_it_has_opinions() -> None:
    """Neither all tokens alike nor one certain: both would hide faults of sampling."""
    policy = tiny_policy()
    ids = policy.chat.prompt([{"role": "user", "content": "Count from 0 to 5."}])
    with torch.no_grad():
        likely = policy.model(torch.tensor([ids])).logits[0].softmax(-1).max(-1).values
    assert likely.min() > 0.02
    assert likely.max() < 0.9


def test_it_is_ready_at_once() -> None:
    tiny_policy()
    started = time.perf_counter()
    tiny_policy()
    assert time.perf_counter() - started < 0.5
