"""`rung report`: a run as one HTML page."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(help="A run directory, finished or not.")],
) -> None:
    """Write RUN/report.html: one self-contained page that opens offline."""
    from rung.runs import write_report

    print(write_report(run))
