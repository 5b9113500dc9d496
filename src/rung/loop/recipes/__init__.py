"""Recipes: functions that return a RunConfig. `rung train NAME` runs one."""

from collections.abc import Callable

from rung.errors import ConfigError, nearest
from rung.loop.recipe import RunConfig
from rung.loop.recipes.office import office, office_direct, office_ladder, office_live, office_tiny

RECIPES: dict[str, Callable[[], RunConfig]] = {
    "office": office,
    "office-direct": office_direct,
    "office-ladder": office_ladder,
    "office-live": office_live,
    "office-tiny": office_tiny,
}
DEFAULT = "office"


def recipe(name: str) -> RunConfig:
    """The configuration of the recipe `name`.

    Raises:
        ConfigError: there is none of this name.
    """
    if name not in RECIPES:
        raise ConfigError(f"no recipe named {name!r}", hint=nearest(name, list(RECIPES)))
    return RECIPES[name]()


__all__ = ["DEFAULT", "RECIPES", "recipe"]
