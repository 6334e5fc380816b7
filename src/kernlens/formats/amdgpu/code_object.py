"""Code objects: the ELF files that AMD's compilers make for the ROCm runtime (HSA), linked or still to be linked.

Source: LLVM's "User Guide for AMDGPU Backend", "ELF Code Object": header, sections, symbols, "Kernel Descriptor". A kernel NAME
has a function symbol of that name, and a descriptor of 64 bytes whose symbol is ``NAME.kd``; the metadata lists the kernels.
In a linked file symbols hold addresses; in one that is not linked, offsets in their sections. Here each code section has an
address either way: several sections of an unlinked file are laid one behind the other.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Mapping
from functools import cached_property

from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError, UnsupportedError
from kernlens.formats.amdgpu.gpu_targets import GpuTarget, target_of
from kernlens.formats.amdgpu.kernel_metadata import FORMAT, CodeObjectMetadata, KernelMetadata, read_metadata
from kernlens.formats.elf.elf64_structures import EI_OSABI
from kernlens.formats.elf.elf_file import Elf, read_elf
from kernlens.formats.elf.header import SHF_EXECINSTR, SHT_NOBITS, SHT_NOTE
from kernlens.model.allowance import KERNEL_WEIGHT, Allowance
from kernlens.model.binary import EMPTY, Relocation, Section, Symbol

ET_REL = 1
#: ``EI_OSABI``: the runtime that a code object is for.
_HSA = 64
_OTHER_ABIS = {0: "no runtime", 65: "AMD's graphics drivers (PAL)", 66: "Mesa's driver"}
#: ``EI_ABIVERSION`` of code objects 2 to 6.
_VERSION_2, _NEWEST = 0, 4
_DESCRIPTOR = ".kd"
#: Of a descriptor the distance from itself to the kernel's first instruction.
_DESCRIPTOR_LAYOUT = struct.Struct("<16xq40x")
#: Of a descriptor COMPUTE_PGM_RSRC1, whose bit says from gfx10 on that work-groups run on a pair of compute units, and the
#: properties, whose bit says that s[0:3] describe the private segment when the kernel begins.
_PROPERTIES, _WGP_MODE, _PRIVATE_SEGMENT_BUFFER = struct.Struct("<48xI4xH6x"), 1 << 29, 1
#: ``s_code_end`` and ``s_nop 0``: what pads code to the end of its section, and for the loads ahead of execution.
_PADDING = frozenset((0xBF9F0000, 0xBF800000, 0))
_WORD = struct.Struct("<I")
#: Between code sections that have no addresses yet; their kernels begin at multiples of 256.
_ALIGNMENT = 256


@dataclass(frozen=True, slots=True)
class CodeObjectKernel:
    """A kernel of a code object. ``address`` is that of its first instruction; ``code`` is without what pads it.
    ``metadata`` is None if the file has none for it. ``has_private_descriptor``: s[0:3] describe the private segment when it
    begins. ``is_of_pair``: from gfx10 on, its work-groups run on a pair of compute units."""

    name: str
    address: int
    code: memoryview = field(repr=False)
    metadata: KernelMetadata | None = None
    has_private_descriptor: bool = False
    is_of_pair: bool = False


@dataclass(frozen=True)
class CodeObject:
    """A code object. ``target`` is None if the header names a processor that is not known, which ``mach`` then has."""

    elf: Elf = field(repr=False)
    target: GpuTarget | None
    mach: int
    metadata: CodeObjectMetadata | None = field(repr=False)

    @property
    def version(self) -> int:
        """The version of the code object: 3 to 6."""
        return self.elf.abi_version + 2

    @property
    def is_linked(self) -> bool:
        """True if it can be loaded, False for the object file of one source."""
        return self.elf.type != ET_REL

    @cached_property
    def bases(self) -> dict[int, int]:
        """The address of each section with code, by its index."""
        bases: dict[int, int] = {}
        behind = 0
        for section in self.elf.sections:
            if section.flags & SHF_EXECINSTR and section.type != SHT_NOBITS:
                bases[section.index] = section.address if self.is_linked else behind
                behind += section.size + -section.size % _ALIGNMENT
        return bases

    @cached_property
    def _symbols(self) -> tuple[Symbol, ...]:
        """The symbols; of a linked file without labels of code, which nothing names. Relocations of another name them."""
        return self.elf.symbols_but_labels if self.is_linked else self.elf.symbols()

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols, with what each is to other modules: kernel, export, import or local. Labels of a linked file's code are
        left out."""
        kernels = {kernel.name for kernel in self.kernels}
        return tuple(symbol.of_kind(_kind(symbol, kernels)) for symbol in self._symbols if symbol.index)

    @cached_property
    def relocations(self) -> tuple[Relocation, ...]:
        """The sites that a linker or the loader fills in, those of debug sections left out."""
        return tuple(entry for entry in self.elf.relocations() if not entry.section.startswith(".debug"))

    @cached_property
    def functions(self) -> Mapping[str, int]:
        """The addresses of all functions in the code, kernels included, by name."""
        return {
            symbol.name: self.address_of(symbol)
            for symbol in self._symbols
            if symbol.type == "func" and symbol.section_index in self.bases and symbol.name
        }

    def address_of(self, symbol: Symbol) -> int:
        """Return a code symbol's address: what it holds, or its offset in a section that is not linked behind its base."""
        return symbol.value if self.is_linked else self.bases[symbol.section_index] + symbol.value

    @cached_property
    def kernels(self) -> tuple[CodeObjectKernel, ...]:
        """The kernels in the metadata's order; without metadata those that have descriptors. Raises FormatError for one whose
        code lies outside the file."""
        symbols = {symbol.name: symbol for symbol in self._symbols if symbol.section is not None and symbol.name}
        stated = {kernel.name: kernel for kernel in self.metadata.kernels} if self.metadata else {}
        described = [name.removesuffix(_DESCRIPTOR) for name in symbols if name.endswith(_DESCRIPTOR)]
        names = list(stated) or described
        self.elf.allowance.count(len(names), "kernels", format=FORMAT, weight=KERNEL_WEIGHT)
        return tuple(self._kernel(name, stated.get(name), symbols) for name in names)

    def _kernel(self, name: str, stated: KernelMetadata | None, symbols: Mapping[str, Symbol]) -> CodeObjectKernel:
        descriptor = symbols.get(stated.symbol if stated else name + _DESCRIPTOR)
        symbol = symbols.get(stated.symbol.removesuffix(_DESCRIPTOR) if stated else name) or symbols.get(name)
        if symbol is not None and symbol.type == "func" and symbol.section_index in self.bases:
            address, size = self.address_of(symbol), symbol.size
        elif descriptor is not None and self.is_linked:
            address, size = self._entry(name, descriptor), 0
        else:
            raise FormatError(f"kernel {name} has neither a function's symbol nor a descriptor", format=FORMAT)
        resources, properties = self._described(descriptor)
        return CodeObjectKernel(
            *(name, address, self._code(name, address, size), stated),
            has_private_descriptor=bool(properties & _PRIVATE_SEGMENT_BUFFER),
            is_of_pair=bool(resources & _WGP_MODE),
        )

    def _described(self, descriptor: Symbol | None) -> tuple[int, int]:
        """Return the first register of resources and the properties of a kernel's descriptor; 0 where it lies outside its
        section."""
        if descriptor is None or descriptor.section_index >= len(self.elf.sections):
            return 0, 0
        section = self.elf.sections[descriptor.section_index]
        offset = descriptor.value - (section.address if self.is_linked else 0)
        if not 0 <= offset <= len(section.data) - _PROPERTIES.size:
            return 0, 0
        resources, properties = _PROPERTIES.unpack_from(section.data, offset)
        return resources, properties

    def _entry(self, name: str, descriptor: Symbol) -> int:
        """Return where a kernel begins, by its descriptor."""
        section = (
            self.elf.sections[descriptor.section_index] if descriptor.section_index < len(self.elf.sections) else None
        )
        offset = descriptor.value - section.address if section else -1
        if section is None or not 0 <= offset <= len(section.data) - _DESCRIPTOR_LAYOUT.size:
            raise FormatError(f"the descriptor of kernel {name} lies outside its section", format=FORMAT)
        (distance,) = _DESCRIPTOR_LAYOUT.unpack_from(section.data, offset)
        entry: int = descriptor.value + distance
        return entry

    def _code(self, name: str, address: int, size: int) -> memoryview:
        section = self._section_at(address)
        start = address - self.bases[section.index] if section else -1
        if section is None or start < 0 or start + size > len(section.data):
            raise FormatError(f"the code of kernel {name} lies outside the file's code", format=FORMAT)
        if size:
            return section.data[start : start + size]
        behind = [other for other in self.functions.values() if other > address]
        end = min(len(section.data), min(behind, default=address + len(section.data)) - self.bases[section.index])
        return without_padding(section.data[start:end])

    def _section_at(self, address: int) -> Section | None:
        index = bisect_right(self._code_sections, address, key=lambda entry: entry[0]) - 1
        return self._code_sections[index][1] if index >= 0 else None

    @cached_property
    def _code_sections(self) -> list[tuple[int, Section]]:
        return sorted(
            ((base, self.elf.sections[index]) for index, base in self.bases.items()), key=lambda entry: entry[0]
        )


def read_code_object(data: memoryview, allowance: Allowance | None = None) -> CodeObject:
    """Read a code object's header and metadata. Raises FormatError if it is damaged, or older than code object 3;
    UnsupportedError for one that is for another runtime than HSA, or whose version is not known."""
    elf = read_elf(data, format=FORMAT, allowance=allowance)
    abi = data[EI_OSABI]
    if abi != _HSA:
        raise UnsupportedError(
            f"this is machine code of an AMD GPU for {_OTHER_ABIS.get(abi, f'a runtime of number {abi}')}; kernlens reads code"
            " objects for AMD's compute runtime (HSA: OpenCL, HIP)"
        )
    if elf.abi_version == _VERSION_2:
        raise UnsupportedError(
            "this is AMD code object 2, which compilers wrote up to 2019; kernlens reads versions 3 to 6"
        )
    if elf.abi_version > _NEWEST:
        raise UnsupportedError(f"this is AMD code object {elf.abi_version + 2}; kernlens reads versions 3 to 6")
    metadata = None
    for notes in elf.sections_of_type(SHT_NOTE):
        metadata = metadata or read_metadata(notes, elf.allowance)
    return CodeObject(elf, target_of(elf.flags, elf.abi_version), elf.flags & 0xFF, metadata)


def without_padding(code: memoryview) -> memoryview:
    """Return code without the instructions at its end that are never run: ``s_code_end``, ``s_nop 0`` and zeros."""
    end = len(code) & ~3
    while end and _WORD.unpack_from(code, end - 4)[0] in _PADDING:
        end -= 4
    return code[:end] if end else EMPTY


def _kind(symbol: Symbol, kernels: set[str]) -> str:
    if symbol.type == "func" and symbol.name in kernels:
        return "kernel"
    if symbol.binding == "local" or symbol.is_hidden or symbol.type in ("section", "file"):
        return "local"
    if symbol.section is None:  # Of those with reserved indexes one is the local data share.
        return "local" if symbol.section_index else "import"
    return "export"
