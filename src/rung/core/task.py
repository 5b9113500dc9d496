"""Task: the frozen data of one problem."""

import json
from dataclasses import dataclass
from typing import Any

from rung.core.jsontext import canonical_json
from rung.seeding import content_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One problem. The payload alone determines the environment's initial state and goal."""

    environment: str
    """Name of the environment that plays it."""
    tier: str
    """Difficulty level: E1, E2 or E3."""
    template: str
    """Family of tasks it was drawn from."""
    text: str
    """What the agent is told; one of several phrasings of the same payload."""
    step_limit: int
    """Turns after which the trajectory is cut."""
    payload: str
    """The environment's own data as canonical JSON: initial state and goal."""

    @classmethod
    def make(
        cls,
        *,
        environment: str,
        text: str,
        data: Any,
        tier: str = "E1",
        template: str = "default",
        step_limit: int = 15,
    ) -> "Task":
        """A task whose payload is `data`, any JSON value."""
        return cls(
            environment=environment,
            tier=tier,
            template=template,
            text=text,
            step_limit=step_limit,
            payload=canonical_json(data),
        )

    @property
    def data(self) -> Any:
        """The payload, decoded afresh: changing it does not change the task."""
        return json.loads(self.payload)

    @property
    def fingerprint(self) -> str:
        """Content hash of the initial state and goal, the same for every phrasing."""
        return content_hash(f"{self.environment}\n{self.payload}".encode())

    @property
    def id(self) -> str:
        """Short readable name; equal for equal tasks."""
        digest = content_hash(f"{self.fingerprint}\n{self.text}".encode())[:12]
        return f"{self.environment}/{self.tier}/{self.template}/{digest}"
