import contextlib
from dataclasses import replace

import msgspec
import pytest
import zstandard
from by_hand import same, trajectory
from hypothesis import given
from hypothesis import strategies as st

from rung.core import RewardParts, StopReason
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
    with contextlib.suppress(StoreError):
        decode_trajectory(bytes(frame))
    with pytest.raises(StoreError):
        decode_trajectory(bytes(frame[: len(frame) // 2]))


def repacked(change):
    raw = msgspec.msgpack.decode(
        zstandard.ZstdDecompressor().decompress(encode_trajectory(trajectory()))
    )
    change(raw)
    return zstandard.ZstdCompressor().compress(msgspec.msgpack.encode(raw))


def test_fields_of_a_later_version_are_ignored():
    def add(raw):
        raw["more"] = raw["turns"][0]["more"] = raw["segments"][0]["more"] = {"x": [1]}

    assert same(decode_trajectory(repacked(add)), trajectory())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema_version",), 2),
        (("stop",), "bored"),
        (("turns", 0, "text"), 3),
        (("turns", 0, "move", "kind"), "dance"),
        (("turns", 0, "move", "arguments"), "[1]"),
        (("segments", 0, "token_ids", "dtype"), "<i8"),
        (("segments", 0, "token_ids", "data"), b"abc"),
        (("task",), None),
    ],
)
def test_a_value_of_the_wrong_form_is_an_error(path, value):
    def spoil(raw):
        for key in path[:-1]:
            raw = raw[key]
        raw[path[-1]] = value

    with pytest.raises(StoreError):
        decode_trajectory(repacked(spoil))


def test_rewards_that_are_no_numbers_come_back_as_they_were():
    first = trajectory(turns=1)
    reward = RewardParts(float("nan"), float("inf"), -0.0)
    first = replace(first, turns=(replace(first.turns[0], reward=reward),))
    second = decode_trajectory(encode_trajectory(first))
    assert repr(second.turns[0].reward) == repr(reward)
