"""The layout of the merged zebin: where each module's sections come to lie in it.

Code of kernels stays in sections of its own; functions, constants, strings and variables of all modules are put one
behind the other. Variables without initial value have no bytes in the file (``.bss.global``, ``.bss.const``): in memory
they follow the data, and their symbols may count from the data's start (compute-runtime, ``linker.cpp``,
``relocateSymbols``; ``zebin_decoder.cpp``, ``decodeZebin`` for the alignment between the two).
"""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.dataclass import dataclass, field
from kernlens.errors import LinkError
from kernlens.formats.elf.elf_writer import OutputSection
from kernlens.formats.elf.header import SHT_NOBITS, SHT_PROGBITS
from kernlens.formats.zebin.zebin_file import Zebin
from kernlens.model.binary import Section
from kernlens.model.intel_symbols import PSEUDO_KERNEL

_TEXT = ".text."
#: The section of all functions that are not kernels.
_FUNCTIONS = f"{_TEXT}{PSEUDO_KERNEL}"
#: Eight bytes that are no instruction, marked as compacted (bit 29).
_SHORT_PADDING = bytes((0, 0, 0, 0x20, 0, 0, 0, 0))
#: More than any GPU's memory holds: only a damaged size is larger.
_LARGEST = 1 << 48
#: Alignment of code: kernels begin at multiples of it (KERNEL_START_POINTER).
_CODE_ALIGNMENT = 64
#: Alignment of a module's data: that of OpenCL's largest type, long16 and double16.
_DATA_ALIGNMENT = 128
#: Initialised data -> the data without initial value that follows it in memory.
_ZERO_OF = {".data.const": ".bss.const", ".data.global": ".bss.global"}
_DATA_OF = {zero: data for data, zero in _ZERO_OF.items()}
_DATA_NAMES = (".data.const", ".bss.const", ".data.const.string", ".data.global", ".bss.global")


@dataclass()
class _Merged:
    """A section of the merged file as it grows; ``starts`` holds where each module's part begins."""

    name: str
    type: int
    flags: int
    content: bytearray = field(default_factory=bytearray)
    size: int = 0
    starts: dict[int, int] = field(default_factory=dict)

    def append(self, module: int, section: Section, alignment: int, remainder: int = 0) -> None:
        """Add a module's part, which begins ``remainder`` bytes behind a multiple of ``alignment``."""
        start = self.size + (remainder - self.size) % alignment
        if start + section.size > _LARGEST:
            raise LinkError(f"section {self.name} would have more than {_LARGEST:#x} bytes")
        self.starts[module] = start
        self.size = start + section.size
        if self.type != SHT_NOBITS:
            self.content += bytes(start - len(self.content)) + section.data

    def end_code(self, size: int) -> None:
        """Make the padding behind ``size`` bytes of code a whole number of instructions. Zeros read as instructions of
        16 bytes, so that behind a compacted one, which has 8, the last would reach into the next module's code."""
        end = size + len(_SHORT_PADDING)
        # In a section without content, or of which a damaged symbol says that its code reaches beyond it, there is none.
        if size % 16 and size <= len(self.content) and self.type != SHT_NOBITS and not any(self.content[size:end]):
            self.content[size:end] = _SHORT_PADDING
            self.size = max(self.size, len(self.content))

    def pad(self, alignment: int) -> None:
        """Pad the section to a multiple of ``alignment``."""
        self.content += bytes(-self.size % alignment)
        self.size = len(self.content)


class ZebinLayout:
    """The merged sections of ``modules``."""

    def __init__(self, modules: Sequence[Zebin]) -> None:
        self._modules = modules
        self._merged: dict[str, _Merged] = {}
        self._sections = [
            {section.name: section for section in zebin.elf.sections if _is_merged(section)} for zebin in modules
        ]
        for module, sections in enumerate(self._sections):
            for section in sections.values():
                if section.name.startswith(_TEXT):
                    part = self._part(section)
                    if section.name == _FUNCTIONS and part.starts:
                        part.end_code(self.functions_size())
                    part.append(module, section, _CODE_ALIGNMENT)
        for name in _DATA_NAMES:
            self._merge_data(name)

    def _merge_data(self, name: str) -> None:
        for module, sections in enumerate(self._sections):
            if name in sections:
                remainder = self._zero_start(module, name) % _DATA_ALIGNMENT if name in _DATA_OF else 0
                self._part(sections[name]).append(module, sections[name], _DATA_ALIGNMENT, remainder)
        if name in self._merged and any(_ZERO_OF.get(name) in sections for sections in self._sections):
            self._merged[name].pad(_DATA_ALIGNMENT)

    def _part(self, section: Section) -> _Merged:
        return self._merged.setdefault(section.name, _Merged(section.name, section.type, section.flags))

    def _zero_start(self, module: int, zero_name: str) -> int:
        """Return where a module's variables without initial value begin, counted from the start of its data."""
        zero, data = self._sections[module][zero_name], self._sections[module].get(_DATA_OF[zero_name])
        size = 0 if data is None else data.size
        return -(-size // zero.alignment) * zero.alignment if zero.alignment else size

    def sections(self) -> list[OutputSection]:
        """Return the merged sections, code first."""
        return [
            OutputSection(merged.name, merged.type, bytes(merged.content), merged.flags, size=merged.size)
            for merged in self._merged.values()
        ]

    def has(self, module: int, section_index: int) -> bool:
        """Return whether this section of a module is part of the merged file."""
        return self._section(module, section_index) is not None

    def moved(self, module: int, section_index: int, offset: int) -> tuple[str, int]:
        """Return the section of the merged file, and the offset in it, to which ``offset`` in a module's section moves."""
        section = self._section(module, section_index)
        assert section is not None
        name = section.name
        zero_name = _ZERO_OF.get(name)
        if zero_name in self._sections[module]:
            zero_start = self._zero_start(module, zero_name)
            if offset >= zero_start:
                zero = self._merged[zero_name].starts[module]
                return name, self._merged[name].size + zero + offset - zero_start
        return name, self._merged[name].starts[module] + offset

    def first_holder(self, name: str) -> int | None:
        """Return the first module that has a section of this name, None if no module has one."""
        return next((module for module, sections in enumerate(self._sections) if name in sections), None)

    def functions_size(self) -> int:
        """Return the bytes from the start of all functions' code to the end of the last function, padding excluded."""
        ends = [0]
        for module, start in self._merged[_FUNCTIONS].starts.items():
            functions = self._modules[module].functions
            ends.append(start + (self._sections[module][_FUNCTIONS].size if functions is None else len(functions.code)))
        return max(ends)

    def _section(self, module: int, index: int) -> Section | None:
        sections = self._modules[module].elf.sections
        return sections[index] if index < len(sections) and _is_merged(sections[index]) else None


def _is_merged(section: Section) -> bool:
    if section.type == SHT_NOBITS:
        return section.name in _DATA_OF
    return section.type == SHT_PROGBITS and (section.name.startswith(_TEXT) or section.name in _DATA_NAMES)
