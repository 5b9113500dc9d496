"""StopReason: why a trajectory ended."""

from enum import StrEnum


class StopReason(StrEnum):
    """Why a trajectory ended."""

    SUCCESS = "success"
    """The task was submitted and its goal holds."""
    WRONG_SUBMISSION = "wrong_submission"
    """The task was submitted and its goal does not hold."""
    STEP_LIMIT = "step_limit"
    """The turns allowed are used up."""
    TOKEN_LIMIT = "token_limit"
    """The tokens allowed for the trajectory are used up."""
    CONTEXT_LIMIT = "context_limit"
    """The next turn would not fit into the model's context."""
    INVALID_STREAK = "invalid_streak"
    """Too many invalid turns in a row."""
    INFRASTRUCTURE_FAULT = "infrastructure_fault"
    """The environment or the engine broke; nobody's fault but ours."""
    CANCELLED = "cancelled"
    """The run was stopped meanwhile."""

    @property
    def is_terminal(self) -> bool:
        """The task itself ended: no value is bootstrapped after the last turn."""
        return self in _TERMINAL

    @property
    def is_truncated(self) -> bool:
        """A limit cut the trajectory."""
        return self in _TRUNCATED

    @property
    def is_scored(self) -> bool:
        """The return says something about the policy."""
        return self.is_terminal or self.is_truncated


_TERMINAL = {StopReason.SUCCESS, StopReason.WRONG_SUBMISSION}
_TRUNCATED = {
    StopReason.STEP_LIMIT,
    StopReason.TOKEN_LIMIT,
    StopReason.CONTEXT_LIMIT,
    StopReason.INVALID_STREAK,
}
