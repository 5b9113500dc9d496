"""Goals in words: several phrasings of each block."""

import numpy as np

from rung.envs.office.goal import Block, Source

_NOUNS: dict[str, tuple[str, ...]] = {
    "lookup": ("the {column} of {item}",),
    "order": (
        "the quantity of {item} ordered by {customer}",
        "how many {item} {customer} ordered",
    ),
    "count": ("the number of orders of {customer}", "how many orders {customer} has"),
    "total": ("the total quantity ordered by {customer}", "the sum of the orders of {customer}"),
    "extract": ("the {column} given in {file}",),
    "via": ("the {column} of the item named in {file}",),
    "cheaper": ("the cheaper of {item} and {other}",),
    "dearer": ("the dearer of {item} and {other}",),
}
_SENTENCES: dict[str, tuple[str, ...]] = {
    "append": ("Add {x} to {file}.", "Note {x} in {file}."),
    "create": ("Create {file} with {x}.", "Start a new document {file} with {x}."),
    "correct": ("Correct the entry in {file} to {x}.", "Replace the wrong entry in {file} by {x}."),
    "send": ("Send {x} to {person}.", "Tell {person} {x}."),
    "report": ("Write a report on {x} to {file}.", "Report on {x} in a new document {file}."),
    "attach": ("Mail {file} to {person}.", "Send {person} the file {file}."),
}
_ENDINGS = ("Finally submit {x}.", "Then submit {x}.")


def phrase(blocks: tuple[Block, ...], answer: int, generator: np.random.Generator) -> str:
    """The task's text: a sentence per block and what to submit."""

    def choose(options: tuple[str, ...]) -> str:
        return options[int(generator.integers(len(options)))]

    sentences = [
        choose(_SENTENCES[block.sink.kind]).format(
            x=_noun(block.source, choose(_NOUNS[block.source.kind])),
            file=block.sink.file,
            person=block.sink.person,
        )
        for block in blocks
    ]
    source = blocks[answer].source
    ending = choose(_ENDINGS).format(x=_noun(source, choose(_NOUNS[source.kind])))
    return " ".join([*sentences, ending])


def _noun(source: Source, form: str) -> str:
    return form.format(
        item=source.item,
        other=source.other,
        customer=source.customer,
        column=source.column,
        file=source.file,
    )
