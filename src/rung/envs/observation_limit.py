"""ObservationLimit: keeps observations short. Reward effect: none."""

from typing import Any

from rung.core import Move
from rung.envs.guard import Guard, Step
from rung.errors import ConfigError

MARKER = "\n[cut: {left} more characters]"


class ObservationLimit(Guard):
    """Cuts text and turns long tables into a summary."""

    def __init__(self, env: Any, characters: int = 2_000, rows: int = 20) -> None:
        if characters < 1 or rows < 1:
            raise ConfigError(f"observation limits must be at least 1, got {characters}, {rows}")
        super().__init__(env)
        self.characters = characters
        self.rows = rows

    def step(self, action: Move) -> Step:
        """Carry out the move and shorten what comes back."""
        observation, reward, terminated, truncated, info = super().step(action)
        table = info["table"]
        if table is not None and len(table.rows) > self.rows:
            observation = table.summary(self.rows)
        return cut_text(observation, self.characters), reward, terminated, truncated, info


def cut_text(text: str, characters: int) -> str:
    """`text`, cut at `characters` with a marker that says how much is missing."""
    if len(text) <= characters:
        return text
    return text[:characters] + MARKER.format(left=len(text) - characters)
