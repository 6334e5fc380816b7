"""Cubins: ELF files of machine 190 with the machine code of NVIDIA's GPUs.

The format has no public description; sections and flags were told by comparing files of CUDA 9 to 13 and of driver 580 with
what ``cuobjdump`` and ``nvdisasm`` print. A kernel's code is in ``.text.NAME``. In files of ABI version 7 and below the low
byte of ``e_flags`` is the architecture (``90``), and newer ones have it in the next byte. The registers stand in ``.nv.info``,
in files without that in the upper byte of the section's ``sh_info``; the number of barriers in ``.nv.info.NAME``, or in bits
20 to 26 of ``sh_flags``. ``.nv.shared.NAME`` is what the kernel declares of shared memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError
from kernlens.formats.cubin import kernel_attributes as nv_info
from kernlens.formats.cubin import tool_note
from kernlens.formats.cubin.tool_note import ToolNote
from kernlens.formats.elf.elf64_structures import SYM_LAYOUT
from kernlens.formats.elf.elf_file import Elf, read_elf
from kernlens.formats.elf.header import SHT_SYMTAB
from kernlens.model.allowance import KERNEL_WEIGHT, Allowance
from kernlens.model.binary import EMPTY, Relocation, Section, Symbol

FORMAT = "cubin"
TEXT = ".text."
#: The ABI version from which on the architecture stands in the second byte of ``e_flags``.
_ABI_OF_WIDE_FLAGS = 8
_SHF_EXECINSTR = 4
_BARRIERS_BIT, _BARRIERS = 20, 0x7F
_REGISTERS_BIT = 24
#: Of an instruction, which has 16 bytes: the bits of its operation, and the one that does nothing. Mesa's compiler for these
#: GPUs writes it there too, and equal bits are one mnemonic of ``nvdisasm``.
_INSTRUCTION_BYTES, _OPERATION, _NOP = 16, 0xFFF, 0x918
#: Attributes for which an entry of the allowance is taken: a kernel of 2 KB has 30.
_ATTRIBUTES_PER_ENTRY = 8
#: The byte of a symbol with ``st_other``, and the bit of that which kernels have.
_ST_OTHER, _STO_CUDA_ENTRY = 5, 0x10


class CubinResources(NamedTuple):
    """The resources that a kernel takes, as the file states them; a field is None where it does not.

    ``registers`` are those of one thread, ``stack_bytes`` its frame in local memory, which spilled values are a part of;
    ``shared_bytes`` what the kernel declares of a block's shared memory. ``required_block`` and ``largest_block`` are sizes
    in threads."""

    registers: int | None = None
    stack_bytes: int | None = None
    shared_bytes: int | None = None
    barriers: int | None = None
    required_block: tuple[int, int, int] | None = None
    largest_block: tuple[int, int, int] | None = None


class CubinKernel(NamedTuple):
    """The code of one section. ``is_entry`` is False for a function that is no kernel and has a section of its own.
    ``functions`` are the symbols of functions in it, by their offsets, and ``symbol`` is the index of one of these."""

    name: str
    section: Section
    is_entry: bool
    functions: Mapping[int, str]
    symbol: int | None

    @property
    def code(self) -> memoryview:
        """The machine code."""
        return self.section.data

    @property
    def operations(self) -> list[int]:
        """The operation of each instruction, with the kinds of its operands, but of those that do nothing."""
        code = self.code
        words = (
            int.from_bytes(code[at : at + 2], "little") & _OPERATION for at in range(0, len(code), _INSTRUCTION_BYTES)
        )
        return [word for word in words if word != _NOP]


@dataclass(frozen=True)
class Cubin:
    """A cubin. ``architecture`` is what it is for, ``sm_90``. ``kernels`` are in the order of their sections."""

    elf: Elf = field(repr=False)
    architecture: str
    kernels: tuple[CubinKernel, ...]
    #: The attributes of a section, which several kernels of one name share.
    _read_attributes: dict[str, tuple[nv_info.Attribute, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def resources(self, kernel: CubinKernel) -> CubinResources:
        """Return the resources of a kernel. Raises FormatError if the sections with its attributes are damaged."""
        own = {each.number: each for each in self._attributes(f".nv.info.{kernel.name}")}
        symbol = self._symbols_by_name.get(kernel.name)
        stated = self._stated
        registers = None if symbol is None else stated.get((nv_info.EIATTR_REGCOUNT, symbol))
        shared = self._sections.get(f".nv.shared.{kernel.name}")
        barriers = own.get(nv_info.EIATTR_NUM_BARRIERS)
        required, largest = own.get(nv_info.EIATTR_REQNTID), own.get(nv_info.EIATTR_MAX_THREADS)
        in_flags = kernel.section.flags >> _BARRIERS_BIT & _BARRIERS
        return CubinResources(
            registers=registers if registers is not None else kernel.section.info >> _REGISTERS_BIT or None,
            stack_bytes=None if symbol is None else stated.get((nv_info.EIATTR_FRAME_SIZE, symbol)),
            shared_bytes=shared.size if shared else 0,
            barriers=barriers.value & 0xFF if barriers else in_flags,
            required_block=nv_info.three_sizes(required) if required else None,
            largest_block=nv_info.three_sizes(largest) if largest else None,
        )

    def parameters(self, kernel: CubinKernel) -> tuple[nv_info.Parameter, ...]:
        """Return a kernel's parameters by number. Raises FormatError like ``resources``."""
        described = (
            nv_info.parameter(each)
            for each in self._attributes(f".nv.info.{kernel.name}")
            if each.number == nv_info.EIATTR_KPARAM_INFO
        )
        return tuple(sorted(each for each in described if each is not None))

    @cached_property
    def ptx(self) -> str:
        """The PTX that line information was compiled with, its lines without indentation, comments and ``.loc``; empty if
        the file has none. The lines that ``.nv_debug_line_sass`` names are this text's."""
        section = self._sections.get(".nv_debug_ptx_txt")
        return "" if section is None else bytes(section.data).decode("utf-8", "replace").replace("\0", "\n")

    @property
    def made_by(self) -> ToolNote:
        """The tool that made the file."""
        note, comment = (self._sections.get(name) for name in (tool_note.SECTION, tool_note.COMMENT))
        return tool_note.read_tool_note(note.data if note else EMPTY, comment.data if comment else EMPTY)

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols: kernels, what the file exports and what it lacks."""
        entries = {kernel.name for kernel in self.kernels if kernel.is_entry}
        return tuple(_told(symbol, entries) for symbol in self.elf.symbols()[1:])

    @property
    def relocations(self) -> tuple[Relocation, ...]:
        """The sites that the driver fills in."""
        return self.elf.relocations()

    def _attributes(self, section: str) -> tuple[nv_info.Attribute, ...]:
        if section not in self._read_attributes:
            data = self._sections[section].data if section in self._sections else EMPTY
            attributes = []
            for attribute in nv_info.read_attributes(data, section):
                attributes.append(attribute)
                if len(attributes) % _ATTRIBUTES_PER_ENTRY == 0:
                    self.elf.allowance.count(1, "attribute", format=FORMAT, section=section)
            self._read_attributes[section] = tuple(attributes)
        return self._read_attributes[section]

    @cached_property
    def _stated(self) -> dict[tuple[int, int], int]:
        return nv_info.numbers_by_symbol(iter(self._attributes(".nv.info")))

    @cached_property
    def _symbols_by_name(self) -> dict[str, int]:
        return {symbol.name: symbol.index for symbol in self.elf.symbols() if symbol.type == "func"}

    @cached_property
    def _sections(self) -> dict[str, Section]:
        sections: dict[str, Section] = {}
        for section in self.elf.sections:
            sections.setdefault(section.name, section)
        return sections


def read_cubin(data: memoryview, allowance: Allowance | None = None) -> Cubin:
    """Read a cubin's kernels; their attributes are read when asked for. ``allowance`` is that of the whole input (None: this
    file is it). Raises FormatError for a damaged file, and for one for GPUs before Volta, whose code is encoded otherwise."""
    elf = read_elf(data, format=FORMAT, allowance=allowance)
    code = [
        section
        for section in elf.sections
        if section.name.startswith(TEXT) and section.flags & _SHF_EXECINSTR and section.size
    ]
    elf.allowance.count(len(code), "kernels", format=FORMAT, weight=KERNEL_WEIGHT)
    functions: dict[int, dict[int, str]] = {}
    entries, indexes = set(), dict[int, int]()
    tables = elf.sections_of_type(SHT_SYMTAB)
    for symbol in elf.symbols():
        if symbol.type == "func":
            functions.setdefault(symbol.section_index, {})[symbol.value] = symbol.name
            indexes.setdefault(symbol.section_index, symbol.index)
            if tables and tables[0].data[symbol.index * SYM_LAYOUT.size + _ST_OTHER] & _STO_CUDA_ENTRY:
                entries.add(symbol.section_index)
    return Cubin(
        elf,
        _architecture(elf.flags, elf.abi_version),
        tuple(
            CubinKernel(
                section.name.removeprefix(TEXT),
                section,
                section.index in entries or not tables,
                functions.get(section.index, {}),
                indexes.get(section.index),
            )
            for section in code
        ),
    )


def _architecture(flags: int, abi_version: int) -> str:
    number = flags >> 8 & 0xFF if abi_version >= _ABI_OF_WIDE_FLAGS else flags & 0xFF
    if not number:
        raise FormatError(f"its flags {flags:#x} name no architecture", format=FORMAT, offset=48)
    return f"sm_{number}"


def _told(symbol: Symbol, entries: set[str]) -> Symbol:
    if symbol.name in entries and symbol.type == "func":
        return symbol.of_kind("kernel")
    if not symbol.name or symbol.type in ("section", "file"):
        return symbol
    if symbol.section is None:
        return symbol.of_kind("import")
    return symbol.of_kind("export" if symbol.binding in ("global", "weak") else "local")
