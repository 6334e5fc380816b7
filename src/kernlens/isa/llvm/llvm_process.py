"""The process that disassembles (``native/disassembler``): one for each libLLVM, started for the first code.

LLVM's disassemblers are not made for hostile bytes, and a libLLVM in this process could meet another one, of an OpenCL driver.
"""

from __future__ import annotations

import os
import re
import struct
from array import array
from glob import escape, glob

from kernlens import log
from kernlens.dataclass import NamedTuple
from kernlens.errors import ToolError
from kernlens.piped_process import PipedProcess, program_path

_PROGRAM = program_path("kernlens_disassembler")
#: The structures of ``native/disassembler/main.c``.
_GREETING, _REQUEST, _ANSWER, _REFERENCE = (
    struct.Struct("=5I"),
    struct.Struct("=6IQ"),
    struct.Struct("=4I"),
    struct.Struct("=IIQ"),
)
_MAGIC = 0x4D564C4C
_SYSTEM_FOLDERS = ("/usr/", "/lib", "/opt/")
_OK, _NO_TARGET = 0, 1
#: Bytes of code that one question may have.
MOST_CODE = 256 << 20
#: What LLVM says of a processor that it does not know, before it ends the process for AMD's.
_UNKNOWN = "is not a recognized processor"
#: What the process says of code on which LLVM crashes.
_CRASH = re.compile(r"signal \d+ at offset (\d+)$")


class Reference(NamedTuple):
    """An address that the instruction of a row names: where a branch goes (IN_BRANCH), or what it reads relative to its own
    address (IN_LOAD)."""

    row: int
    kind: int
    address: int


IN_BRANCH, IN_LOAD = 1, 2


class Columns(NamedTuple):
    """An answer: of each instruction its offset, size, whether it is none, and text."""

    offsets: array[int]
    sizes: bytes
    illegal: bytes
    texts: list[str]
    references: tuple[Reference, ...]

    @property
    def size(self) -> int:
        """The bytes of code that they stand for."""
        return self.offsets[-1] + self.sizes[-1] if self.offsets else 0

    def with_illegal(self, offset: int, size: int) -> Columns:
        """Return them with ``size`` bytes at the end, ``offset``, that are no instruction."""
        more = Columns(array("I", [0]), bytes([size]), b"\1", [""], ())
        return self.joined(more, offset)

    def joined(self, later: Columns, start: int) -> Columns:
        """Return them with the instructions of the code from ``start`` on."""
        count = len(self.offsets)
        return Columns(
            self.offsets + array("I", [offset + start for offset in later.offsets]),
            self.sizes + later.sizes,
            self.illegal + later.illegal,
            self.texts + later.texts,
            self.references + tuple(seen._replace(row=seen.row + count) for seen in later.references),
        )


class Question(NamedTuple):
    """Code and its target. ``skip``: how many bytes are passed over where there is no instruction."""

    triple: str
    cpu: str
    features: str
    options: int
    skip: int
    code: bytes | memoryview
    address: int


def _loader_of(folder: str) -> list[str]:
    """Return the beginning of the command that runs the process with the C library in a root's folder of libraries, which its
    libLLVM may need; empty for the system's own folders."""
    real = os.path.realpath(folder)
    if real.startswith(_SYSTEM_FOLDERS):
        return []
    loaders = glob(os.path.join(escape(real), "ld-linux-*.so.*"))
    return [loaders[0], "--library-path", real] if loaders else []


class CrashError(ToolError):
    """LLVM crashed on the code at ``offset``, and the process has ended."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


class LlvmProcess(PipedProcess):
    """A running disassembler. ``version`` is the library's, zeros where it does not say; ``targets`` has a bit for each of
    x86 (1) and AMDGPU (2). Raises OSError if it cannot be started, ToolError if the library cannot be used."""

    def __init__(self, library: str) -> None:
        # What a library of an unpacked root needs lies beside it.
        folder = os.path.dirname(library)
        folders = os.pathsep.join(filter(None, [folder, os.environ.get("LD_LIBRARY_PATH", "")]))
        command = [*_loader_of(folder), _PROGRAM, library]
        super().__init__(f"the disassembler of {library}", command, {"LD_LIBRARY_PATH": folders})
        try:
            magic, *version, self.targets = _GREETING.unpack(self.read(_GREETING.size))
        except ToolError:
            self.end()
            raise
        self.check_version(magic == _MAGIC)
        self.version: tuple[int, ...] = tuple(version)

    def ask(self, question: Question) -> Columns | None:
        """Return the instructions; None if the library does not know the target or the processor, whereupon the process
        may have ended. Raises ToolError if the process ends instead."""
        texts = [text.encode() for text in (question.triple, question.cpu, question.features)]
        size = len(question.code)
        head = _REQUEST.pack(*map(len, texts), question.options, question.skip, size, question.address)
        self.write(head + b"".join(texts), question.code)
        try:
            status, count, references, text_size = _ANSWER.unpack(self.read(_ANSWER.size))
        except ToolError:
            if _UNKNOWN in self.complaint:
                return None
            raise
        offsets = array("I", self.read(4 * count))
        sizes, illegal = self.read(count), self.read(count)
        seen = tuple(map(Reference._make, _REFERENCE.iter_unpack(bytes(self.read(_REFERENCE.size * references)))))
        rendered = self.read(text_size).decode("utf-8", "backslashreplace").split("\n")[:-1]
        if status != _OK:
            log.debug("isa", "%s: %s", self.title, self.complaint or f"no target {question.triple}")
            return None
        return Columns(offsets, sizes, illegal, rendered, seen)

    def ending(self) -> ToolError:
        """Return the error that says that it has ended, and at which code LLVM crashed."""
        error = super().ending()
        crash = _CRASH.search(str(error))
        return CrashError(str(error), int(crash[1])) if crash else error


def is_possible() -> bool:
    """Return whether the disassembler was built."""
    return os.path.isfile(_PROGRAM)
