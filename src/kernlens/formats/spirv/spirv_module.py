"""SPIR-V modules: what they export and import, and which source lines their code came from.

Source: SPIR-V Specification, sections 2.3 "Physical Layout of a SPIR-V Module and Instruction" (header of five words;
of an instruction's first word the high half is the number of words, the low half the opcode), 2.4 "Logical Layout",
and 3.42 "Instructions"; DebugSource: OpenCL.DebugInfo.100 specification, section 4.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import chain

from kernlens.formats.spirv import names
from kernlens.formats.spirv.uses import SHORTEST_OF_USES
from kernlens.formats.spirv.words import (
    HEADER_WORDS,
    LAST,
    NOT_KEPT,
    Rule,
    SpirvHeader,
    read_words,
    spirv_error,
    text_of,
    walk,
)
from kernlens.model.allowance import Allowance
from kernlens.model.spirv import SpirvEntryPoint, SpirvLine, SpirvLinkage, SpirvModule, SpirvSource

_OP_SOURCE_CONTINUED, _OP_SOURCE, _OP_NAME, _OP_STRING, _OP_LINE, _OP_NO_LINE = 2, 3, 5, 7, 8, 317
_OP_EXTENSION, _OP_EXT_INST_IMPORT, _OP_EXT_INST, _OP_MEMORY_MODEL, _OP_ENTRY_POINT, _OP_CAPABILITY = (
    10,
    11,
    12,
    14,
    15,
    17,
)
_FIRST_TYPE, _LAST_TYPE = 19, 39
_OP_CONSTANT, _OP_FUNCTION, _OP_FUNCTION_END, _OP_VARIABLE, _OP_DECORATE = 43, 54, 56, 59, 71
#: The fewest words of each instruction that is read; a shorter one is damaged.
_SHORTEST = SHORTEST_OF_USES | {
    _OP_SOURCE_CONTINUED: 2, _OP_SOURCE: 3, _OP_NAME: 3, _OP_STRING: 3, _OP_LINE: 4, _OP_EXTENSION: 2,
    _OP_EXT_INST_IMPORT: 3, _OP_EXT_INST: 5, _OP_MEMORY_MODEL: 3, _OP_ENTRY_POINT: 4, _OP_CAPABILITY: 2,
    _OP_CONSTANT: 4, _OP_FUNCTION: 5, _OP_VARIABLE: 4, _OP_DECORATE: 3,
} | dict.fromkeys(range(_FIRST_TYPE, _LAST_TYPE), 2)  # fmt: skip
#: The instructions whose places are kept, those together whose order counts.
_KEPT: tuple[Sequence[int], ...] = (
    (_OP_SOURCE, _OP_SOURCE_CONTINUED), (_OP_STRING,), (_OP_EXT_INST_IMPORT,), (_OP_EXT_INST,),
    (_OP_NAME,), (_OP_EXTENSION,), (_OP_MEMORY_MODEL,), (_OP_ENTRY_POINT,), (_OP_CAPABILITY,), (_OP_DECORATE,),
    range(_FIRST_TYPE, _LAST_TYPE), (_OP_VARIABLE,), (_OP_FUNCTION,), (_OP_CONSTANT,),
)  # fmt: skip
_NUMBERS = {opcode: number for number, opcodes in enumerate(_KEPT) for opcode in opcodes}
#: What else ``read_spirv_uses`` reads.
_OTHER = len(_KEPT)
_RULES: dict[int, Rule] = {
    opcode: (least, _NUMBERS.get(opcode, _OTHER if opcode in SHORTEST_OF_USES else NOT_KEPT))
    for opcode, least in _SHORTEST.items()
}

_RULES_OF_SOURCES: dict[int, Rule] = {
    opcode: _RULES[opcode]
    for opcode in (_OP_SOURCE, _OP_SOURCE_CONTINUED, _OP_STRING, _OP_EXT_INST_IMPORT, _OP_EXT_INST)
} | {_OP_FUNCTION: (0, LAST)}

_DECORATION_SPEC_ID = 1
_DECORATION_CPACKED = 10
_DECORATION_LINKAGE = 41
_DEBUG_SOURCE = 35
#: How Intel's and Khronos' translators write a checksum in the place of the source's text.
_CHECKSUM = "//__CSK_MD5:"


def read_spirv(data: memoryview, allowance: Allowance | None = None) -> SpirvModule:
    """Read a module of either byte order; ``allowance`` is that of the whole input (None: this is it). Raises
    FormatError, with the offset in bytes, if it is damaged, and for more names than are read of an input so small."""
    words, big_endian = read_words(data)
    tables = _Tables(words)
    linked = len(tables.entry_points) + len(tables.linkages)
    (allowance or Allowance(len(data))).count(linked, "kernels, exports and imports", format="spirv")
    header = SpirvHeader._make(words[:HEADER_WORDS])
    tool = header.generator >> 16
    # Nothing here holds the tables: what is kept must not be the largest part, as a library has thousands of modules.
    return SpirvModule(
        version=(header.version >> 16 & 0xFF, header.version >> 8 & 0xFF),
        generator=names.GENERATORS.get(tool) or f"tool {tool}",
        big_endian=big_endian,
        bound=header.bound,
        capabilities=tables.capabilities,
        extensions=tables.extensions,
        instruction_sets=tuple(tables.instruction_sets.values()),
        addressing_model=tables.addressing_model,
        memory_model=tables.memory_model,
        entry_points=tables.entry_points,
        linkages=tables.found_linkages(),
        sources=tables.found_sources(),
        strings=tables.strings,
        names=tables.names,
        has_spec_constants=tables.has_spec_constants,
        use_words=tables.use_words(),
        find_lines=lambda: _lines(data),
    )


def read_spirv_sources(data: memoryview) -> tuple[SpirvSource, ...]:
    """Read the sources that a module names or holds, as in ``SpirvModule.sources``. They stand before its functions
    (section 2.4), which are not looked at. Raises FormatError if what is read is damaged."""
    return _Sources(read_words(data)[0], _RULES_OF_SOURCES).found_sources()


class _Sources:
    """The statements of a module on its sources."""

    def __init__(self, words: array[int], rules: Mapping[int, Rule] = _RULES) -> None:
        self._words = words
        self._places = walk(words, rules, len(_KEPT) + 1)
        self.strings = {words[at + 1]: self._text(at, 2) for at in self._all(_OP_STRING)}
        self.instruction_sets = {words[at + 1]: self._text(at, 2) for at in self._all(_OP_EXT_INST_IMPORT)}

    def _all(self, opcode: int) -> list[int]:
        """Return the places of the instructions of an opcode, and of those that are kept together with it."""
        return self._places[_NUMBERS[opcode]]

    def _text(self, at: int, index: int) -> str:
        """Return the string literal that word ``index`` of the instruction begins."""
        return text_of(self._words, at + index, self._end(at))[0]

    def _end(self, at: int) -> int:
        return at + (self._words[at] >> 16)

    def found_sources(self) -> tuple[SpirvSource, ...]:
        words = self._words
        stated: list[tuple[str, int, str | None, list[str]]] = []
        texts: list[str] = []
        for at in self._all(_OP_SOURCE):
            count, opcode = words[at] >> 16, words[at] & 0xFFFF
            if opcode == _OP_SOURCE_CONTINUED:
                texts.append(self._text(at, 1))
                continue
            texts = [self._text(at, 4)] if count > 4 else []
            language = names.name_of(names.SOURCE_LANGUAGES, words[at + 1])
            stated.append((language, words[at + 2], self.strings.get(words[at + 3]) if count > 3 else None, texts))
        sources = [
            SpirvSource(language, version, file, "".join(texts) if texts else None)
            for language, version, file, texts in stated
        ]
        for at in self._all(_OP_EXT_INST):
            if words[at + 4] == _DEBUG_SOURCE and "DebugInfo" in self.instruction_sets.get(words[at + 3], ""):
                if self._end(at) < at + 6:
                    raise spirv_error("DebugSource without a file", at)
                text = self.strings.get(words[at + 6]) if self._end(at) > at + 6 else None
                md5 = text.removeprefix(_CHECKSUM).strip() if text and text.startswith(_CHECKSUM) else None
                file = self.strings.get(words[at + 5])
                sources.append(SpirvSource(None, None, file, None if md5 else text or None, md5))
        return tuple(sources)


class _Tables(_Sources):
    """The tables of one walk over a module's words; ids resolve only when all are known."""

    def __init__(self, words: array[int]) -> None:
        super().__init__(words)
        memory = self._all(_OP_MEMORY_MODEL)
        self.capabilities = tuple(names.name_of(names.CAPABILITIES, words[at + 1]) for at in self._all(_OP_CAPABILITY))
        self.extensions = tuple(self._text(at, 1) for at in self._all(_OP_EXTENSION))
        self.addressing_model = names.name_of(names.ADDRESSING_MODELS, words[memory[-1] + 1]) if memory else None
        self.memory_model = names.name_of(names.MEMORY_MODELS, words[memory[-1] + 2]) if memory else None
        self.names = {words[at + 1]: self._text(at, 2) for at in self._all(_OP_NAME)}
        self.entry_points = tuple(
            SpirvEntryPoint(names.name_of(names.EXECUTION_MODELS, words[at + 1]), self._text(at, 3), words[at + 2])
            for at in self._all(_OP_ENTRY_POINT)
        )
        self.linkages: list[tuple[int, str, str]] = []
        self.has_spec_constants = False
        packed: set[int] = set()
        for at in self._all(_OP_DECORATE):
            decoration = words[at + 2]
            if decoration == _DECORATION_CPACKED:
                packed.add(words[at + 1])
            elif decoration == _DECORATION_LINKAGE:
                self._note_linkage(at)
            elif decoration == _DECORATION_SPEC_ID:
                self.has_spec_constants = True
        self._variables = {words[at + 2]: at for at in self._all(_OP_VARIABLE)}
        self._function_types = {words[at + 2]: words[at + 4] for at in self._all(_OP_FUNCTION)}
        from kernlens.formats.spirv.type_names import SpirvTypes  # The sources alone are read without it.

        pointer_size = {"Physical32": 4, "Physical64": 8}.get(self.addressing_model or "")
        places = {words[at + 1]: at for at in self._all(_FIRST_TYPE)}
        self._types = SpirvTypes(words, places, self._all(_OP_CONSTANT), self.names, pointer_size, packed)

    def _note_linkage(self, at: int) -> None:
        name, kind = text_of(self._words, at + 3, self._end(at))
        if kind >= self._end(at):
            raise spirv_error("a linkage decoration without its kind", at)
        self.linkages.append((self._words[at + 1], name, names.name_of(names.LINKAGE_KINDS, self._words[kind])))

    def use_words(self) -> array[int]:
        used = (self._all(opcode) for opcode in _NUMBERS if opcode in SHORTEST_OF_USES)
        return array("I", sorted(chain(self._places[_OTHER], *used)))

    def function_names(self) -> dict[int, str]:
        """Return each function's name: its OpName, its linkage or its entry point, in this order of preference."""
        names = {entry.id: entry.name for entry in self.entry_points}
        names |= {id: name for id, name, _kind in self.linkages}
        names |= self.names
        return {id: names.get(id) or f"%{id}" for id in self._function_types}

    def found_linkages(self) -> tuple[SpirvLinkage, ...]:
        return tuple(self._linkage(id, name, kind) for id, name, kind in self.linkages)

    def _linkage(self, id: int, name: str, kind: str) -> SpirvLinkage:
        types = self._types
        if id in self._function_types:
            type = self._function_types[id]
            return SpirvLinkage(name, kind, id, True, types.text(type), call_type=types.call_text(type))
        if id not in self._variables:
            raise spirv_error(f"linkage of {name!r} refers to id {id}, which is neither a function nor a variable", 0)
        at = self._variables[id]
        held = types.pointee(self._words[at + 1])
        return SpirvLinkage(
            name,
            kind,
            id,
            is_function=False,
            type_name=None if held is None else types.text(held),
            storage_class=names.name_of(names.STORAGE_CLASSES, self._words[at + 3]),
            size=None if held is None else types.size(held),
        )


def _lines(data: memoryview) -> dict[str, tuple[SpirvLine, ...]]:
    words, _ = read_words(data)
    tables = _Tables(words)
    return read_lines(words, tables.strings, tables.function_names())


def read_lines(
    words: array[int], strings: dict[int, str], function_names: dict[int, str]
) -> dict[str, tuple[SpirvLine, ...]]:
    """Read the OpLines of each function. The words must have been walked over before, which checks their counts. An
    OpLine lasts up to the next one, OpNoLine or the end of the function; an end is kept with line 0."""
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
