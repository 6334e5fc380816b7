"""Addresses in a kernel: the instruction at each, its source line and inlined calls, and what it waits for."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from kernlens.analysis.cxx_names import kernel_title
from kernlens.analysis.flow.distance_waits import distance_waits
from kernlens.analysis.flow.token_waits import token_waits
from kernlens.analysis.line_texts import source_line
from kernlens.errors import NotFoundError
from kernlens.model.intel_instructions import packed_of
from kernlens.model.kernel import Kernel
from kernlens.model.operand import Swsb
from kernlens.model.program import Program
from kernlens.model.source_map import SourcePlace
from kernlens.report.describe import plural
from kernlens.report.json_text import attributes, encoded
from kernlens.report.listing import where_from
from kernlens.report.program_document import kernel_document

#: A name, a number or an operator of the source.
_TOKEN = re.compile(r"\w+|[-+*/%&|^<>=!~?:]+|\S")


#: The most offsets that an error lists.
_SHOWN = 8


class AskedOffsets(NamedTuple):
    """The addresses that are asked for, and the one at which the kernel's code begins: 0 where they are offsets in it."""

    addresses: Sequence[int]
    base: int = 0


class _Producer(NamedTuple):
    """A row that another waits for; ``why`` is ``token`` or ``distance``. ``cycles`` are those of the compiler's estimate, None
    if it counts none, and then ``reason`` says why."""

    row: int
    why: str
    cycles: int | None
    reason: str | None


class OffsetAnswers:
    """The answers to addresses in one kernel. What an instruction's answer is made from is read when it is asked for."""

    def __init__(self, program: Program, kernel: Kernel) -> None:
        self._program = program
        self._kernel = kernel
        self._documents: dict[int, str] = {}

    def row_at(self, offset: int) -> int | None:
        """Return the index of the instruction that covers byte ``offset``, None if there is none."""
        instructions = self._kernel.instructions
        row = bisect_right(instructions.offsets, offset) - 1
        if row < 0 or offset >= instructions.offsets[row] + instructions.sizes[row]:
            return None
        return row

    def lines(self, asked: AskedOffsets) -> Iterator[str]:
        """Yield the answers as text; nothing if the kernel has an instruction at none of the addresses."""
        rows = [self.row_at(address - asked.base) for address in asked.addresses]
        if all(row is None for row in rows):
            return
        name = f"{self._program.name}: {kernel_title(self._kernel.name)}"
        for address, row in zip(asked.addresses, rows, strict=True):
            if row is None:
                yield f"{name}: no instruction at {address:#x}"
                continue
            instructions = self._kernel.instructions
            yield f"{name}+{instructions.offsets[row]:#x}: {instructions.texts[row]}"
            inlined = "".join(f", inlined at {call.path}:{call.line}" for call in self._calls(row))
            yield f"    {where_from(self._kernel, row)}{inlined}"
            if remarks := list(self._remarks(row)):
                yield f"    {'; '.join(remarks)}"

    def json(self, asked: AskedOffsets) -> str:
        """Return the kernel in the document, on one line, with an entry for each address in its order."""
        entry = encoded(kernel_document(self._kernel))
        entries = ",".join(
            f'{{"ip":"{address:#x}",{self._document(self.row_at(address - asked.base))}' for address in asked.addresses
        )
        return f'{entry[:-1]},"offsets":[{entries}]}}'

    def _document(self, row: int | None) -> str:
        """Return the text of an answer behind its address; many addresses may be of one instruction."""
        key = -1 if row is None else row
        if key not in self._documents:
            self._documents[key] = encoded(dict.fromkeys(_KEYS) if row is None else self._keys(row))[1:]
        return self._documents[key]

    def _keys(self, row: int) -> dict[str, Any]:
        instructions, source_map, loops = self._kernel.instructions, self._kernel.source_map, self._kernel.loops
        offset = instructions.offsets[row]
        place = source_map.place(row) if source_map else None
        return {
            "asm_offset": offset,
            "asm_label": f"L{offset}",
            "text": instructions.texts[row],
            "file": place.path if place else None,
            "line": place.line if place else None,
            "column": (place.column or None) if place else None,
            "construct": self._construct(place),
            "method": source_map.origin(row) if source_map else None,
            "inlined_at": [attributes(call, "path", "line", "column") for call in self._calls(row)],
            "function": self._function(row),
            "memory": self._memory(row),
            "loop_depth": loops.depths[row] if loops else None,
            "waits_for": [
                {
                    "offset": instructions.offsets[each.row],
                    **self._line(each.row),
                    "why": each.why,
                    "cycles": each.cycles,
                    "cycles_reason": each.reason,
                }
                for each in self._producers.get(row, ())
            ],
            "waits_reason": self._waits_reason(row),
        }

    def _construct(self, place: SourcePlace | None) -> str | None:
        """Return the token of the source at the place, the whole line if there is no column; None if its text is not known."""
        if place is None:
            return None
        lines = self._texts.get(place.path, [])
        if place.column and 0 < place.line <= len(lines):
            token = _TOKEN.match(lines[place.line - 1], place.column - 1)
            if token:
                return token[0]
        return source_line(self._texts, place.path, place.line)

    def _calls(self, row: int) -> Sequence[SourcePlace]:
        return self._kernel.source_map.inlined_at(row) if self._kernel.source_map else ()

    def _function(self, row: int) -> str | None:
        functions = self._kernel.functions
        if not functions:
            return self._kernel.name
        return functions[max(0, bisect_right(functions, row, key=lambda each: each.code.start) - 1)].name

    def _memory(self, row: int) -> dict[str, Any] | None:
        """Return the access of a message that accesses memory: where, how, how many bytes at most; None for all others."""
        kind = self._kernel.instructions.kinds[row]
        if kind.access is None or not kind.access.action:
            return None
        return {
            "space": kind.name,
            "operation": kind.access.operation,
            "bytes": kind.access.size,
            "spill": kind.access.is_spill,
        }

    def _line(self, row: int) -> dict[str, Any]:
        place = self._kernel.source_map.place(row) if self._kernel.source_map else None
        return {"path": place.path if place else None, "line": place.line if place else None}

    def _remarks(self, row: int) -> Iterator[str]:
        offsets = self._kernel.instructions.offsets
        for each in self._producers.get(row, ()):
            line = self._line(each.row)
            where = f" ({line['path']}:{line['line']})" if line["path"] else ""
            cycles = "" if each.cycles is None else f", {plural(each.cycles, 'cycle')} by {self._estimate}"
            yield f"waits for {offsets[each.row]:#x}{where}{cycles}"
        reasons = [self._waits_reason(row), *(each.reason for each in self._producers.get(row, ()))]
        yield from filter(None, dict.fromkeys(reasons))
        if self._kernel.functions and (name := self._function(row)):
            yield f"in the function {name}"
        loops = self._kernel.loops
        if loops and loops.depths[row]:
            yield f"loop depth {loops.depths[row]}"

    @cached_property
    def _texts(self) -> dict[str, list[str]]:
        return self._program.source_lines

    @cached_property
    def _producers(self) -> dict[int, list[_Producer]]:
        """The rows that each row waits for, by its scoreboard token first."""
        producers: dict[int, list[_Producer]] = {}
        for waiter, producer in token_waits(self._kernel.instructions):
            producers.setdefault(waiter, []).append(_Producer(producer, "token", *self._cycles(waiter, producer)))
        reason = self._kernel.waits_reason or f"{self._estimate} counts no cycles for distances"
        for each in distance_waits(self._kernel.instructions):
            own = producers.setdefault(each.waiter, [])
            own += [_Producer(producer, "distance", None, reason) for producer in each.producers]
        if packed_of(self._kernel.instructions) is None and self._kernel.waits is not None:
            for row, wait in self._kernel.waits.waits.items():
                producers[row] = [_Producer(wait.producer, wait.why, wait.cycles, None)]
        return producers

    @property
    def _estimate(self) -> str:
        return f"{self._kernel.waits.source}'s estimate" if self._kernel.waits is not None else "no estimate"

    def _cycles(self, waiter: int, producer: int) -> tuple[int | None, str | None]:
        """Return how long a row waits for the token that another took, or why that is not known."""
        waits = self._kernel.waits
        if waits is None:
            return None, self._kernel.waits_reason
        wait = waits.waits.get(waiter)
        if wait is not None and wait.producer == producer:
            return wait.cycles, None
        is_before = producer < waiter and bisect_right(waits.blocks, producer) == bisect_right(waits.blocks, waiter)
        return (0, None) if is_before else (None, f"{self._estimate} counts no cycles across blocks")

    def _waits_reason(self, row: int) -> str | None:
        """Return why the instructions are not known that a row waits for; None if they are, or if it waits for none."""
        if self._kernel.waits_reason is not None and not self._has_scoreboard:
            return self._kernel.waits_reason
        swsb = self._scoreboards[row]
        if swsb is None:
            return None
        reasons = {each.why for each in self._producers.get(row, ())}
        if swsb.distance and "distance" not in reasons:
            return f"{swsb.pipe}@{swsb.distance} depends on the way taken: it counts back over a place with several ways to it"
        if swsb.token is not None and swsb.token_use != "set" and "token" not in reasons:
            return f"no instruction is known that holds ${swsb.token} here"
        return None

    @cached_property
    def _scoreboards(self) -> list[Swsb | None]:
        instructions = self._kernel.instructions
        packed = packed_of(instructions)
        return Swsb.of_records(packed.records) if packed is not None else [None] * len(instructions)

    @cached_property
    def _has_scoreboard(self) -> bool:
        return any(self._scoreboards)


_KEYS = (
    "asm_offset", "asm_label", "text", "file", "line", "column", "construct", "method", "inlined_at", "function",
    "memory", "loop_depth", "waits_for", "waits_reason",
)  # fmt: skip


def no_instruction_at(offsets: Sequence[int]) -> NotFoundError:
    """Return the error on offsets at which no kernel has an instruction."""
    shown = ", ".join(f"{offset:#x}" for offset in offsets[:_SHOWN])
    more = ", ..." if len(offsets) > _SHOWN else ""
    return NotFoundError(
        f"no selected kernel has an instruction at offset {shown}{more}; kernlens disasm lists the offsets"
    )
