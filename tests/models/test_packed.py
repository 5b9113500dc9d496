"""The packed forward against each model's own eager forward, one sequence at a time."""

from typing import Any

import pytest
import torch
import transformers

from rung.errors import ConfigError, TemplateError
from rung.models.packed import PackedRows, packed_logits, use_packed_attention

SIZE: dict[str, Any] = {
    "vocab_size": 40,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
    "initializer_range": 0.3,
    "pad_token_id": 0,
    "bos_token_id": None,
    "eos_token_id": 1,
}
MIXED = ["sliding_attention", "full_attention"]
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", {}),
    "llama, tied": ("Llama", {"tie_word_embeddings": True}),
    "qwen2": ("Qwen2", {}),
    "qwen2, window": (
        "Qwen2",
        {"use_sliding_window": True, "sliding_window": 4, "layer_types": MIXED},
    ),
    "qwen3": ("Qwen3", {}),
    "mistral, window": ("Mistral", {"sliding_window": 4}),
    "smollm3, one layer without positions": ("SmolLM3", {"no_rope_layers": [1, 0]}),
    "gemma2, window and softcap": (
        "Gemma2",
        {
            "sliding_window": 4,
            "layer_types": MIXED,
            "attn_logit_softcapping": 2.0,
            "final_logit_softcapping": 5.0,
            "query_pre_attn_scalar": 16,
        },
    ),
    "gemma3, window": (
        "Gemma3",
        {"sliding_window": 4, "layer_types": MIXED, "query_pre_attn_scalar": 16},
    ),
    "deepseek, values narrower than keys": (
        "DeepseekV3",
        {
            "num_key_value_heads": 4,
            "head_dim": 4,
            "kv_lora_rank": 8,
            "q_lora_rank": 8,
            "qk_rope_head_dim": 4,
            "qk_nope_head_dim": 6,
            "v_head_dim": 5,
            "first_k_dense_replace": 2,
        },
    ),
}
LENGTHS = (1, 11, 3, 7)


def build(family: str, *, eager: bool = False) -> Any:
    """A tiny model of a family; the same weights every time."""
    name, changes = FAMILIES[family]
    text = "TextConfig" if name == "Gemma3" else "Config"
    config = getattr(transformers, name + text)(**SIZE | changes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = getattr(transformers, f"{name}ForCausalLM")(config).eval()
    if eager:
        model.set_attn_implementation("eager")
    else:
        use_packed_attention(model)
    return model


def draw(lengths: tuple[int, ...], seed: int = 1) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(2, 40, (length,), generator=generator) for length in lengths]


@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_packed_equals_eager(family: str) -> None:
    rows = draw(LENGTHS)
    plain = build(family, eager=True)
    expected = torch.cat([plain(row.unsqueeze(0)).logits[0] for row in rows])
    flat = torch.cat(rows)
    found = packed_logits(build(family), flat, PackedRows(LENGTHS), torch.arange(len(flat)))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("family", ["llama", "gemma2, window and softcap"])
@torch.no_grad()
def test_what_is_beside_a_sequence_does_not_matter(family: str) -> None:
    model = build(family)
    rows = draw(LENGTHS)
    alone = [packed_logits(model, r, PackedRows([len(r)]), torch.arange(len(r))) for r in rows]
    for order in ([0, 1, 2, 3], [3, 1], [2, 0, 1, 3]):
        chosen = [rows[index] for index in order]
        flat = torch.cat(chosen)
        layout = PackedRows([len(row) for row in chosen])
        found = packed_logits(model, flat, layout, torch.arange(len(flat)))
        expected = torch.cat([alone[index] for index in order])
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


@torch.no_grad()
def test_keep_picks_positions_in_its_order() -> None:
    model = build("llama")
    flat, layout = torch.cat(draw(LENGTHS)), PackedRows(LENGTHS)
    every = packed_logits(model, flat, layout, torch.arange(len(flat)))
    keep = torch.tensor([5, 0, 21, 5])
    assert torch.equal(packed_logits(model, flat, layout, keep), every[keep])
    none = packed_logits(model, flat, layout, keep[:0])
    assert none.shape == (0, 40)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_gradient_crosses_into_another_sequence(family: str) -> None:
    model = build(family)
    embedded: list[torch.Tensor] = []

    def watch(_module: Any, _inputs: Any, output: torch.Tensor) -> None:
        output.retain_grad()
        embedded.append(output)

    model.get_input_embeddings().register_forward_hook(watch)
    first, last = 1, 12  # the second sequence
    packed_logits(
        model, torch.cat(draw(LENGTHS)), PackedRows(LENGTHS), torch.arange(first, last)
    ).square().sum().backward()
    gradient = embedded[0].grad
    assert gradient is not None
    moved = gradient[0].abs().sum(-1) > 0
    assert moved[first:last].all()
    assert not moved[:first].any()
    assert not moved[last:].any()


def test_gradients_are_those_of_eager() -> None:
    rows = draw(LENGTHS)
    plain, packed = (
        build("gemma2, window and softcap", eager=True),
        build("gemma2, window and softcap"),
    )
    loss = sum(plain(row.unsqueeze(0)).logits.square().sum() for row in rows)
    assert isinstance(loss, torch.Tensor)
    loss.backward()
    flat = torch.cat(rows)
    packed_logits(
        packed, flat, PackedRows(LENGTHS), torch.arange(len(flat))
    ).square().sum().backward()
    for (name, one), other in zip(plain.named_parameters(), packed.parameters(), strict=True):
        assert one.grad is not None, name
        scale = float(one.grad.abs().max())
        torch.testing.assert_close(other.grad, one.grad, atol=1e-5 * scale, rtol=1e-4)


def test_positions_count_from_zero_in_each_sequence() -> None:
    assert PackedRows([2, 1, 3]).position_ids.tolist() == [[0, 1, 0, 0, 1, 2]]


def test_a_forward_without_layout_is_refused() -> None:
    with pytest.raises(TemplateError, match="a layout is required"):
        build("llama")(torch.tensor([[3, 4]]))


def test_attention_sinks_are_refused() -> None:
    from rung.models.packed import packed_attention

    tensor = torch.zeros(1, 2, 3, 4)
    layout = PackedRows([3])
    with pytest.raises(TemplateError, match="sinks"):
        packed_attention(
            torch.nn.Module(), tensor, tensor, tensor, None, layout=layout, s_aux=torch.zeros(2)
        )


def test_a_model_with_attention_of_its_own_is_refused() -> None:
    config = transformers.BloomConfig(vocab_size=40, hidden_size=32, n_layer=1, n_head=2)
    with pytest.raises(ConfigError, match="BloomForCausalLM"):
        use_packed_attention(transformers.BloomForCausalLM(config))


def test_a_model_that_remembers_besides_attention_is_refused() -> None:
    config = transformers.Lfm2Config(
        vocab_size=40,
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        layer_types=["conv", "full_attention"],
    )
    with pytest.raises(ConfigError, match="conv"):
        use_packed_attention(transformers.Lfm2ForCausalLM(config))
