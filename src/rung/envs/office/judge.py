"""Subgoals and success, judged on the office's state."""

from rung.core import Task
from rung.envs.definition import Subgoal
from rung.envs.office.goal import Block, entry_holds, goal_of, report_holds, same
from rung.envs.office.world import Message, Office


def subgoals(task: Task) -> tuple[Subgoal[Office], ...]:
    """One subgoal per block."""
    goal = goal_of(task)
    return tuple(
        Subgoal(f"{index}:{block.source.kind}-{block.sink.kind}", _Holds(block, goal.blocks))
        for index, block in enumerate(goal.blocks)
    )


def success(office: Office) -> bool:
    """Every block holds, the answer is right, and no message was sent that was not asked for."""
    goal = office.goal
    return (
        office.answer is not None
        and same(office.answer.strip(), goal.result)
        and all(_Holds(block, goal.blocks)(office) for block in goal.blocks)
        and all(
            any(_mailed(message, block, goal.blocks) for block in goal.blocks)
            for message in office.messages
        )
    )


class _Holds:
    def __init__(self, block: Block, blocks: tuple[Block, ...]) -> None:
        self.block, self.blocks = block, blocks

    def __call__(self, office: Office) -> bool:
        match self.block.sink.kind:
            case "append" | "create" | "correct":
                return entry_holds(office.text_of(self.block.sink.file), self.block)
            case "report":
                return report_holds(office.text_of(self.block.sink.file), self.block)
            case "remind":
                return any(
                    reminder.at == self.block.sink.by and entry_holds(reminder.text, self.block)
                    for reminder in office.reminders
                )
            case "send" | "attach" | "approved":
                return any(_mailed(m, self.block, self.blocks) for m in office.messages)


def _mailed(message: Message, block: Block, blocks: tuple[Block, ...]) -> bool:
    """True if `message` is what `block` asks to be sent."""
    late = block.sink.by and message.at > block.sink.by
    if message.to != block.address or late:
        return False
    if block.sink.kind in ("send", "approved"):
        allowed = message.approved or block.sink.kind == "send"
        return allowed and message.attachment is None and entry_holds(message.text, block)
    if block.sink.kind != "attach" or message.attachment != block.sink.file:
        return False
    report = next(b for b in blocks if b.sink.kind == "report" and b.sink.file == block.sink.file)
    return report_holds(message.attached_text or "", report)
