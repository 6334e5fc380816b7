"""Sequences whose items are made when they are wanted: the programs of a recording are unpacked one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

Item = TypeVar("Item")


class Growing(Sequence[Item]):
    """A sequence of ``items``, to which ``steps`` adds more at each step; a step is taken no sooner than an item of it
    is wanted. Several sequences may share their steps: each step may then add to all of them."""

    def __init__(self, items: list[Item], steps: Iterator[None]) -> None:
        self._items = items
        self._steps = steps

    def _reaches(self, index: int) -> bool:
        """Take steps until there is an item at ``index``; return False if there never will be."""
        while index >= len(self._items):
            try:
                next(self._steps)
            except StopIteration:
                return False
        return True

    def __len__(self) -> int:
        for _ in self._steps:
            pass
        return len(self._items)

    def __bool__(self) -> bool:
        return self._reaches(0)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        if isinstance(index, slice) or index < 0 or not self._reaches(index):
            len(self)
        return self._items[index]

    def __repr__(self) -> str:
        return repr(list(self))
