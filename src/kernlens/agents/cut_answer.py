"""Parts of a document: as much of it as an agent's context takes, and where the rest of it is."""

from __future__ import annotations

from typing import Any

from kernlens.errors import KernlensError
from kernlens.report.json_text import encoded

#: A text that is cut shows so many characters at least.
_LEAST = 200


class Cut:
    """A document that is cut to a size. ``left_out`` says of each list and text that is not whole where it is (``at``, a JSON
    Pointer, RFC 6901), from which item or character on it is left out (``start``), and how many it has (``of``)."""

    def __init__(self) -> None:
        self.left_out: list[dict[str, Any]] = []

    def fitted(self, value: Any, size: int, at: str = "", start: int = 0) -> Any:
        """Return a value without what goes beyond ``size``, characters of JSON; keys of objects all stay. ``at`` is its place,
        and ``start`` the number of its items or characters that stand before it there."""
        if len(encoded(value)) <= size:
            return value
        match value:
            case dict():
                return self._object(value, size, at)
            case list():
                return self._list(value, size, at, start)
            case str():
                shown = value[: max(size, _LEAST)]
                if len(shown) < len(value):
                    self._leave_out(at, start + len(shown), start + len(value))
                return shown
        return value

    def _object(self, value: dict[str, Any], size: int, at: str) -> dict[str, Any]:
        """Give each member the same room; what small ones leave is for the others. Texts of sources get what is left: who asks
        can read the files."""
        sizes = {key: len(encoded(member)) for key, member in value.items()}
        room = size - sum(len(encoded(key)) + 2 for key in value)
        shares = {}
        for is_last in (False, True):
            group = sorted((key for key in sizes if (key == "sources") is is_last), key=lambda key: sizes[key])
            for left, key in zip(range(len(group), 0, -1), group, strict=True):
                shares[key] = max(room // left, 0)
                room -= min(sizes[key], shares[key])
        return {key: self.fitted(member, shares[key], f"{at}/{_escaped(key)}") for key, member in value.items()}

    def _list(self, value: list[Any], size: int, at: str, start: int) -> list[Any]:
        shown: list[Any] = []
        for item in value:
            needed = len(encoded(item)) + 1
            if needed > size:
                break
            size -= needed
            shown.append(item)
        if value and not shown:
            shown.append(self.fitted(value[0], size, f"{at}/{start}"))
        if len(shown) < len(value):
            self._leave_out(at, start + len(shown), start + len(value))
        return shown

    def _leave_out(self, at: str, start: int, of: int) -> None:
        self.left_out.append({"at": at, "start": start, "of": of})


def part_at(document: Any, at: str, start: int) -> Any:
    """Return what stands in a document at a JSON Pointer: of a list or a text what follows its first ``start`` items or
    characters. Raises KernlensError if there is no such place."""
    value = document
    for word in at.split("/")[1:]:
        key = word.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and len(key) < 10 and int(key) < len(value):
            value = value[int(key)]
        else:
            raise KernlensError(f"the answer has nothing at {at!a}; take 'at' and 'start' from 'left_out'")
    if at and not at.startswith("/"):
        raise KernlensError(f"{at!a} is no place in an answer; take 'at' and 'start' from 'left_out'")
    if start and not (isinstance(value, list | str) and start < len(value)):
        raise KernlensError(f"the answer has no item {start} at {at!a}; take 'at' and 'start' from 'left_out'")
    return value[start:] if start else value


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
