import pytest

from rung.engine import Engine, Sampling, ScriptedEngine
from rung.errors import ConfigError


@pytest.mark.parametrize(("temperature", "most"), [(-0.1, 1), (1.0, 0), (float("nan"), 1)])
def test_sampling_out_of_range(temperature: float, most: int) -> None:
    with pytest.raises(ConfigError, match="temperature >= 0"):
        Sampling(temperature=temperature, max_response_tokens=most)


def test_greedy_is_allowed() -> None:
    assert Sampling(temperature=0.0).temperature == 0


def test_the_scripted_engine_is_an_engine() -> None:
    engine: Engine = ScriptedEngine(lambda _session, _turn, _history: [1])
    assert engine.policy_version == 0
