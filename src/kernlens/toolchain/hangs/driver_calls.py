"""Which function of OpenCL or Level Zero a thread of another process is in.

The stack is unwound with the call frame information of the modules that are loaded there. A frame's function is known by
where it starts: Level Zero's by the names that the driver and the loader export; OpenCL's, which the driver does not
export, by their places in the driver's dispatch table, the order of which ``CL/cl_icd.h`` of OpenCL-Headers fixes. The
table is found by the one function of it that the driver exports.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from kernlens import log
from kernlens.dataclass import dataclass
from kernlens.errors import FormatError
from kernlens.formats.call_frames import RETURN_ADDRESS, RSP, CallFrames
from kernlens.toolchain.hangs.stopped_thread import StoppedThread, look_at

#: The modules whose functions have names here.
DRIVERS = re.compile(r"/lib(igdrcl|ze_intel_gpu|ze_loader)\b[^/]*$")
MOST_FRAMES = 64
EXPORTED = "clGetExtensionFunctionAddress"
_EXPORTED_PLACE = 65
#: The places of functions that wait, or may, in the dispatch table; and of those that build, which may take long.
_PLACES = {
    11: "clReleaseCommandQueue", 18: "clReleaseMemObject", 30: "clBuildProgram", 41: "clWaitForEvents", 46: "clFlush",
    47: "clFinish", 48: "clEnqueueReadBuffer", 49: "clEnqueueWriteBuffer", 50: "clEnqueueCopyBuffer",
    51: "clEnqueueReadImage", 52: "clEnqueueWriteImage", 53: "clEnqueueCopyImage", 54: "clEnqueueCopyImageToBuffer",
    55: "clEnqueueCopyBufferToImage", 56: "clEnqueueMapBuffer", 57: "clEnqueueMapImage", 58: "clEnqueueUnmapMemObject",
    59: "clEnqueueNDRangeKernel", 60: "clEnqueueTask", 62: "clEnqueueMarker", 63: "clEnqueueWaitForEvents",
    64: "clEnqueueBarrier", 86: "clEnqueueReadBufferRect", 87: "clEnqueueWriteBufferRect", 88: "clEnqueueCopyBufferRect",
    98: "clCompileProgram", 99: "clLinkProgram", 102: "clEnqueueFillBuffer", 103: "clEnqueueFillImage",
    104: "clEnqueueMigrateMemObjects", 105: "clEnqueueMarkerWithWaitList", 106: "clEnqueueBarrierWithWaitList",
    127: "clSVMFree", 128: "clEnqueueSVMFree", 129: "clEnqueueSVMMemcpy", 130: "clEnqueueSVMMemFill",
    131: "clEnqueueSVMMap", 132: "clEnqueueSVMUnmap", 139: "clEnqueueSVMMigrateMem",
}  # fmt: skip

_PT_LOAD, _PT_DYNAMIC, _PT_GNU_EH_FRAME = 1, 2, 0x6474E550
_DT_NULL, _DT_STRTAB, _DT_SYMTAB = 0, 5, 6
_PHDR = struct.Struct("<IIQQQQQQ")
_SYM = struct.Struct("<IBBHQQ")


@dataclass(frozen=True, slots=True)
class DriverCall:
    """A call that a thread is in. ``frame`` is the address of its frame: the same as long as it is the same call."""

    function: str
    library: str
    frame: int


class Process:
    """A process that may have a driver loaded, looked at through /proc."""

    def __init__(self, number: int) -> None:
        """Raises OSError if it has ended, or may not be looked at."""
        self.number = number
        self._memory = os.open(f"/proc/{number}/mem", os.O_RDONLY)
        self._modules: dict[str, _Module] = {}

    def close(self) -> None:
        os.close(self._memory)

    def mapped(self) -> list[tuple[int, int, str]]:
        """The start, end and path of what is mapped from files, and the kernel's own module."""
        found = []
        for line in Path(f"/proc/{self.number}/maps").read_text("utf-8", "surrogateescape").splitlines():
            words = line.split(maxsplit=5)
            if len(words) == 6 and (words[5].startswith("/") or words[5] == "[vdso]"):
                start, _, end = words[0].partition("-")
                found.append((int(start, 16), int(end, 16), words[5]))
        return found

    def call_of(self, thread: int, mapped: list[tuple[int, int, str]]) -> DriverCall | None:
        """Return the call into a driver that a thread is in; None if it is in none, or that cannot be told."""
        stopped = look_at(thread, self._memory)
        if stopped is None:
            return None
        try:
            return self._innermost(stopped, mapped)
        except (FormatError, IndexError, ValueError, struct.error, OSError) as error:
            log.debug("toolchain", "the stack of thread %d cannot be read: %s", thread, error)
            return None

    def _innermost(self, stopped: StoppedThread, mapped: list[tuple[int, int, str]]) -> DriverCall | None:
        registers: dict[int, int] | None = stopped.registers
        base = stopped.registers[RSP]

        def stack(address: int, size: int) -> bytes:
            start = address - base
            if start >= 0 and start + size <= len(stopped.stack):
                return stopped.stack[start : start + size]
            return os.pread(self._memory, size, address)

        for frame in range(MOST_FRAMES):
            if registers is None:
                return None
            # A return address is after its call, which may be a function's last instruction.
            address = registers[RETURN_ADDRESS] - (1 if frame else 0)
            path = next((path for start, end, path in mapped if start <= address < end), None)
            if path is None:
                return None
            module = self._module(path, mapped)
            name = module.names.get(module.frames.function_start(address) or 0)
            registers = module.frames.caller(registers, address, stack)
            if name:
                return DriverCall(name, os.path.basename(path), registers[RSP] if registers else 0)
        return None

    def _module(self, path: str, mapped: list[tuple[int, int, str]]) -> _Module:
        if path not in self._modules:
            extents = [(start, end) for start, end, other in mapped if other == path]
            self._modules[path] = _Module(self._memory, path, extents)
        return self._modules[path]


class _Module:
    """A shared library or program as it lies in a process's memory."""

    def __init__(self, memory: int, path: str, extents: list[tuple[int, int]]) -> None:
        self._memory = memory
        self._path = path
        self._extents = extents
        self.start = extents[0][0]

    def _read(self, address: int, size: int) -> bytes:
        return os.pread(self._memory, size, address)

    @cached_property
    def _segments(self) -> dict[int, tuple[int, int]]:
        """The address and size of its segments of each type; of several the last."""
        header = self._read(self.start, 64)
        if header[:5] != b"\x7fELF\x02":
            raise FormatError("no ELF64 file is mapped there", format="elf")
        (place,) = struct.unpack_from("<Q", header, 32)
        (count,) = struct.unpack_from("<H", header, 56)
        table = [_PHDR.unpack_from(self._read(self.start + place, 56 * count), 56 * index) for index in range(count)]
        # A program at fixed addresses says where; everything else counts from its first segment.
        lowest = next((row[3] & ~0xFFF for row in table if row[0] == _PT_LOAD), 0)
        return {row[0]: (self.start - lowest + row[3], row[6]) for row in table}

    @cached_property
    def frames(self) -> CallFrames:
        return CallFrames(self._segments[_PT_GNU_EH_FRAME][0], self._read)

    @cached_property
    def names(self) -> dict[int, str]:
        """The addresses of the functions that have names here."""
        if not DRIVERS.search(self._path):
            return {}
        exported = dict(self._exported())
        names = {address: name for name, address in exported.items() if name.startswith("ze")}
        if EXPORTED in exported:
            names |= self._dispatched(exported[EXPORTED])
        return names

    def _exported(self) -> Iterator[tuple[str, int]]:
        place, size = self._segments[_PT_DYNAMIC]
        tags = dict(struct.Struct("<QQ").iter_unpack(bytes(self._read(place, size))))
        strings, symbols = tags[_DT_STRTAB], tags[_DT_SYMTAB]
        # The dynamic loader has made these addresses of what the file has as offsets. The strings follow the symbols.
        for row in _SYM.iter_unpack(bytes(self._read(symbols, (strings - symbols) // _SYM.size * _SYM.size))):
            name, section, value = row[0], row[3], row[4]
            if section:
                text = self._read(strings + name, 80).split(b"\0", 1)[0]
                if text.startswith((b"ze", EXPORTED.encode())):
                    yield text.decode("ascii", "replace"), self.start + value

    def _dispatched(self, known: int) -> dict[int, str]:
        """The functions in the table around a pointer to the known one: the table's others point into the module as well."""
        low, high = self._extents[0][0], self._extents[-1][1]
        size = 8 * (max(_PLACES) + 1)
        pointer = known.to_bytes(8, "little")
        for start, end in self._extents:
            contents = self._read(start, end - start)
            place = contents.find(pointer)
            while place >= 0:
                table = contents[max(place - 8 * _EXPORTED_PLACE, 0) :][:size]
                words = struct.unpack(f"<{len(table) // 8}Q", table[: len(table) // 8 * 8])
                if len(table) == size and all(low <= words[index] < high for index in _PLACES):
                    return {words[index]: name for index, name in _PLACES.items()}
                place = contents.find(pointer, place + 1)
        return {}
