"""How source files are called in tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection


def short_names(paths: Collection[str]) -> dict[str, str]:
    """Each path's last part, which ``--line`` takes, or all of it where two end alike."""
    last = {path: path.rsplit("/", 1)[-1] for path in paths}
    names = Counter(last.values())
    return {path: name if names[name] == 1 else path for path, name in last.items()}
