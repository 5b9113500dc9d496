"""The office: look things up, write them down, mail them to the right person, hand in a result."""

from dataclasses import replace
from functools import partial

from rung.core import Task
from rung.envs.definition import Definition, Identity
from rung.envs.office.goal import goal_of
from rung.envs.office.judge import subgoals, success
from rung.envs.office.live import live
from rung.envs.office.policy import HUMAN, Slips, demonstrator, expert, undo
from rung.envs.office.templates import TEMPLATES
from rung.envs.office.tools import TOOLS
from rung.envs.office.world import Office, load, save

ABOUT = (
    "Tables: products(name, price, stock, supplier) orders(customer, product, quantity) "
    "employees(name, email, team)\n"
    'Write each fact, in documents, messages and the result, as a line "name: value"; the name is '
    "the product, customer or file asked about, or cheaper, or dearer. "
    'A report has the lines "item: ..." and "price: ...".'
)


def office() -> Definition[Office]:
    """The office environment."""
    definition = Definition(
        name="office",
        about=ABOUT,
        tools=TOOLS,
        templates=TEMPLATES,
        start=lambda task, _generator: Office(goal_of(task)),
        subgoals=subgoals,
        success=success,
        expert=expert,
        identities=identities,
        undo=undo,
        close=Office.close,
        save=save,
        load=load,
    )
    return replace(definition, live=partial(live, definition))


def identities(task: Task) -> tuple[Identity, ...]:
    """Names and addresses of the employees."""
    return tuple(
        Identity(kind, value)
        for name, email, _ in goal_of(task).world.employees
        for kind, value in (("person", name), ("email", email))
    )


__all__ = ["HUMAN", "Office", "Slips", "demonstrator", "expert", "office"]
