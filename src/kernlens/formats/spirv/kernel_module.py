"""The declarations of a SPIR-V module and its functions, instruction by instruction.

Source: SPIR-V Specification, sections 2.4 "Logical Layout" and 3.42. Lines are those of OpLine.
"""

from __future__ import annotations

from array import array

from kernlens.dataclass import NamedTuple, dataclass, field
from kernlens.formats.spirv.type_names import SpirvTypes
from kernlens.formats.spirv.words import HEADER_WORDS, read_words, text_of, walk
from kernlens.model import lane_code as code
from kernlens.model.source_map import SourcePlace

OP_EXTENDED, OP_TRUE, OP_CALL, OP_VARIABLE, OP_LOAD, OP_STORE, OP_COPY, OP_COPY_SIZED = 12, 41, 57, 59, 61, 62, 63, 64
OP_SHUFFLE, OP_CONSTRUCT, OP_EXTRACT, OP_INSERT, OP_BITCAST, OP_SELECT, OP_ATOMIC_STORE = 79, 80, 81, 82, 124, 169, 228
OP_PHI, OP_BRANCH, OP_CHOICE, OP_SWITCH, OP_RETURN, OP_RETURN_VALUE, OP_UNREACHABLE = 245, 249, 250, 251, 253, 254, 255
#: Access chains, and atomics that yield a value.
CHAINS, ATOMICS = frozenset((65, 66, 67, 70)), frozenset((227, *range(229, 243), 5614, 5615, 6035))
#: Instructions whose first two operands decide what they yield, and negations.
NAMED = {
    **{126: code.NEGATE, 128: code.ADD, 130: code.SUBTRACT, 132: code.MULTIPLY, 134: code.DIVIDE, 137: code.REMAINDER},
    **{194: code.SHIFT_RIGHT, 195: code.SHIFT_RIGHT, 196: code.SHIFT_LEFT, 197: code.OR, 199: code.AND},
    **dict.fromkeys(range(172, 180), code.COMPARE),
    **dict.fromkeys((83, 113, 114, 117, 120, 121, 122, 123), code.CONVERT),
}
_NAME, _STRING, _LINE, _IMPORT, _MODEL, _ENTRY, _DECORATE, _LABEL, _NO_LINE = 5, 7, 8, 11, 14, 15, 71, 248, 317
_TYPES, _CONSTANT, _COMPOSITE, _NULL, _FUNCTION, _PARAMETER, _END = range(19, 40), 43, 44, 46, 54, 55, 56
_FALSE = 42
#: Constants of the module that are one number for all work-items, whatever it is: specialization constants and OpUndef.
_FIXED = frozenset((1, OP_TRUE, _FALSE, 45, *range(48, 53)))
_BUILT_INS = {
    **{24: (code.GROUPS, 3), 25: (code.LOCAL_SIZE, 3), 26: (code.GROUP_ID, 3), 27: (code.LOCAL_ID, 3)},
    **{
        28: (code.GLOBAL_ID, 3),
        29: (code.LANE, 0),
        30: ("dimensions", 0),
        31: (code.GLOBAL_SIZE, 3),
        32: (code.LOCAL_SIZE, 3),
    },
    **{33: (code.GLOBAL_OFFSET, 3), 36: ("sub-group size", 0), 37: ("sub-group size", 0), 38: ("sub-groups", 0)},
    **{39: ("sub-groups", 0), 40: ("sub-group", 0), 41: (code.LANE, 0)},
}
_TO_GENERIC = 121
_BUILT_IN, _PACKED = 11, 10
#: The fewest operands of what is read.
_SHORTEST = {
    _NAME: 2, _STRING: 2, _LINE: 3, _IMPORT: 2, OP_EXTENDED: 4, _MODEL: 2, _ENTRY: 3, _FUNCTION: 4, _PARAMETER: 2, OP_CALL: 3,
    OP_VARIABLE: 3, OP_LOAD: 3, OP_STORE: 2, OP_COPY: 2, OP_COPY_SIZED: 3, _DECORATE: 2, OP_EXTRACT: 3, OP_INSERT: 4,
    OP_SHUFFLE: 4, OP_CONSTRUCT: 2, OP_SELECT: 5, OP_PHI: 2, _LABEL: 1, OP_BRANCH: 1, OP_CHOICE: 3, OP_SWITCH: 2,
    OP_RETURN_VALUE: 1, OP_BITCAST: 3, OP_ATOMIC_STORE: 2, **dict.fromkeys(_TYPES, 1), **dict.fromkeys(CHAINS, 3),
    **dict.fromkeys(ATOMICS, 3), **dict.fromkeys(NAMED, 3),
}  # fmt: skip


class Instruction(NamedTuple):
    """An instruction of a function; ``place`` is that of its OpLine."""

    opcode: int
    operands: array[int]
    place: SourcePlace | None


@dataclass()
class Function:
    """The parameters of a function, each with its type, and the instructions behind each of its labels."""

    parameters: list[tuple[int, int]] = field(default_factory=list)
    blocks: dict[int, list[Instruction]] = field(default_factory=dict)


class KernelModule:
    """The declarations of a module, and its functions."""

    def __init__(self, data: memoryview) -> None:
        self.words, _ = read_words(data)
        walk(self.words, {}, 0)
        self.names: dict[int, str] = {}
        self.strings: dict[int, str] = {}
        self.entries: dict[str, int] = {}
        self.functions: dict[int, Function] = {}
        self.numbers: dict[int, int] = {}
        self.composites: dict[int, tuple[int, ...]] = {}
        self.fixed: set[int] = set()
        self.booleans: dict[int, bool] = {}
        #: Variables of the module, and which of them are built in.
        self.variables: set[int] = set()
        self.built_ins: dict[int, tuple[str, int]] = {}
        self.sets: set[int] = set()
        #: The types of values.
        self.types_of: dict[int, int] = {}
        self._packed: set[int] = set()
        self._places: dict[int, int] = {}
        self._constants: list[int] = []
        self._pointer_size = 8
        self._bits: dict[int, int] = {}
        self._read()
        #: Values that all functions share.
        self.shared = self.fixed | self.variables | self.numbers.keys() | self.composites.keys()
        self.types = SpirvTypes(self.words, self._places, self._constants, self.names, self._pointer_size, self._packed)

    def _read(self) -> None:
        words, place = self.words, None
        function: Function | None = None
        block: list[Instruction] = []
        at = HEADER_WORDS
        while at < len(words):
            opcode, end = words[at] & 0xFFFF, at + (words[at] >> 16)
            operands = words[at + 1 : end]
            if len(operands) < _SHORTEST.get(opcode, 0):
                at = end
                continue
            if opcode == _LINE:
                file = self.strings.get(operands[0])
                place = SourcePlace(file, operands[1], operands[2]) if file and operands[1] else None
            elif opcode == _NO_LINE:
                place = None
            elif opcode == _FUNCTION:
                function = self.functions[operands[1]] = Function()
            elif opcode == _END:
                function = place = None
            elif function is None:
                self._declare(opcode, operands, at, end)
            elif opcode == _PARAMETER:
                function.parameters.append((operands[1], operands[0]))
                self.types_of[operands[1]] = operands[0]
            elif opcode == _LABEL:
                block = function.blocks[operands[0]] = []
            else:
                block.append(Instruction(opcode, operands, place))
                # What yields a value begins with its type.
                if len(operands) > 1 and operands[0] in self._places:
                    # A pointer that was cast to the generic space still points to its own.
                    cast = self.types_of.get(operands[2]) if opcode == _TO_GENERIC and len(operands) > 2 else None
                    self.types_of[operands[1]] = cast or operands[0]
            at = end

    def _declare(self, opcode: int, operands: array[int], at: int, end: int) -> None:
        words = self.words
        if opcode == _NAME:
            self.names[operands[0]] = text_of(words, at + 2, end)[0]
        elif opcode == _STRING:
            self.strings[operands[0]] = text_of(words, at + 2, end)[0]
        elif opcode == _IMPORT and text_of(words, at + 2, end)[0] == "OpenCL.std":
            self.sets.add(operands[0])
        elif opcode == _MODEL:
            self._pointer_size = 4 if operands[0] == 1 else 8
        elif opcode == _ENTRY:
            self.entries[text_of(words, at + 3, end)[0]] = operands[1]
        elif opcode == _DECORATE and operands[1] == _PACKED:
            self._packed.add(operands[0])
        elif opcode == _DECORATE and operands[1] == _BUILT_IN and len(operands) > 2:
            self.built_ins[operands[0]] = _BUILT_INS.get(operands[2], ("", 0))
        elif opcode in _TYPES:
            self._places[operands[0]] = at
        elif len(operands) > 1:
            self.types_of[operands[1]] = operands[0]
            if opcode == _CONSTANT and len(operands) > 2:
                self._constants.append(at)
                self.numbers[operands[1]] = int.from_bytes(operands[2:4].tobytes(), "little")
            elif opcode == _NULL:
                self.numbers[operands[1]] = 0
            elif opcode == _COMPOSITE:
                self.composites[operands[1]] = tuple(operands[2:])
            elif opcode == OP_VARIABLE:
                self.variables.add(operands[1])
            elif opcode in _FIXED:
                self.fixed.add(operands[1])
                if opcode in (OP_TRUE, _FALSE):
                    self.booleans[operands[1]] = opcode == OP_TRUE

    def bits(self, value: int) -> int:
        """Return the bits of an integer or pointer, or of a vector's integers; 0 for other values."""
        type_ = self.types_of.get(value, 0)
        bits = self._bits.get(type_)
        if bits is None:
            bits = self._bits[type_] = self.types.integer_bits(type_)
        return bits

    def signed(self, value: int) -> int:
        """Return a constant as a signed number."""
        bits = self.bits(value) or 64
        number = self.numbers[value] & (1 << bits) - 1
        return number - (1 << bits) if number >> bits - 1 else number
