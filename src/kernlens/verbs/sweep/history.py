"""The history of sweeps: a Parquet file to which each adds its rows, with the commit of each source and the time."""

from __future__ import annotations

import contextlib
import io
import os
import stat
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kernlens import log
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError, OutputError
from kernlens.model.columns import Cell, Table
from kernlens.model.sweep_row import LABELS, SweepRow
from kernlens.report.sweep_parquet import check_parquet, sweep_columns
from kernlens.toolchain.sources.source_reading import open_regular
from kernlens.verbs.sources.git_repository import Repository

if TYPE_CHECKING:
    import pyarrow

#: Bytes of a history, at most.
_LIMIT = 1 << 30


@dataclass(frozen=True, slots=True)
class SourceState:
    """The ``commit`` that is checked out in a source's repository, its time (``commit_date``, in UTC), and whether the source
    was ``changed`` since then or is not in it; all None where there is no repository."""

    commit: str | None = None
    commit_date: str | None = None
    changed: bool | None = None


_KINDS = {"date": str, "commit": str, "commit_date": str, "changed": bool}


def state_of(source: str) -> SourceState:
    """Return the state of a source in its git repository, which runs nothing of it."""
    path = os.path.abspath(source)
    try:
        with Repository(os.path.dirname(path)) as repository:
            commit = repository.commit("HEAD")
            header, _, _ = repository.content(commit.id).partition(b"\n\n")
            seconds = next(line for line in header.splitlines() if line.startswith(b"committer ")).split()[-2]
            date = _utc(datetime.fromtimestamp(int(seconds), UTC))
            try:
                recorded = repository.content(f"{commit.id}:{repository.prefix}{os.path.basename(path)}")
            except KernlensError:  # It has no such file.
                return SourceState(commit.id, date, True)
            with open_regular(path) as file:
                return SourceState(commit.id, date, file.read() != recorded)
    except (KernlensError, StopIteration, ValueError, OverflowError) as error:
        log.debug("verbs", "%s has no commit: %s", source, error)
        return SourceState()


def check_history(path: str) -> None:
    """Raise UnsupportedError without pyarrow, and KernlensError for a file that is no history of sweeps."""
    check_parquet()
    if os.path.lexists(path):
        with open_regular(path) as file:
            _read(file.read(_LIMIT + 1), path)


def append(path: str, rows: Sequence[SweepRow]) -> pyarrow.Table:
    """Add the rows to a history, and return all of it. Whoever appends at the same time waits; the file has all of its old
    rows whatever happens. A figure that it lacks is unknown in its older rows.

    Raises KernlensError for a file that is no history or has columns of another type, OutputError if it cannot be written.
    """
    import pyarrow
    import pyarrow.parquet

    new = _table(rows).to_arrow()
    target = os.path.realpath(path)
    try:
        with _locked(target) as content:
            tables = [_read(content, path), new] if content else [new]
            try:
                whole = pyarrow.concat_tables(tables, promote_options="default")
            except pyarrow.ArrowException as error:
                raise KernlensError(f"{path} has a column of another type ({error}); name a new file") from error
            packed = io.BytesIO()
            pyarrow.parquet.write_table(whole, packed, compression="zstd")
            _replace(target, packed.getvalue())
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}; choose another location") from error
    return whole


def _table(rows: Sequence[SweepRow]) -> Table:
    now, plain = _utc(datetime.now(UTC)), sweep_columns(rows)
    states = {source: state_of(source) for source in {row.source for row in rows}}
    of_rows = [states[row.source] for row in rows]
    columns: dict[str, Sequence[Cell]] = {
        "date": [now] * len(rows),
        "commit": [state.commit for state in of_rows],
        "commit_date": [state.commit_date for state in of_rows],
        "changed": [state.changed for state in of_rows],
    }
    return Table({**columns, **plain.columns}, {**_KINDS, **plain.kinds})


def _utc(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _read(content: bytes, path: str) -> pyarrow.Table:
    import pyarrow
    import pyarrow.parquet

    if not content:  # A first append that was ended before it wrote.
        return _table([]).to_arrow()
    if len(content) > _LIMIT:
        raise KernlensError(f"{path} is larger than {_LIMIT >> 30} GB; begin a new file")
    try:
        table = pyarrow.parquet.read_table(io.BytesIO(content))
    except (pyarrow.ArrowException, OSError) as error:
        raise KernlensError(f"{path} is no Parquet file ({error}); --append takes one that it began") from error
    missing = [name for name in (*_KINDS, *LABELS) if name not in table.column_names]
    if missing:
        raise KernlensError(f"{path} has no column {missing[0]}, so it is no history of sweeps; name a new file")
    return table


@contextlib.contextmanager
def _locked(target: str) -> Iterator[bytes]:
    """Yield the content of a file that nobody else appends to meanwhile; it is there from then on."""
    import fcntl

    while True:
        with open(os.open(target, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o666), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OutputError(f"cannot write {target}: it is no regular file; name another")
            fcntl.flock(file, fcntl.LOCK_EX)
            # Whoever had it before has put another file in its place.
            if os.path.exists(target) and os.path.samestat(os.fstat(file.fileno()), os.stat(target)):
                yield file.read(_LIMIT + 1)
                return


def _replace(target: str, content: bytes) -> None:
    partial = os.path.join(os.path.dirname(target), f".kernlens-{os.urandom(8).hex()}")
    try:
        with open(partial, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(target):
            os.chmod(partial, stat.S_IMODE(os.stat(target).st_mode))
        os.replace(partial, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise
