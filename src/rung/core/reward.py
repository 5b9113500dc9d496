"""RewardParts: the three parts of a turn's reward."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RewardParts:
    """Reward of one turn, or a sum over turns. Unitless; the scale is the environment's."""

    process: float = 0.0
    """Paid once for each subgoal, when its state predicate first holds."""
    efficiency: float = 0.0
    """Costs: per turn, for invalid and repeated turns, for leaving the task unfinished."""
    outcome: float = 0.0
    """Paid once, at the end: success or a wrong submission."""

    @property
    def total(self) -> float:
        """The sum of the three parts."""
        return self.process + self.efficiency + self.outcome

    def __add__(self, other: "RewardParts") -> "RewardParts":
        return RewardParts(
            self.process + other.process,
            self.efficiency + other.efficiency,
            self.outcome + other.outcome,
        )
