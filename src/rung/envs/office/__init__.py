"""The office: look things up, write them down, mail them to the right person, hand in a result."""

from dataclasses import replace

from rung.core import Task
from rung.envs.definition import Definition, Identity
from rung.envs.office import templates, tools
from rung.envs.office.goal import goal_of
from rung.envs.office.judge import subgoals, success
from rung.envs.office.live import live_office
from rung.envs.office.policy import HUMAN, Slips, demonstrator, expert, undo
from rung.envs.office.world import Office, load, save

ABOUT = (
    "Tables: products(name, price, stock, supplier) orders(customer, product, quantity) "
    "employees(name, email, team)\n"
    'Write each fact, in documents, messages and the result, as a line "name: value"; the name is '
    "the product, customer or file asked about, or cheaper, or dearer. "
    'A report has the lines "item: ..." and "price: ...".'
)
ABOUT_THE_REST = (
    "\nThe name of a comparison of two numbers is larger, that of a sum is sum, in the result too. "
    'A report as CSV has the lines "item,price" and "...,..."; in Markdown it has the lines '
    '"# Report", "- item: ..." and "- price: ...". '
    "It is 9:00, and every action takes 5 minutes. "
    "Writing to somebody whose approval is asked for is allowed only after request_approval."
)


def office() -> Definition[Office]:
    """The whole office."""
    return Definition(
        name="office",
        about=ABOUT + ABOUT_THE_REST,
        tools=tools.TOOLS,
        templates=templates.TEMPLATES,
        start=lambda task, _generator: Office(goal_of(task)),
        subgoals=subgoals,
        success=success,
        expert=expert,
        identities=identities,
        undo=undo,
        close=Office.close,
        live=live_office,
        save=save,
        load=load,
    )


def office_basic() -> Definition[Office]:
    """The part of the office that the built-in base policy knows: see `templates`."""
    return replace(office(), about=ABOUT, tools=tools.BASIC, templates=templates.BASIC)


def identities(task: Task) -> tuple[Identity, ...]:
    """Names and addresses of the employees."""
    return tuple(
        Identity(kind, value)
        for name, email, _ in goal_of(task).world.employees
        for kind, value in (("person", name), ("email", email))
    )


__all__ = ["HUMAN", "Office", "Slips", "demonstrator", "expert", "office", "office_basic"]
