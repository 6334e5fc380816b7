"""The workers of a cluster, and what each of them cannot do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kernlens.verbs.sweep.cells import Cell
from kernlens.verbs.sweep.tasks import Unfit, scopes


class Fitness:
    """The workers that there are, by address, with their ``threads``; and those that have said that they are unfit."""

    def __init__(self) -> None:
        self.threads: dict[str, int] = {}
        self._unfit: dict[str, set[str]] = {}
        #: By scope, why a worker was unfit for it first.
        self._reasons: dict[str, str] = {}
        self._reported: set[tuple[str, str]] = set()
        self._proven: set[str] = set()

    def see(self, threads: Mapping[str, int]) -> None:
        """Take note of the workers that there are now."""
        self.threads = dict(threads)

    def exclude(self, unfit: Unfit) -> Iterator[str]:
        """Take note of what a worker cannot do, and yield a sentence on it, once for each machine."""
        self._unfit.setdefault(unfit.worker, set()).add(unfit.scope)
        self.threads.setdefault(unfit.worker, 1)  # It may be newer than the last look.
        self._reasons.setdefault(unfit.scope, f"on {unfit.host}, {unfit.reason}")
        if (unfit.host, unfit.reason) not in self._reported:
            self._reported.add((unfit.host, unfit.reason))
            what = f"no more compiles of {unfit.scope}" if unfit.scope else "no more compiles"
            yield f"the worker {unfit.worker} on {unfit.host} gets {what}: {unfit.reason}"

    def has_done(self, cell: Cell) -> None:
        """Take note that some worker could do a cell."""
        self._proven.update(scopes(cell))

    @property
    def all_fit(self) -> bool:
        """True if each worker of now may get any cell."""
        return self._unfit.keys().isdisjoint(self.threads)

    @property
    def fit_threads(self) -> int:
        """The threads of workers that may get some cell."""
        return sum(count for worker, count in self.threads.items() if "" not in self._unfit.get(worker, ()))

    def workers_for(self, cell: Cell) -> frozenset[str] | None:
        """Return the workers that may get a cell; none at all stands for each that there is or will be, and None is said
        where those of now are all unfit."""
        if self.all_fit:
            return frozenset()
        return frozenset(worker for worker in self.threads if self._may_do(worker, cell)) or None

    def can_do_any(self, cells: Iterable[Cell]) -> bool:
        """Return whether a worker of now may get one of these cells."""
        if self.all_fit:
            return bool(self.threads)
        return any(self._may_do(worker, cell) for cell in cells for worker in self.threads)

    def _may_do(self, worker: str, cell: Cell) -> bool:
        return self._unfit.get(worker, set()).isdisjoint(scopes(cell))

    def is_hopeless(self, cell: Cell) -> bool:
        """Return whether workers were unfit for a cell, and none was ever fit for one of its kind."""
        return bool(self.reason(cell)) and not self._proven >= set(scopes(cell)[1:])

    def reason(self, cell: Cell) -> str:
        """Return why a worker was unfit for a cell; "" if none was."""
        return next((self._reasons[scope] for scope in scopes(cell) if scope in self._reasons), "")
