import copy
import pickle

import pytest

import rung.errors
from rung.errors import (
    ConfigError,
    EngineError,
    EnvError,
    RungError,
    StoreError,
    TaskError,
    TemplateError,
    ToolError,
    TrainError,
    boundary,
    nearest,
)

TREE = [
    ConfigError,
    TaskError,
    ToolError,
    EnvError,
    EngineError,
    TemplateError,
    StoreError,
    TrainError,
]


def test_every_error_hangs_directly_below_the_root() -> None:
    defined = {
        kind
        for kind in vars(rung.errors).values()
        if isinstance(kind, type) and issubclass(kind, Exception)
    }
    assert defined == {RungError, *TREE}
    assert all(kind.__bases__[0] is RungError for kind in TREE)


def test_every_error_is_drawn_in_the_module_docstring() -> None:
    drawn = {
        line.split()[1]
        for line in (rung.errors.__doc__ or "").splitlines()
        if line.strip().startswith(("|--", "`--"))
    }
    assert drawn == {kind.__name__ for kind in TREE}


def test_config_error_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="learning_rate must be > 0"):
        raise ConfigError("learning_rate must be > 0, got -0.1")


@pytest.mark.parametrize("kind", [RungError, *TREE])
@pytest.mark.parametrize("hint", ["", "set it"])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_error_survives_pickling(kind: type[RungError], hint: str, protocol: int) -> None:
    error = pickle.loads(pickle.dumps(kind("broken: 'x'\nsecond line", hint=hint), protocol))
    assert type(error) is kind
    assert (error.message, error.hint) == ("broken: 'x'\nsecond line", hint)
    assert error.args == ("broken: 'x'\nsecond line",)


def test_error_survives_copying() -> None:
    error = copy.deepcopy(EngineError("no tokens", hint="wait"))
    assert (type(error), str(error)) == (EngineError, "no tokens\nhint: wait")


def test_hint_is_the_last_line_and_absent_when_empty() -> None:
    assert str(TaskError("no goal")) == "no goal"
    assert str(TaskError("no goal", hint="add one")) == "no goal\nhint: add one"


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(KeyError("missing"), id="KeyError"),
        pytest.param(AssertionError("never"), id="AssertionError"),
        pytest.param(StopIteration("over"), id="StopIteration"),
        pytest.param(RecursionError("deep"), id="RecursionError"),
        pytest.param(TimeoutError("late"), id="TimeoutError"),
    ],
)
def test_boundary_turns_a_foreign_error_into_the_kind_given(error: Exception) -> None:
    with pytest.raises(EnvError) as caught, boundary(EnvError, "resetting 'office'"):
        raise error
    assert caught.value.__cause__ is error
    assert caught.value.message == f"resetting 'office' failed: {type(error).__name__}: {error}"


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ToolError("no such file"), id="own error of another kind"),
        pytest.param(EnvError("closed"), id="own error of the same kind"),
        pytest.param(MemoryError(), id="MemoryError"),
        pytest.param(KeyboardInterrupt(), id="KeyboardInterrupt"),
        pytest.param(SystemExit(2), id="SystemExit"),
        pytest.param(GeneratorExit(), id="GeneratorExit"),
    ],
)
def test_boundary_lets_through_what_is_not_foreign(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught, boundary(EnvError, "a step"):
        raise error
    assert caught.value is error


def test_boundary_without_an_error_does_nothing() -> None:
    with boundary(EnvError, "a step"):
        value = 1
    assert value == 1


def test_inner_boundary_names_the_failure() -> None:
    with pytest.raises(TaskError, match="^drawing a task failed: ZeroDivisionError"):  # noqa: SIM117
        with boundary(EnvError, "a step"), boundary(TaskError, "drawing a task"):
            _ = 1 / 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("learning_rte", "did you mean 'learning_rate'?", id="typing error"),
        pytest.param("learning_rate", "did you mean 'learning_rate'?", id="itself"),
        pytest.param("zzz", "known: learning_rate, rounds, tier", id="nothing close"),
        pytest.param("", "known: learning_rate, rounds, tier", id="empty"),
    ],
)
def test_nearest_offers_one_name_or_lists_all(name: str, expected: str) -> None:
    assert nearest(name, ["tier", "learning_rate", "rounds"]) == expected
