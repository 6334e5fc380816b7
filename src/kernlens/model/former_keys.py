"""The keys that figures had before the current release: JSON has them beside the current ones until the next (docs/json.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from kernlens.model.figures import EVERY_FIGURE

Value = TypeVar("Value")

#: Key -> the key that a figure had before, which JSON has beside it for one release.
FORMER_KEYS = {
    figure.key: figure.former[0] for figure in EVERY_FIGURE if figure.former and figure.former[0] != figure.key
}


_CURRENT_KEYS = {former: key for key, former in FORMER_KEYS.items()}


def with_current_keys(values: Mapping[str, Value]) -> dict[str, Value]:
    """Return values that JSON of this release or the one before has, each by its current key."""
    return {_CURRENT_KEYS.get(key, key): value for key, value in values.items()}


def with_former_keys(values: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values by the keys of figures, for JSON: those that have a former key by that too."""
    return {**values, **{former: values[key] for key, former in FORMER_KEYS.items() if key in values}}
