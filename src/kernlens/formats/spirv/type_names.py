"""Types of a SPIR-V module: how they are written, and how many bytes their values take.

Source: SPIR-V Specification, section 3.42.6 "Type-Declaration Instructions"; sizes and alignment of OpenCL's types:
OpenCL C Specification, section 6.3 "Supported Data Types" (a vector of 3 takes the room of 4).
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence, Set

from kernlens.formats.spirv.names import ADDRESS_SPACES

OP_TYPE_VOID, OP_TYPE_BOOL, OP_TYPE_INT, OP_TYPE_FLOAT, OP_TYPE_VECTOR, OP_TYPE_MATRIX, OP_TYPE_IMAGE = range(19, 26)
OP_TYPE_SAMPLER, OP_TYPE_SAMPLED_IMAGE, OP_TYPE_ARRAY, OP_TYPE_RUNTIME_ARRAY, OP_TYPE_STRUCT = range(26, 31)
OP_TYPE_OPAQUE, OP_TYPE_POINTER, OP_TYPE_FUNCTION, OP_TYPE_EVENT = range(31, 35)
OP_TYPE_PIPE = 38

_PLAIN = {
    OP_TYPE_VOID: "void",
    OP_TYPE_BOOL: "bool",
    OP_TYPE_SAMPLER: "sampler_t",
    OP_TYPE_SAMPLED_IMAGE: "sampled image",
    OP_TYPE_EVENT: "event_t",
    35: "device event",
    36: "reserve_id_t",
    37: "queue_t",
    OP_TYPE_PIPE: "pipe",
}
_INTEGERS = {8: "char", 16: "short", 32: "int", 64: "long"}
_FLOATS = {16: "half", 32: "float", 64: "double"}
_IMAGES = {0: "image1d_t", 1: "image2d_t", 2: "image3d_t", 5: "image1d_buffer_t"}
#: Types within types deeper than this, and texts longer, are shown as dots.
_DEEPEST = 16
_LONGEST = 1024
_MORE = "..."
#: Components of the widest vector.
_WIDEST = 16


class SpirvTypes:
    """The types that a module declares: ``places`` maps an id to the first of ``words`` of its declaration.

    ``constants`` are the places of constants, ``names`` is OpName, ``pointer_size`` is in bytes,
    None with logical addressing. ``packed`` are the structures without padding.
    """

    def __init__(
        self,
        words: array[int],
        places: Mapping[int, int],
        constants: Sequence[int],
        names: dict[int, str],
        pointer_size: int | None,
        packed: Set[int],
    ) -> None:
        self._words = words
        self._places = places
        self._constant_places = constants
        self._constants: dict[int, int] | None = None
        self._names = names
        self._pointer_size = pointer_size
        self._packed = packed
        self._texts: dict[int, str] = {}
        self._offsets: dict[int, list[int]] = {}
        self._layouts: dict[int, tuple[int, int] | None] = {}

    def _declaration(self, id: int) -> tuple[int, Sequence[int]]:
        """Return a type's opcode, and its operands after the result id; 0 for what is no type."""
        at = self._places.get(id)
        if at is None:
            return 0, ()
        return self._words[at] & 0xFFFF, self._words[at + 2 : at + (self._words[at] >> 16)]

    def _constant(self, id: int) -> int | None:
        """Return the value of an integer constant."""
        words = self._words
        if self._constants is None:  # Few modules have arrays, and many have thousands of constants.
            self._constants = {words[at + 2]: at for at in self._constant_places}
        at = self._constants.get(id)
        if at is None:
            return None
        return words[at + 3] if words[at] >> 16 == 4 else words[at + 4] << 32 | words[at + 3]

    def text(self, id: int, depth: int = 0) -> str:
        """Return the type as OpenCL C writes it: ``float(float, int)``, ``global float*``, ``float4``."""
        text = self._texts.get(id)
        if text is not None:
            return text
        if depth > _DEEPEST:
            return _MORE
        text = self._text(id, depth + 1)
        text = self._texts[id] = text if len(text) <= _LONGEST else text[:_LONGEST] + _MORE
        return text

    def _text(self, id: int, depth: int) -> str:
        opcode, operands = self._declaration(id)
        if opcode in _PLAIN:
            return _PLAIN[opcode]
        if opcode in (OP_TYPE_STRUCT, OP_TYPE_OPAQUE):
            return self._names.get(id) or ("struct" if opcode == OP_TYPE_STRUCT else "opaque")
        if opcode == OP_TYPE_FUNCTION and operands:
            parameters = ", ".join(self.text(parameter, depth) for parameter in operands[1 : 1 + _LONGEST])
            return f"{self.text(operands[0], depth)}({parameters})"
        if opcode == OP_TYPE_INT and operands:
            return _INTEGERS.get(operands[0]) or f"int{operands[0]}"
        if opcode == OP_TYPE_FLOAT and operands:
            return _FLOATS.get(operands[0]) or f"float{operands[0]}"
        if opcode == OP_TYPE_IMAGE and len(operands) > 1:
            return _IMAGES.get(operands[1]) or "image"
        if opcode == OP_TYPE_POINTER and len(operands) > 1:
            space = ADDRESS_SPACES.get(operands[0], "")
            target = self.text(operands[1], depth)
            return f"{space} {target}*" if space and space != "private" else f"{target}*"
        if opcode in (OP_TYPE_VECTOR, OP_TYPE_MATRIX) and len(operands) > 1:
            return f"{self.text(operands[0], depth)}{operands[1]}"
        if opcode == OP_TYPE_ARRAY and len(operands) > 1:
            length = self._constant(operands[1])
            return f"{self.text(operands[0], depth)}[{'?' if length is None else length}]"
        if opcode == OP_TYPE_RUNTIME_ARRAY and operands:
            return f"{self.text(operands[0], depth)}[]"
        return "?"

    def pointee(self, id: int) -> int | None:
        """Return the type that a pointer type points to, None for other types."""
        opcode, operands = self._declaration(id)
        return operands[1] if opcode == OP_TYPE_POINTER and len(operands) > 1 else None

    def integer_bits(self, id: int) -> int:
        """Return the bits of an integer, of a pointer, or of a vector's integers; 0 for another type."""
        opcode, operands = self._declaration(id)
        if opcode == OP_TYPE_VECTOR and operands:
            opcode, operands = self._declaration(operands[0])
        bits = operands[0] if opcode == OP_TYPE_INT and operands else 64 if opcode == OP_TYPE_POINTER else 0
        return bits if bits in _INTEGERS else 0

    def components(self, id: int) -> int:
        """Return the number of a vector's components; 0 for another type."""
        opcode, operands = self._declaration(id)
        return operands[1] if opcode == OP_TYPE_VECTOR and len(operands) > 1 and operands[1] <= _WIDEST else 0

    def space(self, id: int) -> str:
        """Return OpenCL C's word for the address space of a pointer type, "" for another type or space."""
        opcode, operands = self._declaration(id)
        return ADDRESS_SPACES.get(operands[0], "") if opcode == OP_TYPE_POINTER and operands else ""

    def element(self, id: int) -> int | None:
        """Return the type of the elements of a vector or array, None for other types."""
        opcode, operands = self._declaration(id)
        is_row = opcode in (OP_TYPE_VECTOR, OP_TYPE_ARRAY, OP_TYPE_RUNTIME_ARRAY)
        return operands[0] if is_row and operands else None

    def member(self, id: int, number: int) -> tuple[int, int] | None:
        """Return the type of a structure's member, and the bytes before it; None if there is none."""
        opcode, members = self._declaration(id)
        if opcode != OP_TYPE_STRUCT or not 0 <= number < len(members):
            return None
        if id not in self._offsets:
            offsets = self._offsets[id] = []
            end = 0
            for layout in (self._layout(each, 0) for each in members):
                if layout is None:
                    break
                alignment = 1 if id in self._packed else max(layout[1], 1)
                offsets.append(-(-end // alignment) * alignment)
                end = offsets[-1] + layout[0]
        offsets = self._offsets[id]
        return (members[number], offsets[number]) if number < len(offsets) else None

    def call_text(self, function_type: int) -> str:
        """Return the type of what a call of such a function passes: its own, but for what pointers point to."""
        opcode, operands = self._declaration(function_type)
        if opcode != OP_TYPE_FUNCTION or not operands:
            return self.text(function_type)
        returned, *parameters = (self._passed(operand) for operand in operands[: 1 + _LONGEST])
        return f"{returned}({', '.join(parameters)})"

    def _passed(self, id: int) -> str:
        opcode, operands = self._declaration(id)
        if opcode == OP_TYPE_POINTER and operands:
            return f"{ADDRESS_SPACES.get(operands[0], '')}*"
        return self.text(id)

    def size(self, id: int) -> int | None:
        """Return the size of a value of this type in bytes, None if it has no fixed size."""
        layout = self._layout(id, 0)
        return None if layout is None else layout[0]

    def _layout(self, id: int, depth: int) -> tuple[int, int] | None:
        """Return (size, alignment) in bytes, None for a type without a fixed size."""
        if id not in self._layouts:
            if depth > _DEEPEST:
                return None
            self._layouts[id] = self._computed_layout(id, depth + 1)
        return self._layouts[id]

    def _computed_layout(self, id: int, depth: int) -> tuple[int, int] | None:
        opcode, operands = self._declaration(id)
        if opcode in (OP_TYPE_INT, OP_TYPE_FLOAT) and operands and operands[0] in (8, 16, 32, 64):
            return operands[0] // 8, operands[0] // 8
        if opcode == OP_TYPE_BOOL:
            return 1, 1
        if opcode == OP_TYPE_POINTER and self._pointer_size is not None:
            return self._pointer_size, self._pointer_size
        if opcode == OP_TYPE_STRUCT:
            return self._structure(operands, id in self._packed, depth)
        if opcode not in (OP_TYPE_VECTOR, OP_TYPE_ARRAY) or len(operands) < 2:
            return None
        element = self._layout(operands[0], depth)
        count = operands[1] if opcode == OP_TYPE_VECTOR else self._constant(operands[1])
        if element is None or count is None:
            return None
        size, alignment = element
        if opcode == OP_TYPE_ARRAY:
            return size * count, alignment
        whole = size * (4 if count == 3 else count)
        return whole, whole

    def _structure(self, members: Sequence[int], packed: bool, depth: int) -> tuple[int, int] | None:
        end, strictest = 0, 1
        for member in members:
            layout = self._layout(member, depth)
            if layout is None:
                return None
            size, alignment = (layout[0], 1) if packed else layout
            alignment = max(alignment, 1)
            end = -(-end // alignment) * alignment + size
            strictest = max(strictest, alignment)
        return -(-end // strictest) * strictest, strictest
