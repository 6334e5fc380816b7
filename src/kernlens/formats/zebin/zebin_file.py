"""zebin: Intel GPU programs in ELF form.

Source: ``IGC/ZEBinWriter/zebin/spec/elf.md`` and ``ZEELF.h`` of intel-graphics-compiler. Checked on files of zebin
versions 1.20 (Debian 12's compiler) and 1.73.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from functools import cached_property

from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError
from kernlens.formats.elf.elf_file import Elf, read_elf
from kernlens.formats.elf.header import EM_INTELGT, SHT_NOTE, SHT_REL, SHT_RELA
from kernlens.formats.zebin.notes import ZebinNotes, read_notes
from kernlens.formats.zebin.ze_info import ZeInfo, read_ze_info
from kernlens.model.allowance import KERNEL_WEIGHT, Allowance
from kernlens.model.binary import EMPTY, Relocation, Section, Symbol
from kernlens.model.intel_symbols import DRIVER_SYMBOLS, PSEUDO_KERNEL
from kernlens.model.kernel_resources import KernelResources

SHT_ZEBIN_SPIRV = 0xFF000009
SHT_ZEBIN_ZEINFO = 0xFF000011
SHT_ZEBIN_MISC = 0xFF000014

_TEXT = ".text."
_ENTRY = "_entry"
#: Bytes of an instruction that is not compacted.
_LONGEST_INSTRUCTION = 16
#: R_ZE_SYM_ADDR, R_ZE_SYM_ADDR_32, R_ZE_SYM_ADDR_32_HI, R_PER_THREAD_PAYLOAD_OFFSET_32, R_GLOBAL_IMM_32, R_SEND,
#: R_SYM_ADDR_16 -> where in an instruction the field begins: immediates, those of 64 bits with their high half first from
#: Xe on; the send itself; two sources of ``mad``.
_PLACES = {1: (8,), 2: (12,), 3: (8, 12), 4: (12,), 5: (12,), 6: (0,), 7: (8, 14)}


@dataclass(frozen=True, slots=True)
class ZebinKernel:
    """A kernel's machine code. ``heap`` is its whole section, as the driver loads it; ``code`` leaves out the padding, which
    is the zeros behind the last symbol's end: every other byte of the section is code.

    ``functions`` are those that stayed calls and have a symbol, which stand in the section behind the kernel's own code:
    offset -> name. ``described`` is where the last symbol of code ends, None if none has a size. ``entry_offset`` is that of
    the kernel's own first instruction, behind the code that loads its payload (the ``_entry`` symbol), None if the file
    does not say. ``address`` is where the kernel was loaded; it is 0 except in debug ELFs.
    """

    name: str
    section: Section
    code: memoryview = field(repr=False)
    heap: memoryview = field(repr=False)
    functions: Mapping[int, str | None]
    described: int | None
    entry_offset: int | None
    address: int


@dataclass(frozen=True)
class Zebin:
    """A zebin; its parts are read on first use."""

    elf: Elf

    @cached_property
    def kernels(self) -> tuple[ZebinKernel, ...]:
        """The kernels in file order, without the pseudo-kernel that holds functions."""
        return tuple(kernel for kernel in self._text_kernels if kernel.name != PSEUDO_KERNEL)

    @cached_property
    def functions(self) -> ZebinKernel | None:
        """The code of all functions that are not kernels, None if there is none."""
        return next((kernel for kernel in self._text_kernels if kernel.name == PSEUDO_KERNEL), None)

    @cached_property
    def _text_kernels(self) -> tuple[ZebinKernel, ...]:
        sections = [section for section in self.elf.sections if section.name.startswith(_TEXT)]
        self.elf.allowance.count(len(sections), "kernels", format="zebin", weight=KERNEL_WEIGHT)
        symbols: dict[int, dict[str, Symbol]] = {}
        for symbol in self.elf.symbols():
            if symbol.name == _ENTRY or symbol.type == "func":
                symbols.setdefault(symbol.section_index, {}).setdefault(symbol.name, symbol)
        return tuple(_kernel(section, symbols.get(section.index, {})) for section in sections)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbol table with ``kind`` filled in."""
        kernels = {kernel.section.index: kernel.name for kernel in self.kernels}
        return tuple(
            symbol.of_kind(_symbol_kind(symbol, kernels.get(symbol.section_index))) for symbol in self.elf.symbols()
        )

    @property
    def relocations(self) -> tuple[Relocation, ...]:
        """All relocations, those of debug sections included."""
        return self.elf.relocations()

    @cached_property
    def ze_info(self) -> ZeInfo | None:
        """The file's description of its kernels, None if it has no such section (debug ELFs may have none)."""
        text = self._first(SHT_ZEBIN_ZEINFO)
        return None if text is None else read_ze_info(text.data)

    def sites(self, kernel: ZebinKernel) -> list[tuple[int, tuple[int, ...]]]:
        """Return the offsets in a kernel's code that the driver fills in, each with the places in an instruction at which
        such a field may be; those of unknown types are left out."""
        tables = [
            table
            for table in self.elf.sections
            if table.type in (SHT_REL, SHT_RELA) and table.info == kernel.section.index
        ]
        relocations = (relocation for table in tables for relocation in self.elf.relocations_of(table))
        return [
            (relocation.offset, _PLACES[relocation.type]) for relocation in relocations if relocation.type in _PLACES
        ]

    def resources(self, kernel: ZebinKernel) -> KernelResources:
        """Return a kernel's resources, ``prologue_bytes`` from its ``_entry`` symbol where there is one."""
        entry = None if self.ze_info is None else self.ze_info.kernels.get(kernel.name)
        resources = KernelResources() if entry is None else entry.resources
        return (
            resources
            if kernel.entry_offset is None
            else dataclasses.replace(resources, prologue_bytes=kernel.entry_offset)
        )

    @cached_property
    def build_options(self) -> str | None:
        """The options of the build, None if the file does not hold them."""
        for section in self.elf.sections_of_type(SHT_ZEBIN_MISC):
            if section.name == ".misc.buildOptions":
                return bytes(section.data).rstrip(b"\0").decode("utf-8", "backslashreplace").strip()
        return None

    @property
    def spirv(self) -> memoryview:
        """The module that the program was made from, empty if it is not kept."""
        section = self._first(SHT_ZEBIN_SPIRV)
        return EMPTY if section is None else section.data

    @cached_property
    def notes(self) -> ZebinNotes:
        """The statements of the compatibility notes on device and versions."""
        return read_notes(section for section in self.elf.sections_of_type(SHT_NOTE) if section.name == _NOTES)

    def _first(self, type: int) -> Section | None:
        return next(iter(self.elf.sections_of_type(type)), None)


_NOTES = ".note.intelgt.compat"


def read_zebin(data: memoryview, allowance: Allowance | None = None) -> Zebin:
    """Read a zebin or the debug ELF of one. ``allowance`` is that of the whole input (None: this is it).

    Raises FormatError for anything else and for damaged headers."""
    elf = read_elf(data, format="zebin", allowance=allowance)
    if elf.machine != EM_INTELGT:
        raise FormatError(
            f"the ELF is for machine {elf.machine}; a zebin is for machine {EM_INTELGT}", format="zebin", offset=18
        )
    return Zebin(elf)


def _kernel(section: Section, symbols: Mapping[str, Symbol]) -> ZebinKernel:
    """Return the code of a section. ``symbols`` are its functions and its ``_entry``, by name."""
    name = section.name.removeprefix(_TEXT)
    own, entry = symbols.get(name), symbols.get(_ENTRY)
    # Symbols of a loaded module's debug ELF hold addresses; elsewhere they count from their section's start, even if that
    # has an address already. A kernel begins where its section does.
    is_loaded = own.value == section.address if own else entry is not None and entry.value >= section.address
    base = section.address if is_loaded else 0
    entry_offset = None if entry is None else entry.value - base
    size, described, functions = _extent(
        section, base, own, (each for each in symbols.values() if each not in (own, entry))
    )
    return ZebinKernel(
        name=name,
        section=section,
        code=section.data[:size],
        heap=section.data,
        functions=functions,
        described=described,
        entry_offset=entry_offset if entry_offset is not None and 0 <= entry_offset <= size else None,
        address=section.address,
    )


def _extent(
    section: Section, base: int, own: Symbol | None, others: Iterable[Symbol]
) -> tuple[int, int | None, Mapping[int, str | None]]:
    """Return the size of a section's code, where the last of its symbols ends, and the functions in it. ``own`` is the
    symbol of the kernel; without it, or if it has no size, all of the section is code. Raises FormatError for a symbol
    that lies outside the section."""
    whole = len(section.data)
    size = whole if own is None or own.size == 0 else own.size
    is_stated = own is not None and own.size > 0
    functions: dict[int, str | None] = {}
    for symbol in sorted(others, key=lambda symbol: symbol.value):
        end = symbol.value - base + symbol.size
        if symbol.size and symbol.value >= base and end <= whole:
            functions.setdefault(symbol.value - base, symbol.name)
        elif symbol.size:
            raise _outside(section, f"the symbol of its function {symbol.name} ends at {end:#x}")
        size = max(size, end)
    if size > whole:
        raise _outside(section, f"its function symbol claims {size} bytes")
    described = size if is_stated else None
    if more := len(bytes(section.data[size:]).rstrip(b"\0")):
        size = min(whole, size + more + -more % _LONGEST_INSTRUCTION)
    return size, described, functions


def _outside(section: Section, words: str) -> FormatError:
    return FormatError(
        f"{words}, but the section has {len(section.data)} bytes",
        format="zebin",
        section=section.name,
        offset=section.offset,
    )


def _symbol_kind(symbol: Symbol, kernel: str | None) -> str:
    """Return kernel, export, import, driver or local. ``kernel`` is the name of the kernel whose section holds the symbol."""
    if symbol.name in DRIVER_SYMBOLS:
        return "driver"
    if kernel is not None and symbol.name == kernel and symbol.type == "func":
        return "kernel"
    if symbol.binding == "local" or not symbol.name:
        return "local"
    if symbol.section_index == 0:
        return "import"
    return "export" if symbol.type in ("func", "object") else "local"
