"""Packed forward passes: any Hugging Face decoder over a flat row of tokens, without padding.

Linear layers see `[1, N]` tokens of many sequences side by side; only attention needs to know
which token belongs to which sequence. That knowledge is a `Layout`, handed through the model's
keyword arguments to the attention function that this module registers with transformers. The
learner uses `PackedRows`; the engine has a layout of its own with a key/value cache.

Shapes: N tokens in all, B sequences, T the longest, H query heads, G key/value heads, D width of
a head.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from rung.errors import ConfigError, TemplateError

IMPLEMENTATION = "rung_packed"
_LAYERS = {"full_attention", "sliding_attention"}


class Layout(Protocol):
    """Knows which flat tokens attend to which."""

    def attend(
        self,
        layer: int,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        scale: float,
        window: int | None,
        softcap: float | None,
    ) -> Tensor:
        """Attention output `[N, H, D]` from `[N, H, D]` queries and `[N, G, D]` keys, values."""
        ...


def packed_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    layout: Layout | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **_ignored: Any,
) -> tuple[Tensor, None]:
    """The attention function as transformers calls it: `[1, heads, N, D]` in, `[1, N, H, D]` out.

    Raises:
        TemplateError: no layout was given, or the model needs attention sinks.
    """
    if layout is None or s_aux is not None:
        what = "attention sinks are not supported" if layout else "a layout is required"
        raise TemplateError(f"packed forward of {type(module).__name__}: {what}")
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    flat = (tensor[0].transpose(0, 1) for tensor in (query, key, value))
    output = layout.attend(
        module.layer_idx, *flat, scale=scale, window=sliding_window, softcap=softcap
    )
    return output.unsqueeze(0), None


class PackedRows:
    """Whole sequences side by side, each attending causally to itself.

    Attributes:
        position_ids: `[1, N]`, counting from 0 in each sequence.
    """

    def __init__(self, lengths: Sequence[int], device: torch.device | str = "cpu") -> None:
        self._lengths = list(lengths)
        positions = [torch.arange(length, device=device) for length in lengths]
        self.position_ids = torch.cat(positions).unsqueeze(0)

    def attend(
        self,
        layer: int,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        scale: float,
        window: int | None,
        softcap: float | None,
    ) -> Tensor:
        """See `Layout`. Each sequence is a call of its own, so none pays for a longer one."""
        del layer
        shared = query.shape[1] // key.shape[1]
        outputs = []
        for rows in zip(*(t.split(self._lengths) for t in (query, key, value)), strict=True):
            q, k, v = (row.transpose(0, 1).unsqueeze(0) for row in rows)
            length = q.shape[2]
            if softcap is None and (window is None or window >= length):
                output = functional.scaled_dot_product_attention(
                    q, k, v, is_causal=True, scale=scale, enable_gqa=shared > 1
                )
            else:
                columns = torch.arange(length, device=q.device)
                distance = columns[:, None] - columns
                allowed = (distance >= 0) & (distance < (window or length))
                output = masked_attention(q, k, v, allowed, scale=scale, softcap=softcap)
            outputs.append(output[0].transpose(0, 1))
        return torch.cat(outputs)


def masked_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    allowed: Tensor,
    *,
    scale: float,
    softcap: float | None,
) -> Tensor:
    """Plain attention: `[B, H, Q, D]` queries over `[B, G, K, D]`, `allowed` broadcast to scores.

    Query heads are grouped by the key/value head that they share, so nothing is copied. Values
    may have another width than keys.
    """
    batch, heads, queries, _ = query.shape
    groups = key.shape[1]
    grouped = (query * scale).reshape(batch, groups, heads // groups * queries, -1)
    scores = grouped @ key.transpose(-1, -2)
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    scores = scores.view(batch, heads, queries, -1).masked_fill(~allowed, float("-inf"))
    weights = scores.float().softmax(-1).to(value.dtype)
    weights = weights.view(batch, groups, heads // groups * queries, -1)
    return (weights @ value).view(batch, heads, queries, -1)


def use_packed_attention(model: Any) -> None:
    """Make `model` run packed: from now on its forward needs `layout=`.

    Raises:
        ConfigError: it would mix the sequences, because it has attention of its own or layers that
            remember by other means.
    """
    from transformers import AttentionInterface

    config = getattr(model, "config", None)
    others = set(getattr(config, "layer_types", None) or ()) - _LAYERS
    if others or getattr(model, "_is_stateful", False):
        what = f"layers of type {', '.join(sorted(others))}" if others else "a recurrent state"
        raise ConfigError(
            f"{type(model).__name__} has {what}, which packed rows would share",
            hint="use a model with full or sliding-window attention only",
        )
    AttentionInterface.register(IMPLEMENTATION, packed_attention)
    model.set_attn_implementation(IMPLEMENTATION)
    if config is not None and config._attn_implementation != IMPLEMENTATION:
        raise ConfigError(
            f"{type(model).__name__} does not let its attention be replaced",
            hint="use a model that follows transformers' AttentionInterface, such as a Llama",
        )


def packed_logits(model: Any, token_ids: Tensor, layout: Any, keep: Tensor) -> Tensor:
    """Logits `[len(keep), vocabulary]` after the flat tokens at the indices `keep`.

    Args:
        model: a causal LM after `use_packed_attention`.
        token_ids: `[N]`.
        layout: a Layout with `position_ids`.
        keep: indices into the flat tokens; other positions are not projected to logits.
    """
    output = model(
        input_ids=token_ids.unsqueeze(0),
        position_ids=layout.position_ids,
        use_cache=False,
        logits_to_keep=keep,
        layout=layout,
    )
    return output.logits[0]
