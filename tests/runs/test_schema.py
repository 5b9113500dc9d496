import pytest
from by_hand import same, trajectory
from hypothesis import given
from hypothesis import strategies as st

from rung.core import StopReason
from rung.errors import StoreError
from rung.runs.schema import decode_trajectory, encode_trajectory


@pytest.mark.parametrize("stop", list(StopReason))
@pytest.mark.parametrize("turns", [0, 1, 3])
def test_round_trip(stop, turns):
    first = trajectory(stop=stop, turns=turns)
    assert same(decode_trajectory(encode_trajectory(first)), first)


@given(st.text(st.characters(exclude_categories=())), st.text(st.characters(exclude_categories=())))
def test_any_text_survives_even_half_a_surrogate_pair(text, observation):
    first = trajectory(text=text, observation=observation)
    assert same(decode_trajectory(encode_trajectory(first)), first)


def test_equal_trajectories_have_equal_bytes():
    assert encode_trajectory(trajectory()) == encode_trajectory(trajectory())


@given(st.data())
def test_a_damaged_frame_is_an_error_and_never_a_crash(data):
    frame = bytearray(encode_trajectory(trajectory()))
    position = data.draw(st.integers(0, len(frame) - 1))
    frame[position] ^= data.draw(st.integers(1, 255))
    try:
        decode_trajectory(bytes(frame))
    except StoreError:
        pass
    with pytest.raises(StoreError):
        decode_trajectory(bytes(frame[: len(frame) // 2]))
