"""The layout of a recording (``.klens``), one SQLite file. ``docs/recording.md`` describes it for others."""

from __future__ import annotations

import re
from typing import TypeVar

from kernlens.errors import FormatError
from kernlens.model.build import BUILT, REFUSED

T = TypeVar("T")

#: SQLite's application id, at offset 68 of the file, big-endian: "klns".
APPLICATION_ID = 0x6B6C6E73
#: The schema that is written: SQLite's user version, at offset 60 of the file, big-endian. Older ones can be read too.
SCHEMA_VERSION = 5
SQLITE_MAGIC = b"SQLite format 3\0"
#: Bytes of SQLite's file header.
HEADER_SIZE = 100

BEHAVIOUR = "behaviour"
#: The tables of launches that were kept whole, and of the pieces of their memory.
LAUNCH, MEMORY = "launch", "memory"
#: Table name -> its definition. A reader compares these word for word, so that no file can bring views or triggers along.
TABLES = {
    "recording": "CREATE TABLE recording (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "toolchain": """CREATE TABLE toolchain (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL, neo_version TEXT NOT NULL, igc_version TEXT NOT NULL,
        UNIQUE (name, neo_version, igc_version))""",
    "blob": """CREATE TABLE blob (
        id INTEGER PRIMARY KEY, sha256 BLOB NOT NULL UNIQUE, size INTEGER NOT NULL, coding TEXT NOT NULL,
        content BLOB NOT NULL)""",
    "program": """CREATE TABLE program (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL, device TEXT NOT NULL, toolchain INTEGER REFERENCES toolchain (id),
        options TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, seconds REAL NOT NULL,
        command TEXT NOT NULL, created TEXT NOT NULL)""",
    "part": """CREATE TABLE part (
        program INTEGER NOT NULL REFERENCES program (id), position INTEGER NOT NULL, role TEXT NOT NULL,
        path TEXT NOT NULL, blob INTEGER REFERENCES blob (id), PRIMARY KEY (program, position)) WITHOUT ROWID""",
    "snapshot": """CREATE TABLE snapshot (
        program INTEGER NOT NULL REFERENCES program (id), position INTEGER NOT NULL, stage TEXT NOT NULL,
        kernel TEXT NOT NULL, form TEXT NOT NULL, ending TEXT NOT NULL, attempt INTEGER NOT NULL,
        blob INTEGER NOT NULL REFERENCES blob (id), PRIMARY KEY (program, position)) WITHOUT ROWID""",
    BEHAVIOUR: """CREATE TABLE behaviour (
        program INTEGER NOT NULL REFERENCES program (id), position INTEGER NOT NULL, kernel TEXT NOT NULL,
        launches INTEGER NOT NULL, blob INTEGER NOT NULL REFERENCES blob (id),
        PRIMARY KEY (program, position)) WITHOUT ROWID""",
    LAUNCH: """CREATE TABLE launch (
        program INTEGER NOT NULL REFERENCES program (id), position INTEGER NOT NULL, kernel TEXT NOT NULL,
        number INTEGER NOT NULL, process INTEGER NOT NULL, blob INTEGER NOT NULL REFERENCES blob (id),
        PRIMARY KEY (program, position)) WITHOUT ROWID""",
    MEMORY: """CREATE TABLE memory (
        program INTEGER NOT NULL REFERENCES program (id), launch INTEGER NOT NULL, number INTEGER NOT NULL,
        moment TEXT NOT NULL, piece INTEGER NOT NULL, blob INTEGER NOT NULL REFERENCES blob (id),
        PRIMARY KEY (program, launch, number, moment, piece)) WITHOUT ROWID""",
}
#: The tables of each schema. Schema 1 kept one attempt of each stage and did not say which; in the first two a build is ok or
#: failed; the first three have no behaviour, and the first four no kept launches.
_OBSERVED = {name: definition for name, definition in TABLES.items() if name not in (LAUNCH, MEMORY)}
_UNOBSERVED = {name: definition for name, definition in _OBSERVED.items() if name != BEHAVIOUR}
SCHEMAS = {
    1: {**_UNOBSERVED, "snapshot": TABLES["snapshot"].replace(" attempt INTEGER NOT NULL,", "")},
    2: _UNOBSERVED,
    3: _UNOBSERVED,
    4: _OBSERVED,
    SCHEMA_VERSION: TABLES,
}

#: The first schema that holds behaviour.
FIRST_OBSERVED = 4
#: The first schema that keeps launches.
FIRST_WITH_LAUNCHES = 5
#: The role of what launches ask for, as JSON.
LAUNCHES = "launches"
#: The roles that a part can have in its program.
ROLES = ("source", "binary", "debug", "spirv", "log", LAUNCHES)
FORMS = ("text", "binary")
#: The status of a build in older schemas, and the outcome that it means but for those that its reason tells.
FORMER_STATUS = {"ok": BUILT, "failed": REFUSED}


def same_definition(first: str, second: str) -> bool:
    """Return whether two table definitions are the same but for white space."""
    return re.sub(r"\s+", " ", first) == re.sub(r"\s+", " ", second)


def is_recording(head: bytes) -> bool:
    """Return whether a file that begins with ``head`` (at least 72 bytes) is a recording."""
    return head.startswith(SQLITE_MAGIC) and head[68:72] == APPLICATION_ID.to_bytes(4, "big")


def typed(value: object, kind: type[T], table: str) -> T:
    """Return ``value``. Raises FormatError if it is not of the type that its table's columns have."""
    if not isinstance(value, kind):
        raise damaged(f"the table {table} holds a {type(value).__name__} where a {kind.__name__} is expected")
    return value


def damaged(message: str) -> FormatError:
    """Make the error of a reader."""
    return FormatError(f"{message}: the recording is damaged", format="recording")
