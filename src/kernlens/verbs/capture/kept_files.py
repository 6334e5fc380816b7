"""The files of launches that a capture keeps (``native/recording/kept_files.c``): fields, of which contents are read
when they are asked for."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from kernlens.dataclass import dataclass, field, replace
from kernlens.errors import FormatError
from kernlens.model.kept_launch import (
    BUFFER,
    DEVICE,
    HOST,
    IMAGE,
    LOCAL,
    MEMORY,
    NULL,
    POINTER,
    SAMPLER,
    SHARED,
    SVM,
    VALUE,
    ImageForm,
    KeptArgument,
    KeptLaunch,
    KeptMemory,
)
from kernlens.runtime.opencl.error_codes import ERROR_NAMES
from kernlens.toolchain.sources.source_reading import open_beside
from kernlens.verbs.capture.spooled import Identity

_NUMBER = struct.Struct("<Q")
_PROGRAM = struct.Struct("<2Q")
#: What an argument is, and memory: the rows of ``native/recording/reached.h``.
_ARGUMENT, _MEMORY, _REFUSED = struct.Struct("<8Q"), struct.Struct("<16Q"), struct.Struct("<3Q")
_ARGUMENTS = {1: VALUE, 2: LOCAL, 3: MEMORY, 4: SAMPLER, 5: POINTER, 6: NULL}
_MEMORIES = {1: BUFFER, 2: IMAGE, 3: SVM, 4: HOST, 5: DEVICE, 6: SHARED}
#: A longer field is a content, and a longer name is none.
_MOST_OF_FIELD, _MOST_OF_NAME = 1 << 20, 64


@dataclass(slots=True)
class KeptFile:
    """A launch in its file: its program, the device (its handle), and whether it had ended; ``launch`` is incomplete if not."""

    launch: KeptLaunch
    program: Identity
    device: int
    has_ended: bool


@dataclass(slots=True)
class _Fields:
    """The fields of a file that have been read."""

    numbers: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    kernel: str = ""
    program: Identity = (0, 0)
    arguments: list[KeptArgument] = field(default_factory=list)
    memory: list[KeptMemory] = field(default_factory=list)


def read_kept_file(path: Path) -> KeptFile:
    """Return the launch of a file; its contents are read from there when they are asked for. Raises FormatError if it is
    damaged, UnsupportedError or OSError if it cannot be read."""
    fields = _Fields()
    side, place = "", 0
    has_ended = not path.name.startswith(".")
    for name, start, size in _places(path, has_ended=has_ended):
        content = partial(_content, path, start, size)
        if name == "content":
            _add_content(fields.memory, place, side, size, content, path)
        elif size > _MOST_OF_FIELD:
            raise _damaged(path, start)
        elif name in ("before", "after", "unread"):
            side, place = name, _NUMBER.unpack(_sized(content(), _NUMBER.size, path))[0]
        elif name == "why":
            _add_reason(fields.memory, place, content(), path)
        else:
            _add_field(fields, name, content(), path)
    return KeptFile(_launch(fields, path), fields.program, fields.numbers.get("device", 0), has_ended)


def _places(path: Path, *, has_ended: bool) -> Iterator[tuple[str, int, int]]:
    """Yield each field's name, and where its bytes are; of a file that has not ended those that are whole."""
    with open_beside(path, path.parent) as file:
        end, offset = os.fstat(file.fileno()).st_size, 0
        while offset < end:
            try:
                name, start = _block(file.fileno(), offset, end, path)
                size = _NUMBER.unpack(_sized(os.pread(file.fileno(), _NUMBER.size, start), _NUMBER.size, path))[0]
                offset = start + _NUMBER.size + size
                if offset > end:
                    raise _damaged(path, start)
            except FormatError:
                if has_ended:
                    raise
                return
            yield name, start + _NUMBER.size, size


def _block(file: int, offset: int, end: int, path: Path) -> tuple[str, int]:
    """Return the name that stands at an offset, and where it ends."""
    size = _NUMBER.unpack(_sized(os.pread(file, _NUMBER.size, offset), _NUMBER.size, path))[0]
    start = offset + _NUMBER.size
    if size > _MOST_OF_NAME or start + size > end:
        raise _damaged(path, offset)
    return os.pread(file, size, start).rstrip(b"\0").decode("utf-8", "replace"), start + size


def _content(path: Path, start: int, size: int) -> bytes:
    with open_beside(path, path.parent) as file:
        return _sized(
            os.pread(file.fileno(), size, start) if size < 1 << 30 else _long(file.fileno(), start, size), size, path
        )


def _long(file: int, start: int, size: int) -> bytes:
    """Return more bytes than one call of the system reads."""
    pieces, end = [], start + size
    while start < end and (piece := os.pread(file, min(end - start, 1 << 30), start)):
        pieces.append(piece)
        start += len(piece)
    return b"".join(pieces)


def _sized(content: bytes, size: int, path: Path) -> bytes:
    if len(content) != size:
        raise _damaged(path, 0)
    return content


def _damaged(path: Path, offset: int) -> FormatError:
    return FormatError(f"{path.name} is damaged", format="capture", offset=offset)


def _add_content(
    memory: list[KeptMemory], place: int, side: str, size: int, content: Callable[[], bytes], path: Path
) -> None:
    if place >= len(memory) or side == "" or size != memory[place].size:
        raise _damaged(path, 0)
    known = memory[place]
    memory[place] = replace(known, before=content) if side == "before" else replace(known, after=content)


def _add_reason(memory: list[KeptMemory], place: int, content: bytes, path: Path) -> None:
    if place >= len(memory):
        raise _damaged(path, 0)
    memory[place] = replace(memory[place], why=content.decode("utf-8", "replace"))


def _add_field(fields: _Fields, name: str, content: bytes, path: Path) -> None:
    match name:
        case "kernel":
            fields.kernel = content.rstrip(b"\0").decode("utf-8", "replace")
        case "program":
            first, second = _PROGRAM.unpack(_sized(content, _PROGRAM.size, path))
            fields.program = first, second
        case "number" | "process" | "device" | "nanoseconds":
            (fields.numbers[name],) = _NUMBER.unpack(_sized(content, _NUMBER.size, path))
        case "global" | "local" | "offset":
            if len(content) % _NUMBER.size or len(content) > 3 * _NUMBER.size:
                raise _damaged(path, 0)
            fields.sizes[name] = tuple(number for (number,) in _NUMBER.iter_unpack(bytes(content)))
        case "argument":
            fields.arguments.append(_argument(_ARGUMENT.unpack(_sized(content, _ARGUMENT.size, path)), path))
        case "value" if fields.arguments and fields.arguments[-1].size == len(content):
            fields.arguments[-1] = replace(fields.arguments[-1], content=content, size=0)
        case "memory":
            fields.memory.append(_memory(_MEMORY.unpack(_sized(content, _MEMORY.size, path)), path))
        case "refused":
            place, before, after = _REFUSED.unpack(_sized(content, _REFUSED.size, path))
            if place >= len(fields.memory):
                raise _damaged(path, 0)
            status = -(before or after)
            fields.memory[place] = replace(
                fields.memory[place], why=f"the driver refused to read it ({ERROR_NAMES.get(status, status)})"
            )
        case _:
            raise _damaged(path, 0)


def _argument(row: tuple[int, ...], path: Path) -> KeptArgument:
    kind, memory, offset, size, flags, *sampler = row
    if kind not in _ARGUMENTS:
        raise _damaged(path, 0)
    settings = (sampler[0], sampler[1], sampler[2]) if _ARGUMENTS[kind] == SAMPLER else None
    return KeptArgument(_ARGUMENTS[kind], b"", memory - 1 if memory else None, offset, size, flags, settings)


def _memory(row: tuple[int, ...], path: Path) -> KeptMemory:
    kind, size, flags, address = row[:4]
    if kind not in _MEMORIES:
        raise _damaged(path, 0)
    form = None
    if _MEMORIES[kind] == IMAGE:
        form = replace(ImageForm(*row[4:14]), buffer=row[14] - 1 if row[14] else None, row_pitch=row[15])
    return KeptMemory(_MEMORIES[kind], size, flags, address, form)


def _launch(fields: _Fields, path: Path) -> KeptLaunch:
    numbers, sizes = fields.numbers, fields.sizes
    if not fields.kernel or "number" not in numbers or "global" not in sizes:
        raise _damaged(path, 0)
    pointed = {each.memory for each in fields.arguments}
    by_buffer = {each.image.buffer for each in fields.memory if each.image is not None}
    return KeptLaunch(
        kernel=fields.kernel,
        number=numbers["number"],
        process=numbers.get("process", 0),
        global_size=sizes["global"],
        local_size=sizes.get("local"),
        global_offset=sizes.get("offset", ()),
        arguments=tuple(fields.arguments),
        memory=tuple(fields.memory),
        indirect=tuple(place for place in range(len(fields.memory)) if place not in pointed | by_buffer),
        nanoseconds=numbers.get("nanoseconds"),
    )
