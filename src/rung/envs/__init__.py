"""Environments: tools on a state, judged by rules. Start at `Definition` and `make`."""

from rung.envs.check import Finding, check
from rung.envs.confirmation import Confirmation
from rung.envs.definition import (
    TIERS,
    Definition,
    Expert,
    Identity,
    RewardTable,
    Subgoal,
    Template,
)
from rung.envs.invalid_streak import InvalidStreak
from rung.envs.live import LiveConfig
from rung.envs.noise import Noise
from rung.envs.observation_limit import ObservationLimit
from rung.envs.parsing import parse_action
from rung.envs.redaction import Redaction, redacted
from rung.envs.repetition import Repetition
from rung.envs.stack import Guards, load, make, names
from rung.envs.step_limit import StepLimit
from rung.envs.text_actions import TextActions
from rung.envs.tool_environment import ToolEnvironment
from rung.envs.tools import Table, ToolSpec, tool
from rung.errors import ToolError

__all__ = [
    "TIERS",
    "Confirmation",
    "Definition",
    "Expert",
    "Finding",
    "Guards",
    "Identity",
    "InvalidStreak",
    "LiveConfig",
    "Noise",
    "ObservationLimit",
    "Redaction",
    "Repetition",
    "RewardTable",
    "StepLimit",
    "Subgoal",
    "Table",
    "Template",
    "TextActions",
    "ToolEnvironment",
    "ToolError",
    "ToolSpec",
    "check",
    "load",
    "make",
    "names",
    "parse_action",
    "redacted",
    "tool",
]
