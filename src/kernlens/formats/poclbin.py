"""The program binary of PoCL: what a program left in PoCL's cache, in one file.

Source: pocl's ``lib/CL/pocl_binary.c``, whose comments describe the format; versions 9 (PoCL 3.0, 3.1), 10, 11 (PoCL 4.0 to
7.1) and 12. All numbers are little-endian, a string is its length (u32) and its bytes, a file two strings: its path in the
program's folder of the cache, and its content. Checked on binaries of PoCL 3.1 and 6.0.
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from kernlens.errors import FormatError
from kernlens.model.allowance import KERNEL_WEIGHT, Allowance
from kernlens.model.kernel import KernelArgument

MAGIC = b"poclbin\0"
_FORMAT = "poclbin"
_VERSIONS = range(9, 13)
#: Magic, the device's hash, version, number of kernels, flags, number of root entries, the build's hash with a NUL.
_HEADER = struct.Struct("<8sQIIQI41s")
_HAS_GLOBALS = 1 << 1
_FIRST_WITH_GLOBALS = 10
#: Of a kernel: the sizes of all, of its files, and of its arguments.
_KERNEL = struct.Struct("<QQI")
_ARGUMENT = struct.Struct("<IIQII")
_HAS_WORK_GROUP, _HAS_SUB_GROUPS, _HAS_REQUIRED_SUB_GROUP = 1 << 1, 1 << 2, 1 << 3
#: The kernel states the names of its arguments (else PoCL makes some up), and the types' names: POCL_HAS_KERNEL_ARG_...
_HAS_TYPE_NAME, _HAS_NAME = 1 << 2, 1 << 4
#: cl_kernel_arg_address_qualifier, ..._access_qualifier, ..._type_qualifier.
_ADDRESS_SPACES = {0x119B: "global", 0x119C: "local", 0x119D: "constant", 0x119E: "private"}
_ACCESSES = {0x11A0: "read_only", 0x11A1: "write_only", 0x11A2: "read_write"}
_TYPE_QUALIFIERS = {1: "const", 2: "restrict", 4: "volatile", 8: "pipe"}
#: What PoCL calls its copy of the program's source: ``pocl_cache_write_program_source`` of ``lib/CL/pocl_cache.c``.
SOURCE_COPY = re.compile(r"(?:.*/)?tempfile_\w{6}\.cl")
#: What clang calls a source without a name.
NAMELESS = "<stdin>"
#: The folder of a work-group function names the work-group's size it is compiled for; 0-0-0 is any.
_SIZE = re.compile(r"(\d{1,9})-(\d{1,9})-(\d{1,9})(?:-.*)?")


class PoclFile(NamedTuple):
    """A file of PoCL's cache: its path in the program's folder, its bytes, and where these begin in the binary."""

    path: str
    data: memoryview
    offset: int

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """The name of the folder that it lies in, for a kernel's files that of a work-group function (``0-0-0``)."""
        return self.path.rpartition("/")[0].rpartition("/")[2]

    @property
    def work_group_size(self) -> tuple[int, int, int] | None:
        """The size of the work-group that the function is compiled for; None if it is for any."""
        match = _SIZE.fullmatch(self.folder)
        size = tuple(map(int, match.groups())) if match else ()
        return (size[0], size[1], size[2]) if any(size) else None


class PoclKernel(NamedTuple):
    """A kernel: what it takes, and the files of its work-group functions, if any was compiled. ``local_bytes`` is the
    memory of its own local variables."""

    name: str
    arguments: tuple[KernelArgument, ...]
    local_bytes: int
    required_work_group_size: tuple[int, int, int] | None
    required_sub_group_size: int | None
    attributes: str
    files: tuple[PoclFile, ...]


class PoclBinary(NamedTuple):
    """A program's binary. ``device_hash`` stands for the device and PoCL's own build, ``files`` are those of the whole
    program: ``program.bc`` is its LLVM bitcode."""

    version: int
    device_hash: int
    build_hash: str
    files: tuple[PoclFile, ...]
    kernels: tuple[PoclKernel, ...]


def build_hash(binary: bytes) -> bytes | None:
    """Return the hash of source, options and device in a binary of PoCL's, which all its binaries of one build have; None if
    the bytes are something else."""
    return _HEADER.unpack_from(binary)[-1] if binary.startswith(MAGIC) and len(binary) >= _HEADER.size else None


def read_poclbin(data: memoryview, allowance: Allowance | None = None) -> PoclBinary:
    """Read a program binary of PoCL. Raises FormatError for a damaged one, and for a version of the format before 9."""
    allowance = allowance or Allowance(len(data))
    cursor = _Cursor(data, 0, len(data))
    head = _HEADER.unpack(cursor.copy(_HEADER.size, "header"))
    magic, device_hash, version, kernel_count, flags, entry_count, build_hash = head
    if magic != MAGIC:
        raise FormatError("this is no program binary of PoCL: it does not begin with poclbin", format=_FORMAT, offset=0)
    if version not in _VERSIONS:
        raise FormatError(
            f"version {version} of PoCL's program binary is not known; kernlens reads {_VERSIONS[0]} to {_VERSIONS[-1]}",
            format=_FORMAT,
            offset=16,
        )
    if version >= _FIRST_WITH_GLOBALS and flags & _HAS_GLOBALS:
        cursor.skip(8, "size of the program's variables")
    files: list[PoclFile] = []
    for _ in range(entry_count):
        allowance.count(1, "files", format=_FORMAT)
        size = cursor.number("<Q", "size of an entry")
        files += cursor.part(size, "entry").files(allowance)
    kernels = []
    for _ in range(kernel_count):
        allowance.count(1, "kernel", format=_FORMAT, weight=KERNEL_WEIGHT)
        kernels.append(_read_kernel(cursor, allowance))
    return PoclBinary(
        version, device_hash, build_hash.partition(b"\0")[0].decode("utf-8", "replace"), tuple(files), tuple(kernels)
    )


def _read_kernel(cursor: _Cursor, allowance: Allowance) -> PoclKernel:
    start = cursor.offset
    size, files_size, _ = cursor.numbers(_KERNEL, "a kernel")
    if size < _KERNEL.size or files_size > size - _KERNEL.size:
        raise cursor.error(f"a kernel of {size:,} bytes with files of {files_size:,} bytes", start)
    cursor.offset = start
    whole = cursor.part(size, "kernel")
    whole.skip(_KERNEL.size, "kernel")
    stored_files = _Cursor(cursor.data, whole.end - files_size, whole.end)
    whole.end -= files_size
    name = whole.string("a kernel's name")
    argument_count, local_count = whole.number("<I", "arguments"), whole.number("<I", "local variables")
    required = whole.numbers(struct.Struct("<3Q"), "required work-group size")
    if local_count > (whole.end - whole.offset) // 8:
        raise whole.error(f"{local_count:,} local variables do not fit into the kernel", whole.offset)
    local_sizes = whole.numbers(struct.Struct(f"<{local_count}Q"), "local variables")
    attributes = whole.string("attributes")
    stated, flags = whole.number("<I", "flags"), whole.number("<I", "flags")
    if flags & _HAS_SUB_GROUPS:
        whole.skip(8, "sub-groups")
    if flags & _HAS_WORK_GROUP:
        whole.skip(20, "work-groups")
    sub_group_size = whole.number("<I", "required sub-group size") if flags & _HAS_REQUIRED_SUB_GROUP else None
    allowance.count(argument_count, "arguments", format=_FORMAT)
    arguments = tuple(_read_argument(whole, index, stated) for index in range(argument_count))
    return PoclKernel(
        name,
        arguments,
        sum(local_sizes),
        (required[0], required[1], required[2]) if any(required) else None,
        sub_group_size,
        attributes,
        tuple(stored_files.files(allowance)),
    )


def _read_argument(cursor: _Cursor, index: int, stated: int) -> KernelArgument:
    access, address_space, qualifiers, _, size = cursor.numbers(_ARGUMENT, "argument")
    name, type_name = cursor.string("an argument's name"), cursor.string("an argument's type")
    words = [word for bit, word in _TYPE_QUALIFIERS.items() if qualifiers & bit]
    return KernelArgument(
        index,
        name=name if name and stated & _HAS_NAME else None,
        type_name=type_name if type_name and stated & _HAS_TYPE_NAME else None,
        address_space=_ADDRESS_SPACES.get(address_space),
        access=_ACCESSES.get(access),
        type_qualifier=" ".join(words) or None,
        size=size or None,
    )


class _Cursor:
    """A place in the binary, and the end of what may be read from there."""

    def __init__(self, data: memoryview, offset: int, end: int) -> None:
        self.data = data
        self.offset = offset
        self.end = end

    def error(self, message: str, offset: int) -> FormatError:
        return FormatError(message, format=_FORMAT, offset=offset)

    def copy(self, size: int, what: str) -> bytes:
        start = self.offset
        self.skip(size, what)
        return bytes(self.data[start : self.offset])

    def skip(self, size: int, what: str) -> None:
        if size > self.end - self.offset:
            raise self.error(
                f"{self.end - self.offset:,} bytes are left, too few for {what} of {size:,} bytes", self.offset
            )
        self.offset += size

    def part(self, size: int, what: str) -> _Cursor:
        """Return a cursor over the next bytes, which are passed over."""
        start = self.offset
        self.skip(size, what)
        return _Cursor(self.data, start, self.offset)

    def numbers(self, layout: struct.Struct, what: str) -> tuple[int, ...]:
        return layout.unpack(self.copy(layout.size, what))

    def number(self, layout: str, what: str) -> int:
        return int(self.numbers(struct.Struct(layout), what)[0])

    def string(self, what: str) -> str:
        return self.copy(self.number("<I", what), what).decode("utf-8", "replace")

    def files(self, allowance: Allowance) -> list[PoclFile]:
        """Return the files up to the end."""
        files = []
        while self.offset < self.end:
            allowance.count(1, "files", format=_FORMAT)
            path = self.string("a file's path")
            size = self.number("<I", "a file")
            content = self.part(size, f"file {path[:80]!r}")
            files.append(PoclFile(path, self.data[content.offset : content.end], content.offset))
        return files
