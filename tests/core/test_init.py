import dataclasses
from enum import Enum

import pytest

import rung.core

CLASSES = [
    kind
    for name in rung.core.__all__
    if isinstance(kind := getattr(rung.core, name), type) and not issubclass(kind, (Enum, str))
]


def test_exported_names_are_sorted_and_exist() -> None:
    assert rung.core.__all__ == sorted(rung.core.__all__)
    assert all(hasattr(rung.core, name) for name in rung.core.__all__)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_record_is_a_frozen_slotted_dataclass(kind: type) -> None:
    assert dataclasses.is_dataclass(kind)
    assert kind.__dataclass_params__.frozen  # pyright: ignore[reportAttributeAccessIssue]
    assert "__slots__" in vars(kind)
