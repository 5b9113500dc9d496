"""Options that several commands share."""

from typing import Annotated

import typer

Settings = Annotated[
    list[str],
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be given repeatedly."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
