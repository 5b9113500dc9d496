import pytest

from rung.core import StopReason

TERMINAL = {"success", "wrong_submission"}
TRUNCATED = {"step_limit", "token_limit", "context_limit", "invalid_streak"}
UNSCORED = {"infrastructure_fault", "cancelled"}


def test_the_three_kinds_cover_every_reason_once() -> None:
    # Recorded in run directories: none may be renamed.
    assert sorted(StopReason) == sorted([*TERMINAL, *TRUNCATED, *UNSCORED])


@pytest.mark.parametrize("reason", list(StopReason), ids=str)
def test_each_reason_is_of_exactly_one_kind(reason: StopReason) -> None:
    assert reason.is_terminal is (reason in TERMINAL)
    assert reason.is_truncated is (reason in TRUNCATED)
    assert reason.is_scored is (reason not in UNSCORED)
    assert reason.is_terminal + reason.is_truncated + (not reason.is_scored) == 1


@pytest.mark.parametrize("reason", list(StopReason), ids=str)
def test_a_reason_is_its_recorded_text(reason: StopReason) -> None:
    assert StopReason(str(reason)) is reason
    assert reason.value == reason.name.lower()
