"""A policy small enough for tests: random weights, a tokenizer of bytes, ready in milliseconds."""

from collections.abc import Iterable
from typing import Any

from rung.models.base_tokenizer import train_tokenizer
from rung.models.chat import Chat
from rung.models.loading import Policy

VOCABULARY = 300
"""256 bytes, the control tokens, and some merges."""
_SPREAD = 0.3
_TEXTS = ('{"action": "finish", "arguments": {"answer": 1}}', "Count from 0 to 5.")


def tiny_policy(seed: int = 0, *, context: int = 512, texts: Iterable[str] = ()) -> Policy:
    """A Llama of 2 layers and width 32 with the base policy's kind of tokenizer.

    It knows nothing, but every part of Rung runs with it. Equal arguments give equal weights, and
    torch's global generators are left as they were.

    Args:
        seed: root of the weights.
        context: longest session in tokens.
        texts: what the tokenizer learns its merges from; by default a few words of actions.
    """
    tokenizer = train_tokenizer(list(texts) or _TEXTS, vocabulary=VOCABULARY)
    model = _model(tokenizer, context)
    _randomise(model, seed)
    return Policy(model.eval(), tokenizer, Chat(tokenizer))


def _model(tokenizer: Any, context: int) -> Any:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=64,
        max_position_embeddings=context,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        return LlamaForCausalLM(config)


def _randomise(model: Any, seed: int) -> None:
    """Draw every matrix anew: transformers' own spread makes all tokens about equally likely."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.normal_(std=_SPREAD, generator=generator)
