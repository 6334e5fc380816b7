"""Launches that were kept whole, as a recording holds them: a description in JSON, and the contents of memory beside it, in
pieces that equal contents share (docs/recording.md).

It may come from anybody: each number is checked, and so are lengths and what the numbers of memory lead to.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, fields
from functools import partial
from typing import Any, overload

from kernlens.dataclass import NamedTuple, replace
from kernlens.model.kept_launch import (
    ARGUMENT_KINDS,
    BUFFER,
    BY_ADDRESS,
    IMAGE,
    MEMORY,
    MEMORY_KINDS,
    POINTER,
    SAMPLER,
    ImageForm,
    KeptArgument,
    KeptLaunch,
    KeptMemory,
)
from kernlens.recording.blobs import FREE_SIZE, PackedBlob, pack
from kernlens.recording.checked_json import CheckedJson

_CHECKED = CheckedJson("a kept launch")
_fail, _typed, _text = _CHECKED.fail, _CHECKED.typed, _CHECKED.text
#: The version that is written.
VERSION = 1
#: Bytes of a piece of memory. Content of this size may pack as well as it likes: a buffer of zeros is one piece, many times.
PIECE = FREE_SIZE
#: The moments whose contents are kept.
BEFORE, AFTER = MOMENTS = "before", "after"
#: Bytes of one launch's description; of those of a program's launches together, and how many more for each byte of the file.
MOST_BYTES = 16 << 20
FREE_OF_PROGRAM, RATIO_OF_PROGRAM = 32 << 20, 20
#: Bytes that the contents of all launches of a recording may unpack to, and how many more for each byte of the file.
FREE_MEMORY, RATIO_OF_MEMORY = 4 << 30, 20
#: The most arguments, objects of memory, notes, and bytes of a value.
MOST_ARGUMENTS, MOST_MEMORY, MOST_NOTES, MOST_VALUE = 4096, 65_536, 100, 1 << 16
#: The largest size and place of memory in bytes, and count.
_MOST_SIZE, _MOST = 1 << 48, 1 << 63
_SIZES = ("global_size", "local_size", "global_offset")
_ALLOCATION = tuple(each.name for each in fields(KeptMemory) if each.name not in ("image", BEFORE, AFTER))

#: A piece of a launch's memory: the number of the memory, the moment, the piece's number, and number and size of its content.
PieceRow = tuple[int, str, int, int, int]


class PackedLaunch(NamedTuple):
    """A launch as another recording has it. ``contents`` yields number, moment, number of the piece and content."""

    kernel: str
    number: int
    process: int
    description: PackedBlob
    contents: Callable[[], Iterator[tuple[int, str, int, PackedBlob]]]


class LaunchRow(NamedTuple):
    """A launch's row: its place in its program, kernel, number, process, and number and size of its description."""

    position: int
    kernel: str
    number: int
    process: int
    blob: int
    size: int


def encoded(launch: KeptLaunch) -> bytes:
    """Return the description for a recording, without the contents of memory. Raises FormatError if it is more than a reader
    accepts."""
    document = {
        "version": VERSION,
        **{name: getattr(launch, name) for name in _SIZES},
        "arguments": [{**_stated(each, KeptArgument), "content": each.content.hex()} for each in launch.arguments],
        "memory": [
            {
                **{name: getattr(each, name) for name in _ALLOCATION},
                "image": None if each.image is None else astuple(each.image),
            }
            for each in launch.memory
        ],
        "indirect": launch.indirect,
        "nanoseconds": launch.nanoseconds,
        "notes": launch.notes,
    }
    content = json.dumps(document, separators=(",", ":")).encode()
    decoded(content, launch.kernel, launch.number, launch.process)
    return content


def packed_memory(launch: KeptLaunch, stored: Container[object]) -> Iterator[tuple[int, str, int, PackedBlob | bytes]]:
    """Yield the pieces of the launch's memory: number, moment, number of the piece, and content, or its hash if that is stored.
    Raises FormatError if a content has not the size of its memory."""
    for number, each in enumerate(launch.memory):
        for moment, read in ((BEFORE, each.before), (AFTER, each.after)):
            content = memoryview(b"" if read is None else read())
            if read is not None and len(content) != each.size:
                _fail(f"memory of {each.size} bytes has a content of {len(content)}")
            for piece in range(0, len(content), PIECE):
                part = bytes(content[piece : piece + PIECE])
                digest = hashlib.sha256(part).digest()
                yield number, moment, piece // PIECE, digest if digest in stored else pack(part, digest)


def decoded(content: bytes, kernel: str, number: int, process: int) -> KeptLaunch:
    """Return a launch without contents of its memory. Raises FormatError if the description is damaged, and if a newer kernlens
    wrote it."""
    row = _CHECKED.document(content, MOST_BYTES, VERSION)
    memory = tuple(map(_memory, _listed(row.get("memory"), MOST_MEMORY)))
    local = row.get("local_size")
    nanoseconds = row.get("nanoseconds")
    launch = KeptLaunch(
        kernel,
        _count(number),
        _count(process),
        _size(row.get("global_size")),
        None if local is None else _size(local),
        _size(row.get("global_offset")),
        tuple(_argument(each, memory) for each in _listed(row.get("arguments"), MOST_ARGUMENTS)),
        memory,
        tuple(_number_of(memory, each) for each in _listed(row.get("indirect"), MOST_MEMORY)),
        None if nanoseconds is None else _count(nanoseconds),
        tuple(map(_text, _listed(row.get("notes"), MOST_NOTES))),
    )
    _check_sizes(launch)
    for each in memory:
        if each.image is not None and each.image.buffer is not None:
            _check_source(memory, each, memory[_number_of(memory, each.image.buffer)])
    return launch


class RecordedLaunches(Sequence[KeptLaunch]):
    """The launches that were kept of a program's kernels; each is read from the recording when it is asked for, and its memory
    when its contents are. ``read`` gives a content by its number, ``rows_of`` the pieces of a launch's memory by its place."""

    def __init__(
        self,
        rows: Sequence[LaunchRow],
        read: Callable[[int], bytes],
        rows_of: Callable[[int], Sequence[PieceRow]],
        read_piece: Callable[[int], bytes],
        room: int,
    ) -> None:
        if sum(row.size for row in rows) > room:
            _fail("the launches of a program are too many for the file")
        self._rows, self._read, self._rows_of, self._read_piece = rows, read, rows_of, read_piece

    @overload
    def __getitem__(self, place: int) -> KeptLaunch: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[KeptLaunch, ...]: ...
    def __getitem__(self, place: int | slice) -> KeptLaunch | tuple[KeptLaunch, ...]:
        if isinstance(place, slice):
            return tuple(self[each] for each in range(*place.indices(len(self))))
        row = self._rows[place]
        if row.size > MOST_BYTES:
            _fail("it is too large")
        launch = decoded(self._read(row.blob), row.kernel, row.number, row.process)
        contents = _contents(launch.memory, self._rows_of(row.position))
        read = {key: partial(_joined, numbers, self._read_piece) for key, numbers in contents.items()}
        memory = [
            replace(each, before=read.get((number, BEFORE)), after=read.get((number, AFTER)))
            for number, each in enumerate(launch.memory)
        ]
        return replace(launch, memory=tuple(memory))

    def __len__(self) -> int:
        return len(self._rows)


def _contents(memory: Sequence[KeptMemory], rows: Sequence[PieceRow]) -> Mapping[tuple[int, str], list[int]]:
    """Return the numbers of the pieces of each content, by the memory's number and the moment, in their order."""
    contents: dict[tuple[int, str], list[tuple[int, int, int]]] = {}
    for number, moment, piece, blob, size in rows:
        if moment not in MOMENTS:
            _fail("a content is of no moment")
        contents.setdefault((_number_of(memory, number), moment), []).append((piece, blob, size))
    for (number, _), ordered in contents.items():
        ordered.sort()
        size = memory[number].size
        whole = [min(PIECE, size - start) for start in range(0, size, PIECE)] if size <= PIECE * len(ordered) else []
        if [each[0] for each in ordered] != [*range(len(ordered))] or [each[2] for each in ordered] != whole:
            _fail("the pieces of a content are not those of its memory")
    return {key: [blob for _, blob, _ in ordered] for key, ordered in contents.items()}


def _joined(numbers: Sequence[int], read: Callable[[int], bytes]) -> bytes:
    return b"".join(map(read, numbers))


def _stated(value: object, kind: type) -> dict[str, Any]:
    """Return the fields that are not as they are by default, and the kind."""
    stated = asdict(value)  # type: ignore[call-overload]
    return {each.name: stated[each.name] for each in fields(kind) if stated[each.name] != each.default}


def _argument(value: object, memory: Sequence[KeptMemory]) -> KeptArgument:
    row = _typed(value, dict)
    kind, number, sampler = row.get("kind"), row.get("memory"), row.get("sampler")
    offset, size = _count(row.get("offset", 0), _MOST_SIZE), _count(row.get("size", 0), _MOST_SIZE)
    if kind not in ARGUMENT_KINDS:
        _fail("an argument is of no kind")
    if (number is None) == (kind in (MEMORY, POINTER)) or (sampler is None) == (kind == SAMPLER):
        _fail(f"an argument ({kind}) has too much or too little")
    if number is not None:
        held = memory[_number_of(memory, number)]
        if (held.kind in BY_ADDRESS) != (kind == POINTER) or offset + size > held.size:
            _fail(f"an argument ({kind}) does not lie in its memory")
        if held.kind == IMAGE and (offset or size):
            _fail("an argument is a part of an image")
    content = _bytes(row.get("content", ""))
    read = None if sampler is None else tuple(_count(each, 1 << 32) for each in _listed(sampler, 3))
    if read is not None and len(read) != 3:
        _fail("a sampler has too little")
    return KeptArgument(kind, content, number, offset, size, _count(row.get("flags", 0), 1 << 64), read)


def _memory(value: object) -> KeptMemory:
    row = _typed(value, dict)
    kind, image = row.get("kind"), row.get("image")
    if kind not in MEMORY_KINDS or (image is None) == (kind == IMAGE):
        _fail("memory is of no kind")
    size, address = _count(row.get("size"), _MOST_SIZE), _count(row.get("address"), 1 << 64)
    if (kind in BY_ADDRESS) != bool(address) or address + size > 1 << 64:
        _fail("memory has no place")
    form = None if image is None else _image(_listed(image, len(fields(ImageForm))))
    return KeptMemory(kind, size, _count(row.get("flags"), 1 << 64), address, form, why=_text(row.get("why", "")))


def _image(values: list[Any]) -> ImageForm:
    if len(values) != len(fields(ImageForm)):
        _fail("an image has too little")
    *numbers, buffer, pitch = values
    source = None if buffer is None else _count(buffer)
    return replace(
        ImageForm(*(_count(each, 1 << 32) for each in numbers)), buffer=source, row_pitch=_count(pitch, _MOST_SIZE)
    )


def _check_source(memory: Sequence[KeptMemory], image: KeptMemory, source: KeptMemory) -> None:
    """Check what an image is made of: a buffer, or an image that has a content of its own."""
    is_own = source.image is not None and source.image.buffer is None
    if not (source.kind == BUFFER or is_own) or image.size > source.size:
        _fail("an image is made of what it cannot be made of")


def _check_sizes(launch: KeptLaunch) -> None:
    dimensions = len(launch.global_size)
    sizes = [launch.global_offset, *([] if launch.local_size is None else [launch.local_size])]
    if not 1 <= dimensions <= 3 or any(len(each) != dimensions for each in sizes) or 0 in (launch.local_size or ()):
        _fail("its sizes are none")


def _listed(value: object, most: int) -> list[Any]:
    values: list[Any] = _typed(value, list)
    if len(values) > most:
        _fail(f"it has {len(values)} values where at most {most} are expected")
    return values


def _count(value: object, limit: int = _MOST) -> int:
    number: int = _typed(value, int)
    if not 0 <= number < limit:
        _fail("a number is too large, or negative")
    return number


def _number_of(memory: Sequence[KeptMemory], value: object) -> int:
    return _count(value, len(memory)) if memory else _fail("it has no memory")


def _size(value: object) -> tuple[int, ...]:
    return tuple(map(_count, _listed(value, 3)))


def _bytes(value: object) -> bytes:
    text: str = _typed(value, str)
    if len(text) > 2 * MOST_VALUE:
        _fail("a value is too long")
    try:
        return bytes.fromhex(text)
    except ValueError:
        _fail("a value is none")
