"""The table of a sweep among the paths: the output of ``kernlens sweep --json``, in a file."""

from __future__ import annotations

from typing import Any

import orjson

from kernlens.errors import UnsupportedError
from kernlens.model.former_keys import with_current_keys
from kernlens.toolchain.source_reading import open_regular

#: Bytes of a table, at most: 100,000 rows.
_SIZE_LIMIT = 128 << 20
#: What each row has (docs/json.md).
_KEYS = {"source", "device", "toolchain", "options", "kernel", "figures", "reason"}


def sweep_in(path: str) -> dict[str, Any] | None:
    """Return the document of a sweep, if that is what a file holds. Raises UnsupportedError if it is too large."""
    with open_regular(path) as file:
        if file.read(64).lstrip()[:1] != b"{":
            return None
        file.seek(0)
        content = file.read(_SIZE_LIMIT + 1)
    if len(content) > _SIZE_LIMIT:
        raise UnsupportedError(f"{path} is larger than {_SIZE_LIMIT >> 20} MB, which is too much for a sweep's table")
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    rows = document.get("rows") if isinstance(document, dict) and document.get("schema") == 1 else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and row.keys() >= _KEYS for row in rows):
        return None
    for row in rows:
        if isinstance(row["figures"], dict):
            row["figures"] = with_current_keys(row["figures"])
    return document  # type: ignore[no-any-return]
