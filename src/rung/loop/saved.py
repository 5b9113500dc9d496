"""Reading a run's configuration back from its run directory."""

from pathlib import Path

import msgspec

from rung.errors import StoreError
from rung.loop.recipe import RunConfig
from rung.runs import read_run


def is_run(folder: Path) -> bool:
    """True if `folder` is a run directory."""
    return (folder / "run.json").is_file()


def config_of(folder: Path) -> RunConfig:
    """The configuration that the run was made with.

    Raises:
        StoreError: the folder is no run, or its configuration does not fit this version.
    """
    try:
        return msgspec.convert(read_run(folder).config, RunConfig)
    except msgspec.ValidationError as error:
        raise StoreError(
            f"the configuration of run {folder} does not fit this version of Rung: {error}",
            hint="name a recipe with --recipe",
        ) from error
