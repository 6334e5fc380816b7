"""The cells of a sweep on a Dask cluster: the same work, in the processes of its workers.

The machines share the folders of the sources, by the same names. When a worker dies, the scheduler has another do its cells
again. A result counts when it has come here, once for each cell, whoever made it; it is kept in the cache here, so that a
sweep goes on where it ended whatever became of the cluster.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING
from uuid import uuid4

from kernlens import log
from kernlens.errors import KernlensError, ToolError, UnsupportedError
from kernlens.toolchain.compile_cache import CompileCache
from kernlens.toolchain.sources.source_reading import open_regular
from kernlens.verbs.sweep.cells import Cell
from kernlens.verbs.sweep.measuring import Measured, Wanted, failed, from_cache, into_cache
from kernlens.verbs.sweep.tasks import conditions, result_of, task_for

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
#: Tasks that the scheduler has at a time: so many that a cluster which grows with its work does.
_AT_ONCE = 500
#: What a worker evaluates. A function of kernlens would be named in the pickle that is a task for Dask, which a worker without
#: kernlens fails to read; then it leaves the scheduler, and comes again. So can the task be read by each, and fail alone.
_DO = "__import__('pkgutil').resolve_name('kernlens.verbs.sweep.tasks:done_there')(task)"
#: The largest scheduler file in bytes.
_FILE_LIMIT = 1 << 20


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
    the file that it has written it to. ``wait`` is for how many seconds there may be no worker.

    Raises UnsupportedError without the package distributed; ToolError if no scheduler answers, if it stops, and if there are
    no workers.
    """
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise UnsupportedError(
            "--scheduler needs Dask's package distributed: pip install distributed, here and for the workers"
        ) from error
    for cell in cells[:1]:
        conditions(cell.job.toolchain, cell.job.device)
    address = _address(scheduler)
    with _connected(address) as client:
        notice = on_notice or (lambda sentence: None)
        yield from _ClusterSweep(client, address, request, cache, wait, notice).results(iter(cells))


class _ClusterSweep:
    """The state of a sweep: what the scheduler has."""

    def __init__(
        self, client: Client, address: str, request: Wanted, cache: CompileCache | None, wait: float, notice: Notice
    ) -> None:
        self._client = client
        self._address = address
        self._request = request
        self._cache = cache
        self._wait = wait
        self._notice = notice
        self._pending: dict[Future, Cell] = {}
        self._done: SimpleQueue[Future] = SimpleQueue()
        #: Since when there is no worker; None while there are some.
        self._idle_since: float | None = None

    def results(self, waiting: Iterator[Cell]) -> Iterator[Measured]:
        """Yield the result of each cell. Raises ToolError if the cluster does not go on."""
        while True:
            while len(self._pending) < _AT_ONCE and (cell := next(waiting, None)) is not None:
                result = self._kept_or_submitted(cell)
                if result is not None:
                    yield result
            if not self._pending:
                return
            try:
                future = self._done.get(timeout=_LOOK)
            except Empty:
                self._look()
                continue
            if future.status in ("pending", "lost"):  # Its result has gone with a worker, and is made again.
                future.add_done_callback(self._done.put)
            elif future in self._pending:
                yield self._result(self._pending.pop(future), future)
                future.release()

    def _kept_or_submitted(self, cell: Cell) -> Measured | None:
        """Return the result of a cell that was done before, or cannot be; else give it to the scheduler."""
        result = from_cache(cell, self._request, self._cache)
        if result is not None:
            return result
        try:
            task = task_for(cell, self._request)
        except (KernlensError, OSError) as error:
            return failed(cell, str(error))
        try:
            future = self._client.submit(eval, _DO, {"task": task}, key=f"kernlens_compile-{uuid4().hex}", pure=False)
        except Exception as error:
            raise self._gone(error) from error
        self._pending[future] = cell
        future.add_done_callback(self._done.put)
        return None

    def _look(self) -> None:
        """See whether there are workers. Raises ToolError if the scheduler is gone, or no worker has come for too long."""
        try:
            workers = self._client.nthreads() if self._client.status == "running" else None
        except Exception as error:
            raise self._gone(error) from error
        if workers is None:
            raise self._gone()
        now = time.monotonic()
        if workers:
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = now
            self._notice(
                f"no worker of {self._address} is there; waiting {self._wait:g} s for one (--wait-workers SECONDS)"
            )
        elif now - self._idle_since > self._wait:
            raise ToolError(
                f"the scheduler at {self._address} has had no workers for {self._wait:g} s: start some ('dask worker"
                f" {self._address}') and repeat the command, which continues; --wait-workers SECONDS waits longer"
            )

    def _result(self, cell: Cell, future: Future) -> Measured:
        """Return the result of a cell that a worker has answered, or failed to."""
        from distributed import KilledWorker

        self._idle_since = None
        if future.status == "error":
            error = future.exception()
            if isinstance(error, KilledWorker):
                return failed(cell, "each of the workers that tried it died; kernlens compile tries it here")
            while error is not None and error.__cause__ is not None:
                error = error.__cause__
            return failed(cell, f"a worker failed: {type(error).__name__}: {_first_line(error)}")
        if future.status != "finished":
            raise self._gone()
        try:
            answer = self._client.gather(future)
        except TypeError:  # A worker sends something else than bytes, which is not read.
            answer = None
        except Exception as error:
            raise self._gone(error) from error
        result = result_of(cell, answer, self._request)
        if isinstance(result, str):
            return failed(cell, result)
        into_cache(cell, self._request, self._cache, result)
        return result

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
