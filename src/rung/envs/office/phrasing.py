"""Goals in words: several phrasings of each block, in English and in Chinese."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rung.envs.office.goal import Block, Source, clock


@dataclass(frozen=True, slots=True, kw_only=True)
class _Language:
    nouns: Mapping[str, tuple[str, ...]]
    """Source -> ways to name its value."""
    sentences: Mapping[str, tuple[str, ...]]
    """Sink -> ways to ask for it."""
    endings: tuple[str, ...]
    both: str
    """The result, when it adds two values."""
    columns: Mapping[str, str]
    forms: Mapping[str, str]
    by: str
    """A deadline, as part of a sentence."""
    space: str
    """Between sentences."""


_ENGLISH = _Language(
    nouns={
        "lookup": ("the {column} of {item}",),
        "order": (
            "the quantity of {item} ordered by {customer}",
            "how many {item} {customer} ordered",
        ),
        "count": ("the number of orders of {customer}", "how many orders {customer} has"),
        "total": (
            "the total quantity ordered by {customer}",
            "the sum of the orders of {customer}",
        ),
        "extract": ("the {column} given in {file}",),
        "via": ("the {column} of the item named in {file}",),
        "cheaper": ("the cheaper of {item} and {other}",),
        "dearer": ("the dearer of {item} and {other}",),
        "join": (
            "the {column} of the item of which {customer} ordered most",
            "the {column} of what {customer} has the largest order of",
        ),
        "cost": (
            "what the orders of {customer} cost in all",
            "the total price of everything {customer} ordered",
        ),
        "deep": ("the number beside {item} in {file}", "what {file} says about {item}"),
        "larger": ("whichever is larger, {first} or {second}",),
        "sum": ("the sum of {first} and {second}",),
    },
    sentences={
        "append": ("Add {x} to {file}.", "Note {x} in {file}."),
        "create": ("Create {file} with {x}.", "Start a new document {file} with {x}."),
        "correct": (
            "Correct the entry in {file} to {x}.",
            "Replace the wrong entry in {file} by {x}.",
        ),
        "send": ("Send {x} to {person}{by}.", "Tell {person} {x}{by}."),
        "report": (
            "Write a report on {x} to {file}{form}.",
            "Report on {x} in a new document {file}{form}.",
        ),
        "attach": ("Mail {file} to {person}{by}.", "Send {person} the file {file}{by}."),
        "approved": (
            "Get approval to write to {person}, then send {x}.",
            "Send {x} to {person}, but ask for approval first.",
        ),
        "remind": (
            "Set a reminder for {time} with {x}.",
            "Schedule a reminder at {time} that gives {x}.",
        ),
    },
    endings=("Finally submit {x}.", "Then submit {x}."),
    both="the sum of {first} and {second}",
    columns={},
    forms={"lines": "", "csv": " as CSV", "markdown": " in Markdown"},
    by=" before {time}",
    space=" ",
)
_CHINESE = _Language(
    nouns={
        "lookup": ("{item} 的{column}",),
        "order": ("{customer} 订购 {item} 的数量", "{customer} 订了多少 {item}"),
        "count": ("{customer} 的订单数", "{customer} 一共有几份订单"),
        "total": ("{customer} 订购的总数量", "{customer} 所有订单的数量之和"),
        "extract": ("{file} 中写的{column}",),
        "via": ("{file} 中提到的商品的{column}",),
        "cheaper": ("{item} 和 {other} 中较便宜的一个",),
        "dearer": ("{item} 和 {other} 中较贵的一个",),
        "join": ("{customer} 订购最多的商品的{column}",),
        "cost": ("{customer} 所有订单的总价", "{customer} 订购的全部商品一共多少钱"),
        "deep": ("{file} 中 {item} 对应的数字",),
        "larger": ("{first}与{second}中较大的一个",),
        "sum": ("{first}与{second}之和",),
    },
    sentences={
        "append": ("把{x}加到 {file} 里。", "在 {file} 中记下{x}。"),
        "create": ("新建 {file}，写入{x}。", "用{x}创建文档 {file}。"),
        "correct": ("把 {file} 中的错误条目改为{x}。", "更正 {file} 里的条目，应为{x}。"),
        "send": ("{by}把{x}发给 {person}。", "{by}告诉 {person} {x}。"),
        "report": ("就{x}写一份报告，存为 {file}{form}。", "新建 {file}{form}，报告{x}。"),
        "attach": ("{by}把 {file} 寄给 {person}。", "{by}将文件 {file} 发给 {person}。"),
        "approved": ("先申请批准，再把{x}发给 {person}。", "获得批准后告诉 {person} {x}。"),
        "remind": ("设一个 {time} 的提醒，内容是{x}。",),
    },
    endings=("最后提交{x}。", "然后提交{x}。"),
    both="{first}与{second}之和",
    columns={
        "price": "价格",
        "stock": "库存",
        "supplier": "供应商",
        "shelf": "货架",
        "minimum": "最低数量",
    },
    forms={"lines": "", "csv": "（CSV 格式）", "markdown": "（Markdown 格式）"},
    by="在 {time} 之前",
    space="",
)
LANGUAGES = {"en": _ENGLISH, "zh": _CHINESE}


def phrase(
    blocks: tuple[Block, ...],
    answer: int,
    generator: np.random.Generator,
    *,
    plus: int = -1,
    language: str = "en",
) -> str:
    """The task's text: a sentence per block and what to submit.

    Args:
        blocks: what to do, in order.
        answer: index of the block whose value is to be submitted.
        generator: chooses among phrasings.
        plus: index of the block whose number is to be added to it; -1 for none.
        language: `en` or `zh`.
    """
    words = LANGUAGES[language]

    def choose(options: tuple[str, ...]) -> str:
        return options[int(generator.integers(len(options)))]

    def noun(source: Source) -> str:
        form = choose(words.nouns[source.kind])
        named = {
            name: noun(blocks[i].source)
            for name, i in zip(("first", "second"), source.of, strict=False)
        }
        return form.format(
            item=source.item,
            other=source.other,
            customer=source.customer,
            column=words.columns.get(source.column, source.column),
            file=source.file,
            **named,
        )

    def sentence(block: Block) -> str:
        sink, time = block.sink, clock(block.sink.by)
        return choose(words.sentences[sink.kind]).format(
            x=noun(block.source),
            file=sink.file,
            person=sink.person,
            form=words.forms[sink.form],
            time=time,
            by=words.by.format(time=time) if sink.by else "",
        )

    sentences = [sentence(block) for block in blocks]
    ending, result = choose(words.endings), noun(blocks[answer].source)
    if plus >= 0:
        result = words.both.format(first=result, second=noun(blocks[plus].source))
    return words.space.join([*sentences, ending.format(x=result)])
