import pytest

from rung.envs import load
from rung.errors import ConfigError
from rung.loop.overrides import keys
from rung.loop.recipe import RunConfig
from rung.loop.recipes import DEFAULT, RECIPES, recipe


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_builds(name):
    config = recipe(name)
    assert isinstance(config, RunConfig)
    assert config.recipe == name
    assert config == recipe(name)


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_fits_its_environment(name):
    config = recipe(name)
    definition = load(config.environment)
    assert set(config.mix) <= set(definition.tiers)
    assert set(config.evaluation.tiers) <= set(definition.tiers)


def test_every_recipe_has_a_docstring_and_the_same_keys():
    assert all(make.__doc__ for make in RECIPES.values())
    assert len({tuple(keys(make())) for make in RECIPES.values()}) == 1


def test_the_default_exists():
    assert DEFAULT in RECIPES


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ofice", "did you mean 'office'?"),
        ("office_tiny", "did you mean 'office-tiny'?"),
        ("xyzzy", "known: office, office-direct, office-ladder, office-live, office-tiny"),
        ("", "known: office, office-direct, office-ladder, office-live, office-tiny"),
    ],
)
def test_an_unknown_recipe_is_refused_with_the_nearest(name, hint):
    with pytest.raises(ConfigError) as caught:
        recipe(name)
    assert str(caught.value) == f"no recipe named {name!r}\nhint: {hint}"
