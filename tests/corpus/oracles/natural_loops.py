"""The loops of a graph by their definition, slowly: the dominators of each node, and all that reaches an edge back to one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class DefinedLoops:
    """The loops of the graph whose node n leads to the nodes ``following[n]``, of those that ``entries`` reach. Sets of nodes
    are bits of numbers."""

    def __init__(self, following: Sequence[Iterable[int]], entries: Iterable[int]) -> None:
        self._following = [tuple(targets) for targets in following]
        self._entries = set(entries)
        self.reached = self._reached_from(self._entries)
        self._before: list[list[int]] = [[] for _ in self._following]
        for node in self.reached:
            for target in self._following[node]:
                self._before[target].append(node)
        self.dominators = self._dominators()

    @property
    def natural(self) -> dict[int, set[int]]:
        """The nodes of each natural loop by its header: an edge to a node that dominates its source leads back, and the
        loop is all that reaches such an edge without passing the header."""
        loops: dict[int, set[int]] = {}
        for source in self.reached:
            for header in self._following[source]:
                if self.dominators[source] >> header & 1:
                    loops.setdefault(header, {header}).update(self._reaching(source, header))
        return loops

    @property
    def has_irreducible(self) -> bool:
        """True if a cycle is left without the edges that lead back to dominators."""
        forward = {
            node: [target for target in self._following[node] if not self.dominators[node] >> target & 1]
            for node in self.reached
        }
        incoming = dict.fromkeys(self.reached, 0)
        for targets in forward.values():
            for target in targets:
                incoming[target] += 1
        ready = [node for node, count in incoming.items() if not count]
        left = len(forward)
        while ready:
            left -= 1
            for target in forward[ready.pop()]:
                incoming[target] -= 1
                if not incoming[target]:
                    ready.append(target)
        return left > 0

    def _reached_from(self, entries: Iterable[int]) -> set[int]:
        reached, pending = set(entries), list(entries)
        while pending:
            for target in self._following[pending.pop()]:
                if target not in reached:
                    reached.add(target)
                    pending.append(target)
        return reached

    def _dominators(self) -> list[int]:
        """Return for each node those that are on every way to it from an entry, itself too."""
        everything = (1 << len(self._following)) - 1
        dominators = [1 << node if node in self._entries else everything for node in range(len(self._following))]
        is_changed = True
        while is_changed:
            is_changed = False
            for node in sorted(self.reached - self._entries):
                common = everything
                for source in self._before[node]:
                    common &= dominators[source]
                if common | 1 << node != dominators[node]:
                    dominators[node] = common | 1 << node
                    is_changed = True
        return dominators

    def _reaching(self, end: int, without: int) -> set[int]:
        """Return the nodes that reach ``end`` on ways that do not pass ``without``."""
        reaching = {end} - {without}
        pending = list(reaching)
        while pending:
            for source in self._before[pending.pop()]:
                if source != without and source not in reaching:
                    reaching.add(source)
                    pending.append(source)
        return reaching
