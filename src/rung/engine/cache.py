"""SlotCache: keys and values of many sessions, and the attention of one engine step over them.

Each session owns a slot. One step appends some tokens to some slots: one token where a message
is being sampled, several where a prompt or an observation is read. `CacheStep` is the Layout of
such a step (see `rung.models.packed`).

Shapes: S slots, C positions, G key/value heads, H query heads, D width of a head, N tokens of
the step in all.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from rung.models.packed import masked_attention

_FIRST_POSITIONS = 256


class SlotCache:
    """Tensors `[S, G, C, D]` per layer that grow with the longest session."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.positions = 0
        self._keys: dict[int, Tensor] = {}
        self._values: dict[int, Tensor] = {}

    def reserve(self, positions: int) -> None:
        """Make room for sessions of this length."""
        if positions <= self.positions:
            return
        self.positions = max(positions, 2 * self.positions, _FIRST_POSITIONS)
        for store in (self._keys, self._values):
            for layer, old in store.items():
                shape = (*old.shape[:2], self.positions, old.shape[3])
                store[layer] = old.new_zeros(shape)
                store[layer][:, :, : old.shape[2]] = old

    def layer(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of a layer, made on first use for `[N, G, D]` tensors like these."""
        for store, like in ((self._keys, key), (self._values, value)):
            if layer not in store:
                shape = (self.slots, like.shape[1], self.positions, like.shape[2])
                store[layer] = like.new_zeros(shape)
        return self._keys[layer], self._values[layer]

    def copy_prefix(self, source: int, target: int, length: int) -> None:
        """Give slot `target` the first `length` positions of slot `source`."""
        for store in (self._keys, self._values):
            for tensor in store.values():
                tensor[target, :, :length] = tensor[source, :, :length]


class CacheStep:
    """The layout of one step: rows of new tokens, each appended to a slot.

    Args:
        cache: where keys and values are kept; it must have room for the new tokens.
        slots: the slot of each row.
        starts: tokens that the slot holds already.
        counts: new tokens of the row, at least 1.
    """

    def __init__(
        self, cache: SlotCache, slots: Sequence[int], starts: Sequence[int], counts: Sequence[int]
    ) -> None:
        self._cache = cache
        self._slots = torch.tensor(slots)
        self._starts = torch.tensor(starts)
        self._counts = torch.tensor(counts)
        rows = torch.arange(len(slots)).repeat_interleave(self._counts)
        firsts = self._counts.cumsum(0) - self._counts
        offsets = torch.arange(int(self._counts.sum())) - firsts[rows]
        positions = self._starts[rows] + offsets
        self.position_ids = positions.unsqueeze(0)
        self.last = firsts + self._counts - 1
        """Index of each row's last token among the step's tokens."""
        self._write = (self._slots[rows], positions)
        self._parts = self._plan(firsts)

    def _plan(self, firsts: Tensor) -> list[dict[str, Any]]:
        """Rows of about the same number of tokens together: which tokens, slots and mask.

        Rows of a part are padded to its longest, so a prompt does not share one with observations:
        sizes double from part to part, and rows of one token are apart.
        """
        parts = []
        sizes = torch.tensor([(count - 1).bit_length() for count in self._counts.tolist()])
        for size in sizes.unique():
            chosen = (sizes == size).nonzero().squeeze(1)
            columns = torch.arange(int(self._counts[chosen].max()))
            real = columns < self._counts[chosen, None]
            offsets = columns * real
            ends = self._starts[chosen, None] + offsets + 1
            longest = int(ends.max())
            slots = self._slots[chosen]
            is_run = bool((slots == torch.arange(len(slots)) + slots[0]).all())
            parts.append(
                {
                    "tokens": firsts[chosen, None] + offsets,
                    "real": real.flatten(),
                    "slots": slice(int(slots[0]), int(slots[0]) + len(slots)) if is_run else slots,
                    "longest": longest,
                    "allowed": (torch.arange(longest) < ends[..., None]).unsqueeze(1),
                }
            )
        return parts

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
        """See `rung.models.packed.Layout`: stores the new keys and values, then attends."""
        keys, values = self._cache.layer(layer, key, value)
        slots, positions = self._write
        keys[slots, :, positions] = key
        values[slots, :, positions] = value
        output = query.new_empty((*query.shape[:2], value.shape[2]))
        for part in self._parts:
            longest, allowed = part["longest"], part["allowed"]
            if window is not None:
                ends = allowed.sum(-1, keepdim=True)
                allowed = allowed & (torch.arange(longest) >= ends - window)
            attended = masked_attention(
                query[part["tokens"]].transpose(1, 2),
                keys[part["slots"], :, :longest],
                values[part["slots"], :, :longest],
                allowed,
                scale=scale,
                softcap=softcap,
            )
            flat = attended.transpose(1, 2).flatten(0, 1)
            output[part["tokens"].flatten()[part["real"]]] = flat[part["real"]]
        return output
