import pytest

from rung.core import RewardParts


def test_total_is_the_sum_of_the_parts() -> None:
    # 0.75 - 0.25 + 10 = 10.5, exact in binary
    assert RewardParts(process=0.75, efficiency=-0.25, outcome=10.0).total == 10.5
    assert RewardParts().total == 0.0


def test_parts_are_added_apart() -> None:
    one = RewardParts(process=0.5, efficiency=-0.25, outcome=0.0)
    other = RewardParts(process=1.0, efficiency=-0.5, outcome=10.0)
    assert one + other == RewardParts(process=1.5, efficiency=-0.75, outcome=10.0)
    assert one == RewardParts(process=0.5, efficiency=-0.25, outcome=0.0)


def test_sum_over_no_turns_is_zero() -> None:
    assert sum([], RewardParts()) == RewardParts(0.0, 0.0, 0.0)


def test_parts_are_frozen() -> None:
    with pytest.raises(AttributeError):
        RewardParts().outcome = 10.0  # pyright: ignore[reportAttributeAccessIssue]
