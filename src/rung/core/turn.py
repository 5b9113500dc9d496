"""TurnInfo: what the environment records about one turn."""

from dataclasses import dataclass

from rung.core.action import Action, FormatError, Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInfo:
    """What happened in one turn besides its observation and reward."""

    move: Action | FormatError | Refusal
    """The action that ran, or why none did."""
    subgoals: tuple[str, ...] = ()
    """Subgoals reached for the first time in this turn."""
    invalid: bool = False
    """Nothing useful ran: a format error, a refusal, or a tool that rejected its arguments."""
    repeated: bool = False
    """The action repeats an earlier one of the trajectory."""
    noise: bool = False
    """The observation was disturbed on purpose."""
    fault: bool = False
    """The environment itself failed in this turn."""

    @property
    def unconfirmed(self) -> bool:
        """An irreversible action was held back for want of a confirmation."""
        return isinstance(self.move, Refusal)

    @property
    def action(self) -> Action | None:
        """The well-formed action of this turn, run or refused."""
        match self.move:
            case Action():
                return self.move
            case Refusal():
                return self.move.action
            case FormatError():
                return None
