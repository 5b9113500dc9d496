"""Redaction: personal data never reaches the model, and so nothing that is recorded of it.

Identities that the environment declares (`Definition.identities`), and mail addresses, phone and
card numbers and secrets that look like such, become placeholders like `[person-1]` in everything
the model sees. In its actions the placeholders become the real values again before a tool runs, so
a task can be done without anyone having seen the data. Reward effect: none.

It stands inside `ObservationLimit`: half an address, cut at the limit, could not be recognised.
Not caught: parts of an identity that a tool takes out of it, and data that a model makes up.
"""

import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from rung.core import Action, Move, Refusal, Task, Trajectory
from rung.core.jsontext import canonical_json
from rung.envs.definition import Definition, Identity
from rung.envs.guard import Guard, Step
from rung.envs.tools import Table
from rung.errors import RungError

_PATTERNS = {
    "email": r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}",
    "secret": r"\b(?:sk|pk|rk|ghp|gho|xox[abp])[-_][\w-]{16,}|\bAKIA[0-9A-Z]{16}\b",
    "card": r"(?<![\w.])\d(?:[ -]?\d){12,18}(?!\w|\.\d)",
    "phone": r"(?<![\w.])(?:\+|00)\d(?:[ ()/-]{0,2}\d){7,13}(?!\w|\.\d)",
}
"""Every repetition is bounded: the time for a text grows with its length only."""
_LOOKS = re.compile("|".join(f"(?P<{kind}>{form})" for kind, form in _PATTERNS.items()))
_PLACEHOLDER = re.compile(r"\[[a-z]+-\d+\]")


class Redactor:
    """Placeholders of one trajectory: the same value always gets the same one."""

    def __init__(self, identities: Iterable[Identity] = ()) -> None:
        self._placeholders: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        for identity in identities:
            if identity.value.strip():
                self._placeholder(identity.kind, identity.value)
        longest_first = sorted(self._values.values(), key=len, reverse=True)
        exact = "|".join(re.escape(value) for value in longest_first)
        self._exact = re.compile(exact, re.IGNORECASE) if exact else None

    def hide(self, text: str) -> str:
        """`text` with placeholders for all personal data."""
        if self._exact is not None:
            text = self._exact.sub(lambda found: self._placeholder("person", found[0]), text)
        return _LOOKS.sub(self._hide_look, text)

    def reveal(self, value: Any) -> Any:
        """A JSON value with the data in place of the placeholders of this trajectory."""
        return _texts(
            value, lambda text: _PLACEHOLDER.sub(lambda p: self._values.get(p[0], p[0]), text)
        )

    def hide_value(self, value: Any) -> Any:
        """A JSON value with all its texts hidden."""
        return _texts(value, self.hide)

    def _hide_look(self, found: re.Match[str]) -> str:
        assert found.lastgroup is not None
        if found.lastgroup == "card" and not _luhn(found[0]):
            return found[0]
        return self._placeholder(found.lastgroup, found[0])

    def _placeholder(self, kind: str, value: str) -> str:
        key = value.lower()
        if key not in self._placeholders:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            placeholder = f"[{kind}-{self._counts[kind]}]"
            self._placeholders[key] = placeholder
            self._values[placeholder] = value
        return self._placeholders[key]

    def save(self) -> list[list[str]]:
        """Kinds and values in the order in which they were found."""
        return [
            [placeholder[1:-1].rpartition("-")[0], v] for placeholder, v in self._values.items()
        ]

    def load(self, saved: Iterable[Iterable[str]]) -> None:
        """Go on from what `save` gave."""
        for kind, value in saved:
            self._placeholder(kind, value)


def _texts(value: Any, change: Any) -> Any:
    """`value` with `change` applied to every text in it, keys included."""
    match value:
        case str():
            return change(value)
        case dict():
            return {change(key): _texts(inner, change) for key, inner in value.items()}
        case list() | tuple():
            return type(value)(_texts(inner, change) for inner in value)
        case _:
            return value


def _luhn(text: str) -> bool:
    """True for a valid card number. Source: ISO/IEC 7812-1, annex B."""
    digits = [int(c) for c in reversed(text) if c.isdigit()]
    doubled = [d if i % 2 == 0 else sum(divmod(2 * d, 10)) for i, d in enumerate(digits)]
    return sum(doubled) % 10 == 0


class Redaction(Guard):
    """Puts placeholders between the model and the environment."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._redactor = Redactor()

    def reset(self, **kwargs: Any) -> tuple[str, dict[str, Any]]:
        """Start anew; the text of the task is redacted, `info["task"]` is not."""
        given = (kwargs.get("options") or {}).get("task")
        self._redactor = redactor_of(self.base.definition, given) if given else Redactor()
        with self._hiding_errors():
            observation, info = self.env.reset(**kwargs)
        if given is None:
            self._redactor = redactor_of(self.base.definition, info["task"])
        return self._redactor.hide(observation), info

    def step(self, action: Move) -> Step:
        """Carry out the move with the real data, and hide what comes back."""
        real = action
        if isinstance(action, Action):
            real = Action(action.name, self._redactor.reveal(dict(action.arguments)))
        with self._hiding_errors():
            observation, reward, terminated, truncated, info = super().step(real)
        turn, table = info["turn"], info["table"]
        move = turn.move
        if isinstance(move, Action):
            move = action
        if isinstance(move, Refusal) and isinstance(action, Action):
            move = replace(move, action=action, message=self._redactor.hide(move.message))
        if table is not None:
            rows = tuple(self._redactor.hide_value(row) for row in table.rows)
            table = Table(self._redactor.hide_value(table.columns), rows)
        info = {**info, "turn": replace(turn, move=move), "table": table}
        return self._redactor.hide(observation), reward, terminated, truncated, info

    @contextmanager
    def _hiding_errors(self) -> Generator[None]:
        try:
            yield
        except RungError as error:
            hint = self._redactor.hide(error.hint)
            raise type(error)(self._redactor.hide(error.message), hint=hint) from None

    def save(self) -> Any:
        """Placeholders given so far."""
        return self._redactor.save()

    def load(self, saved: Any) -> None:
        """Go on from what `save` gave."""
        assert self.base.task is not None
        self._redactor = redactor_of(self.base.definition, self.base.task)
        self._redactor.load(saved)


def redactor_of(definition: Definition[Any], task: Task) -> Redactor:
    """The placeholders with which a trajectory of `task` begins."""
    return Redactor(definition.identities(task))


def redacted(definition: Definition[Any], trajectory: Trajectory) -> Trajectory:
    """`trajectory` as it may be recorded: the task, too, is without personal data.

    Its task's fingerprint is another one.
    """
    redactor = redactor_of(definition, trajectory.task)
    text = redactor.hide(trajectory.task.text)
    payload = canonical_json(redactor.hide_value(trajectory.task.data))
    return replace(
        trajectory,
        task=replace(trajectory.task, text=text, payload=payload),
        error=redactor.hide(trajectory.error),
    )
