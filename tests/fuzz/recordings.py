"""Targets for recordings: changed through SQL, and byte by byte."""

from __future__ import annotations

import contextlib
import sqlite3
from functools import cache

from kernlens.errors import KernlensError
from kernlens.loading.open import open_file
from kernlens.recording.editing import merge, redact_source
from kernlens.recording.inventory import stored_programs
from kernlens.recording.reader import Recording
from kernlens.recording.schema import TABLES
from kernlens.recording.writer import RecordingWriter
from tests.fuzz.inputs import Choices, folder
from tests.fuzz.rendering import check_lines
from tests.fuzz.whole_files import print_everything
from tests.writers.programs import binary
from tests.writers.recordings import FAILED, FULL, holding

#: What a cell can be set to, beside what the input holds: SQL.
_VALUES = (
    "NULL", "0", "1", "-1", "2", "9223372036854775807", "-9223372036854775808", "1.5", "9e999", "''", "'text'", "'source'",
    "'binary'", "'zstd'", "'raw'", "'../../x'", "char(27)", "char(0)", "x''", "x'00'", "x'ff'", "zeroblob(1000)",
    "randomblob(8)", "CAST(x'fffe' AS TEXT)", "'ok'", "'failed'", "'program'", "'.ll'", "'[]'", "'{\"a\": 1}'",
)  # fmt: skip
#: What the schema can be made.
_SCHEMA = (
    "DROP TABLE {table}", "ALTER TABLE {table} RENAME TO other", "ALTER TABLE {table} ADD COLUMN extra TEXT",
    "CREATE VIEW seen AS SELECT * FROM {table}", "PRAGMA user_version = {number}", "PRAGMA application_id = {number}",
    "CREATE INDEX found ON {table} ({column})", "DELETE FROM {table}", "PRAGMA encoding = 'UTF-16'",
    "CREATE TRIGGER fired AFTER INSERT ON {table} BEGIN SELECT 1; END", "CREATE TABLE sqlite_stat9 (a)", "VACUUM",
)  # fmt: skip
#: The most changes of one input.
_CHANGES = 20


@cache
def template() -> bytes:
    """Return a valid recording with all kinds of parts."""
    with folder() as inside:
        path = inside / "whole.klens"
        with RecordingWriter(path) as writer:
            for build in (FULL, FAILED, holding("scale", binary())):
                writer.add(build)
        return path.read_bytes()


@cache
def _columns() -> dict[str, tuple[str, ...]]:
    with contextlib.closing(_opened()) as database:
        return {table: tuple(row[1] for row in database.execute(f"PRAGMA table_info({table})")) for table in TABLES}


def _opened() -> sqlite3.Connection:
    database = sqlite3.connect(":memory:", isolation_level=None)
    database.deserialize(template())
    return database


def recording_changes(data: bytes) -> None:
    """Read a valid recording, changed by SQL statements that the input chooses."""
    chosen = Choices(data)
    with contextlib.closing(_opened()) as database:
        for _ in range(_CHANGES):
            if chosen.is_empty:
                break
            with contextlib.suppress(sqlite3.Error):
                _change(database, chosen)
        content = database.serialize()
    recording_bytes(content)


def _change(database: sqlite3.Connection, chosen: Choices) -> None:
    table = chosen.one_of(tuple(TABLES))
    column = chosen.one_of(_columns()[table])
    kind, row = chosen.number() % 8, chosen.number()
    where = f"WHERE {column} = (SELECT {column} FROM {table} LIMIT 1 OFFSET {row})" if row < 128 else ""
    if kind < 4:
        database.execute(f"UPDATE {table} SET {column} = {chosen.one_of(_VALUES)} {where}")
    elif kind == 4:
        content = chosen.content(chosen.number())
        value = content if chosen.number() % 2 else content.decode("utf-8", "replace")
        database.execute(f"UPDATE {table} SET {column} = ? {where}", (value,))
    elif kind == 5:
        other = chosen.one_of(_columns()[table])
        database.execute(f"UPDATE {table} SET {column} = {other} + {chosen.number()} {where}")
    elif kind == 6:
        database.execute(f"DELETE FROM {table} {where}")
    else:
        statement = chosen.one_of(_SCHEMA)
        database.execute(statement.format(table=table, column=column, number=chosen.number()))


def recording_bytes(data: bytes) -> None:
    """Read the bytes of a recording's file."""
    with folder() as inside:
        path = inside / "input.klens"
        path.write_bytes(data)
        try:
            with contextlib.closing(Recording(path)) as recording:
                _read(recording)
            merge([path, path], path)
            redact_source(path)
        except KernlensError:
            pass
        try:
            if data.startswith(b"SQLite format 3"):
                print_everything(open_file(path))
        finally:
            left = {path.name for path in inside.iterdir()}
            assert left == {"input.klens"}, f"reading left {left}"


def _read(recording: Recording) -> None:
    for program in stored_programs(recording):
        _ = program.size, program.identity()
    _ = recording.metadata, recording.command_line, recording.redacted
    for build in recording.builds():
        check_lines([build.name, build.device, build.reason or ""])
        for read in (
            lambda build=build: (build.binary, build.debug, build.spirv, build.log),
            lambda build=build: (build.sources, build.parts),
            lambda build=build: [snapshot.content for snapshot in build.snapshots],
        ):
            try:
                read()
            except KernlensError:
                continue  # Its other parts may be whole.
