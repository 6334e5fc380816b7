"""The cells of a sweep on a Dask cluster: the same work, in the processes of its workers.

Each task brings the files that it compiles (``tasks.py``), so that the machines share no folder. When a worker dies, the
scheduler has another do its cells again. A worker that is unfit for a cell says so: it gets no more of that kind, and the
cell goes to another. A result counts when it has come here, once for each cell, whoever made it; it is kept in the cache
here, so that a sweep goes on where it ended whatever became of the cluster.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING
from uuid import uuid4

from kernlens import __version__, log
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError, ToolError, UnsupportedError
from kernlens.toolchain.compile_cache import CompileCache
from kernlens.toolchain.parallel_compiles import do_many
from kernlens.toolchain.sources.includes import include_folders, split_options
from kernlens.toolchain.sources.parcels import parcel_for
from kernlens.toolchain.sources.source_reading import open_regular
from kernlens.verbs.sweep.cells import Cell
from kernlens.verbs.sweep.fitness import Fitness
from kernlens.verbs.sweep.measuring import Measured, Wanted, failed, measured
from kernlens.verbs.sweep.tasks import (
    Unfit,
    answer_key,
    is_kept,
    own_variables,
    result_of,
    task_for,
)

if TYPE_CHECKING:
    from distributed import Client, Future

#: Called with a sentence that concerns the sweep as a whole.
Notice = Callable[[str], None]
#: Seconds to wait for a worker unless the caller says otherwise.
WAIT = 60.0
#: Seconds to wait for the scheduler's first answer.
_ANSWER = 5.0
#: Seconds between two looks at the workers.
_LOOK = 1.0
#: Tasks that the scheduler has at a time: so many that a cluster which grows with its work does, and few enough that
#: those which go to an unfit worker before it is known are soon elsewhere.
_AT_ONCE = 500
#: A cell is given to workers so often before it counts as failed.
_TRIES = 4
#: What a worker evaluates. A function of kernlens would be named in the pickle that is a task for Dask, which a worker without
#: kernlens fails to read; then it leaves the scheduler, and comes again. So can the task be read by each, and fail alone.
_DO = "__import__('pkgutil').resolve_name('kernlens.verbs.sweep.tasks:done_there')(parcel, task, has_cache)"
_ASK = "__import__('kernlens').__version__"
#: The largest scheduler file in bytes.
_FILE_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class _Task:
    """A cell that travels: the digest of its parcel, its document and the key of its answer in the cache."""

    cell: Cell
    digest: str
    document: str
    key: str | None


def measure_on_cluster(
    scheduler: str,
    cells: Sequence[Cell],
    request: Wanted,
    *,
    cache: CompileCache | None = None,
    wait: float = WAIT,
    on_notice: Notice | None = None,
) -> Generator[Measured]:
    """Do the cells on the workers of a scheduler, and yield what came of each as it finishes. ``scheduler`` is its address, or
    the file that it has written it to. ``wait`` is for how many seconds there may be no worker that can do what is left.

    Raises UnsupportedError without the package distributed; ToolError if no scheduler answers, if it stops, and if there are
    no workers.
    """
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise UnsupportedError(
            "--scheduler needs Dask's package distributed: pip install distributed, here and for the workers"
        ) from error
    own_variables()
    notice = on_notice or (lambda sentence: None)
    with _connected(_address(scheduler)) as client:
        sweep = _ClusterSweep(client, _address(scheduler), request, cache, wait, notice)
        yield from sweep.results(cells)
        staying = sweep.staying
    if staying:
        reasons = dict.fromkeys(f"{cell.source}: {reason}" for cell, reason in staying)
        notice(f"{len(staying):,} compiles cannot travel and run here: {'; '.join(list(reasons)[:3])}")
        here = [cell for cell, _ in staying]
        yield from do_many(here, lambda cell, on_start: measured(cell, request, cache, on_start))


class _ClusterSweep:
    """The state of a sweep: what waits, what the scheduler has, and what is known of the workers."""

    def __init__(
        self, client: Client, address: str, request: Wanted, cache: CompileCache | None, wait: float, notice: Notice
    ) -> None:
        self._client = client
        self._address = address
        self._request = request
        self._cache = cache
        self._wait = wait
        self._notice = notice
        self._fitness = Fitness()
        self._parcels: dict[str, bytes] = {}
        self._sent: dict[str, Future] = {}
        self._waiting: deque[_Task] = deque()
        #: What no worker of now can do.
        self._held: list[_Task] = []
        self._pending: dict[Future, tuple[_Task, frozenset[str]]] = {}
        self._tries: Counter[int] = Counter()
        self._done: SimpleQueue[Future] = SimpleQueue()
        self._looked = self._asked = 0.0
        #: Seconds without a worker that can do what is left, since the last result.
        self._idle = 0.0
        #: The cells that can be done only here, and why.
        self.staying: list[tuple[Cell, str]] = []

    def results(self, cells: Iterable[Cell]) -> Iterator[Measured]:
        """Yield the result of each cell that can travel. Raises ToolError if the cluster does not go on."""
        yield from self._prepared(cells)
        while self._waiting or self._held or self._pending:
            self._look()
            self._submit()
            yield from self._finished()
            if self._idle > self._wait:
                yield from self._given_up()
                return

    def _prepared(self, cells: Iterable[Cell]) -> Iterator[Measured]:
        """Have the cells wait; yield the results of those that were done before."""
        digests: dict[object, tuple[str, str]] = {}
        for cell in cells:
            job = cell.job
            words = split_options(job.options)
            # Files are read once for all sets of options that lead to the same ones.
            names = tuple(sorted({word.partition("=")[0] for word in words if not word.startswith("-I")}))
            place = (job.source, tuple(include_folders(job.options)), names)
            if place not in digests:
                digests[place] = self._parcel(cell)
            digest, reason = digests[place]
            if reason:
                self.staying.append((cell, reason))
                continue
            document = task_for(cell, self._request)
            key = answer_key(digest, document, job.toolchain, job.device) if self._cache is not None else None
            entry = self._cache.get(key) if self._cache is not None and key is not None else None
            result = result_of(cell, entry, self._request) if entry is not None else None
            if isinstance(result, Measured):
                yield result
            else:
                self._waiting.append(_Task(cell, digest, document, key))

    def _parcel(self, cell: Cell) -> tuple[str, str]:
        """Return the digest of the parcel for a cell, or the reason why it has none."""
        try:
            parcel = parcel_for(cell.job.source, cell.job.options)
        except (OSError, ValueError, KernlensError) as error:
            return "", str(error)
        digest = hashlib.sha256(parcel).hexdigest()
        self._parcels[digest] = parcel
        return digest, ""

    def _look(self) -> None:
        """See which workers there are, and take tasks back from those that have gone."""
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return
        passed, self._looked = now - self._looked if self._looked else 0.0, now
        if self._client.status != "running":
            raise self._gone()
        try:
            self._fitness.see(self._client.nthreads())
        except Exception as error:
            raise self._gone(error) from error
        for future, (task, allowed) in list(self._pending.items()):
            if allowed and allowed.isdisjoint(self._fitness.threads):
                del self._pending[future]
                future.release()
                self._waiting.appendleft(task)
        self._waiting.extend(self._held)
        self._held = []
        left = {task.cell.job.toolchain.name + "\0" + task.cell.source: task.cell for task in self._left()}
        if self._fitness.can_do_any(left.values()):
            return
        if not self._idle:
            what = "can do what is left" if self._fitness.threads else "is there"
            self._notice(
                f"no worker of {self._address} {what}; waiting {self._wait:g} s for one (--wait-workers SECONDS)"
            )
        self._idle += max(passed, 1e-3)

    def _left(self) -> Iterator[_Task]:
        yield from self._waiting
        yield from self._held
        yield from (task for task, _ in self._pending.values())

    def _submit(self) -> None:
        room = _AT_ONCE if self._fitness.all_fit else max(4 * self._fitness.fit_threads, 4)
        while self._waiting and len(self._pending) < room:
            task = self._waiting.popleft()
            allowed = self._fitness.workers_for(task.cell)
            if allowed is None:
                self._held.append(task)
                continue
            try:
                self._pending[self._submitted(task, allowed)] = task, allowed
            except Exception as error:
                raise self._gone(error) from error

    def _submitted(self, task: _Task, allowed: frozenset[str]) -> Future:
        """Give a task to the scheduler, for these workers alone (none: any). Its parcel is a task of its own, which many
        share, and whose bytes come anew from the scheduler if the worker that had them dies."""
        if task.digest not in self._sent:
            content = self._parcels[task.digest]
            self._sent[task.digest] = self._client.submit(
                bytes, content, key=f"kernlens_files-{uuid4().hex}", pure=False
            )
        future = self._client.submit(
            eval,
            _DO,
            {"parcel": self._sent[task.digest], "task": task.document, "has_cache": self._cache is not None},
            key=f"kernlens_compile-{uuid4().hex}",
            workers=sorted(allowed) or None,
            pure=False,
        )
        future.add_done_callback(self._done.put)
        return future

    def _finished(self) -> Iterator[Measured]:
        """Yield what has come since the last time, after a wait if that is nothing."""
        batch: list[Future] = []
        with suppress(Empty):
            batch.append(self._done.get(timeout=_LOOK))
            while len(batch) < _AT_ONCE:
                batch.append(self._done.get_nowait())
        for future in [future for future in batch if future in self._pending and future.status in ("pending", "lost")]:
            future.add_done_callback(self._done.put)  # Its result has gone with a worker, and is made again.
            batch.remove(future)
        batch = [future for future in batch if future in self._pending]
        answers = self._gathered([future for future in batch if future.status == "finished"])
        for future in batch:
            task, _ = self._pending.pop(future)
            result = self._answered(task, answers[future]) if future in answers else self._erred(future, task)
            future.release()
            if result is not None:
                self._idle = 0.0
                yield result

    def _gathered(self, futures: list[Future]) -> dict[Future, object]:
        """Return what workers have answered, but for answers that were lost meanwhile and cannot be made again."""
        if not futures:
            return {}
        try:
            return dict(zip(futures, self._client.gather(futures), strict=True))
        except Exception as error:
            if len(futures) > 1:
                return {future: answer for each in futures for future, answer in self._gathered([each]).items()}
            if futures[0].status == "error":
                return {}
            if isinstance(error, TypeError):  # A worker sends something else than bytes, which is not read.
                return dict.fromkeys(futures)
            raise self._gone(error) from error

    def _answered(self, task: _Task, answer: object) -> Measured | None:
        """Return the result in a worker's answer; None if the task goes elsewhere."""
        result = result_of(task.cell, answer, self._request)
        if isinstance(result, Unfit):
            for sentence in self._fitness.exclude(result):
                self._notice(sentence)
            self._waiting.appendleft(task)
            return None
        if isinstance(result, str):
            return failed(task.cell, result)
        self._fitness.has_done(task.cell)
        if self._cache is not None and task.key is not None and isinstance(answer, bytes) and is_kept(answer):
            self._cache.put(task.key, answer)
        return result

    def _erred(self, future: Future, task: _Task) -> Measured | None:
        """Return the result of a task that no worker has answered; None if it goes elsewhere."""
        from distributed import KilledWorker

        if future.status != "error":
            raise self._gone()
        error = future.exception()
        if isinstance(error, KilledWorker):
            return failed(task.cell, "each of the workers that tried it died; kernlens compile tries it here")
        while error is not None and error.__cause__ is not None:
            error = error.__cause__
        self._tries[task.cell.number] += 1
        if self._tries[task.cell.number] < _TRIES and self._find_without_kernlens():
            self._waiting.appendleft(task)
            return None
        return failed(task.cell, f"a worker failed: {type(error).__name__}: {_first_line(error)}")

    def _find_without_kernlens(self) -> bool:
        """Exclude the workers that cannot import kernlens; return whether there are any, also from before."""
        if time.monotonic() - self._asked < _LOOK:
            return not self._fitness.all_fit
        self._asked = time.monotonic()
        try:
            asked = self._client.run(eval, _ASK, on_error="return")
        except Exception as error:
            raise self._gone(error) from error
        for worker, answer in asked.items():
            if isinstance(answer, BaseException):
                reason = f"kernlens cannot be imported there ({_first_line(answer)}): install kernlens {__version__}"
                for sentence in self._fitness.exclude(Unfit(worker, worker.rpartition("//")[2], "", reason)):
                    self._notice(sentence)
        return not self._fitness.all_fit

    def _given_up(self) -> Iterator[Measured]:
        """Yield the cells that each worker was unfit for as failed ones. Raises ToolError if others are left."""
        left = sorted(self._left(), key=lambda task: task.cell.number)
        hopeless = [task.cell for task in left if self._fitness.is_hopeless(task.cell)]
        for cell in hopeless:
            yield failed(cell, f"no worker can do it: {self._fitness.reason(cell)}")
        if len(hopeless) < len(left):
            raise ToolError(
                f"the scheduler at {self._address} has had no workers for {self._wait:g} s: start some ('dask worker"
                f" {self._address}') and repeat the command, which continues; --wait-workers SECONDS waits longer"
            )

    def _gone(self, error: Exception | None = None) -> ToolError:
        log.debug("verbs", "the cluster: %r", error)
        return ToolError(
            f"the scheduler at {self._address} has stopped: restart it and repeat the command, which continues"
        )


def _address(scheduler: str) -> str:
    """Return the address of a scheduler that is named by it, or by the file into which it has written it. Raises NotFoundError
    or KernlensError for a file that is none, or none of Dask's."""
    if not scheduler.endswith(".json") and not os.path.isfile(scheduler):
        return scheduler
    with open_regular(scheduler, "scheduler file") as file:
        content = file.read(_FILE_LIMIT)
    try:
        address = json.loads(content)["address"]
    except (ValueError, KeyError, TypeError):
        address = None
    if not isinstance(address, str):
        raise KernlensError(
            f"{scheduler} is not a Dask scheduler file: 'dask scheduler --scheduler-file {scheduler}' writes it"
        )
    return address


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    """Yield a client of the scheduler. Its log would tell of each worker that goes; what matters of that is an error here."""
    from distributed import Client
    from distributed.comm.addressing import get_address_host_port

    with ExitStack() as stack:
        for name in ("distributed", "distributed.client"):
            logger = logging.getLogger(name)
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL)
        try:
            get_address_host_port(address)  # A client that was given something else does not end as it should.
            # Results come as what MessagePack has: bytes. A pickle in their place is refused.
            client = stack.enter_context(
                Client(address, timeout=_ANSWER, set_as_default=False, deserializers=["msgpack"])
            )
        except (OSError, ValueError, TypeError) as error:
            advice = "start one with 'dask scheduler', or leave --scheduler out to use this machine"
            if address.startswith("tls://"):
                advice = "is it running, and are distributed.comm.tls.* set in Dask's configuration?"
            raise ToolError(f"no Dask scheduler answers at {address} ({_first_line(error)}): {advice}") from error
        yield client


def _first_line(error: BaseException | None) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
