"""Canonical JSON: one text for one value, so that content can be hashed and compared."""

import json
from typing import Any


def canonical_json(value: Any) -> str:
    """`value` as JSON with sorted keys, no spaces and no NaN.

    Raises:
        ValueError: the value holds NaN or an infinity.
        TypeError: the value holds something that JSON has no form for.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
