"""The things that can be reached from others: functions through calls, parts of a text through names."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Item = TypeVar("Item", bound=Hashable)


def reached(start: Iterable[Item], following: Callable[[Item], Iterable[Item]]) -> dict[Item, None]:
    """Return what can be reached from the items ``start`` over what is ``following`` each, them included, in the order of
    discovery. Each item is looked at once."""
    items = dict.fromkeys(start)
    waiting = list(items)
    while waiting:
        for item in following(waiting.pop()):
            if item not in items:
                items[item] = None
                waiting.append(item)
    return items
