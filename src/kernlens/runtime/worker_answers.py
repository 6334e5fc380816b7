"""A worker's answers as JSON values, and back: dataclasses, tuples, bytes (base64), and plain values."""

from __future__ import annotations

import base64
import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from kernlens.model.build import Build, HeldParts
from kernlens.model.kernel import ReportedKernel
from kernlens.model.stage import Snapshot

Answer = TypeVar("Answer")

_BYTES = "base64"
#: Classes that ``model.build`` names in its fields without importing them, so that it loads quickly. No worker runs kernels, so
#: none gives a behaviour or a launch.
_OF_LAUNCHES = ("Behaviour", "KeptLaunch", "DeviceTime")
_NAMED = {"ReportedKernel": ReportedKernel, "Snapshot": Snapshot, **dict.fromkeys(_OF_LAUNCHES, object)}


def to_json(value: Any) -> Any:
    """Return ``value`` as the json module takes it; bytes become ``{"base64": ...}``."""
    if isinstance(value, bytes | bytearray | memoryview):
        return {_BYTES: base64.b64encode(value).decode("ascii")}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value


def from_json(value: Any) -> Any:
    """Return ``value`` with its bytes decoded; dataclasses stay mappings."""
    if isinstance(value, dict):
        if value.keys() == {_BYTES}:
            return base64.b64decode(value[_BYTES])
        return {key: from_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [from_json(item) for item in value]
    return value


def object_of(kind: type[Answer], value: Any) -> Answer:
    """Return an object of dataclass ``kind`` from what ``from_json`` gave, nested dataclasses and tuples included."""
    hints = typing.get_type_hints(kind, localns=_NAMED)
    return kind(**{name: _convert(hints[name], item) for name, item in value.items()})


def build_of(value: Mapping[str, Any]) -> Build:
    """Return the Build whose fields ``from_json`` gave."""
    return dataclasses.replace(object_of(Build, value), parts=object_of(HeldParts, value["parts"]))


def _convert(hint: Any, value: Any) -> Any:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if value is None:
        return None
    if origin in (types.UnionType, typing.Union):
        chosen = next(part for part in parts if part is not type(None))
        return _convert(chosen, value)
    if origin is tuple:
        hints = parts[:1] * len(value) if parts[1:] == (Ellipsis,) else parts
        return tuple(_convert(hint, item) for hint, item in zip(hints, value, strict=True))
    if dataclasses.is_dataclass(hint):
        return object_of(typing.cast("type[Any]", hint), value)
    return value
