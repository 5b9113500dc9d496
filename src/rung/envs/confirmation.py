"""Confirmation: an irreversible action runs only with `"confirm": true`.

Reward effect: the refused turn is invalid, which costs `turn + invalid`, charged by the
innermost environment.
"""

from rung.core import Action, Move, Refusal, RefusalKind
from rung.envs.guard import Guard, Step
from rung.envs.tools import CONFIRM


class Confirmation(Guard):
    """Turns an unconfirmed irreversible action into a Refusal."""

    def step(self, action: Move) -> Step:
        """Pass the move on, or refuse it."""
        if (
            isinstance(action, Action)
            and self.tools[action.name].irreversible
            and action.arguments.get(CONFIRM) is not True
        ):
            message = f'not done: {action.name} cannot be undone, add "confirm": true'
            action = Refusal(RefusalKind.UNCONFIRMED, action, message)
        return super().step(action)
