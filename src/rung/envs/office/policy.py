"""The expert, and the same policy with human slips.

The expert reads every value from what the environment answers; the task gives it only what the
text says as well. With `Slips` it becomes the imperfect demonstrator from which the built-in
base policy is cloned: sound at form and copying, poor at decisions.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np

from rung.core import Action, Task
from rung.envs.definition import Expert
from rung.envs.office.goal import Block, Source, clock, goal_of

Plan = Generator[Action, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slips:
    """Probability of each slip, where it can happen."""

    skip: float = 0.0
    """Leave a block out."""
    early: float = 0.0
    """Submit before the next block."""
    forget: float = 0.0
    """Leave the confirmation out."""
    ignore: float = 0.0
    """After a refusal or an error, go on as if it had worked."""
    repeat: float = 0.0
    """Do the same thing twice."""
    wander: float = 0.0
    """Look at a table for no reason."""
    confuse: float = 0.0
    """Submit the entry of another block."""


HUMAN = Slips(skip=0.25, early=0.12, forget=0.4, ignore=0.5, repeat=0.08, wander=0.06, confuse=0.12)
"""The demonstrator of the built-in base policy."""


def expert(task: Task) -> Expert:
    """Solves every task."""
    return demonstrator(task, np.random.default_rng(0), Slips())


def undo(action: Action) -> Action | None:
    """The edit that takes back an edit; the undo of an undo makes it again."""
    if action.name != "edit_document":
        return None
    path, text = action.arguments["path"], action.arguments["text"]
    old = action.arguments.get("find") or "draft"
    return Action("edit_document", {"path": path, "text": old, "mode": "replace", "find": text})


def demonstrator(task: Task, generator: np.random.Generator, slips: Slips = HUMAN) -> Expert:
    """Carries out a task's blocks in order, with slips."""
    return _Worker(task, generator, slips).work()


class _Worker:
    def __init__(self, task: Task, generator: np.random.Generator, slips: Slips) -> None:
        self.goal = goal_of(task)
        self.generator = generator
        self.slips = slips

    def happens(self, probability: float) -> bool:
        return probability > 0 and self.generator.random() < probability

    def work(self) -> Expert:
        found: dict[int, str] = {}
        entries: dict[int, str] = {}
        price = ""
        for index, block in enumerate(self.goal.blocks):
            if index and self.happens(self.slips.early):
                break
            if self.happens(self.slips.skip):
                continue
            if self.happens(self.slips.wander):
                yield from self.do(_query("SELECT name FROM employees"))
            if block.sink.kind == "attach":
                found[index] = found.get(index - 1, "unknown")
            elif block.source.of:
                found[index] = self.combine(block.source, found)
            else:
                found[index], price = yield from self.find(block)
            entries[index] = f"{block.source.label}: {found[index]}"
            yield from self.deliver(block, found[index], price)
        answer = entries.get(self.goal.answer)
        if answer is not None and self.goal.plus >= 0:
            both = (found[self.goal.answer], found.get(self.goal.plus, ""))
            answer = f"sum: {_sum(both)}"
        if answer is None or self.happens(self.slips.confuse):
            others = [entry for index, entry in entries.items() if index != self.goal.answer]
            answer = others[self.generator.integers(len(others))] if others else "unknown"
        yield Action("submit_result", {"answer": answer})

    def combine(self, source: Source, found: dict[int, str]) -> str:
        """The larger of two earlier blocks by their numbers, or the sum of these."""
        first, second = source.of
        values = (found.get(first, ""), found.get(second, ""))
        if source.kind == "sum":
            return _sum(values)
        if not all(map(str.isdecimal, values)):
            return "unknown"
        larger = first if int(values[0]) > int(values[1]) else second
        return self.goal.blocks[larger].source.label

    def find(self, block: Block) -> Generator[Action, str, tuple[str, str]]:
        """The block's value, and for a report the item's price."""
        source = block.source
        item = source.item
        if source.kind == "deep":
            text = yield from self.do(Action("search_documents", {"text": item}))
            return _listed(text, source), ""
        if source.file:
            text = yield from self.do(Action("read_file", {"path": source.file}))
            if source.kind == "extract":
                return _field(text, source.column), ""
            item = _field(text, "item")
        value = _last_line((yield from self.do(_query(_sql(source, item)))))
        if block.sink.kind != "report":
            return value, ""
        sql = f"SELECT price FROM products WHERE name = '{value}'"
        return value, _last_line((yield from self.do(_query(sql))))

    def deliver(self, block: Block, value: str, price: str) -> Generator[Action, str, None]:
        """Put the value where it belongs."""
        sink, entry = block.sink, f"{block.source.label}: {value}"
        match sink.kind:
            case "append":
                yield from self.edit(sink.file, entry)
            case "create":
                yield from self.edit(sink.file, entry, mode="create")
            case "report":
                report = replace(block, value=value, price=price).report
                yield from self.edit(sink.file, report, mode="create")
            case "remind":
                reminder = {"time": clock(sink.by), "text": entry}
                yield from self.do(Action("schedule_reminder", reminder))
            case "approved":
                yield from self.mail(sink.person, {"text": entry}, reason=entry)
            case "correct":
                text = yield from self.do(Action("read_file", {"path": sink.file}))
                wrong = text.splitlines()[-1]
                yield from self.edit(sink.file, entry, mode="replace", find=wrong)
            case "send":
                yield from self.mail(sink.person, {"text": entry})
            case "attach":
                yield from self.mail(sink.person, {"text": "report", "attachment": sink.file})

    def edit(self, file: str, text: str, **how: str) -> Generator[Action, str, None]:
        yield from self.do(Action("edit_document", {"path": file, "text": text, **how}))

    def mail(
        self, person: str, content: dict[str, str], *, reason: str = ""
    ) -> Generator[Action, str, None]:
        """Send to a person of the directory; with a reason, ask for approval first."""
        sql = f"SELECT email FROM employees WHERE name = '{person}'"
        address = _last_line((yield from self.do(_query(sql))))
        message = {"to": address, **content}
        if reason:
            yield from self.do(Action("request_approval", {"to": address, "reason": reason}))
        if self.happens(self.slips.forget):
            yield from self.do(Action("send_message", message))
            if self.happens(self.slips.ignore):
                return
        yield from self.do(Action("send_message", {**message, "confirm": True}))

    def do(self, action: Action) -> Plan:
        """Carry out one action, perhaps twice."""
        observation = yield action
        if self.happens(self.slips.repeat):
            observation = yield action
        return observation


def _query(sql: str) -> Action:
    return Action("query_database", {"sql": sql})


def _sql(source: Source, item: str) -> str:
    match source.kind:
        case "lookup" | "via":
            return f"SELECT {source.column} FROM products WHERE name = '{item}'"
        case "order":
            return (
                "SELECT quantity FROM orders "
                f"WHERE customer = '{source.customer}' AND product = '{item}'"
            )
        case "join":
            return (
                f"SELECT products.{source.column} FROM orders "
                "JOIN products ON products.name = orders.product "
                f"WHERE orders.customer = '{source.customer}' "
                "ORDER BY orders.quantity DESC LIMIT 1"
            )
        case "cost":
            return (
                "SELECT SUM(orders.quantity * products.price) FROM orders "
                "JOIN products ON products.name = orders.product "
                f"WHERE orders.customer = '{source.customer}'"
            )
        case "count":
            return f"SELECT COUNT(*) FROM orders WHERE customer = '{source.customer}'"
        case "total":
            return f"SELECT SUM(quantity) FROM orders WHERE customer = '{source.customer}'"
        case _:
            direction = " DESC" if source.kind == "dearer" else ""
            return (
                f"SELECT name FROM products WHERE name IN ('{item}', '{source.other}') "
                f"ORDER BY price{direction} LIMIT 1"
            )


def _sum(values: tuple[str, str]) -> str:
    return str(sum(map(int, values))) if all(map(str.isdecimal, values)) else "unknown"


def _listed(text: str, source: Source) -> str:
    """The item's number among lines that a search found."""
    for line in text.splitlines():
        place, _, entry = line.partition(": ")
        if place.startswith(f"{source.file}, line ") and entry.startswith(f"{source.item}: "):
            return entry.removeprefix(f"{source.item}: ")
    return "unknown"


def _field(text: str, name: str) -> str:
    for line in text.splitlines():
        label, _, value = line.partition(": ")
        if label == name:
            return value
    return "unknown"


def _last_line(text: str) -> str:
    return text.splitlines()[-1] if text else "unknown"
