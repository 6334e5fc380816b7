"""Variables of kernels: where each is, range by range of the code, as text and JSON."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kernlens.analysis.cxx_names import kernel_title
from kernlens.cli.answers.named_values import NamedValue, named_values
from kernlens.errors import NotFoundError, likeliest
from kernlens.model.instruction import Instructions
from kernlens.model.intel_instructions import packed_of
from kernlens.model.kernel import Kernel
from kernlens.model.line_choice import LineChoice
from kernlens.model.program import Program
from kernlens.model.variable import REGISTER, Pieces, Place, StatedRange, Variable
from kernlens.report.describe import plural
from kernlens.report.json_text import encoded
from kernlens.report.listing import heading
from kernlens.report.program_document import kernel_document
from kernlens.report.range_words import RangeWords

#: The ranges that are printed of one variable, and of each of all.
_MOST_RANGES, _MOST_OF_ALL = 40, 8
_MOST_NAMES = 12
_MOST_ROWS = 4


class AskedVariable(NamedTuple):
    """The name that is asked for (``*``: all of them), at instructions of a line or at these offsets alone, if given."""

    name: str
    line: LineChoice | None = None
    offsets: Sequence[int] | None = None

    @property
    def where(self) -> str:
        """The words on what the instructions that are meant have in common."""
        return f"came from {self.line}" if self.line is not None else "is at these offsets"

    def holds(self, variable: Variable) -> bool:
        """Return whether a variable is meant: by its name, or by its function's and its own (``weight.c1``)."""
        return self.name in ("*", variable.name, f"{variable.function}.{variable.name}")


class VariableAnswers:
    """The answers to one name in one kernel."""

    def __init__(self, program: Program, kernel: Kernel, asked: AskedVariable) -> None:
        self._program = program
        self._kernel = kernel
        self._asked = asked
        self._words = RangeWords(kernel)
        self.variables = [variable for variable in kernel.variables if asked.holds(variable)]

    def lines(self) -> Iterator[str]:
        """Yield the answers as text; nothing if the kernel has no such variable."""
        if not self.variables:
            yield from self._values()
            return
        yield from heading(self._program, self._kernel)[:-1]
        for variable in self.variables:
            yield f"  {self._title(variable)}"
            yield from (f"    {line}" for line in self._of(variable))
        if count := self._indirect_writes():
            yield f"  not followed: {plural(count, 'write')} to registers that only the run time knows"
        yield ""

    def _indirect_writes(self) -> int:
        """Return the number of instructions that write to a register which only the run time knows."""
        packed = packed_of(self._kernel.instructions)
        if packed is None or packed.effects is None:
            return 0
        open_rows = (row for row, effect in enumerate(packed.effects.effects) if effect.is_lower_bound)
        destinations = (packed[row].destination for row in open_rows)
        return sum(each is not None and each.kind == "indirect" for each in destinations)

    def _values(self) -> Iterator[str]:
        """Yield the values of that name in the kept stages, if no debug data names variables."""
        values = self._named_values()
        if not values:
            return
        yield from heading(self._program, self._kernel)[:-1]
        yield f"  {self._kernel.variables_reason}; values of this name in the LLVM IR that the code generator left:"
        offsets, instructions = self._kernel.instructions.offsets, self._kernel.instructions.texts
        for each in values:
            yield f"    {each.value} = {each.text}"
            for row in each.rows[:_MOST_ROWS]:
                yield f"      {offsets[row]:#06x}  {instructions[row].rstrip()}"
            if len(each.rows) > _MOST_ROWS:
                yield f"      ... {plural(len(each.rows) - _MOST_ROWS, 'more instruction')}"
        yield ""

    def _named_values(self) -> list[NamedValue]:
        if self._kernel.variables or self._asked.name == "*":
            return []
        return list(named_values(self._program, self._kernel, self._asked.name))

    def json(self) -> str:
        """Return the kernel in the document, on one line, with the variables that are asked for."""
        reason = self._kernel.variables_reason
        entries = [self._document(variable) for variable in self.variables]
        offsets = self._kernel.instructions.offsets
        values = [
            {"value": each.value, "text": each.text, "line": each.line, "offsets": [offsets[row] for row in each.rows]}
            for each in self._named_values()
        ]
        answer: dict[str, Any] = {"variables": entries, "variables_reason": reason, "values": values}
        answer["indirect_writes"] = self._indirect_writes()
        return encoded(kernel_document(self._kernel) | answer)

    def _title(self, variable: Variable) -> str:
        kind = "argument" if variable.is_argument else "variable"
        where = f", {self._path(variable.file)}:{variable.line}" if variable.line else ""
        calls = "".join(f", inlined at {self._path(file)}:{line}" for file, line in variable.calls)
        function = f" of {kernel_title(variable.function)}" if variable.function else ""
        return f"{variable.type_name or '?'} {variable.name}: {kind}{function}{where}{calls}"

    def _of(self, variable: Variable) -> Iterator[str]:
        if variable.reason is not None:
            yield variable.reason
            return
        if self._is_narrow and not self._offsets():
            yield f"no instruction of this kernel {self._asked.where}"
            return
        ranges = self._ranges(variable)
        if not ranges:
            at = "here" if self._is_narrow else "in this code"
            yield f"nowhere {at}: the compiler states places for other code only, {self._elsewhere(variable)}"
        most = _MOST_OF_ALL if self._asked.name == "*" else _MOST_RANGES
        hidden = range(most - 1, len(ranges) - 1) if len(ranges) > most + 1 else range(0)
        for number, each in enumerate(ranges):
            if number not in hidden:
                yield f"{each.begin:#06x} to {each.end:#06x}  {self._words.of(each)}"
            elif number == hidden.start:
                yield f"... {len(hidden):,} more ranges; --variable NAME, --offset or --line chooses, --json has all"
        if self._is_narrow and not self._is_visible(variable):
            yield "(out of its scope here)"

    @property
    def _is_narrow(self) -> bool:
        return self._asked.line is not None or self._asked.offsets is not None

    def _is_visible(self, variable: Variable) -> bool:
        return any(variable.is_visible(offset) for offset in self._offsets())

    def _elsewhere(self, variable: Variable) -> str:
        first = variable.locations[0]
        more = f" and {plural(len(variable.locations) - 1, 'other range')}" if len(variable.locations) > 1 else ""
        return f"{first.low:#06x} to {first.high:#06x}{more}"

    def _ranges(self, variable: Variable) -> list[StatedRange]:
        ranges = self._kernel.variable_ranges(variable)
        if not self._is_narrow:
            return list(ranges)
        offsets = self._offsets()
        return [
            each
            for each in ranges
            if (at := bisect_left(offsets, each.begin)) < len(offsets) and offsets[at] < each.end
        ]

    def _offsets(self) -> Sequence[int]:
        """Return the offsets of the instructions that are asked for, ascending."""
        instructions = self._kernel.instructions
        if self._asked.offsets is not None:
            covering = (instructions.at(offset) for offset in self._asked.offsets)
            return sorted({each.offset for each in covering if each is not None})
        source_map, line = self._kernel.source_map, self._program.meant_line(self._asked.line)
        if line is None or source_map is None:
            return instructions.offsets
        return [offset for row, offset in enumerate(instructions.offsets) if line.holds(source_map.place(row))]

    def _path(self, file: int) -> str:
        table = self._kernel.line_table
        return table.files[file].path if table and 0 <= file < len(table.files) else ""

    def _document(self, variable: Variable) -> dict[str, Any]:
        ranges = self._ranges(variable) if variable.reason is None else []
        return {
            "name": variable.name,
            "type": variable.type_name,
            "size": variable.size,
            "is_argument": variable.is_argument,
            "function": variable.function,
            "path": self._path(variable.file) or None,
            "line": variable.line or None,
            "inlined_at": [{"path": self._path(file), "line": line} for file, line in variable.calls],
            "scope": [{"begin": low, "end": high} for low, high in variable.scope],
            "reason": variable.reason,
            "ranges": [range_document(self._kernel, each) for each in ranges],
        }


def range_document(kernel: Kernel, each: StatedRange) -> dict[str, Any]:
    """Return a range of a variable in a document."""
    instructions, source_map = kernel.instructions, kernel.source_map
    writers = []
    for row in each.writers:
        place = source_map.place(row) if source_map else None
        line = place.line if place else None
        writers.append({"offset": instructions.offsets[row], "path": place.path if place else None, "line": line})
    return {
        "begin": each.begin,
        "end": each.end,
        "state": each.state,
        "origin": each.origin,
        "changed_bytes": each.changed,
        "bytes": each.size,
        "writers": writers,
        "lanes": [_pieces(lane, instructions) for lane in each.location.lanes],
    }


def _pieces(pieces: Pieces, instructions: Instructions) -> list[dict[str, Any]]:
    register_bits = 8 * instructions.effects.register_bytes if instructions.effects else None
    return [_piece(piece, register_bits) for piece in pieces]


def _piece(piece: Place, register_bits: int | None) -> dict[str, Any]:
    number, bit = piece.number, piece.bit
    if register_bits and piece.file == "r":
        number, bit = number + bit // register_bits, bit % register_bits
    is_register = piece.kind == REGISTER
    return {
        "kind": piece.kind,
        "bits": piece.bits,
        "register": f"{piece.file}{number}" if is_register else None,
        "bit": bit if is_register else None,
        "text": piece.text or None,
        "value": piece.value.hex() or None,
    }


def unknown_variable(name: str, kernels: Sequence[Kernel]) -> NotFoundError:
    """Return the error of a name that no variable of these kernels has, which says what could be meant or why none is known."""
    names = list(dict.fromkeys(variable.name for kernel in kernels for variable in kernel.variables if variable.name))
    if not names:
        reasons = dict.fromkeys(filter(None, (kernel.variables_reason for kernel in kernels)))
        return NotFoundError(f"no variables are known: {'; '.join(reasons) or 'no kernel is selected'}")
    near = likeliest(name, names)
    if near:
        return NotFoundError(f"no selected kernel has a variable {name}; did you mean {', '.join(near)}?")
    shown = ", ".join(names[:_MOST_NAMES])
    more = ", ..." if len(names) > _MOST_NAMES else ""
    return NotFoundError(f"no selected kernel has a variable {name}; it has {shown}{more}")
