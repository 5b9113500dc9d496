import re

import pytest

from rung.envs.office import names

LISTS = ("NOUNS", "COMPANIES", "FIRST_NAMES", "LAST_NAMES", "TEAMS", "DOCUMENTS", "MEMOS")


@pytest.mark.parametrize("name", LISTS)
def test_names_are_plain_and_distinct(name: str) -> None:
    words = getattr(names, name)
    assert len({word.casefold() for word in words}) == len(words)
    assert all(re.fullmatch(r"[A-Za-z]+", word) for word in words)


def test_files_of_memos_and_documents_cannot_clash() -> None:
    assert not set(names.MEMOS) & set(names.DOCUMENTS)


def test_labels_cannot_be_words_of_a_document() -> None:
    # Documents have the lines `title: ...`, `item: ...`, `price: ...` besides their entries.
    labels = {word.casefold() for word in names.COMPANIES}
    assert not labels & {"title", "item", "price", "cheaper", "dearer", *names.MEMOS}
