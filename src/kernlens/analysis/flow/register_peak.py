"""Register pressure of a kernel, and what holds the registers where it is highest."""

from __future__ import annotations

from kernlens.analysis.flow.definitions import definitions_of
from kernlens.analysis.flow.liveness import liveness_of
from kernlens.dataclass import dataclass
from kernlens.model.effects import registers_in
from kernlens.model.instruction import Instructions
from kernlens.model.listed_instructions import ListedInstructions
from kernlens.model.pressure import Pressure
from kernlens.model.register_links import BEFORE_THE_CODE
from kernlens.model.source_map import IN_PROLOGUE, INHERITED, NO_LINE, SourceMap

_WORDS = {IN_PROLOGUE: "the prologue", INHERITED: "a neighbour's line"}
#: A path and a line, or None twice and what stands for them.
_Place = tuple[str | None, int | None, str]


@dataclass(frozen=True, slots=True)
class HeldValues:
    """The registers that hold values of one line: the line ``line`` of the file ``path``. Without a line these are None,
    and ``origin`` says what stands for it: ``the prologue``, ``a neighbour's line`` (the compiler gave none), ``no line``,
    ``the thread's start``, or ``the callers`` in a function that is not called here. ``certain`` is the number of the
    registers with a value of an instruction that is certainly the line's."""

    path: str | None
    line: int | None
    origin: str
    registers: tuple[int, ...]
    certain: int = 0


def pressure_of(instructions: Instructions) -> Pressure | None:
    """Return the register pressure of a kernel's instructions; None where ``liveness_of`` does not know it."""
    liveness = liveness_of(instructions)
    if liveness is None:
        return None
    effects, live = liveness.effects, liveness.counts
    peak = max(live, default=0)
    return Pressure(
        live=live,
        peak=peak,
        peak_index=live.index(peak) if live else None,
        named=liveness.named,
        register_bytes=effects.register_bytes,
        has_calls=any(route.is_call for route in effects.routes.values()),
        is_lower_bound=liveness.blocks.is_open or any(effect.is_lower_bound for effect in effects.effects),
    )


def why_unknown(instructions: Instructions) -> str:
    """Return why ``pressure_of`` does not know it."""
    if instructions.effects is not None:
        return "the branches of the code are too many to follow"
    if isinstance(instructions, ListedInstructions):
        return "kernlens reads what instructions do to registers for Intel's GPUs alone"
    return "this decoder does not report which registers these instructions read and write"


def held_at(instructions: Instructions, source_map: SourceMap | None, index: int) -> list[HeldValues]:
    """Return the lines whose values the registers hold while instruction ``index`` runs, most registers first. A
    register that holds values of several lines (in parts, or on several ways there) counts for each."""
    liveness = liveness_of(instructions)
    if liveness is None:
        return []
    size, blocks = liveness.effects.register_bytes, liveness.blocks
    before = "the callers" if blocks.entry_of[blocks.block_of(index)] else "the thread's start"
    held: dict[_Place, int] = {}
    certain: dict[_Place, int] = {}
    for defining, places in definitions_of(liveness, index).items():
        key, is_certain = (
            ((None, None, before), False) if defining == BEFORE_THE_CODE else line_of(defining, source_map)
        )
        held[key] = held.get(key, 0) | places
        certain[key] = certain.get(key, 0) | (places if is_certain else 0)
    values = [
        HeldValues(*key, tuple(registers_in(places, size)), sum(1 for _ in registers_in(certain[key], size)))
        for key, places in held.items()
    ]
    with_registers = [value for value in values if value.registers]
    return sorted(with_registers, key=lambda value: (-len(value.registers), value.path or "", value.line or 0))


def line_of(index: int, source_map: SourceMap | None) -> tuple[_Place, bool]:
    """Return the path and line of instruction ``index``, or None twice and what stands for them, as ``HeldValues`` has it;
    and whether it is certainly this line's."""
    of = source_map.line_of(index) if source_map else None
    if of is not None and of.line is not None:
        return (*of.line, ""), of.is_certain
    origin = of.origin if of is not None else NO_LINE
    return (None, None, _WORDS.get(origin, "no line")), False
