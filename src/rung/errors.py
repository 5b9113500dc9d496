"""Every error that Rung raises on purpose, as one tree.

    RungError
    |-- ConfigError       a setting is unknown or out of range (also a ValueError)
    |-- TaskError         a task file or a task author's code is wrong
    |-- ToolError         a tool cannot do what the model asked: shown to the model, not a fault
    |-- EnvError          an environment broke: an infrastructure fault, never a low reward
    |-- EngineError       the engine could not produce tokens
    |-- TemplateError     a chat template or tokenizer cannot be used
    |-- StoreError        a run directory cannot be read or written
    `-- TrainError        training cannot go on

A message says what happened, the value, the rule, and ends with a hint on what to do.
Foreign code (environment, tool, reward, engine) is called inside `boundary`, the only place
besides the rollout pool and the command line that catches any exception.
"""

from collections.abc import Generator
from contextlib import contextmanager
from difflib import get_close_matches


class RungError(Exception):
    """Root of the tree; `hint` tells the user what to do next."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.hint)


def _rebuild(kind: type[RungError], message: str, hint: str) -> RungError:
    return kind(message, hint=hint)


class ConfigError(RungError, ValueError):
    """A setting is unknown or out of range."""


class TaskError(RungError):
    """A task, or the code that makes or judges tasks, is wrong."""


class ToolError(RungError):
    """Raised by a tool when the model's request cannot be carried out: no such file, bad query.

    Its message is shown to the model and the turn counts as invalid. Any other exception of a
    tool is a fault of the environment.
    """


class EnvError(RungError):
    """An environment failed on its own account; its trajectory is unscored."""


class EngineError(RungError):
    """The engine could not produce tokens."""


class TemplateError(RungError):
    """A chat template or tokenizer cannot be used."""


class StoreError(RungError):
    """A run directory or one of its files cannot be read or written."""


class TrainError(RungError):
    """Training cannot go on."""


@contextmanager
def boundary(kind: type[RungError], what: str) -> Generator[None]:
    """Turn any exception of foreign code into `kind`, naming `what` was being done.

    Errors of the tree pass through. Interrupts and MemoryError are not caught.
    """
    try:
        yield
    except (RungError, MemoryError):
        raise
    except Exception as error:
        raise kind(f"{what} failed: {type(error).__name__}: {error}") from error


def nearest(name: str, known: list[str]) -> str:
    """A hint that names the known name closest to `name`, or all of them if none is close."""
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(sorted(known))}"
