import json
from collections.abc import Iterator
from typing import Any

import pytest

from rung.core import Action, FormatError, FormatErrorKind, Response
from rung.envs import Definition, parse_action, parsing
from rung.envs.parsing import FORM, MAX_CHARACTERS

Kind = FormatErrorKind
GOOD = '{"action": "add", "arguments": {"amount": 2}}'


@pytest.fixture
def parse(toy: Definition[Any]) -> Any:
    tools = {tool.name: tool for tool in toy.tools}
    return lambda text, tier="E1": parse_action(text, tools, tier)


def call(name: str = "add", **arguments: Any) -> str:
    return json.dumps({"action": name, "arguments": arguments})


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(GOOD, id="bare"),
        pytest.param(f"  \n{GOOD}\t\r\n", id="white space"),
        pytest.param(f"\ufeff{GOOD}\u00a0", id="byte order mark and no-break space"),
        pytest.param(f"```json\n{GOOD}\n```", id="fence"),
        pytest.param(f"```\n{GOOD}\n```", id="fence without language"),
        pytest.param(f"```bash\nls -l\n```\n```json\n{GOOD}\n```", id="another fence before"),
        pytest.param(f"I'll look with `add`, it's best: {GOOD} Done, isn't it?", id="prose"),
        pytest.param(f'He said "go". {GOOD}', id="quotes in prose"),
        pytest.param(f"<think>{call('add', amount=9)}</think>{GOOD}", id="thinking block"),
        pytest.param(f"what {call('add', amount=9)}</think>{GOOD}", id="end of thinking alone"),
        pytest.param(f"<think>a</think>b</think>\n{GOOD}", id="two ends of thinking"),
        pytest.param(f"{GOOD}<think>{call('add', amount=9)}", id="thinking begins afterwards"),
        pytest.param(f"first }} then {GOOD}", id="closing brace in prose"),
        pytest.param(f"[1] see: {GOOD}", id="brackets in prose"),
        pytest.param('{"arguments": {"amount": 2}, "action": "add"}', id="keys in the other order"),
        pytest.param(r'{"\u0061ction": "\u0061dd", "arguments": {"amount": 2}}', id="escapes"),
    ],
)
def test_finds_the_action(parse: Any, text: str) -> None:
    action = parse(text)
    assert isinstance(action, Action), action
    assert (action.name, action.arguments) == ("add", {"amount": 2})


@pytest.mark.parametrize(
    "why",
    [
        pytest.param("run ```ls``` or `pwd`", id="backticks"),
        pytest.param("what's up", id="apostrophe"),
        pytest.param('brace } and "quote" and { and \\', id="braces and quotes"),
        pytest.param("{'q': True}", id="python literal"),
        pytest.param("\U0001f680 \u00e9", id="beyond ascii"),
        pytest.param("line\nbreak\ttab", id="control characters"),
        pytest.param("<|im_end|><|im_start|>system", id="control tokens"),
    ],
)
def test_keeps_text_inside_a_string_as_it_is(parse: Any, why: str) -> None:
    for ensure_ascii in (True, False):
        text = json.dumps({"action": "fail", "arguments": {"why": why}}, ensure_ascii=ensure_ascii)
        assert parse(text).arguments == {"why": why}
        assert parse(f"```json\n{text}\n```").arguments == {"why": why}


ERRORS: dict[FormatErrorKind, dict[str, str]] = {
    Kind.NO_JSON: {
        "empty": "",
        "white space": " \n ",
        "prose": "I do not know what to do.",
        "only a foreign fence": "```bash\nls\n```",
        "single quotes": "{'action': 'add', 'arguments': {}}",
        "python literal": '{"action": "add", "arguments": {"amount": None}}',
        "python set": "{'a', 'b'}",
        "comment": '{"action": "add", /* two */ "arguments": {}}',
        "trailing comma": '{"action": "add", "arguments": {},}',
        "not closed": '{"action": "add", "arguments": {"amount": 2}',
        "string not closed": '{"action": "add", "arguments": {"amount": "2}}',
        "wrong bracket": '{"action": "add", "arguments": {"amount": 2]}',
        "raw line break in a string": '{"action": "fail", "arguments": {"why": "a\nb"}}',
        "NaN": '{"action": "add", "arguments": {"amount": NaN}}',
        "infinity": '{"action": "add", "arguments": {"amount": -Infinity}}',
        "escaped half of a pair": r'{"action": "fail", "arguments": {"why": "\ud83d"}}',
        "half of a pair": '{"action": "fail", "arguments": {"why": "\ud83d"}}',
        "half of a pair as key": r'{"action": "fail", "arguments": {"\ude80": 1}}',
        "thinking only": f"<think>{GOOD}</think>",
        "thinking not ended": f"<think>{GOOD}",
        "one of two is broken": f"{{x}} {GOOD}",
    },
    Kind.SEVERAL_OBJECTS: {
        "two": f"{GOOD} {GOOD}",
        "two lines": f"{GOOD}\n{call('finish', answer=5)}",
        "one is empty": f"{{}} {GOOD}",
        "many": "{}" * 5_000,
    },
    Kind.NOT_AN_OBJECT: {
        "list": "[]",
        "list of a call": f"[{GOOD}]",
        "list of two calls": f"[{GOOD}, {GOOD}]",
        "text": '"text"',
        "number": "3",
        "true": "true",
        "null": "null",
        "fake end of thinking": f"{GOOD}</think>[]",
    },
    Kind.MISSING_KEY: {
        "empty": "{}",
        "no action": '{"arguments": {}}',
        "no arguments": '{"action": "add"}',
        "wrong names": '{"name": "add", "parameters": {}}',
    },
    Kind.EXTRA_KEY: {
        "thought": '{"action": "add", "arguments": {}, "thought": "hm"}',
        "argument outside": '{"action": "add", "arguments": {}, "amount": 1}',
    },
    Kind.DUPLICATE_KEY: {
        "action": '{"action": "add", "action": "fail", "arguments": {}}',
        "argument": '{"action": "add", "arguments": {"amount": 1, "amount": 2}}',
        "escaped": r'{"action": "add", "\u0061ction": "add", "arguments": {}}',
    },
    Kind.UNKNOWN_ACTION: {
        "unknown": call("shout"),
        "case": call("ADD"),
        "space": call("add "),
        "look-alike": call("\u0430dd"),
        "null": '{"action": null, "arguments": {}}',
        "number": '{"action": 5, "arguments": {}}',
        "object": '{"action": {"name": "add"}, "arguments": {}}',
        "attribute": call("__class__"),
    },
    Kind.NOT_OPEN_YET: {"later tier": call("late")},
    Kind.BAD_ARGUMENTS: {
        "text for int": call(amount="35"),
        "true for int": call(amount=True),
        "float for int": call(amount=3.5),
        "exponent for int": '{"action": "add", "arguments": {"amount": 1e3}}',
        "null for int": call(amount=None),
        "list for int": call(amount=[1]),
        "extra": call(amount=1, more=2),
        "missing": call("rows"),
        "text for true": call("erase", confirm="true"),
        "one for true": call("erase", confirm=1),
        "confirm where none belongs": call(amount=1, confirm=True),
        "list": '{"action": "add", "arguments": []}',
        "null": '{"action": "add", "arguments": null}',
        "encoded": '{"action": "add", "arguments": "{\\"amount\\": 1}"}',
        "deep": '{"action": "add", "arguments": {"amount": ' + "[" * 14 + "]" * 14 + "}}",
    },
    Kind.TOO_LARGE: {
        "integer": '{"action": "add", "arguments": {"amount": ' + "9" * 5_000 + "}}",
        "19 digits": '{"action": "add", "arguments": {"amount": 1000000000000000000}}',
        "float": '{"action": "add", "arguments": {"amount": 1e999}}',
        "negative float": '{"action": "add", "arguments": {"amount": -1e999}}',
        "200 levels": '{"a":' * 200 + "1" + "}" * 200,
        "200 levels, open": '{"a":' * 200,
        "characters": call("fail", why="x" * 19_900) + "x" * 200,
        "100 kB": "{" * 100_000,
    },
}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param(text, kind, id=f"{kind} {name}")
        for kind, texts in ERRORS.items()
        for name, text in texts.items()
    ],
)
def test_names_the_format_error(parse: Any, text: str, kind: FormatErrorKind) -> None:
    error = parse(text)
    assert isinstance(error, FormatError), error
    assert error.kind is kind
    assert 0 < len(error.message) < 300
    error.message.encode()


def test_every_kind_but_a_cut_is_in_the_table() -> None:
    assert set(ERRORS) == set(Kind) - {Kind.TRUNCATED}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param('{"action": "fail", "arguments": {"why": "abc', Kind.TRUNCATED, id="open"),
        pytest.param('{"action": "add", "arguments": {}', Kind.TRUNCATED, id="one brace missing"),
        pytest.param("I will now", Kind.TRUNCATED, id="prose"),
        pytest.param("", Kind.TRUNCATED, id="empty"),
        pytest.param(f"<think>{GOOD} and so", Kind.TRUNCATED, id="in thought"),
        pytest.param(f'{GOOD} {{"action"', Kind.TRUNCATED, id="in a second object"),
        pytest.param(GOOD, None, id="complete"),
        pytest.param(f"{GOOD} And now I", None, id="complete, words after it"),
        pytest.param(f"{GOOD}<think>now", None, id="complete, thought after it"),
        pytest.param('{"action": "add"}', Kind.MISSING_KEY, id="complete and wrong"),
        pytest.param("{'a'}", Kind.NO_JSON, id="complete and no JSON"),
    ],
)
def test_a_cut_message_is_used_only_when_its_object_is_complete(
    parse: Any, text: str, kind: FormatErrorKind | None
) -> None:
    parsed = parse(Response(text, cut=True))
    assert (parsed.kind if isinstance(parsed, FormatError) else None) is kind
    whole = parse(Response(text))
    assert not isinstance(whole, FormatError) or whole.kind is not Kind.TRUNCATED


def test_tools_open_by_tier(parse: Any) -> None:
    assert parse(call("late"), "E1").message == "late is not open in this task"
    assert parse(call("late"), "E2").name == "late"
    assert parse(call("late"), "E3").name == "late"
    unknown = "no tool 'shout'; the tools are add, rows, fail, erase"
    assert parse(call("shout"), "E1").message == f"{unknown}, finish"
    assert parse(call("shout"), "E2").message == f"{unknown}, late, finish"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (call(amount="2"), "amount: Input should be a valid integer; add(amount)"),
        (call(more=1), "more: Extra inputs are not permitted; add(amount)"),
        (call("rows"), "count: Field required; rows(count)"),
        ('{"action": "add", "arguments": {}, "x": 1}', "the key 'x' does not belong there"),
        ('{"a": 1, "a": 2}', "the key 'a' stands twice"),
        ('{"action": "add"}', "the key 'arguments' is missing"),
        ("{} {}", "there are 2 JSON objects"),
    ],
)
def test_message_says_what_was_wrong(parse: Any, text: str, message: str) -> None:
    assert parse(text).message == message


def test_the_form_that_models_are_shown_is_well_formed() -> None:
    assert set(json.loads(FORM.replace("...", ""))) == {"action", "arguments"}


class CountedText(str):
    """Text that counts how many characters are looked at one by one."""

    looked_at = 0

    def __iter__(self) -> Iterator[str]:
        for character in str.__iter__(self):
            CountedText.looked_at += 1
            yield character


@pytest.mark.parametrize(
    "unit", ["{", "}", "{}", '{"', '"', "\\", '{"a":', "[", "<think>", "</think>", "`", "'", "{[]}"]
)
def test_junk_is_read_once(parse: Any, unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # All that is done one character at a time is counted; json and str methods are linear.
    spans, decode = parsing._object_spans, parsing._decode
    decoded = 0

    def count_decoded(text: str) -> dict[str, Any]:
        nonlocal decoded
        decoded += len(text)
        return decode(text)

    monkeypatch.setattr(parsing, "_object_spans", lambda text: spans(CountedText(text)))
    monkeypatch.setattr(parsing, "_decode", count_decoded)
    CountedText.looked_at = 0
    junk = (unit * MAX_CHARACTERS)[:MAX_CHARACTERS]
    assert isinstance(parse(junk), FormatError)
    assert CountedText.looked_at <= MAX_CHARACTERS
    assert decoded <= MAX_CHARACTERS


class CountedKey(str):
    """A key that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        CountedKey.compared += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        return str.__hash__(self)


def test_many_keys_are_not_compared_with_one_another() -> None:
    pairs: list[tuple[str, Any]] = [(CountedKey(f"k{index}"), index) for index in range(2_000)]
    assert len(parsing._unique(pairs)) == 2_000
    with pytest.raises(parsing._Problem, match="the key 'k1999' stands twice"):
        parsing._unique([*pairs, (CountedKey("k1999"), 0)])
    assert CountedKey.compared < 2_000
