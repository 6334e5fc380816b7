"""Functions and variables that a module of LLVM bitcode defines and declares, and its compiler's name.

Source: "LLVM Bitcode File Format" (LLVM's documentation): the bitstream of abbreviated records, IDENTIFICATION_BLOCK,
MODULE_BLOCK (``MODULE_CODE_FUNCTION``, ``MODULE_CODE_GLOBALVAR``, whose names lie in STRTAB_BLOCK since LLVM 5),
``CallingConv.h`` for the numbers of kernels. Other blocks are passed over by their lengths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernlens.dataclass import NamedTuple
from kernlens.errors import FormatError
from kernlens.formats.bitcode_magic import is_bitcode
from kernlens.model.allowance import Allowance

FORMAT = "llvm-bitcode"
_END_BLOCK, _ENTER_BLOCK, _DEFINE_ABBREVIATION, _UNABBREVIATED = range(4)
_BLOCK_INFO, _MODULE, _IDENTIFICATION, _STRING_TABLE = 0, 8, 13, 23
#: Records: the producer, of IDENTIFICATION_BLOCK; variables and functions, of MODULE_BLOCK; the names' bytes, of STRTAB_BLOCK.
_PRODUCER, _VARIABLE, _FUNCTION, _BYTES = 1, 7, 8, 1
#: Encodings of an abbreviation's operands.
_FIXED, _VARIABLE_WIDTH, _ARRAY, _CHARACTER, _BLOB = 1, 2, 3, 4, 5
_CHARACTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._"
_WIDEST = 64
#: Operands of records that are read of any module, and for how many bytes of it one more: real modules have one for 30 bytes.
_FREE_OPERANDS, _BYTES_PER_OPERAND = 200_000, 16
#: ``CallingConv::SPIR_KERNEL`` and ``AMDGPU_KERNEL``, and the linkages of what no other module can name.
_KERNELS, _LOCAL = frozenset((76, 91)), frozenset((3, 9))


class BitcodeSymbol(NamedTuple):
    """A function or variable. ``is_defined``: the module has its body or value; ``is_local``: no other module can name it."""

    name: str
    is_function: bool
    is_defined: bool
    is_local: bool
    is_kernel: bool


class BitcodeModule(NamedTuple):
    """The ``producer`` states its version, such as ``LLVM16.0.6``; empty where the module does not name it."""

    producer: str
    symbols: tuple[BitcodeSymbol, ...]


class _Operand(NamedTuple):
    """One operand of an abbreviation: a literal ``value`` (``encoding`` 0), or how a value is encoded, and its width."""

    encoding: int
    value: int


_Abbreviation = list[_Operand]


def read_bitcode(data: memoryview, allowance: Allowance) -> BitcodeModule:
    """Read what a module defines and declares. Raises FormatError if it is damaged, or older than LLVM 5."""
    if not is_bitcode(data):
        raise FormatError("this is not LLVM bitcode: it does not begin with BC 0xC0DE", format=FORMAT, offset=0)
    stream = _Stream(data)
    producer, names = b"", b""
    rows: list[tuple[int, list[int]]] = []
    for block, code, values, blob in stream.records():
        if block == _IDENTIFICATION and code == _PRODUCER:
            producer = bytes(value & 0xFF for value in values)
        elif block == _MODULE and code in (_VARIABLE, _FUNCTION):
            allowance.count(1, "symbols", format=FORMAT)
            rows.append((code, values))
        elif block == _STRING_TABLE and code == _BYTES:
            names = bytes(blob)
    return BitcodeModule(producer.decode("utf-8", "replace"), tuple(_symbol(*row, names) for row in rows))


def _symbol(code: int, values: Sequence[int], names: bytes) -> BitcodeSymbol:
    """Return what a record defines or declares. Function: name, its size, type, calling convention, 1 for a declaration,
    linkage. Variable: name, its size, type, flags, initialiser (0: none), linkage."""
    if len(values) < 6 or values[0] + values[1] > len(names):
        raise FormatError("a function or variable has no name in the module's table of strings", format=FORMAT)
    name = names[values[0] : values[0] + values[1]].decode("utf-8", "backslashreplace")
    is_function = code == _FUNCTION
    is_defined = not values[4] if is_function else bool(values[4])
    return BitcodeSymbol(name, is_function, is_defined, values[5] in _LOCAL, is_function and values[3] in _KERNELS)


class _Stream:
    """A bitstream: little-endian words of 32 bits, read from the lowest bit on."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._bits = 8 * len(data)
        self._at = 32
        self._operands = _FREE_OPERANDS + len(data) // _BYTES_PER_OPERAND

    def records(self) -> Iterator[tuple[int, int, list[int], memoryview]]:
        """Yield block, code, operands and blob of each record of the outermost blocks."""
        shared: dict[int, list[_Abbreviation]] = {}
        while self._at + 32 <= self._bits:
            if self._fixed(2) != _ENTER_BLOCK:
                return  # Padding up to four bytes, or what follows the module.
            block, width, end = self._block()
            if block in (_MODULE, _IDENTIFICATION, _STRING_TABLE):
                for code, values, blob in self._records_of(width, shared, block):
                    yield block, code, values, blob
            self._at = end

    def _block(self) -> tuple[int, int, int]:
        """Return number, width of abbreviations and end, in bits, of the block that begins here."""
        block, width = self._variable(8), self._variable(4)
        self._align()
        end = self._fixed(32)
        end = self._at + 32 * end
        if not 2 <= width <= 32 or end > self._bits:
            raise FormatError(f"block {block} does not fit into the module", format=FORMAT, offset=self._at // 8)
        return block, width, end

    def _records_of(
        self, width: int, shared: dict[int, list[_Abbreviation]], block: int
    ) -> Iterator[tuple[int, list[int], memoryview]]:
        """Yield the records of a block; those of the blocks within it, but for the abbreviations of all, are passed over."""
        abbreviations = list(shared.get(block, ()))
        about: list[_Abbreviation] | None = None
        while True:
            self._fitting(1, 2)
            what = self._fixed(width)
            if what == _END_BLOCK:
                return
            if what == _ENTER_BLOCK:
                inside, inner_width, end = self._block()
                if inside == _BLOCK_INFO:
                    for _ in self._records_of(inner_width, shared, inside):
                        pass
                self._at = end
            elif what == _DEFINE_ABBREVIATION:
                (abbreviations if about is None else about).append(self._abbreviation())
            elif what == _UNABBREVIATED:
                code, count = self._variable(6), self._variable(6)
                values = [self._variable(6) for _ in range(self._fitting(count, 6))]
                if block == _BLOCK_INFO and code == 1 and values:
                    about = shared.setdefault(values[0], [])
                yield code, values, memoryview(b"")
            elif what - 4 < len(abbreviations):
                values, blob = self._abbreviated(abbreviations[what - 4])
                yield values[0] if values else -1, values[1:], blob
            else:
                raise FormatError(f"abbreviation {what} is not defined", format=FORMAT, offset=self._at // 8)

    def _abbreviation(self) -> _Abbreviation:
        operands = []
        for _ in range(self._fitting(self._variable(5), 1)):
            if self._fixed(1):
                operands.append(_Operand(0, self._variable(8)))
                continue
            encoding = self._fixed(3)
            value = self._variable(5) if encoding in (_FIXED, _VARIABLE_WIDTH) else 0
            if encoding not in range(_FIXED, _BLOB + 1) or value > _WIDEST:
                raise FormatError("an abbreviation has an unknown operand", format=FORMAT, offset=self._at // 8)
            operands.append(_Operand(encoding, value) if value or encoding > _VARIABLE_WIDTH else _Operand(0, 0))
        return operands

    def _abbreviated(self, abbreviation: _Abbreviation) -> tuple[list[int], memoryview]:
        values: list[int] = []
        blob = memoryview(b"")
        for index, operand in enumerate(abbreviation):
            if operand.encoding == _ARRAY:
                element = abbreviation[-1]
                if index + 2 != len(abbreviation) or element.encoding not in (_FIXED, _VARIABLE_WIDTH, _CHARACTER):
                    raise FormatError("an array has no element's type", format=FORMAT, offset=self._at // 8)
                values += [self._value(element) for _ in range(self._fitting(self._variable(6), 1))]
                break
            if operand.encoding == _BLOB:
                size = self._variable(6)
                self._align()
                start = self._at // 8
                self._at += 8 * self._fitting(size, 8)
                self._align()
                blob = self._data[start : start + size]
                continue
            values.append(self._value(operand))
        return values, blob

    def _value(self, operand: _Operand) -> int:
        if operand.encoding == _FIXED:
            return self._fixed(operand.value)
        if operand.encoding == _VARIABLE_WIDTH:
            return self._variable(operand.value)
        return _CHARACTERS[self._fixed(6)] if operand.encoding == _CHARACTER else operand.value

    def _fitting(self, count: int, width: int) -> int:
        """Return a count of things that have so many bits at least. Raises FormatError if they do not fit."""
        if count * width > self._bits - self._at:
            raise FormatError("a record is longer than the module", format=FORMAT, offset=self._at // 8)
        self._operands -= count if width < 8 else 0
        if self._operands < 0:
            raise FormatError(f"too many operands for a module of {len(self._data):,} bytes", format=FORMAT)
        return count

    def _fixed(self, width: int) -> int:
        start = self._at
        self._at += width
        if self._at > self._bits:
            raise FormatError("the module ends within a record", format=FORMAT, offset=len(self._data))
        first = start // 8
        word = int.from_bytes(self._data[first : (self._at + 7) // 8], "little")
        return word >> start % 8 & (1 << width) - 1

    def _variable(self, width: int) -> int:
        """Return an integer in chunks, of which the highest bit says that another one follows."""
        value = shift = 0
        more = 1 << width - 1
        while shift <= _WIDEST:
            chunk = self._fixed(width)
            value |= (chunk & more - 1) << shift
            if not chunk & more:
                return value
            shift += width - 1
            if width == 1:
                break
        raise FormatError("an integer has more than 64 bits", format=FORMAT, offset=self._at // 8)

    def _align(self) -> None:
        self._at = (self._at + 31) // 32 * 32
