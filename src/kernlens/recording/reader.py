"""Read a recording (``.klens``): what a compile or a capture saved.

A recording may come from anybody. Its tables must be exactly those of ``recording_schema.py``, every value is checked
for its type, content is unpacked with a limit and compared with its hash, and a query has a time limit. Nothing is
ever written to it.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from kernlens.errors import FormatError, KernlensError, NotFoundError, UnsupportedError
from kernlens.recording.blobs import PackedBlob, unpack
from kernlens.recording.schema import (
    FAILED,
    FORMS,
    HEADER_SIZE,
    OK,
    ROLES,
    SCHEMA_VERSION,
    SCHEMAS,
    is_recording,
    same_definition,
)
from kernlens.recording.writer import RecordedToolchain

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

#: Seconds that one query may take: a real one takes milliseconds.
QUERY_TIMEOUT = 10.0
#: The most programs, parts of a program, or snapshots of a program that are read.
ROW_LIMIT = 200_000
#: The longest text or blob in bytes that SQLite may build.
VALUE_LIMIT = (1 << 30) + 4096
#: Steps of SQLite's machine between two looks at the clock.
STEPS = 50_000


@dataclass(frozen=True, slots=True)
class RecordedSnapshot:
    """The program at one stage of its compile; ``kernel`` is None for the whole program. ``form`` is text or binary,
    ``ending`` the usual file ending of such content, ``attempt`` counts compiles of the program from 1."""

    stage: str
    kernel: str | None
    form: str
    ending: str
    attempt: int
    _blob: int = field(repr=False)
    _recording: Recording = field(repr=False)

    def read(self) -> bytes:
        """Its content. Raises FormatError if the recording is damaged there."""
        return self._recording._content(self._blob)


@dataclass(frozen=True)
class RecordedProgram:
    """One recorded build. ``number`` counts from 1 in the order of finishing; ``seconds`` is what it took.

    ``ok`` is whether it succeeded, ``reason`` one sentence on why not, else None. ``toolchain`` is None if it is not
    known. ``created`` is when it was recorded (ISO 8601, UTC). Contents are read on first use; reading raises
    FormatError if the recording is damaged there.
    """

    number: int
    name: str
    device: str
    toolchain: RecordedToolchain | None
    options: str
    ok: bool
    reason: str | None
    seconds: float
    command: str
    created: str
    _recording: Recording = field(repr=False)

    @cached_property
    def binary(self) -> bytes:
        """The device binary in its container; empty if the build failed."""
        return self._only("binary")

    @cached_property
    def debug(self) -> bytes:
        """Debug data beside the binary; empty if there is none."""
        return self._only("debug")

    @cached_property
    def spirv(self) -> bytes:
        """The SPIR-V module that it was made from; empty if there is none."""
        return self._only("spirv")

    @cached_property
    def log(self) -> str:
        """All that the compiler said."""
        return self._only("log").decode("utf-8", "replace")

    @cached_property
    def sources(self) -> tuple[tuple[str, str], ...]:
        """(path, text) of each source, the main one first; those that were redacted are left out."""
        return tuple(
            (path, self._recording._content(blob).decode("utf-8", "replace"))
            for role, path, blob in self._parts
            if role == "source" and blob is not None
        )

    @cached_property
    def source_paths(self) -> tuple[str, ...]:
        """The path of each source, redacted ones included."""
        return tuple(path for role, path, _ in self._parts if role == "source")

    @cached_property
    def snapshots(self) -> tuple[RecordedSnapshot, ...]:
        """The program at each recorded stage, in pipeline order."""
        return self._recording._snapshots(self.number)

    @cached_property
    def _parts(self) -> tuple[tuple[str, str, int | None], ...]:
        return self._recording._parts(self.number)

    def _only(self, wanted: str) -> bytes:
        for role, _, blob in self._parts:
            if role == wanted and blob is not None:
                return self._recording._content(blob)
        return b""


class Recording:
    """An open recording; a context manager, usable from several threads. It stays open while its programs are read.

    Raises NotFoundError if there is no such file, FormatError if it is no recording or damaged, UnsupportedError if a
    newer kernlens wrote it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._deadline = 0.0
        self._closing = contextlib.ExitStack()
        self._schema = _checked_schema(self.path)
        files = (self.path, _beside(self.path))
        self._size = sum(file.stat().st_size for file in files if file.exists())
        try:
            self._connection = self._open()
            self._check_tables()
        except BaseException:
            self._closing.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; contents that were not read yet can then no longer be. More calls do nothing."""
        with self._lock:
            self._closing.close()

    @cached_property
    def metadata(self) -> dict[str, str]:
        """What the writer noted: ``kernlens_version``, ``created``, ``command_line`` (a JSON list), ``host``,
        ``redacted`` ("source" or empty)."""
        rows = self._rows("SELECT key, value FROM recording")
        return {_typed(key, str, "recording"): _typed(value, str, "recording") for key, value in rows}

    @cached_property
    def command_line(self) -> tuple[str, ...]:
        """The command that made the recording; empty if it was made from Python."""
        try:
            words = json.loads(self.metadata.get("command_line", "[]"))
        except (ValueError, RecursionError):
            return ()
        return tuple(word for word in words if isinstance(word, str)) if isinstance(words, list) else ()

    @property
    def redacted(self) -> bool:
        """Whether source text was left out."""
        return self.metadata.get("redacted") == "source"

    def programs(self) -> list[RecordedProgram]:
        """All programs, in the order of finishing. Their contents are read when they are asked for."""
        toolchains = self._toolchains()
        query = "SELECT id, name, device, toolchain, options, status, reason, seconds, command, created FROM program"
        return [self._program(row, toolchains) for row in self._rows(query + " ORDER BY id")]

    def _program(self, row: tuple[Any, ...], toolchains: dict[int, RecordedToolchain]) -> RecordedProgram:
        number, name, device, toolchain, options, status, reason, seconds, command, created = row
        if toolchain is not None and toolchain not in toolchains:
            raise _damaged("a program names a toolchain that is not there")
        if status not in (OK, FAILED):
            raise _damaged(f"a program has the status {status!r}")
        return RecordedProgram(
            number=_typed(number, int, "program"),
            name=_typed(name, str, "program"),
            device=_typed(device, str, "program"),
            toolchain=None if toolchain is None else toolchains[toolchain],
            options=_typed(options, str, "program"),
            ok=status == OK,
            reason=_typed(reason, str, "program") or None,
            seconds=_typed(seconds, float, "program"),
            command=_typed(command, str, "program"),
            created=_typed(created, str, "program"),
            _recording=self,
        )

    def _toolchains(self) -> dict[int, RecordedToolchain]:
        found = {}
        for number, *texts in self._rows("SELECT id, name, neo_version, igc_version FROM toolchain"):
            name, neo, igc = (_typed(text, str, "toolchain") for text in texts)
            found[_typed(number, int, "toolchain")] = RecordedToolchain(name, neo, igc)
        return found

    def _parts(self, program: int) -> tuple[tuple[str, str, int | None], ...]:
        """(role, path, blob) of each part; the blob is None where the content was left out."""
        found: list[tuple[str, str, int | None]] = []
        rows = self._rows("SELECT role, path, blob FROM part WHERE program = ? ORDER BY position", program)
        for role, path, blob in rows:
            if role not in ROLES:
                raise _damaged(f"a part has the role {role!r}")
            found.append((role, _typed(path, str, "part"), None if blob is None else _typed(blob, int, "part")))
        return tuple(found)

    def _snapshots(self, program: int) -> tuple[RecordedSnapshot, ...]:
        found = []
        attempts = "attempt" if self._schema > 1 else "1"
        query = (
            f"SELECT stage, kernel, form, ending, {attempts}, blob FROM snapshot WHERE program = ? ORDER BY position"
        )
        for stage, kernel, form, ending, attempt, blob in self._rows(query, program):
            if form not in FORMS:
                raise _damaged(f"a snapshot has the form {form!r}")
            texts = (_typed(stage, str, "snapshot"), _typed(kernel, str, "snapshot") or None, form)
            numbers = _typed(attempt, int, "snapshot"), _typed(blob, int, "snapshot")
            found.append(RecordedSnapshot(*texts, _typed(ending, str, "snapshot"), *numbers, self))
        return tuple(found)

    def _content(self, blob: int) -> bytes:
        rows = self._rows("SELECT sha256, size, coding, content FROM blob WHERE id = ?", blob)
        if not rows:
            raise _damaged("content is missing")
        digest, size, coding, content = rows[0]
        values = (_typed(digest, bytes, "blob"), _typed(size, int, "blob"), _typed(coding, str, "blob"))
        return unpack(PackedBlob(*values, _typed(content, bytes, "blob")))

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a query, read to the end while the lock is held."""
        with self._lock, _sqlite_errors(self.path):
            self._deadline = time.monotonic() + QUERY_TIMEOUT
            return list(self._bounded(self._connection.execute(query, values)))

    def _bounded(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        # Values lie unpacked in the file, so all rows of a table together cannot be larger than it; pages that are
        # linked in a circle would make them so.
        room = self._size
        for number, row in enumerate(rows):
            room -= sum(len(value) for value in row if isinstance(value, str | bytes))
            if number >= ROW_LIMIT or room < 0:
                raise _damaged("a table holds more than the file can")
            yield row

    def _open(self) -> sqlite3.Connection:
        import sqlite3

        with _sqlite_errors(self.path):
            connection = self._connect(self.path)
            try:
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            except sqlite3.OperationalError:
                # What a crash left beside the recording can only be merged where SQLite may write: in a copy.
                beside = _beside(self.path)
                if not beside.exists():
                    raise
                connection.close()
                connection = self._connect(self._copy(beside))
        return connection

    def _connect(self, path: Path) -> sqlite3.Connection:
        import sqlite3

        connection = sqlite3.connect(
            path.absolute().as_uri() + "?mode=ro", uri=True, isolation_level=None, check_same_thread=False
        )
        self._closing.callback(connection.close)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, VALUE_LIMIT)
        self._deadline = time.monotonic() + QUERY_TIMEOUT
        connection.set_progress_handler(lambda: time.monotonic() > self._deadline, STEPS)
        for setting in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON"):
            connection.execute(f"PRAGMA {setting}")
        return connection

    def _copy(self, beside: Path) -> Path:
        from tempfile import TemporaryDirectory

        folder = Path(self._closing.enter_context(TemporaryDirectory(prefix="kernlens-")))
        for file in (self.path, beside):
            shutil.copyfile(file, folder / file.name)
        return folder / self.path.name

    def _check_tables(self) -> None:
        rows = self._rows("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'")
        found = {name: (kind, sql) for kind, name, sql in rows}
        for name, definition in SCHEMAS[self._schema].items():
            kind, sql = found.pop(name, (None, None))
            if kind != "table" or not isinstance(sql, str) or not same_definition(sql, definition):
                raise _damaged(f"the table {name} is missing or not as schema {self._schema} defines it")
        if found:
            raise _damaged(f"{sorted(map(repr, found))[0]} does not belong to schema {self._schema}")


def _beside(path: Path) -> Path:
    """What SQLite keeps beside the file while it is written, or after a crash."""
    return path.with_name(path.name + "-wal")


def _checked_schema(path: Path) -> int:
    try:
        with path.open("rb") as file:
            head = file.read(HEADER_SIZE)
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no recording {path}") from error
    except OSError as error:
        raise KernlensError(f"the recording {path} cannot be read: {error.strerror}") from error
    if len(head) < HEADER_SIZE or not is_recording(head):
        raise FormatError(f"{path} is no recording of kernlens", format="recording", offset=0)
    version = int.from_bytes(head[60:64], "big")
    if version > SCHEMA_VERSION:
        raise UnsupportedError(
            f"{path} has schema {version}, written by a newer kernlens, and this one reads schema {SCHEMA_VERSION}:"
            " update kernlens"
        )
    if version not in SCHEMAS:
        raise FormatError(f"{path} has the unknown schema {version}", format="recording", offset=60)
    return version


@contextlib.contextmanager
def _sqlite_errors(path: Path) -> Iterator[None]:
    import sqlite3

    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, UnicodeDecodeError, OverflowError) as error:
        # A damaged text column raises OperationalError, a damaged page DatabaseError, a closed file ProgrammingError.
        raise FormatError(f"{path} cannot be read: {error}", format="recording") from error


def _typed(value: object, kind: type[T], table: str) -> T:
    if not isinstance(value, kind):
        raise _damaged(f"the table {table} holds a {type(value).__name__} where a {kind.__name__} is expected")
    return value


def _damaged(message: str) -> FormatError:
    return FormatError(f"{message}: the recording is damaged", format="recording")
