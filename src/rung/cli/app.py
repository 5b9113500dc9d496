"""The command tree, and the one place where an error becomes a message and an exit code.

Exit codes: 0 done; 1 something failed; 2 wrong usage or configuration; 130 interrupted.
"""

import json
import logging
import os
import signal
import sys

import typer

from rung.cli import audit, base, env, evaluation, play, report, tasks, train
from rung.errors import ConfigError, RungError

app = typer.Typer(
    help="Train language-model agents on long tasks by multi-turn reinforcement learning.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("train")(train.train)
app.command("eval")(evaluation.evaluate)
app.command("play")(play.play)
app.command("report")(report.report)
app.command("audit")(audit.audit)
app.add_typer(base.app, name="base")
app.add_typer(env.app, name="env")
app.add_typer(tasks.app, name="tasks")


def main() -> None:
    """Run the command line."""
    signal.signal(signal.SIGTERM, _terminated)
    level = os.environ.get("RUNG_LOG", "WARNING").upper()
    logging.basicConfig(level=level, stream=sys.stderr, format="%(levelname)s %(name)s %(message)s")
    try:
        app(standalone_mode=True)
    except RungError as error:
        _say(error)
        sys.exit(2 if isinstance(error, ConfigError) else 1)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)


def _terminated(_number: int, _frame: object) -> None:
    """What a scheduler sends ends a command as Ctrl-C does, so that nothing half done is left."""
    raise KeyboardInterrupt


def _say(error: RungError) -> None:
    if "--json" in sys.argv:
        print(
            json.dumps(
                {"error": type(error).__name__, "message": error.message, "hint": error.hint}
            )
        )
    print(f"error: {error}", file=sys.stderr)
