"""A SPIR-V module: what it exports and imports, and which source lines its code came from."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property

from kernlens.dataclass import dataclass, field
from kernlens.errors import KernlensError

_FLOATS = {16: "<e", 32: "<f", 64: "<d"}
_BOOLS = {"true": 1, "false": 0, "1": 1, "0": 0}


@dataclass(frozen=True, slots=True)
class SpecConstant:
    """A specialization constant: ``kind`` is bool, int or float, ``width`` its bits, ``ids`` the constants of this number."""

    number: int
    kind: str
    width: int
    ids: tuple[int, ...]

    def bits(self, text: str) -> int:
        """Return the bits of a value that a user has written (``5``, ``-1``, ``0x10``, ``true``, ``0.5``). Raises
        ValueError if it is none of this type."""
        if self.kind == "bool":
            if text not in _BOOLS:
                raise ValueError
            return _BOOLS[text]
        if self.kind == "float":
            if self.width not in _FLOATS:
                raise ValueError
            try:
                return int.from_bytes(struct.pack(_FLOATS[self.width], float(text)), "little")
            except OverflowError as error:
                raise ValueError from error
        value = int(text, 0)
        if not -1 << self.width - 1 <= value < 1 << self.width:
            raise ValueError
        return value & (1 << self.width) - 1

    def __str__(self) -> str:
        return f"{self.number} ({'bool' if self.kind == 'bool' else f'{self.kind}, {self.width} bits'})"


def check_constants(numbers: Collection[int], constants: Iterable[SpecConstant]) -> None:
    """Raise KernlensError, with the specialization constants that there are, if a number is none of theirs."""
    known = {constant.number: str(constant) for constant in constants}
    for number in numbers:
        if number not in known:
            offer = f"there are {', '.join(known.values())}" if known else "there are none"
            raise KernlensError(f"no SPIR-V module here has specialisation constant {number}; {offer}")


@dataclass(frozen=True, slots=True)
class SpirvEntryPoint:
    """An entry point. ``model`` is the execution model (``Kernel``); ``id`` is the function's."""

    model: str
    name: str
    id: int


@dataclass(frozen=True, slots=True)
class SpirvLinkage:
    """A name that the module exports or imports.

    ``kind`` is ``Export``, ``Import`` or ``LinkOnceODR``; ``type_name`` reads like ``float(float, int)``, or is a
    variable's own type; ``storage_class`` and ``size`` (bytes, None if unknown) are a variable's. ``call_type`` is a
    function's type as far as calls pass it: of pointers the address space alone.
    """

    name: str
    kind: str
    id: int
    is_function: bool
    type_name: str | None = None
    storage_class: str | None = None
    size: int | None = None
    call_type: str | None = None


@dataclass(frozen=True, slots=True)
class SpirvSource:
    """A source file as OpSource or the debug instruction DebugSource describes it. ``text`` and ``md5`` (in hexadecimal)
    are None if the module does not embed them. ``version`` is the language's, e.g. 102000 for OpenCL C 1.2."""

    language: str | None
    version: int | None
    file: str | None
    text: str | None = field(default=None, repr=False)
    md5: str | None = None


@dataclass(frozen=True, slots=True)
class SpirvLine:
    """A source place, to which the instructions from the word at ``offset`` on belong (words from the module's start)."""

    offset: int
    file: str
    line: int
    column: int


@dataclass(frozen=True)
class SpirvModule:
    """A module. ``version`` is (major, minor); ``generator`` is the tool that wrote it; ``instruction_sets`` are those that
    OpExtInstImport names, debug information among them. ``names`` maps ids to their OpName, ``strings`` to their OpString.
    ``use_words`` are the words at which the instructions begin that name functions and variables, and what they stand in.
    ``has_spec_constants`` tells whether constants have numbers by which they can be given values. ``find_lines`` reads the
    OpLines on first use."""

    version: tuple[int, int]
    generator: str
    big_endian: bool
    bound: int
    capabilities: tuple[str, ...]
    extensions: tuple[str, ...]
    instruction_sets: tuple[str, ...]
    addressing_model: str | None
    memory_model: str | None
    entry_points: tuple[SpirvEntryPoint, ...]
    linkages: tuple[SpirvLinkage, ...]
    sources: tuple[SpirvSource, ...]
    strings: Mapping[int, str] = field(repr=False)
    names: Mapping[int, str] = field(repr=False)
    has_spec_constants: bool
    use_words: Sequence[int] = field(repr=False)
    find_lines: Callable[[], dict[str, tuple[SpirvLine, ...]]] = field(repr=False, compare=False)

    @cached_property
    def lines(self) -> dict[str, tuple[SpirvLine, ...]]:
        """The OpLines of each function, by its name (or ``%id``), in order; empty if the module was built without lines."""
        return self.find_lines()
