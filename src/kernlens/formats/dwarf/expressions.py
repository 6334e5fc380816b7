"""Location expressions, evaluated for each lane.

Sources: DWARF version 5, sections 2.5 "DWARF Expressions", 2.6.1 "Single Location Descriptions" and 7.7; for Intel's operations
and the numbers of registers ``DIE.hpp`` and ``DwarfCompileUnit.cpp`` of intel-graphics-compiler.

What registers and memory hold is not known here. An operand that depends on it is kept as a formula, so that ``r8.0 + 12`` is
told as such, and not as a place.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from kernlens.formats.dwarf.expression_arithmetic import ALL_ONES, OF_ONE, OF_TWO, StoppedError, wrapped
from kernlens.formats.dwarf.expression_operations import (
    BIT_PIECE,
    BIT_PIECE_STACK,
    BRA,
    IMPLICIT_VALUE,
    LANE,
    NUMBERS,
    PIECE,
    PIECE_STACK,
    PUSH_BIT_PIECE,
    REGS,
    REGVAL_BITS,
    SKIP,
    STACK_VALUE,
    operation_starts,
    piece_numbers,
)
from kernlens.formats.dwarf.forms import read_signed, read_unsigned
from kernlens.model.variable import COMPUTED, CONSTANT, MEMORY, NOWHERE, REGISTER, Pieces, Place

#: No compiler branches back: an expression takes no more steps than it has bytes. What goes round for ever is stopped.
_MORE_STEPS = 64
_DEEPEST = 64
_MOST_PIECES = 64
_LONGEST_FORMULA = 120
_LARGEST_BITS = 1 << 20
#: Bytes of an expression: many more than so many pieces take. It is evaluated for each lane, a step for each byte.
_LONGEST_EXPRESSION = 4096

#: What the first numbers of registers stand for, before the general ones.
_BASES = {
    0: "ip",
    1: "execution mask",
    5: "binding table",
    6: "scratch",
    7: "general state base",
    8: "surface state base",
    9: "bindless surface base",
    10: "bindless sampler base",
    11: "scratch slot 1",
}
#: Where the numbers of each register file begin, descending.
_FILES = ((335, "mme"), (304, "acc"), (288, "f"), (272, "a"), (16, "r"))

_NOTHING = Place(NOWHERE, text="optimised out")


class _Register(NamedTuple):
    """A register as such, by its number in the debug data; with ``bits`` a piece of what it holds."""

    number: int
    bit: int = 0
    bits: int | None = None


class _Formula(NamedTuple):
    """A number that depends on what registers or memory hold."""

    text: str


_Operand = int | _Register | _Formula


class Evaluated(NamedTuple):
    """An expression's result for one lane. ``pieces`` are those that it names; if it names none, ``values`` are what it leaves
    on the stack, the last one on top. ``branches`` is the number of its branches that were taken."""

    pieces: Pieces
    values: Pieces
    branches: int


def evaluate(expression: bytes, lane: int) -> Evaluated:
    """Evaluate an expression for one lane. What cannot be evaluated is NOWHERE, and says why."""
    try:
        return _Machine(expression, lane).run()
    except StoppedError as stopped:
        return _nowhere(str(stopped))
    except (IndexError, struct.error):
        return _nowhere("the compiler's expression ends within an operation")


def _nowhere(reason: str) -> Evaluated:
    return Evaluated((Place(NOWHERE, text=reason),), (), 0)


class _Machine:
    """The stack machine of one evaluation."""

    def __init__(self, expression: bytes, lane: int) -> None:
        self._code = expression
        self._lane = lane
        self._stack: list[_Operand] = []
        self._pieces: list[Place] = []
        self._implicit: bytes | None = None
        self._is_value = False
        self._branches = 0

    def run(self) -> Evaluated:
        code, position = self._code, 0
        if not code:
            return Evaluated((_NOTHING,), (), 0)
        if len(code) > _LONGEST_EXPRESSION:
            raise StoppedError(
                f"the compiler's expression has {len(code):,} bytes, and at most {_LONGEST_EXPRESSION:,} are evaluated"
            )
        for _ in range(len(code) + _MORE_STEPS):
            if position >= len(code):
                return self._result()
            position = self._step(code[position], position + 1)
            if len(self._stack) > _DEEPEST or len(self._pieces) > _MOST_PIECES:
                raise StoppedError("the compiler's expression needs too deep a stack")
        raise StoppedError("the compiler's expression does not end")

    def _result(self) -> Evaluated:
        if self._pieces:
            return Evaluated(tuple(self._pieces), (), self._branches)
        if self._implicit is not None:
            return Evaluated((Place(CONSTANT, 8 * len(self._implicit), value=self._implicit),), (), self._branches)
        if not self._stack:
            return Evaluated((_NOTHING,), (), self._branches)
        values = tuple(self._place(operand, None) for operand in self._stack)
        return Evaluated(values[-1:] if len(values) == 1 else (), values, self._branches)

    def _step(self, operation: int, position: int) -> int:
        """Do one operation, whose operands begin at ``position``; return where the next one begins."""
        code, stack = self._code, self._stack
        if 0x30 <= operation < 0x50:
            stack.append(operation - 0x30)
        elif operation in NUMBERS:
            size, is_signed = NUMBERS[operation]
            if position + size > len(code):
                raise IndexError
            stack.append(int.from_bytes(code[position : position + size], "little", signed=is_signed))
            return position + size
        elif 0x50 <= operation < 0x70:
            stack.append(_Register(operation - 0x50))
        elif operation in OF_TWO:
            right, left = self._pop(), self._pop()
            stack.append(_combined(operation, left, right))
        elif operation in (BRA, SKIP):
            (distance,) = struct.unpack_from("<h", code, position)
            return self._branch(operation, position + 2, distance)
        elif operation == LANE:
            stack.append(self._lane)
        elif operation == REGVAL_BITS:
            bit, number = self._number(), self._number()
            stack.append(_register(number, bit, code[position]))
            return position + 1
        elif operation == REGS:
            stack.append(_register(self._number(), 0, None))
        elif operation == PUSH_BIT_PIECE:
            size, bit, register = self._number(), self._number(), self._pop()
            if not isinstance(register, _Register):
                raise StoppedError("the compiler's expression takes a piece of what is no register")
            stack.append(_register(register.number, register.bit + bit, size))
        elif operation == STACK_VALUE:
            self._is_value = True
        elif operation == IMPLICIT_VALUE:
            length, position = read_unsigned(code, position)
            if position + length > len(code):
                raise IndexError
            self._implicit = code[position : position + length]
            return position + length
        elif operation in (PIECE, BIT_PIECE, PIECE_STACK, BIT_PIECE_STACK):
            return self._piece(operation, position)
        else:
            return self._rarer(operation, position)
        return position

    def _rarer(self, operation: int, position: int) -> int:
        code, stack = self._code, self._stack
        if operation in (0x10, 0x23, 0x90):  # constu, plus_uconst, regx
            number, position = read_unsigned(code, position)
            if operation == 0x23:
                stack.append(_combined(0x22, self._pop(), number))
            else:
                stack.append(number if operation == 0x10 else _register(number, 0, None))
        elif operation == 0x11:  # consts
            number, position = read_signed(code, position)
            stack.append(number)
        elif 0x70 <= operation < 0x90 or operation == 0x92:  # bregN, bregx
            base = operation - 0x70
            if operation == 0x92:
                base, position = read_unsigned(code, position)
            offset, position = read_signed(code, position)
            stack.append(_combined(0x22, _Formula(_name(base)), offset))
        elif operation == 0x91:  # fbreg
            offset, position = read_signed(code, position)
            stack.append(_combined(0x22, _Formula("frame"), offset))
        elif operation in (0x06, 0x94):  # deref, deref_size
            stack.append(_Formula(_short(f"[{_text(self._pop())}]")))
            position += operation == 0x94
        elif operation == 0x9C:
            stack.append(_Formula("frame"))
        elif operation in OF_ONE:
            operand = self._pop()
            name, compute = OF_ONE[operation]
            stack.append(
                wrapped(compute(operand)) if isinstance(operand, int) else _Formula(_short(f"{name}({_text(operand)})"))
            )
        elif operation == 0x12:  # dup
            stack += [self._pop()] * 2
        elif operation == 0x13:  # drop
            self._pop()
        elif operation in (0x14, 0x15):  # over, pick
            depth = 1 if operation == 0x14 else code[position]
            position += operation == 0x15
            if depth >= len(stack):
                raise StoppedError("the compiler's expression takes more than its stack holds")
            stack.append(stack[-1 - depth])
        elif operation == 0x16:  # swap
            right, left = self._pop(), self._pop()
            stack += [right, left]
        elif operation == 0x17:  # rot
            top, second, third = self._pop(), self._pop(), self._pop()
            stack += [top, third, second]
        elif operation != 0x96:  # nop
            raise StoppedError(_unknown(operation))
        return position

    def _branch(self, operation: int, behind: int, distance: int) -> int:
        if operation == BRA:
            if not self._number():
                return behind
            self._branches += 1
        target = behind + distance
        if not 0 <= target <= len(self._code):
            raise StoppedError("the compiler's expression branches out of itself")
        starts = operation_starts(self._code)
        if target not in starts and target + 1 in starts:
            # Intel's compiler adds DW_OP_stack_value to what it skips, and does not count it.
            return target + 1
        if target not in starts:
            raise StoppedError("the compiler's expression branches into the middle of an operation")
        return target

    def _piece(self, operation: int, position: int) -> int:
        bit = 0
        if operation in (PIECE_STACK, BIT_PIECE_STACK):
            if operation == BIT_PIECE_STACK:
                bit = self._number()
            size = self._number()
        else:
            size, bit, position = piece_numbers(self._code, operation, position)
        bits = size if operation in (BIT_PIECE, BIT_PIECE_STACK) else 8 * size
        if not 0 <= bits <= _LARGEST_BITS or not 0 <= bit <= _LARGEST_BITS:
            raise StoppedError("the compiler's expression names a piece that is too large")
        if self._implicit is not None:
            self._pieces.append(Place(CONSTANT, bits, value=self._implicit))
        elif len(self._stack) > 1:
            reason = f"the compiler's expression leaves {len(self._stack)} values for one piece"
            self._pieces.append(Place(NOWHERE, bits, text=reason))
        elif self._stack:
            operand = self._stack.pop()
            if isinstance(operand, _Register) and operand.bits is not None and bit >= operand.bits:
                self._fragment(operand, bits, bit)
            else:
                if isinstance(operand, _Register):
                    operand = operand._replace(bit=operand.bit + bit)
                self._pieces.append(self._place(operand, bits))
        else:
            self._pieces.append(_NOTHING._replace(bits=bits))
        self._implicit, self._is_value = None, False
        self._stack.clear()
        return position

    def _fragment(self, operand: _Register, bits: int, bit: int) -> None:
        """Add a piece that begins behind the end of the value that it is of: Intel's older compiler writes where the piece lies
        in the variable, and nothing for what is before it."""
        gap = bit - sum(piece.bits or 0 for piece in self._pieces)
        if gap > 0:
            self._pieces.append(_NOTHING._replace(bits=gap))
        is_whole = operand.bits == bits
        reason = "the compiler's expression takes a piece behind the end of a value"
        self._pieces.append(self._place(operand, bits) if is_whole else Place(NOWHERE, bits, text=reason))

    def _place(self, operand: _Operand, bits: int | None) -> Place:
        """Return the place that an operand stands for at the end of an expression or of a piece."""
        if isinstance(operand, _Register):
            for first, file in _FILES:
                if operand.number >= first:
                    size = bits if operand.bits is None else operand.bits if bits is None else min(bits, operand.bits)
                    return Place(REGISTER, size, file, operand.number - first, operand.bit)
            return Place(COMPUTED, bits, text=_name(operand.number))
        if isinstance(operand, int):
            if self._is_value:
                return Place(CONSTANT, 64, value=(operand & ALL_ONES).to_bytes(8, "little"))
            return Place(MEMORY, bits, text=f"{operand & ALL_ONES:#x}")
        return Place(COMPUTED if self._is_value else MEMORY, bits, text=operand.text)

    def _pop(self) -> _Operand:
        if not self._stack:
            raise StoppedError("the compiler's expression takes more than its stack holds")
        return self._stack.pop()

    def _number(self) -> int:
        operand = self._pop()
        if not isinstance(operand, int):
            raise StoppedError("the compiler's expression depends on what registers hold")
        return operand


def _register(number: int, bit: int, bits: int | None) -> _Register:
    if not 0 <= number < 1 << 16 or not 0 <= bit <= _LARGEST_BITS or not 0 <= (bits or 0) <= _LARGEST_BITS:
        raise StoppedError("the compiler's expression names a register that there is not")
    return _Register(number, bit, bits)


def _combined(operation: int, left: _Operand, right: _Operand) -> _Operand:
    sign, compute = OF_TWO[operation]
    if isinstance(left, int) and isinstance(right, int):
        return wrapped(compute(left, right))
    if sign in "+-" and isinstance(right, int) and right < 0:
        sign, right = "-" if sign == "+" else "+", -right
    if right == 0 and sign in "+-":
        return left if isinstance(left, _Formula) else _Formula(_text(left))
    return _Formula(_short(f"{_text(left)} {sign} {_text(right)}"))


def _short(text: str) -> str:
    if len(text) > _LONGEST_FORMULA:
        raise StoppedError("the compiler's expression is too long a formula")
    return text


def _text(operand: _Operand) -> str:
    if isinstance(operand, int):
        return str(operand)
    if isinstance(operand, _Formula):
        return f"({operand.text})" if " " in operand.text and not operand.text.endswith("]") else operand.text
    name = _name(operand.number)
    return f"{name}.bit{operand.bit}" if operand.bit else name


def _name(number: int) -> str:
    """Return what a number of the debug data calls: a register, or the base of an address."""
    for first, file in _FILES:
        if number >= first:
            return f"{file}{number - first}"
    return _BASES.get(number, f"register {number} of the debug data")


def _unknown(operation: int) -> str:
    name = _OF_LLVM.get(operation)
    if name:
        return f"the compiler wrote LLVM's {name}, which is no operation of debug data"
    return f"the compiler's expression has the operation {operation:#x}, which is unknown"


#: Operations of LLVM's intermediate code (0x1000 and up), of which Intel's compiler writes the last byte.
_OF_LLVM = {
    0x00: "DW_OP_LLVM_fragment",
    0x01: "DW_OP_LLVM_convert",
    0x02: "DW_OP_LLVM_tag_offset",
    0x05: "DW_OP_LLVM_arg",
}
