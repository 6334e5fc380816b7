"""JSON of a recording that anybody may have written, checked value by value."""

from __future__ import annotations

import json
from typing import Any, NoReturn, TypeVar

from kernlens.recording.schema import damaged

T = TypeVar("T")
#: The most characters of a text.
_LONGEST = 4096


class CheckedJson:
    """The checks of one kind of document. Each raises FormatError, which names the ``subject``."""

    def __init__(self, subject: str) -> None:
        self._subject = subject

    def fail(self, what: str) -> NoReturn:
        """Raise the error."""
        raise damaged(f"{self._subject}: {what}")

    def document(self, content: bytes, most: int, version: int) -> dict[str, Any]:
        """Return the document of at most so many bytes, of this version."""
        if len(content) > most:
            self.fail("it is too large")
        try:
            document = json.loads(content)
        except (ValueError, RecursionError):
            self.fail("it cannot be read")
        row: dict[str, Any] = self.typed(document, dict)
        if row.get("version") != version:
            self.fail("it is of another version")
        return row

    def typed(self, value: object, kind: type[T]) -> T:
        """Return a value of this type and no other."""
        if type(value) is not kind:
            self.fail(f"it has a {type(value).__name__} where a {kind.__name__} is expected")
        return value

    def text(self, value: object) -> str:
        """Return a text that can be printed, and is not too long."""
        text = self.typed(value, str)
        if len(text) > _LONGEST:
            self.fail("a text is too long")
        try:
            text.encode()
        except UnicodeEncodeError:
            self.fail("a text is no Unicode")
        return text
