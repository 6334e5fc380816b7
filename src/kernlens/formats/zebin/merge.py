"""The merge of several zebins into one, as ``ld -r`` does with object files.

Sections, symbols, relocations and ze_info are merged so that the driver can load the result: all functions that are not
kernels must lie in one section (compute-runtime refuses exports from two), data of a kind in one section, symbols'
names must be unique as the driver looks even local ones up by name, and each import that another module exports
becomes a reference to that definition. Sites that only the driver can fill stay relocations.

Left out are the SPIR-V (there is no one module that the result was made from) and the debug sections: the symbols of
their relocations have wrong or no names in files of IGC 2.40, so that nothing tells which section an offset is into.

This module lies beside the reader because it needs the same knowledge of the format. Sources as for ``zebin``
and ``elf``; compute-runtime's ``zebin_decoder.cpp`` and ``linker.cpp`` for what a loadable file may hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from kernlens.dataclass import dataclass, field
from kernlens.errors import LinkError
from kernlens.formats.elf.elf_writer import (
    OutputRelocation,
    OutputSection,
    OutputStringTable,
    OutputSymbol,
    relocation_table,
    symbol_table,
    write_elf,
)
from kernlens.formats.elf.header import EM_INTELGT, SHT_NOTE, SHT_REL, SHT_RELA
from kernlens.formats.spirv.magic import is_spirv
from kernlens.formats.zebin.layout import ZebinLayout
from kernlens.formats.zebin.notes import merge_notes
from kernlens.formats.zebin.ze_info_merge import merge_ze_info
from kernlens.formats.zebin.zebin_file import SHT_ZEBIN_MISC, SHT_ZEBIN_VISAASM, SHT_ZEBIN_ZEINFO, Zebin, read_zebin
from kernlens.model.binary import Relocation, Symbol
from kernlens.model.compiler_options import LINE_OPTIONS
from kernlens.model.intel_symbols import DRIVER_SYMBOLS, PSEUDO_KERNEL

_FUNCTIONS = f".text.{PSEUDO_KERNEL}"
_ENTRY = "_entry"
_BUILD_OPTIONS = ".misc.buildOptions"
_NOTES = ".note.intelgt.compat"


@dataclass(frozen=True)
class LinkInput:
    """A module to link: its name in messages, and its zebin."""

    name: str
    zebin: Zebin

    @cached_property
    def source_exports(self) -> frozenset[str] | None:
        """The names that its SPIR-V marks for export, None if the zebin does not hold the SPIR-V."""
        from kernlens.formats.spirv.spirv_module import read_spirv

        if not is_spirv(self.zebin.spirv):
            return None
        return frozenset(linkage.name for linkage in read_spirv(self.zebin.spirv).linkages if linkage.kind == "Export")

    def is_own(self, symbol: Symbol) -> bool:
        """Return whether a global symbol is this module's own affair (a string constant, a static variable), so that
        another module may have one of the same name. A merged file has no SPIR-V, and says so by ELF's visibility."""
        if self.source_exports is None:
            return symbol.is_hidden or symbol.name.startswith(".")
        return symbol.name not in self.source_exports


@dataclass(frozen=True)
class LinkedZebin:
    """The merged file.

    ``imports`` are the symbols that no module exports. ``bound`` maps an import to the module that provides it,
    ``renamed`` (module, name) to the name in the merged file. ``dropped`` are the sections that could not be merged.
    """

    content: bytes = field(repr=False)
    imports: tuple[str, ...]
    bound: dict[str, str]
    renamed: dict[tuple[str, str], str]
    dropped: tuple[str, ...]


def link_zebins(modules: Sequence[tuple[str, memoryview]]) -> LinkedZebin:
    """Merge zebins; ``modules`` are (name, bytes). Raises LinkError for an empty list, for modules of different devices
    or compilers, and for a kernel or an export that two modules have; FormatError for data that is no zebin."""
    if not modules:
        raise LinkError("there is nothing to link: the list of modules is empty")
    inputs = [LinkInput(name, read_zebin(content)) for name, content in modules]
    for link_input in inputs:
        if link_input.zebin.is_debug:
            raise LinkError(f"{link_input.name} is the debug data of a loaded module, not a module that can be linked")
    return _Linker(inputs).link()


@dataclass()
class _Linker:
    inputs: list[LinkInput]
    names: OutputStringTable = field(default_factory=OutputStringTable)
    symbols: list[OutputSymbol] = field(default_factory=list)
    #: (module's number, symbol's index there) -> number in the merged table.
    numbers: dict[tuple[int, int], int] = field(default_factory=dict)
    bound: dict[str, str] = field(default_factory=dict)
    imports: list[str] = field(default_factory=list)
    renamed: dict[tuple[str, str], str] = field(default_factory=dict)

    def link(self) -> LinkedZebin:
        notes = merge_notes(
            [
                (link_input.name, section)
                for link_input in self.inputs
                for section in link_input.zebin.elf.sections_of_type(SHT_NOTE)
                if section.name == _NOTES
            ]
        )
        self._check_kernels()
        self.layout = ZebinLayout([link_input.zebin for link_input in self.inputs])
        sections = self.layout.sections()
        self.section_numbers = {section.name: number for number, section in enumerate(sections, 1)}
        self._merge_symbols()
        tables = self._relocation_tables(len(sections) + 1)
        described = [
            OutputSection(".ze_info", SHT_ZEBIN_ZEINFO, self._ze_info().encode()),
            OutputSection(_NOTES, SHT_NOTE, notes),
            *self._options(),
            *self._visa_texts(),
        ]
        string_table = len(sections) + 1 + len(tables) + len(described) + 1
        everything = [*sections, symbol_table(self.symbols, self.names, string_table), *tables, *described]
        first = self.inputs[0].zebin.elf
        content = write_elf(
            everything,
            self.names,
            machine=EM_INTELGT,
            type=first.type,
            flags=first.flags,
            abi_version=first.abi_version,
        )
        return LinkedZebin(content, tuple(self.imports), self.bound, self.renamed, self._dropped(everything))

    def _check_kernels(self) -> None:
        holders: dict[str, str] = {}
        for link_input in self.inputs:
            for kernel in link_input.zebin.kernels:
                if kernel.name in holders:
                    raise LinkError(
                        f"kernel {kernel.name} is defined in {holders[kernel.name]} and in {link_input.name}; leave one out",
                        (kernel.name,),
                    )
                holders[kernel.name] = link_input.name

    def _merge_symbols(self) -> None:
        defined: dict[str, tuple[int, Symbol]] = {}
        undefined: dict[str, list[tuple[int, Symbol]]] = {}
        local: list[tuple[int, Symbol, str]] = []
        taken = {symbol.name for link_input in self.inputs for symbol in link_input.zebin.symbols}
        for module, link_input in enumerate(self.inputs):
            for symbol in link_input.zebin.symbols:
                if symbol.binding == "local":
                    if self._keeps_local(module, symbol):
                        local.append((module, symbol, self._local_name(module, symbol, local, taken)))
                elif symbol.section_index == 0:
                    undefined.setdefault(symbol.name, []).append((module, symbol))
                elif self.layout.has(module, symbol.section_index):
                    self._define(module, symbol, defined, taken)
        for module, symbol, name in local:
            self._add(module, symbol, name)
        for name, (module, symbol) in defined.items():
            self._add(module, symbol, name)
        for name, uses in undefined.items():
            self._bind(name, uses, defined)

    def _keeps_local(self, module: int, symbol: Symbol) -> bool:
        """Return whether a local symbol goes into the merged file: one pseudo-kernel stands for all."""
        if not symbol.name or not self.layout.has(module, symbol.section_index):
            return False
        first = symbol.section != _FUNCTIONS or self.layout.first_holder(_FUNCTIONS) == module
        return first or symbol.name not in (_ENTRY, PSEUDO_KERNEL)

    def _local_name(self, module: int, symbol: Symbol, local: list[tuple[int, Symbol, str]], taken: set[str]) -> str:
        """Return a local symbol's name in the merged file: no two symbols may share one, as the driver looks up every
        symbol but ``_entry`` by name alone."""
        others = {name for other, _, name in local if other != module}
        return (
            symbol.name if symbol.name == _ENTRY or symbol.name not in others else self._rename(module, symbol, taken)
        )

    def _define(self, module: int, symbol: Symbol, defined: dict[str, tuple[int, Symbol]], taken: set[str]) -> None:
        earlier = defined.get(symbol.name)
        if earlier is None:
            defined[symbol.name] = module, symbol
        elif self.inputs[module].is_own(symbol):
            defined[self._rename(module, symbol, taken)] = module, symbol
        elif self.inputs[earlier[0]].is_own(earlier[1]):
            defined[self._rename(earlier[0], earlier[1], taken)] = earlier
            defined[symbol.name] = module, symbol
        else:
            first, second = self.inputs[earlier[0]].name, self.inputs[module].name
            raise LinkError(
                f"{symbol.name} is defined in {first} and in {second}: leave one of them out, or rename one",
                (symbol.name,),
            )

    def _rename(self, module: int, symbol: Symbol, taken: set[str]) -> str:
        number = module
        while (name := f"{symbol.name}.{number}") in taken:
            number += len(self.inputs)
        taken.add(name)
        self.renamed[self.inputs[module].name, symbol.name] = name
        return name

    def _add(self, module: int, symbol: Symbol, name: str) -> None:
        section, value = self.layout.moved(module, symbol.section_index, symbol.value)
        size = symbol.size
        if symbol.name == PSEUDO_KERNEL and symbol.binding == "local" and section == _FUNCTIONS:
            # The pseudo-kernel is all of the merged code, up to where the last function ends.
            size = self.layout.functions_size()
        number = self.section_numbers[section]
        is_hidden = symbol.binding != "local" and self.inputs[module].is_own(symbol)
        self.symbols.append(OutputSymbol(name, value % (1 << 64), size, symbol.binding, symbol.type, number, is_hidden))
        self.numbers[module, symbol.index] = len(self.symbols)

    def _bind(self, name: str, uses: list[tuple[int, Symbol]], defined: dict[str, tuple[int, Symbol]]) -> None:
        definition = defined.get(name)
        # A variable that is a module's own affair is not the one that others import by the same name.
        if (
            definition is not None
            and name not in DRIVER_SYMBOLS
            and not self.inputs[definition[0]].is_own(definition[1])
        ):
            number = self.numbers[definition[0], definition[1].index]
            self.bound[name] = self.inputs[definition[0]].name
        else:
            first = uses[0][1]
            self.symbols.append(OutputSymbol(name, first.value, first.size, first.binding, first.type, 0))
            number = len(self.symbols)
            if name not in DRIVER_SYMBOLS:
                self.imports.append(name)
        for module, symbol in uses:
            self.numbers[module, symbol.index] = number

    def _relocation_tables(self, symbol_table_number: int) -> list[OutputSection]:
        grouped: dict[tuple[str, bool], list[OutputRelocation]] = {}
        for module, link_input in enumerate(self.inputs):
            for table in link_input.zebin.elf.sections:
                if table.type in (SHT_REL, SHT_RELA) and self.layout.has(module, table.info):
                    for relocation in link_input.zebin.elf.relocations_of(table):
                        self._check_offset(link_input, relocation, table.info)
                        section, offset = self.layout.moved(module, table.info, relocation.offset)
                        entry = self._relocation(module, relocation, offset)
                        grouped.setdefault((section, table.type == SHT_RELA), []).append(entry)
        return [
            relocation_table(
                section,
                entries,
                link=symbol_table_number,
                info=self.section_numbers[section],
                with_addends=with_addends,
            )
            for (section, with_addends), entries in grouped.items()
        ]

    @staticmethod
    def _check_offset(link_input: LinkInput, relocation: Relocation, target: int) -> None:
        section = link_input.zebin.elf.sections[target]
        if relocation.offset >= section.size:
            raise LinkError(
                f"{link_input.name}: a relocation is at {relocation.offset:#x} of {section.name}, "
                f"which has {section.size} bytes"
            )

    def _relocation(self, module: int, relocation: Relocation, offset: int) -> OutputRelocation:
        number = 0
        if relocation.symbol_index:
            merged = self.numbers.get((module, relocation.symbol_index))
            if merged is None:
                raise LinkError(
                    f"{self.inputs[module].name}: the relocation at {relocation.offset:#x} of {relocation.section} is to a "
                    f"symbol ({relocation.symbol or 'without a name'}) in a section that cannot be merged"
                )
            number = merged
        return OutputRelocation(offset, number, relocation.type, relocation.addend)

    def _ze_info(self) -> str:
        texts = []
        for link_input in self.inputs:
            ze_info = link_input.zebin.elf.sections_of_type(SHT_ZEBIN_ZEINFO)
            if not ze_info:
                raise LinkError(f"{link_input.name} has no ze_info, without which the driver cannot load it")
            texts.append((link_input.name, bytes(ze_info[0].data).rstrip(b"\0").decode("utf-8", "replace")))
        return merge_ze_info(texts)

    def _options(self) -> list[OutputSection]:
        """Return the options of all modules, but not those for debug data, of which the merged file has none."""
        words = dict.fromkeys(
            word for link_input in self.inputs for word in (link_input.zebin.build_options or "").split()
        )
        for flag in LINE_OPTIONS:
            words.pop(flag, None)
        if not words:
            return []
        return [OutputSection(_BUILD_OPTIONS, SHT_ZEBIN_MISC, " ".join(words).encode() + b"\0")]

    def _visa_texts(self) -> list[OutputSection]:
        """Return the vISA texts of kernels; that of the functions is one per module, and of those only the first is kept."""
        texts: dict[str, OutputSection] = {}
        for link_input in self.inputs:
            for section in link_input.zebin.elf.sections_of_type(SHT_ZEBIN_VISAASM):
                texts.setdefault(section.name, OutputSection(section.name, section.type, bytes(section.data)))
        return list(texts.values())

    def _dropped(self, written: Sequence[OutputSection]) -> tuple[str, ...]:
        written_names = {section.name for section in written} | {".strtab", ".shstrtab", ""}
        names = dict.fromkeys(section.name for link_input in self.inputs for section in link_input.zebin.elf.sections)
        return tuple(
            name
            for name in names
            if name not in written_names and name != _BUILD_OPTIONS and not name.startswith((".rel.", ".rela."))
        )
