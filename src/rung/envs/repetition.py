"""Repetition: doing the same thing again costs.

Reward effect: `repeated` for a turn whose action (name and key arguments) equals those of the
two turns before it, and `repeated` again for a turn whose name and arguments all equal those of
any earlier turn of the trajectory. Repeating is free when the last identical call was disturbed
by noise or a fault: then trying again is right.
"""

from typing import Any

from rung.core import Action, Move
from rung.envs.guard import Guard, Step, charge


class Repetition(Guard):
    """Charges repeated actions."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._recent: list[str | None] = []
        self._seen: set[str] = set()

    def reset(self, **kwargs: Any) -> tuple[str, dict[str, Any]]:
        """Forget the trajectory before."""
        self._recent, self._seen = [], set()
        return self.env.reset(**kwargs)

    def step(self, action: Move) -> Step:
        """Carry out the move and charge it if it repeats."""
        step = super().step(action)
        if not isinstance(action, Action):
            self._recent.append(None)
            return step
        key = action.key(self.tools[action.name].key_arguments)
        call = action.canonical
        in_a_row = self._recent[-2:] == [key, key]
        again = call in self._seen
        turn = step[4]["turn"]
        if turn.noise or turn.fault:
            self._seen.discard(call)
            self._recent.append(None)
        else:
            self._seen.add(call)
            self._recent.append(key)
        if not (in_a_row or again):
            return step
        return charge(step, self.rewards.repeated * (in_a_row + again), repeated=True)

    def save(self) -> Any:
        """Recent action keys and all calls so far."""
        return {"recent": self._recent[-2:], "seen": sorted(self._seen)}

    def load(self, saved: Any) -> None:
        """Go on from what `save` gave."""
        self._recent, self._seen = list(saved["recent"]), set(saved["seen"])
