"""The errors of a recording that is damaged, and the check of its values' types."""

from __future__ import annotations

from typing import TypeVar

from kernlens.errors import FormatError

T = TypeVar("T")


def typed(value: object, kind: type[T], table: str) -> T:
    """Return ``value``. Raises FormatError if it is not of the type that its table's columns have."""
    if not isinstance(value, kind):
        raise damaged(f"the table {table} holds a {type(value).__name__} where a {kind.__name__} is expected")
    return value


def damaged(message: str) -> FormatError:
    """Make the error of a reader."""
    return FormatError(f"{message}: the recording is damaged", format="recording")
