import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rung.core import Action, StopReason, Task
from rung.envs import Definition, Guards, Identity, Table, TextActions, make, tool
from rung.envs.office import office
from rung.envs.office.goal import goal_of
from rung.envs.playing import acting, all_tasks, play, saying
from rung.envs.redaction import Redactor
from rung.errors import EnvError
from rung.seeding import Seeds

OFFICE = office()
ANNA = (Identity("person", "Anna Berg"), Identity("email", "anna12@office.example"))


def test_a_value_always_gets_the_same_placeholder() -> None:
    redactor = Redactor([*ANNA, Identity("person", "Leo Wood")])
    assert redactor.hide("Leo Wood writes to ANNA BERG, anna berg <anna12@office.example>.") == (
        "[person-2] writes to [person-1], [person-1] <[email-1]>."
    )


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("to j.d+x@mail.example.org now", "to [email-1] now"),
        ("call +49 30 1234567 or 0049 (30) 1234567", "call [phone-1] or [phone-2]"),
        ("card 4111 1111 1111 1111.", "card [card-1]."),
        ("card 4111 1111 1111 1112.", "card 4111 1111 1111 1112."),  # fails Luhn's check
        ("key sk-abcdefghijklmnop1234", "key [secret-1]"),
        ("key AKIAABCDEFGHIJKLMNOP", "key [secret-1]"),
        ("price 499, stock 123456, 12.5 kg", "price 499, stock 123456, 12.5 kg"),
        ("camera50 | 1200 | Acme", "camera50 | 1200 | Acme"),
        ("2026-12-01 10:30", "2026-12-01 10:30"),
    ],
)
def test_what_looks_like_personal_data(text: str, hidden: str) -> None:
    redactor = Redactor()
    assert redactor.hide(text) == hidden
    assert redactor.reveal(hidden) == text


TEXT = st.text("abcAB 12-]@.+\\é")


@given(st.lists(TEXT.filter(str.strip), max_size=5), TEXT)
def test_no_identity_survives_and_all_come_back(values: list[str], around: str) -> None:
    redactor = Redactor(Identity("x", value) for value in values)
    text = around + " ".join(values)
    hidden = redactor.hide(text)
    rest = hidden
    for placeholder in sorted(redactor._values, key=len, reverse=True):  # pyright: ignore[reportPrivateUsage]
        rest = rest.replace(placeholder, "\0")
    assert not [value for value in values if value.lower() in rest.lower()]
    assert redactor.reveal(hidden).lower() == text.lower()


def test_a_saved_redactor_goes_on_with_the_same_placeholders() -> None:
    one, two = Redactor(ANNA), Redactor(ANNA)
    one.hide("a@b.example c@d.example")
    two.load(json.loads(json.dumps(one.save())))
    assert one.hide("c@d.example e@f.example") == two.hide("c@d.example e@f.example")


def test_values_are_revealed_at_any_depth() -> None:
    assert Redactor(ANNA).reveal({"a": ["[person-1]", 1, None], "b": "x [email-1] [email-9]"}) == {
        "a": ["Anna Berg", 1, None],
        "b": "x anna12@office.example [email-9]",
    }


def names_in(task: Task) -> set[str]:
    return {value for name, email, _ in goal_of(task).world.employees for value in (name, email)}


def test_the_office_can_be_worked_in_without_seeing_anyone() -> None:
    """The expert of a redacted task reads placeholders and solves it all the same."""
    env: TextActions = make(OFFICE, Guards(redaction=True))
    hidden = 0
    for task in all_tasks(OFFICE, 4, seeds=Seeds(1)):
        redactor = Redactor(OFFICE.identities(task))
        blind = replace(task, payload=json.dumps(redactor.hide_value(task.data)))
        assert OFFICE.expert is not None
        played = play(env, task, acting(OFFICE.expert(blind)))
        assert played.stop is StopReason.SUCCESS
        seen = "\n".join(repr(turn) for turn in played.turns)
        assert not [value for value in names_in(task) if value.lower() in seen.lower()]
        hidden += seen.count("[email-")
    assert hidden > 0
    env.close()


def test_the_task_is_read_without_names() -> None:
    env = make(OFFICE, Guards(redaction=True))
    told = ""
    for task in all_tasks(OFFICE, 4, seeds=Seeds(2)):
        text, _ = env.reset(seed=0, options={"task": task})
        assert not [value for value in names_in(task) if value in text]
        told += text
    assert "[person-" in told
    env.close()


def test_an_address_cut_in_the_middle_does_not_slip_through() -> None:
    """The observation is redacted before it is cut."""
    task = next(iter(all_tasks(OFFICE, 1, seeds=Seeds(3))))
    message = Action("query_database", {"sql": "SELECT email FROM employees"}).text
    for limit in range(1, 60):
        env = make(OFFICE, Guards(redaction=True, observation_characters=limit))
        env.reset(seed=0, options={"task": task})
        assert "@" not in env.step(message)[0]
        env.close()


def test_a_long_table_is_summarised_without_names() -> None:
    task = next(iter(all_tasks(OFFICE, 1, seeds=Seeds(3))))
    env = make(OFFICE, Guards(redaction=True, table_rows=2))
    env.reset(seed=0, options={"task": task})
    sql = "SELECT name, email FROM employees"
    observation, *_ = env.step(Action("query_database", {"sql": sql}).text)
    assert "the first 2 shown" in observation
    assert not [value for value in names_in(task) if value in observation]
    env.close()


def test_an_unconfirmed_message_is_recorded_with_its_placeholders() -> None:
    task = next(iter(all_tasks(OFFICE, 1, seeds=Seeds(3))))
    env = make(OFFICE, Guards(redaction=True))
    env.reset(seed=0, options={"task": task})
    call = Action("send_message", {"to": "[email-1]", "text": "x"})
    *_, info = env.step(call.text)
    assert info["turn"].unconfirmed
    assert info["turn"].action == call
    *_, info = env.step(Action(call.name, {**call.arguments, "confirm": True}).text)
    assert not info["turn"].invalid, "the real address was written to"
    env.close()


def test_errors_of_the_environment_name_no_one(toy: Definition[Any], toy_task: Task) -> None:
    @tool
    def crash(_state: Any) -> str:
        """Break."""
        raise OSError("no mailbox for Anna Berg")

    @tool
    def who(_state: Any) -> Table:
        """Tell."""
        return Table(("who",), (("Anna Berg",),))

    definition = replace(toy, tools=(*toy.tools, crash, who), identities=lambda _: ANNA)
    env = make(definition, Guards(redaction=True))
    env.reset(seed=0, options={"task": toy_task})
    assert env.step(Action("who", {}).text)[0] == "who\n[person-1]"
    with pytest.raises(EnvError, match=r"no mailbox for \[person-1\]") as caught:
        env.step(Action("crash", {}).text)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_saved_trajectory_goes_on_redacted() -> None:
    one, two = (make(OFFICE, Guards(redaction=True)) for _ in range(2))
    task = next(iter(all_tasks(OFFICE, 1, seeds=Seeds(5))))
    query = Action("query_database", {"sql": "SELECT email FROM employees LIMIT 1"}).text
    play(one, task, saying([query]))
    two.load_state_dict(json.loads(json.dumps(one.state_dict())))
    assert one.step(query) == two.step(query)
    one.close()
    two.close()
