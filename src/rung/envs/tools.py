"""ToolSpec: a plain typed function made into something a model can call.

The first parameter of the function is the environment's state; the others are the arguments
that the model writes. Their types become a strict pydantic model: no coercion, no extra keys.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from rung.errors import TaskError, boundary

CONFIRM = "confirm"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows that a tool returns; shown as text with a header line."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def render(self) -> str:
        """A header line and one line per row, cells separated by ` | `."""
        if not self.rows:
            return "no rows"
        lines = [" | ".join(self.columns), *(_render_row(row) for row in self.rows)]
        return encodable("\n".join(lines))

    def summary(self, shown: int) -> str:
        """Count, columns and the first `shown` rows."""
        head = Table(self.columns, self.rows[:shown]).render()
        return f"{len(self.rows)} rows, the first {shown} shown\n{head}"


def _render_row(row: tuple[Any, ...]) -> str:
    return " | ".join("null" if cell is None else str(cell) for cell in row)


def encodable(text: str) -> str:
    """`text` with `?` for each half of a surrogate pair, which no file or tokenizer takes."""
    return text.encode("utf-8", "replace").decode()


@dataclass(frozen=True, slots=True, eq=False)
class ToolSpec:
    """One tool: what the model is told about it and the function that runs it."""

    name: str
    description: str
    """One sentence for the model: the first line of the function's docstring."""
    arguments: type[BaseModel]
    """Strict argument model; an irreversible tool's has `confirm` as well."""
    run: Callable[..., "str | Table"]
    irreversible: bool = False
    """It cannot be undone, so the model must add `"confirm": true`."""
    final: bool = False
    """Calling it ends the trajectory; then the success predicate is judged."""
    key_arguments: tuple[str, ...] = ()
    """Arguments that tell one call from another; by default all but `confirm`."""
    tier: str = "E1"
    """Tier from which the tool is open."""
    noise: str | None = None
    """What a call says when it fails for a moment; None: it never does. See `Noise`."""

    def __call__(self, state: Any, **arguments: Any) -> "str | Table":
        """Run the tool's function."""
        return self.run(state, **arguments)

    @property
    def signature(self) -> str:
        """Name and argument names, as shown to the model."""
        return f"{self.name}({', '.join(self.arguments.model_fields)})"

    def problem(self, arguments: dict[str, Any]) -> str | None:
        """What is wrong with `arguments`, naming the field, or None."""
        try:
            self.arguments.model_validate(arguments)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            field = ".".join(str(part) for part in first["loc"])
            return f"{field}: {first['msg']}"
        return None


def tool(
    function: Callable[..., str | Table] | None = None,
    *,
    irreversible: bool = False,
    final: bool = False,
    key_arguments: tuple[str, ...] | None = None,
    tier: str = "E1",
    noise: str | None = None,
) -> Any:
    """Make a ToolSpec out of a function; usable as `@tool` or `@tool(final=True)`.

    Raises:
        TaskError: an argument has no type or is named `confirm`, or a key argument is not an
            argument.
    """

    def build(function: Callable[..., str | Table]) -> ToolSpec:
        name = function.__name__
        fields: dict[str, Any] = {}
        with boundary(TaskError, f"reading the argument types of tool {name!r}"):
            hints = inspect.get_annotations(function, eval_str=True)
        for parameter in list(inspect.signature(function).parameters.values())[1:]:
            if parameter.name not in hints:
                raise TaskError(
                    f"tool {name!r}: argument {parameter.name!r} has no type",
                    hint=f"write {parameter.name}: str, for example",
                )
            if parameter.name == CONFIRM:
                raise TaskError(
                    f"tool {name!r}: an argument cannot be named {CONFIRM!r}",
                    hint="@tool(irreversible=True) adds it",
                )
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[parameter.name] = (hints[parameter.name], default)
        keys = tuple(fields) if key_arguments is None else key_arguments
        if unknown := set(keys) - set(fields):
            raise TaskError(f"tool {name!r}: key_arguments {sorted(unknown)} are not its arguments")
        if irreversible:
            fields[CONFIRM] = (bool, False)
        config = ConfigDict(strict=True, extra="forbid")
        with boundary(TaskError, f"reading the argument types of tool {name!r}"):
            arguments = create_model(f"{name}_arguments", __config__=config, **fields)
        return ToolSpec(
            name=name,
            description=(inspect.getdoc(function) or "").partition("\n")[0],
            arguments=arguments,
            run=function,
            irreversible=irreversible,
            final=final,
            key_arguments=keys,
            tier=tier,
            noise=noise,
        )

    return build if function is None else build(function)
