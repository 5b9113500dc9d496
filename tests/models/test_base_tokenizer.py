from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from rung.models.base_tokenizer import CONTROLS, train_tokenizer

TEXTS = [
    'Mail Anna Reed: {"action": "send", "arguments": {"to": "anna11@office.example"}}',
    'Anna said "Anna", (Anna) and lamp33, desk12, lamp34 cost 120.\n' * 3,
    "append a line to notes7.txt, then read notes7.txt",
] * 5
TOKENIZER = train_tokenizer(TEXTS, vocabulary=400)


def tokens(text: str) -> list[str]:
    return TOKENIZER.tokenize(text)


def test_controls_come_first() -> None:
    assert TOKENIZER.convert_ids_to_tokens(list(range(5))) == CONTROLS
    assert TOKENIZER.eos_token == "<|end|>"
    assert TOKENIZER.pad_token == "<|pad|>"
    assert len(TOKENIZER) <= 400


def test_there_is_room_for_every_byte() -> None:
    assert len(train_tokenizer([], vocabulary=1)) == 256 + len(CONTROLS)


@given(st.text())
def test_every_text_comes_back(text: str) -> None:
    assert TOKENIZER.decode(TOKENIZER.encode(text, add_special_tokens=False)) == text


@pytest.mark.parametrize("text", ["120", "anna11@office.example", "a1b22", "3.14", "_7_"])
def test_digits_stand_alone(text: str) -> None:
    for token in tokens(text):
        assert len(token) == 1 or not any(character.isdigit() for character in token)


@pytest.mark.parametrize("around", ["{}", "said {}", '"{}"', "({},", "\n{} ", " {}."])
@pytest.mark.parametrize("name", ["Anna", "lamp"])
def test_a_name_is_the_same_token_wherever_it_stands(name: str, around: str) -> None:
    text = name if name[0].isupper() else f"{name}33"
    assert name in tokens(around.format(text))


def test_a_common_word_is_one_token_with_its_space() -> None:
    assert tokens("to notes7.txt, then read")[-1] == "\u0120read"


def test_equal_texts_give_equal_vocabularies() -> None:
    assert train_tokenizer(TEXTS, vocabulary=400).get_vocab() == TOKENIZER.get_vocab()


def test_it_comes_back_from_a_folder(tmp_path: Path) -> None:
    TOKENIZER.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert loaded.get_vocab() == TOKENIZER.get_vocab()
    assert loaded.chat_template == TOKENIZER.chat_template
    assert loaded.encode(TEXTS[0]) == TOKENIZER.encode(TEXTS[0])
