"""Trajectories as bytes: one zstandard frame each, holding one msgpack map.

A chunk file is such frames one after the other. So one trajectory can be read without the
others, and a chunk whose end is missing still gives all the frames before it.

Inside a frame: arrays are raw little-endian bytes with their dtype, enums are their text, a
move is tagged with its kind, arguments are JSON. Text that has no UTF-8 form (a model may
produce half an emoji) is an extension value of type 1. Reading checks types, and ignores
fields that it does not know.
"""

import json
from typing import Any, TypeVar

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from rung.core import (
    Action,
    FormatError,
    FormatErrorKind,
    Move,
    Refusal,
    RefusalKind,
    RewardParts,
    Segment,
    StopReason,
    Task,
    Trajectory,
    Turn,
    TurnInfo,
)
from rung.errors import StoreError
from rung.runs.layout import SCHEMA_VERSION

_TEXT_EXTENSION = 1
_LEVEL = 6
_T = TypeVar("_T")


def encode_trajectory(trajectory: Trajectory) -> bytes:
    """`trajectory` as one compressed frame with a checksum."""
    packed = msgspec.msgpack.encode(_pack(trajectory))
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(packed)


def decode_trajectory(frame: bytes) -> Trajectory:
    """The trajectory in one frame, equal to what was encoded in every field.

    Raises:
        StoreError: the frame is cut or damaged, or of a later schema version.
    """
    try:
        packed = zstandard.ZstdDecompressor().decompress(frame)
        raw = msgspec.msgpack.decode(packed, ext_hook=_read_extension)
        version = _take(raw, "schema_version", int)
        if version <= SCHEMA_VERSION:
            return _unpack(raw)
    except (zstandard.ZstdError, msgspec.MsgspecError, ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"cannot read a stored trajectory: {error}",
            hint="the chunk is cut or damaged; the other trajectories can still be read",
        ) from error
    raise StoreError(
        f"a stored trajectory has schema version {version}, this Rung reads {SCHEMA_VERSION}",
        hint="read the run with the version of Rung that wrote it",
    )


def _pack(trajectory: Trajectory) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "id": _text(trajectory.id),
        "group_id": _text(trajectory.group_id),
        "task": _pack_task(trajectory.task),
        "split": _text(trajectory.split),
        "seed": int(trajectory.seed),
        "env_seed": int(trajectory.env_seed),
        "segments": [_pack_segment(segment) for segment in trajectory.segments],
        "turns": [_pack_turn(turn) for turn in trajectory.turns],
        "stop": str(trajectory.stop),
        "key_hash": _text(trajectory.key_hash),
        "error": _text(trajectory.error),
    }


def _unpack(raw: dict[str, Any]) -> Trajectory:
    return Trajectory(
        id=_take(raw, "id", str),
        group_id=_take(raw, "group_id", str),
        task=_take(raw, "task", Task),
        split=_take(raw, "split", str),
        seed=_take(raw, "seed", int),
        env_seed=_take(raw, "env_seed", int),
        segments=tuple(_unpack_segment(segment) for segment in raw["segments"]),
        turns=tuple(_unpack_turn(turn) for turn in raw["turns"]),
        stop=_take(raw, "stop", StopReason),
        key_hash=_take(raw, "key_hash", str),
        error=_take(raw, "error", str),
    )


def _pack_task(task: Task) -> dict[str, Any]:
    return {
        "environment": _text(task.environment),
        "tier": _text(task.tier),
        "template": _text(task.template),
        "text": _text(task.text),
        "step_limit": int(task.step_limit),
        "payload": _text(task.payload),
    }


def _pack_segment(segment: Segment) -> dict[str, Any]:
    return {
        "token_ids": _pack_array(segment.token_ids, "<i4"),
        "sampled_mask": _pack_array(segment.sampled_mask, "|b1"),
        "behaviour_logprobs": _pack_array(segment.behaviour_logprobs, "<f4"),
    }


def _unpack_segment(raw: dict[str, Any]) -> Segment:
    return Segment(
        token_ids=_unpack_array(raw["token_ids"], "<i4"),
        sampled_mask=_unpack_array(raw["sampled_mask"], "|b1"),
        behaviour_logprobs=_unpack_array(raw["behaviour_logprobs"], "<f4"),
    )


def _pack_array(array: NDArray[Any], dtype: str) -> dict[str, Any]:
    return {"dtype": dtype, "data": array.astype(dtype, copy=False).tobytes()}


def _unpack_array(raw: dict[str, Any], dtype: str) -> NDArray[Any]:
    if raw["dtype"] != dtype:
        raise ValueError(f"an array has dtype {raw['dtype']!r}, expected {dtype!r}")
    return np.frombuffer(raw["data"], np.dtype(dtype)).astype(np.dtype(dtype).newbyteorder("="))


def _pack_turn(turn: Turn) -> dict[str, Any]:
    reward, info = turn.reward, turn.info
    return {
        "segment": int(turn.segment),
        "start": int(turn.start),
        "stop": int(turn.stop),
        "policy_version": int(turn.policy_version),
        "text": _text(turn.text),
        "cut": bool(turn.cut),
        "observation": _text(turn.observation),
        "reward": {
            "process": float(reward.process),
            "efficiency": float(reward.efficiency),
            "outcome": float(reward.outcome),
        },
        "move": _pack_move(info.move),
        "subgoals": [_text(name) for name in info.subgoals],
        "invalid": bool(info.invalid),
        "repeated": bool(info.repeated),
        "noise": bool(info.noise),
        "fault": bool(info.fault),
    }


def _unpack_turn(raw: dict[str, Any]) -> Turn:
    return Turn(
        segment=_take(raw, "segment", int),
        start=_take(raw, "start", int),
        stop=_take(raw, "stop", int),
        policy_version=_take(raw, "policy_version", int),
        text=_take(raw, "text", str),
        cut=_take(raw, "cut", bool),
        observation=_take(raw, "observation", str),
        reward=_take(raw, "reward", RewardParts),
        info=TurnInfo(
            move=_unpack_move(raw["move"]),
            subgoals=_take(raw, "subgoals", tuple[str, ...]),
            invalid=_take(raw, "invalid", bool),
            repeated=_take(raw, "repeated", bool),
            noise=_take(raw, "noise", bool),
            fault=_take(raw, "fault", bool),
        ),
    )


def _pack_move(move: Move) -> dict[str, Any]:
    match move:
        case Action():
            arguments = json.dumps(dict(move.arguments), ensure_ascii=False)
            return {"kind": "action", "name": _text(move.name), "arguments": _text(arguments)}
        case FormatError():
            return {"kind": "format_error", "error": str(move.kind), "message": _text(move.message)}
        case Refusal():
            return {
                "kind": "refusal",
                "refusal": str(move.kind),
                "action": _pack_move(move.action),
                "message": _text(move.message),
            }


def _unpack_move(raw: dict[str, Any]) -> Move:
    match raw["kind"]:
        case "action":
            return _unpack_action(raw)
        case "format_error":
            return FormatError(_take(raw, "error", FormatErrorKind), _take(raw, "message", str))
        case "refusal":
            return Refusal(
                _take(raw, "refusal", RefusalKind),
                _unpack_action(raw["action"]),
                _take(raw, "message", str),
            )
        case kind:
            raise ValueError(f"a move has the unknown kind {kind!r}")


def _unpack_action(raw: dict[str, Any]) -> Action:
    arguments = json.loads(_take(raw, "arguments", str))
    return Action(_take(raw, "name", str), msgspec.convert(arguments, dict[str, Any]))


def _take(raw: dict[str, Any], name: str, kind: type[_T]) -> _T:
    """Field `name`, checked to be a `kind`."""
    return msgspec.convert(raw[name], kind)


def _text(text: str) -> str | msgspec.msgpack.Ext:
    """What msgpack can hold of `text`: itself, or an extension where UTF-8 has no form for it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return msgspec.msgpack.Ext(_TEXT_EXTENSION, text.encode("utf-8", "surrogatepass"))
    return str(text)


def _read_extension(code: int, data: memoryview) -> str:
    if code != _TEXT_EXTENSION:
        raise ValueError(f"unknown msgpack extension type {code}")
    return bytes(data).decode("utf-8", "surrogatepass")
