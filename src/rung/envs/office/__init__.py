"""The office: look things up, write them down, mail them to the right person, hand in a result."""

from rung.envs.definition import Definition
from rung.envs.office.goal import goal_of
from rung.envs.office.judge import subgoals, success
from rung.envs.office.policy import HUMAN, Slips, demonstrator, expert
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
    return Definition(
        name="office",
        about=ABOUT,
        tools=TOOLS,
        templates=TEMPLATES,
        start=lambda task, _generator: Office(goal_of(task)),
        subgoals=subgoals,
        success=success,
        expert=expert,
        close=Office.close,
        save=save,
        load=load,
    )


__all__ = ["HUMAN", "Office", "Slips", "demonstrator", "expert", "office"]
