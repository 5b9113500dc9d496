import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rung.core.jsontext import canonical_json

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(value=values)
def test_reading_gives_the_value_back(value: Any) -> None:
    text = canonical_json(value)
    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text


@given(items=st.dictionaries(st.text(), st.integers(), max_size=6))
def test_order_of_keys_does_not_matter(items: dict[str, int]) -> None:
    assert canonical_json(dict(reversed(items.items()))) == canonical_json(items)


def test_text_is_compact_and_keeps_its_letters() -> None:
    assert canonical_json({"b": [1, 2.5], "a": "\u00e9 \u4e2d"}) == (
        '{"a":"\u00e9 \u4e2d","b":[1,2.5]}'
    )


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")], ids=str)
def test_numbers_that_json_lacks_are_refused(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"a": [number]})


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, object()], ids=["bytes", "set", "object"])
def test_values_that_json_lacks_are_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        canonical_json([value])
