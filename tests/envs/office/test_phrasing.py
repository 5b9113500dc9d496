import numpy as np
import pytest

from rung.envs.office.goal import Block, Goal, Sink, SinkKind, Source, SourceKind
from rung.envs.office.phrasing import phrase

SOURCES = ("lookup", "order", "count", "total", "extract", "via", "cheaper", "dearer")
SINKS = ("append", "create", "correct", "send", "report", "attach")


def block(source: SourceKind, sink: SinkKind) -> Block:
    return Block(
        source=Source(
            kind=source,
            item="lamp33",
            other="desk12",
            customer="Acme",
            column="stock",
            file="memo5.txt",
        ),
        sink=Sink(kind=sink, file="notes7.txt", person="Anna Reed"),
        value="SECRET",
        price="SECRET",
        address="SECRET",
    )


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("sink", SINKS)
def test_the_text_names_what_is_needed_and_not_the_solution(
    source: SourceKind, sink: SinkKind
) -> None:
    blocks = (block(source, sink),)
    texts = {phrase(blocks, 0, np.random.default_rng(seed)) for seed in range(40)}
    for text in texts:
        assert "SECRET" not in text
        assert "{" not in text
        assert ("Anna Reed" in text) == (sink in ("send", "attach"))
        assert ("notes7.txt" in text) == (sink != "send")
        assert text.count(". ") >= 1 and text.endswith(".")
    assert len(texts) > 1


def test_sentences_follow_the_blocks(goal: Goal) -> None:
    text = phrase(goal.blocks, goal.answer, np.random.default_rng(0))
    marks = ("notes7.txt", "Anna Reed", "ledger2.txt", "review8.txt", "report9.txt", "Boris Stone")
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)
    assert text.rpartition("submit ")[2].count("desk12") == 1


def test_the_text_follows_the_generator(goal: Goal) -> None:
    def text(seed: int) -> str:
        return phrase(goal.blocks, goal.answer, np.random.default_rng(seed))

    assert text(1) == text(1)
    assert len({text(seed) for seed in range(20)}) > 5
