"""`rung audit`: look for ways to earn reward without doing the task."""

import json
import sys
from typing import Annotated

import typer

from rung.cli.options import AsJson


def audit(
    name: Annotated[
        str, typer.Argument(help="Built-in name, or module:attribute of your own.")
    ] = "office",
    tasks: Annotated[int, typer.Option(min=1, help="Tasks per template and policy.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Play cheating policies against an environment; exit with 1 if one of them is paid."""
    from dataclasses import asdict

    from rich.console import Console

    from rung.cli.tables import audit_table
    from rung.loop.audit import audit as run

    found = run(name, tasks=tasks)
    if as_json:
        print(json.dumps({"ok": found.ok, **asdict(found)}))
    else:
        Console().print(audit_table(found.returns))
        for finding in found.findings:
            print(finding.line)
    if not found.ok:
        sys.exit(1)
