import pytest
from by_hand import trajectory

from rung.core import StopReason
from rung.runs.readable import duration, number, percent, points, readable_turn, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\ttext é \U0001f600 \u05e9\u05dc\u05d5\u05dd", None),
        ("a\x00b\x1b[31m", "a\u2400b\u241b[31m"),
        ("\u202ecod.exe", "\u27e8U+202E\u27e9cod.exe"),
        ("half \ud83d", "half \ufffd"),
        ("\x7f\x85\u2028", "\u27e8U+007F\u27e9\u27e8U+0085\u27e9\u27e8U+2028\u27e9"),
    ],
)
def test_control_characters_are_shown_and_do_not_act(text, shown):
    assert visible(text) == (text if shown is None else shown)


@pytest.mark.parametrize(
    ("show", "value", "text"),
    [
        (percent, 0.123, "12.3\u202f%"),
        (percent, None, "\u2013"),
        (number, 12345.6, "12,346"),
        (number, 0.00123, "0.00123"),
        (number, 0.0, "0.00"),
        (number, 14.94, "14.9"),
        (number, None, "\u2013"),
        (points, -0.05, "\u22125.0\u202fpoints"),
        (points, None, ""),
        (duration, 3.2, "3\u202fs"),
        (duration, 125, "2\u202fmin 5\u202fs"),
        (duration, 7500, "2\u202fh 5\u202fmin"),
        (duration, None, "\u2013"),
    ],
)
def test_numbers(show, value, text):
    assert show(value) == text


def test_a_turn_says_what_was_wrong_with_it():
    good, broken, refused = map(readable_turn, trajectory(stop=StopReason.SUCCESS).turns)
    assert (good.title, good.flags, good.subgoals) == ("send_message", (), ("first",))
    assert good.parts == "process +0.50, efficiency \u22120.01"
    assert broken.title == "no valid action"
    assert broken.flags == ("format error: no json", "invalid", "cut at the token limit")
    assert refused.title == "send_message"
    assert refused.flags == ("unconfirmed", "invalid", "repeated")
