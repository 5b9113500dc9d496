"""Gymnasium spaces of text: any observation, and messages that call tools at random."""

import json
from typing import Any

import gymnasium
import numpy as np

from rung.envs.tools import ToolSpec

_WORDS = ("a", "report.txt", "item", "SELECT 1", "42", "x@office.example", "")


class AnyText(gymnasium.Space[str]):
    """Every string; sampling gives short words."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(shape=(), dtype=str, seed=seed)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A short word."""
        return str(self.np_random.choice(_WORDS))

    def contains(self, x: Any) -> bool:
        """True for every string."""
        return isinstance(x, str)

    @property
    def is_np_flattenable(self) -> bool:
        """False: text has no fixed length."""
        return False

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


class ToolCalls(AnyText):
    """Every string; sampling gives a well-formed call of a random tool.

    The arguments are random values of the right types, so this is the random policy.
    """

    def __init__(self, tools: tuple[ToolSpec, ...], seed: int | None = None) -> None:
        super().__init__(seed)
        self.tools = tools
        self._properties = [
            tool.arguments.model_json_schema().get("properties", {}) for tool in tools
        ]

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A call of a random tool, as JSON."""
        index = int(self.np_random.integers(len(self.tools)))
        properties = self._properties[index].items()
        arguments = {name: _value(schema, self.np_random) for name, schema in properties}
        return json.dumps({"action": self.tools[index].name, "arguments": arguments})


def _value(schema: dict[str, Any], generator: np.random.Generator) -> Any:
    if "enum" in schema:
        return schema["enum"][int(generator.integers(len(schema["enum"])))]
    if "anyOf" in schema:
        return _value(schema["anyOf"][int(generator.integers(len(schema["anyOf"])))], generator)
    match schema.get("type"):
        case "string":
            return str(generator.choice(_WORDS))
        case "integer":
            return int(generator.integers(-10, 100))
        case "number":
            return float(generator.integers(-10, 100))
        case "boolean":
            return bool(generator.integers(2))
        case "array":
            return []
        case _:
            return schema.get("const", schema.get("default"))
