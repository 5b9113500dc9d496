"""One engine step against attention over whole sequences."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from rung.engine.cache import CacheStep, SlotCache
from rung.models.packed import PackedRows

HEADS, GROUPS, WIDTH, NARROW = 4, 2, 8, 5
VARIANTS = [{}, {"window": 3}, {"softcap": 1.5}, {"window": 3, "softcap": 1.5}]


def draw(length: int, seed: int, *, wide: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of a sequence; values are narrower than keys."""
    generator = torch.Generator().manual_seed(seed)
    shapes = (length, HEADS, WIDTH), (length, GROUPS, WIDTH), (length, GROUPS, NARROW)
    query, key, value = (torch.randn(shape, generator=generator) for shape in shapes)
    return query, key * wide, value


def attend(layout: Any, rows: Sequence[Sequence[Tensor]], layer: int = 0, **how: Any) -> Tensor:
    query, key, value = (torch.cat(parts) for parts in zip(*rows, strict=True))
    settings = {"scale": 0.3, "window": None, "softcap": None} | how
    return layout.attend(layer, query, key, value, **settings)


def whole(row: Sequence[Tensor], **how: Any) -> Tensor:
    return attend(PackedRows([len(row[0])]), [row], **how)


def cut(row: Sequence[Tensor], start: int, stop: int) -> list[Tensor]:
    return [tensor[start:stop] for tensor in row]


@pytest.mark.parametrize("how", VARIANTS)
def test_steps_add_up_to_the_whole(how: dict[str, Any]) -> None:
    """Three sequences in slots 2, 0, 3, read in pieces of very different sizes."""
    lengths = {2: 40, 0: 21, 3: 12}
    rows = {slot: draw(length, slot) for slot, length in lengths.items()}
    found: dict[int, list[Tensor]] = {slot: [] for slot in lengths}
    done = dict.fromkeys(lengths, 0)
    cache = SlotCache(4)
    for counts in ({2: 1, 3: 5}, {0: 17}, {2: 30, 0: 1, 3: 1}, {0: 3, 2: 2, 3: 2}, {3: 4, 2: 7}):
        cache.reserve(max(done[slot] + count for slot, count in counts.items()))
        step = CacheStep(cache, list(counts), [done[slot] for slot in counts], [*counts.values()])
        pieces = [cut(rows[slot], done[slot], done[slot] + n) for slot, n in counts.items()]
        parts = attend(step, pieces, **how).split([*counts.values()])
        for (slot, count), part in zip(counts.items(), parts, strict=True):
            found[slot].append(part)
            done[slot] += count
    assert done == lengths
    for slot, row in rows.items():
        torch.testing.assert_close(torch.cat(found[slot]), whole(row, **how), atol=1e-5, rtol=1e-4)


def test_positions_and_last_tokens() -> None:
    step = CacheStep(SlotCache(3), [1, 0, 2], [0, 7, 3], [3, 1, 2])
    assert step.position_ids.tolist() == [[0, 1, 2, 7, 3, 4]]
    assert step.last.tolist() == [2, 3, 5]


def test_growing_keeps_what_is_there() -> None:
    row, cache = draw(700, 0), SlotCache(2)
    start = 0
    for stop in (3, 256, 257, 700):
        cache.reserve(stop)
        step = CacheStep(cache, [1], [start], [stop - start])
        found = attend(step, [cut(row, start, stop)])
        start = stop
    torch.testing.assert_close(found, whole(row)[257:], atol=1e-5, rtol=1e-4)


def test_room_grows_by_doubling() -> None:
    cache = SlotCache(1)
    sizes = []
    for length in (1, 256, 257, 512, 513, 5000):
        cache.reserve(length)
        sizes.append(cache.positions)
    assert sizes == [256, 256, 512, 512, 1024, 5000]


def test_what_a_slot_held_before_is_not_seen() -> None:
    cache = SlotCache(2)
    cache.reserve(50)
    old, new = draw(50, 0, wide=100.0), draw(9, 1)
    attend(CacheStep(cache, [0, 1], [0, 0], [50, 50]), [old, old])
    # Slot 1 is long, so slot 0 is padded with what the old sequence left there.
    step = CacheStep(cache, [0, 1], [0, 49], [9, 1])
    found = attend(step, [new, cut(old, 49, 50)])[:9]
    torch.testing.assert_close(found, whole(new), atol=1e-5, rtol=1e-4)


def test_layers_are_apart() -> None:
    cache = SlotCache(1)
    cache.reserve(6)
    step = CacheStep(cache, [0], [0], [6])
    rows = [draw(6, layer) for layer in range(3)]
    found = [attend(step, [row], layer) for layer, row in enumerate(rows)]
    for part, row in zip(found, rows, strict=True):
        torch.testing.assert_close(part, whole(row), atol=1e-5, rtol=1e-4)


def test_a_copied_prefix_is_a_sequence_of_its_own() -> None:
    cache, row = SlotCache(3), draw(10, 0)
    cache.reserve(10)
    attend(CacheStep(cache, [2], [0], [8]), [cut(row, 0, 8)])
    cache.copy_prefix(2, 0, 6)
    other = draw(8, 5)
    attend(CacheStep(cache, [2], [6], [2]), [cut(other, 6, 8)])  # the first goes on otherwise
    found = attend(CacheStep(cache, [0], [6], [4]), [cut(row, 6, 10)])
    torch.testing.assert_close(found, whole(row)[6:], atol=1e-5, rtol=1e-4)


def test_a_prompt_is_not_padded_onto_observations() -> None:
    """Rows are padded to at most twice their length, whatever else is in the step."""
    counts = [1, 1, 2, 3, 30, 33, 500]
    cache = SlotCache(len(counts))
    cache.reserve(500)
    step = CacheStep(cache, list(range(len(counts))), [0] * len(counts), counts)
    assert [tuple(part["tokens"].shape) for part in step._parts] == [
        (2, 1),
        (1, 2),
        (1, 3),
        (1, 30),
        (1, 33),
        (1, 500),
    ]
