"""Reads SPIR-V modules: what they export and import, and which source lines their code came from.

Source: SPIR-V Specification, sections 2.3 "Physical Layout of a SPIR-V Module and Instruction" (header of five words;
of an instruction's first word the high half is the number of words, the low half the opcode), 2.4 "Logical Layout",
and 3.42 "Instructions"; DebugSource: OpenCL.DebugInfo.100 specification, section 4.
"""

from __future__ import annotations

import sys
from array import array
from dataclasses import dataclass, field
from typing import NamedTuple

from kernlens.errors import FormatError
from kernlens.formats.spirv.magic import BIG_ENDIAN, is_spirv
from kernlens.formats.spirv.names import (
    ADDRESSING_MODELS,
    CAPABILITIES,
    EXECUTION_MODELS,
    GENERATORS,
    LINKAGE_KINDS,
    MEMORY_MODELS,
    SOURCE_LANGUAGES,
    STORAGE_CLASSES,
    name_of,
)
from kernlens.formats.spirv.type_names import SpirvTypes
from kernlens.model.budget import Budget
from kernlens.model.spirv import SpirvEntryPoint, SpirvLine, SpirvLinkage, SpirvModule, SpirvSource

MAGIC = 0x07230203


class SpirvHeader(NamedTuple):
    """The words that begin a module (section 2.3): ``version`` is 0x00MMmm00, ``generator`` the tool's number in its
    high half, ``bound`` above every id; ``schema`` is 0."""

    magic: int
    version: int
    generator: int
    bound: int
    schema: int


HEADER_WORDS = len(SpirvHeader._fields)

_OP_SOURCE_CONTINUED = 2
_OP_SOURCE = 3
_OP_NAME = 5
_OP_STRING = 7
_OP_LINE = 8
_OP_EXTENSION = 10
_OP_EXT_INST_IMPORT = 11
_OP_EXT_INST = 12
_OP_MEMORY_MODEL = 14
_OP_ENTRY_POINT = 15
_OP_CAPABILITY = 17
_FIRST_TYPE, _LAST_TYPE = 19, 39
_OP_CONSTANT = 43
_OP_FUNCTION = 54
_OP_FUNCTION_PARAMETER = 55
_OP_FUNCTION_END = 56
_OP_VARIABLE = 59
_OP_DECORATE = 71
_OP_NO_LINE = 317
#: The fewest words of each instruction that is read; a shorter one is damaged.
_SHORTEST = {
    _OP_SOURCE_CONTINUED: 2, _OP_SOURCE: 3, _OP_NAME: 3, _OP_STRING: 3, _OP_LINE: 4, _OP_EXTENSION: 2,
    _OP_EXT_INST_IMPORT: 3, _OP_EXT_INST: 5, _OP_MEMORY_MODEL: 3, _OP_ENTRY_POINT: 4, _OP_CAPABILITY: 2,
    _OP_CONSTANT: 4, _OP_FUNCTION: 5, _OP_FUNCTION_PARAMETER: 3, _OP_VARIABLE: 4, _OP_DECORATE: 3,
} | dict.fromkeys(range(_FIRST_TYPE, _LAST_TYPE), 2)  # fmt: skip

#: What is read of a module for its sources.
_OF_SOURCES = frozenset((_OP_SOURCE, _OP_SOURCE_CONTINUED, _OP_STRING, _OP_EXT_INST_IMPORT, _OP_EXT_INST))

_DECORATION_CPACKED = 10
_DECORATION_LINKAGE = 41
_DEBUG_SOURCE = 35
#: How Intel's and Khronos' translators write a checksum in the place of the source's text.
_CHECKSUM = "//__CSK_MD5:"


def read_spirv(data: memoryview, budget: Budget | None = None) -> SpirvModule:
    """Reads a module of either byte order; ``budget`` is that of the whole input (None: this is it).

    Raises FormatError, with the offset in bytes, if it is damaged, and for more names than are read of an input so small.
    """
    words, big_endian = read_words(data)
    tables = _Tables(words, big_endian)
    tables.walk()
    linked = len(tables.entry_points) + len(tables.linkages)
    (budget or Budget(len(data))).count(linked, "kernels, exports and imports", format="spirv")
    header = SpirvHeader._make(words[:HEADER_WORDS])
    tool = header.generator >> 16
    module = SpirvModule(
        version=(header.version >> 16 & 0xFF, header.version >> 8 & 0xFF),
        generator=GENERATORS.get(tool) or f"tool {tool}",
        big_endian=big_endian,
        bound=header.bound,
        capabilities=tuple(tables.capabilities),
        extensions=tuple(tables.extensions),
        instruction_sets=tuple(tables.instruction_sets.values()),
        addressing_model=tables.addressing_model,
        memory_model=tables.memory_model,
        entry_points=tables.found_entry_points(),
        linkages=tables.found_linkages(),
        sources=tables.found_sources(),
        strings=tables.strings,
        names=tables.names,
        find_lines=lambda: read_lines(read_words(data)[0], tables.strings, tables.function_names()),
    )
    # What is kept for the lines must not be the largest part: a library has thousands of modules.
    tables.words = array("I")
    tables.constants.clear()
    tables.types.clear()
    return module


def read_spirv_sources(data: memoryview) -> tuple[SpirvSource, ...]:
    """Reads the sources that a module names or holds, as in ``SpirvModule.sources``. They stand before its functions
    (section 2.4), which are not looked at. Raises FormatError if what is read is damaged."""
    words, big_endian = read_words(data)
    tables = _Tables(words, big_endian)
    position, end = HEADER_WORDS, len(words)
    while position < end:
        first = words[position]
        count, opcode = first >> 16, first & 0xFFFF
        if opcode == _OP_FUNCTION:
            break
        if count < _SHORTEST.get(opcode, 1) or position + count > end:
            raise _error(f"instruction {opcode} is said to have {count} words", position)
        if opcode in _OF_SOURCES:
            tables.note(opcode, position, position + count)
        position += count
    return tables.found_sources()


def read_words(data: memoryview) -> tuple[array[int], bool]:
    """Reads the module's words in this machine's byte order; returns them and whether the file's order is big-endian.

    Only the header is checked. Raises FormatError.
    """
    if not is_spirv(data):
        raise FormatError(
            "this is not SPIR-V: it does not begin with the magic number 0x07230203", format="spirv", offset=0
        )
    if len(data) % 4 or len(data) < 4 * HEADER_WORDS:
        raise FormatError(
            f"{len(data)} bytes are no whole number of words, or fewer than the header's {HEADER_WORDS}: it is cut off",
            format="spirv",
            offset=len(data) & ~3,
        )
    words = array("I")
    words.frombytes(data)
    big_endian = bytes(data[:4]) == BIG_ENDIAN
    if big_endian != (sys.byteorder == "big"):
        words.byteswap()
    return words, big_endian


def _error(message: str, word: int) -> FormatError:
    return FormatError(message, format="spirv", offset=4 * word)


@dataclass
class _Tables:
    """Collects what one walk over a module's words finds; ids resolve only when all are known."""

    words: array[int]
    big_endian: bool
    capabilities: list[str] = field(default_factory=list)
    extensions: list[str] = field(default_factory=list)
    instruction_sets: dict[int, str] = field(default_factory=dict)
    addressing_model: str | None = None
    memory_model: str | None = None
    strings: dict[int, str] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    entry_points: list[tuple[str, str, int]] = field(default_factory=list)
    linkages: list[tuple[int, str, str]] = field(default_factory=list)
    packed: set[int] = field(default_factory=set)
    sources: list[tuple[int, int, int | None, list[str]]] = field(default_factory=list)
    debug_sources: list[tuple[int, int | None]] = field(default_factory=list)
    types: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    constants: dict[int, int] = field(default_factory=dict)
    variables: dict[int, tuple[int, int]] = field(default_factory=dict)
    functions: dict[int, tuple[int, list[int]]] = field(default_factory=dict)

    def walk(self) -> None:
        """Goes through all instructions. Raises FormatError for a word count that does not fit."""
        words = self.words
        end = len(words)
        shortest = _SHORTEST
        constants = self.constants
        position = HEADER_WORDS
        parameters: list[int] = []
        while position < end:
            first = words[position]
            count, opcode = first >> 16, first & 0xFFFF
            after = position + count
            if count == 0 or after > end:
                raise _error(f"instruction {opcode} is said to have {count} words, {end - position} are left", position)
            if opcode in shortest:
                if count < shortest[opcode]:
                    raise _error(
                        f"instruction {opcode} has {count} words, at least {shortest[opcode]} expected", position
                    )
                if opcode == _OP_CONSTANT:  # Three of four instructions that are read are constants.
                    value = words[position + 3]
                    constants[words[position + 2]] = value if count == 4 else words[position + 4] << 32 | value
                elif opcode == _OP_FUNCTION_PARAMETER:
                    parameters.append(words[position + 2])
                elif opcode == _OP_FUNCTION:
                    parameters = []
                    self.functions[words[position + 2]] = words[position + 4], parameters
                elif opcode != _OP_LINE:
                    self.note(opcode, position, after)
            position = after

    def note(self, opcode: int, position: int, after: int) -> None:
        """Keeps what the instruction of words [position, after) says."""
        words = self.words
        if opcode == _OP_EXT_INST:
            self._note_debug_source(position, after)
        elif opcode == _OP_NAME:
            self.names[words[position + 1]] = self._text(position + 2, after)[0]
        elif opcode == _OP_DECORATE:
            self._note_decoration(position, after)
        elif opcode == _OP_STRING:
            self.strings[words[position + 1]] = self._text(position + 2, after)[0]
        elif opcode == _OP_VARIABLE:
            self.variables[words[position + 2]] = words[position + 1], words[position + 3]
        elif _FIRST_TYPE <= opcode < _LAST_TYPE:
            self.types[words[position + 1]] = opcode, tuple(words[position + 2 : after])
        else:
            self._note_preamble(opcode, position, after)

    def _note_preamble(self, opcode: int, position: int, after: int) -> None:
        words = self.words
        if opcode == _OP_CAPABILITY:
            self.capabilities.append(name_of(CAPABILITIES, words[position + 1]))
        elif opcode == _OP_EXTENSION:
            self.extensions.append(self._text(position + 1, after)[0])
        elif opcode == _OP_EXT_INST_IMPORT:
            self.instruction_sets[words[position + 1]] = self._text(position + 2, after)[0]
        elif opcode == _OP_MEMORY_MODEL:
            self.addressing_model = name_of(ADDRESSING_MODELS, words[position + 1])
            self.memory_model = name_of(MEMORY_MODELS, words[position + 2])
        elif opcode == _OP_ENTRY_POINT:
            model = name_of(EXECUTION_MODELS, words[position + 1])
            self.entry_points.append((model, self._text(position + 3, after)[0], words[position + 2]))
        elif opcode == _OP_SOURCE:
            file = words[position + 3] if after > position + 3 else None
            text = [self._text(position + 4, after)[0]] if after > position + 4 else []
            self.sources.append((words[position + 1], words[position + 2], file, text))
        elif opcode == _OP_SOURCE_CONTINUED and self.sources:
            self.sources[-1][3].append(self._text(position + 1, after)[0])

    def _note_decoration(self, position: int, after: int) -> None:
        target, decoration = self.words[position + 1], self.words[position + 2]
        if decoration == _DECORATION_CPACKED:
            self.packed.add(target)
        elif decoration == _DECORATION_LINKAGE:
            name, kind = self._text(position + 3, after)
            if kind >= after:
                raise _error("a linkage decoration without its kind", position)
            self.linkages.append((target, name, name_of(LINKAGE_KINDS, self.words[kind])))

    def _note_debug_source(self, position: int, after: int) -> None:
        words = self.words
        if words[position + 4] == _DEBUG_SOURCE and "DebugInfo" in self.instruction_sets.get(words[position + 3], ""):
            if after < position + 6:
                raise _error("DebugSource without a file", position)
            self.debug_sources.append((words[position + 5], words[position + 6] if after > position + 6 else None))

    def _text(self, start: int, end: int) -> tuple[str, int]:
        """Returns the string literal within words [start, end), and the word after it."""
        piece = self.words[start:end]
        if sys.byteorder == "big":
            piece.byteswap()
        # Characters stand in each word from its low byte on, in whatever order the word's own bytes are.
        text, terminator, _rest = piece.tobytes().partition(b"\0")
        if not terminator:
            raise _error("a string is not terminated within its instruction", start)
        return text.decode("utf-8", "backslashreplace"), start + len(text) // 4 + 1

    def function_names(self) -> dict[int, str]:
        """Returns each function's name: its OpName, its linkage or its entry point, in this order of preference."""
        names = {id: name for _model, name, id in self.entry_points}
        names |= {id: name for id, name, _kind in self.linkages}
        names |= self.names
        return {id: names.get(id) or f"%{id}" for id in self.functions}

    def found_entry_points(self) -> tuple[SpirvEntryPoint, ...]:
        types = self._types()
        # A hostile module may name one function of many parameters by many entry points.
        arguments = {id: self._arguments(id, types) for id in {id for _model, _name, id in self.entry_points}}
        return tuple(SpirvEntryPoint(model, name, id, arguments[id]) for model, name, id in self.entry_points)

    def _arguments(self, function: int, types: SpirvTypes) -> tuple[tuple[str, str], ...]:
        function_type, parameters = self.functions.get(function, (0, []))
        return tuple(
            (self.names.get(parameter, ""), types.text(type))
            for parameter, type in zip(parameters, types.parameters(function_type), strict=False)
        )

    def found_linkages(self) -> tuple[SpirvLinkage, ...]:
        types = self._types()
        return tuple(self._linkage(id, name, kind, types) for id, name, kind in self.linkages)

    def _linkage(self, id: int, name: str, kind: str, types: SpirvTypes) -> SpirvLinkage:
        if id in self.functions:
            type = self.functions[id][0]
            return SpirvLinkage(name, kind, id, True, types.text(type), call_type=types.call_text(type))
        if id not in self.variables:
            raise _error(f"linkage of {name!r} names id {id}, which is neither a function nor a variable", 0)
        pointer, storage_class = self.variables[id]
        held = types.pointee(pointer)
        return SpirvLinkage(
            name,
            kind,
            id,
            is_function=False,
            type_name=None if held is None else types.text(held),
            storage_class=name_of(STORAGE_CLASSES, storage_class),
            size=None if held is None else types.size(held),
        )

    def _types(self) -> SpirvTypes:
        pointer_size = {"Physical32": 4, "Physical64": 8}.get(self.addressing_model or "")
        return SpirvTypes(self.types, self.constants, self.names, pointer_size, frozenset(self.packed))

    def found_sources(self) -> tuple[SpirvSource, ...]:
        sources = [
            SpirvSource(
                name_of(SOURCE_LANGUAGES, language),
                version,
                None if file is None else self.strings.get(file),
                "".join(text) if text else None,
            )
            for language, version, file, text in self.sources
        ]
        for file, text_id in self.debug_sources:
            text = self.strings.get(text_id) if text_id is not None else None
            md5 = text.removeprefix(_CHECKSUM).strip() if text and text.startswith(_CHECKSUM) else None
            sources.append(SpirvSource(None, None, self.strings.get(file), None if md5 else text or None, md5))
        return tuple(sources)


def read_lines(
    words: array[int], strings: dict[int, str], function_names: dict[int, str]
) -> dict[str, tuple[SpirvLine, ...]]:
    """Reads the OpLines of each function. The words must have been walked over before, which checks their counts.

    An OpLine lasts up to the next one, OpNoLine or the end of the function; an end is kept with line 0.
    """
    lines: dict[str, list[SpirvLine]] = {}
    current: list[SpirvLine] = []
    function = 0
    position, end = HEADER_WORDS, len(words)
    while position < end:
        first = words[position]
        opcode = first & 0xFFFF
        if opcode == _OP_LINE:
            file = strings.get(words[position + 1], "")
            current.append(SpirvLine(position, file, words[position + 2], words[position + 3]))
        elif opcode == _OP_NO_LINE and current:
            current.append(SpirvLine(position, "", 0, 0))
        elif opcode == _OP_FUNCTION:
            function = words[position + 2]
            # An OpLine right before OpFunction is the function's own; anything earlier is a global's.
            current = current[-1:] if current and current[-1].offset + 4 == position else []
        elif opcode == _OP_FUNCTION_END:
            if current:
                lines.setdefault(function_names.get(function, f"%{function}"), []).extend(current)
            current = []
        position += first >> 16
    return {name: tuple(lines_of) for name, lines_of in lines.items()}
