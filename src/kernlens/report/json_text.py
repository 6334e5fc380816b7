"""JSON as text, on one line. It is ASCII without any control character."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

#: How deep a document is taken to pieces: each kernel in the list of a program, in the list of programs, is one.
_PIECES_DEPTH = 4


def attributes(value: object, *names: str) -> dict[str, Any]:
    """Return a value's attributes of these names, as a document has them by the same names."""
    return {name: getattr(value, name) for name in names}


def json_pieces(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the text of a document in pieces: what stands deep within is encoded at once, which is many times faster
    than ``json.dump``, and the whole text need never be in memory."""
    if depth == _PIECES_DEPTH or not isinstance(value, dict | list) or not value:
        yield encoded(value)
        return
    before = "{" if isinstance(value, dict) else "["
    for item in value:
        yield before
        before = ","
        if isinstance(value, dict):
            yield encoded(item) + ":"
            item = value[item]
        yield from json_pieces(item, depth + 1)
    yield "}" if isinstance(value, dict) else "]"


def encoded(value: Any) -> str:
    """Return JSON on one line. orjson is ten times faster than ``json``, but leaves characters beyond ASCII as they
    are, and refuses lone surrogates (bytes of file names that are no UTF-8) and large numbers."""
    import orjson

    with contextlib.suppress(TypeError):
        text = orjson.dumps(value)
        if text.isascii() and b"\x7f" not in text:
            return text.decode("ascii")
    return without_delete(json.dumps(value, separators=(",", ":")))


def without_delete(text: str) -> str:
    """Return JSON with an escape for DEL, the one control character that ``json`` writes as it is."""
    return text.replace("\x7f", "\\u007f")
