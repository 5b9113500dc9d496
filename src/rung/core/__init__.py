"""The nouns of Rung: frozen records that every layer shares. No behaviour, no torch."""

from rung.core.action import (
    Action,
    FormatError,
    FormatErrorKind,
    Move,
    Refusal,
    RefusalKind,
    Response,
)
from rung.core.reward import RewardParts
from rung.core.stop import StopReason
from rung.core.task import Task
from rung.core.trajectory import Group, Segment, Trajectory, Turn
from rung.core.turn import TurnInfo

__all__ = [
    "Action",
    "FormatError",
    "FormatErrorKind",
    "Group",
    "Move",
    "Refusal",
    "RefusalKind",
    "Response",
    "RewardParts",
    "Segment",
    "StopReason",
    "Task",
    "Trajectory",
    "Turn",
    "TurnInfo",
]
