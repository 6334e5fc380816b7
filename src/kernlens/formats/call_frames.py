"""Call frame information: where a function's caller goes on, and with which registers.

Sources: Linux Standard Base 5.0, "Exception Frames" (``.eh_frame_hdr`` and ``.eh_frame``), and DWARF 5, section 6.4.
Registers have the numbers of the System V ABI for x86-64, figure 3.36; number 16 is the return address.
"""

from __future__ import annotations

import bisect
import struct
from collections.abc import Callable
from functools import cached_property

from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError
from kernlens.formats.dwarf.forms import read_signed, read_unsigned

RSP, RETURN_ADDRESS = 7, 16

#: Reads bytes at an address; fewer if memory ends there.
Read = Callable[[int, int], bytes]

# Pointers as all x86-64 linkers write them: 4 signed bytes from here, or from the header; of the table's, and of FDEs.
_FROM_HERE, _FROM_HEADER, _COUNT = 0x1B, 0x3B, 0x03
_LONGEST_ENTRY = 1 << 16


@dataclass(slots=True)
class _Rules:
    """How to find the caller's registers: ``frame`` is a register and what is added to it; ``saved`` are offsets from there."""

    frame: tuple[int, int] = (RSP, 8)
    saved: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Function:
    start: int
    code_unit: int
    data_unit: int
    common: bytes
    own: bytes


class CallFrames:
    """The call frame information of a module that is loaded, read from the process's memory."""

    def __init__(self, header: int, read: Read) -> None:
        """``header`` is the address of ``.eh_frame_hdr``. Raises FormatError if it is of another form than linkers write."""
        self._header = header
        self._read = read
        start = read(header, 12)
        if len(start) < 12 or start[0] != 1 or start[1] != _FROM_HERE or (start[2], start[3]) != (_COUNT, _FROM_HEADER):
            raise FormatError("the call frame information has a header of another form", format="eh_frame")
        self._count = int.from_bytes(start[8:12], "little")

    @cached_property
    def _table(self) -> tuple[list[int], list[int]]:
        """The starts of all functions, ascending, and where each one's entry is; both from the header."""
        words = struct.unpack(f"<{2 * self._count}i", self._read(self._header + 12, 8 * self._count))
        return list(words[::2]), list(words[1::2])

    def function_start(self, address: int) -> int | None:
        """Return the start of the function, or of the part of one, that an address may be in; None if there is none."""
        starts, _ = self._table
        place = bisect.bisect_right(starts, address - self._header) - 1
        return self._header + starts[place] if place >= 0 else None

    def caller(self, registers: dict[int, int], address: int, stack: Read) -> dict[int, int] | None:
        """Return the registers of the caller; ``address`` is in the instruction that is executed, or that called.

        ``stack`` reads the stack, which may be a copy of it.

        None if the function says so, or in a way that only hand-written code uses. Raises FormatError, IndexError or
        struct.error for malformed information.
        """
        starts, entries = self._table
        place = bisect.bisect_right(starts, address - self._header) - 1
        function = self._function(self._header + entries[place])
        rules = _Rules()
        if not _run(function.common, function, rules, None, address):
            return None
        initial = dict(rules.saved)
        if not _run(function.own, function, rules, initial, address):
            return None
        base, offset = rules.frame
        if base not in registers:
            return None
        frame = registers[base] + offset
        found = {**registers, RSP: frame}
        for register, where in rules.saved.items():
            word = stack(frame + where, 8)
            if len(word) == 8:
                found[register] = int.from_bytes(word, "little")
        return found if RETURN_ADDRESS in rules.saved else None

    def _function(self, address: int) -> _Function:
        entry = self._entry(address)
        common_address = address + 4 - int.from_bytes(entry[:4], "little")
        common = self._entry(common_address)
        augmentation = common[5 : common.index(b"\0", 5)]
        position = 5 + len(augmentation) + 1
        code_unit, position = read_unsigned(common, position)
        data_unit, position = read_signed(common, position)
        _, position = read_unsigned(common, position)  # the register of return addresses
        if not augmentation.startswith(b"z"):
            raise FormatError("a function's call frame information has no augmentation", format="eh_frame")
        size, position = read_unsigned(common, position)
        start = address + 8 + int.from_bytes(entry[4:8], "little", signed=True)
        own_size, own_position = read_unsigned(entry, 12)
        return _Function(start, code_unit, data_unit, common[position + size :], entry[own_position + own_size :])

    def _entry(self, address: int) -> bytes:
        size = int.from_bytes(self._read(address, 4), "little")
        if not 12 <= size <= _LONGEST_ENTRY:
            raise FormatError(f"an entry of the call frame information has {size} bytes", format="eh_frame")
        return self._read(address + 4, size)


def _run(code: bytes, function: _Function, rules: _Rules, initial: dict[int, int] | None, address: int) -> bool:
    """Execute call frame instructions up to an address; False at one that this reader does not know."""
    location, position = function.start, 0
    kept: list[tuple[tuple[int, int], dict[int, int]]] = []
    while position < len(code):
        operation, low = code[position] & 0xC0 or code[position], code[position] & 0x3F
        position += 1
        match operation:
            case 0x00:
                continue
            case 0x40 | 0x02 | 0x03 | 0x04:
                size = {0x40: 0, 0x02: 1, 0x03: 2, 0x04: 4}[operation]
                delta = int.from_bytes(code[position : position + size], "little") if size else low
                position += size
                location += delta * function.code_unit
                if location > address:
                    return True
            case 0x80:
                where, position = read_unsigned(code, position)
                rules.saved[low] = where * function.data_unit
            case 0x05:
                register, position = read_unsigned(code, position)
                where, position = read_unsigned(code, position)
                rules.saved[register] = where * function.data_unit
            case 0xC0 | 0x06 | 0x07 | 0x08:
                register = low
                if operation != 0xC0:
                    register, position = read_unsigned(code, position)
                rules.saved.pop(register, None)
                if initial is not None and operation in (0xC0, 0x06) and register in initial:
                    rules.saved[register] = initial[register]
            case 0x0A:
                kept.append((rules.frame, dict(rules.saved)))
            case 0x0B:
                rules.frame, rules.saved = kept.pop()
            case 0x0C:
                register, position = read_unsigned(code, position)
                offset, position = read_unsigned(code, position)
                rules.frame = register, offset
            case 0x0D:
                register, position = read_unsigned(code, position)
                rules.frame = register, rules.frame[1]
            case 0x0E:
                offset, position = read_unsigned(code, position)
                rules.frame = rules.frame[0], offset
            case 0x2E:
                _, position = read_unsigned(code, position)
            case _:
                return False
    return True
