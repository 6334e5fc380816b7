"""A kernel's machine code as columns: a row per instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernlens.analysis.flow.blocks import straight_code
from kernlens.analysis.flow.distance_waits import distance_waits
from kernlens.analysis.flow.live_ranges import LiveRange, live_ranges
from kernlens.analysis.flow.register_peak import held_at
from kernlens.analysis.flow.register_uses import RegisterUse, register_uses
from kernlens.analysis.flow.token_waits import token_waits
from kernlens.analysis.placed_samples import placed_samples
from kernlens.analysis.sampled_kernels import SampledKernels
from kernlens.model.instruction import Instructions
from kernlens.model.intel_instructions import packed_of
from kernlens.model.kernel import Kernel
from kernlens.model.loop_nest import Loops
from kernlens.model.pressure import Pressure
from kernlens.model.register_links import BEFORE_THE_CODE
from kernlens.model.source_map import FROM_STAGE, IN_PROLOGUE, INHERITED, LINE_LOST, UNCERTAIN, SourceMap
from kernlens.report.describe import function_name
from kernlens.report.explore.cycle_columns import cycle_columns
from kernlens.report.explore.messages import message_columns
from kernlens.report.explore.packing import deltas
from kernlens.report.explore.places import NO_PLACE, Places
from kernlens.report.explore.sample_columns import sample_columns
from kernlens.report.explore.variable_columns import variable_columns

#: What is known of a row beside its place, as bits.
PROLOGUE_ROW, INHERITED_ROW, LOST_ROW, STAGE_ROW, ILLEGAL_ROW, UNCERTAIN_ROW = (1 << bit for bit in range(6))
_ORIGINS = {
    **{IN_PROLOGUE: PROLOGUE_ROW, INHERITED: INHERITED_ROW, LINE_LOST: LOST_ROW, FROM_STAGE: STAGE_ROW},
    UNCERTAIN: UNCERTAIN_ROW,
}
#: A number of vISA that is not known.
NO_NUMBER = -1
#: A block outside of loops, a loop in no other.
NO_LOOP = -1
#: Live ranges are not known.
NO_VALUE = -1
#: A distance whose producer the code alone does not tell.
NOT_TOLD = 0
_CALLS = frozenset({"call", "calla"})


def code_document(
    kernel: Kernel,
    source_map: SourceMap | None,
    places: Places,
    visa_numbers: Sequence[int | None],
    sampled: SampledKernels | None = None,
) -> dict[str, Any]:
    """Return the machine code of a kernel with the lines of ``source_map``. ``visa_numbers`` are those of its
    instructions, empty where they are not known; ``sampled`` has the samples of a profiler."""
    instructions = kernel.instructions
    count = len(instructions)
    names = list(dict.fromkeys(instructions.opcodes))
    opcode_of = {name: number for number, name in enumerate(names)}
    flags = [0] * count
    for row in instructions.illegal:
        flags[row] = ILLEGAL_ROW
    place = [NO_PLACE] * count
    if source_map is not None:
        place = list(map(places.number, source_map.places, source_map.stacks))
        flags = [bits | _ORIGINS.get(origin, 0) for bits, origin in zip(flags, source_map.origins, strict=True)]
    targets = _targets(instructions)
    blocks = _blocks(instructions, targets, [function.code.start for function in kernel.functions])
    pressure, loops = kernel.pressure, kernel.loops
    uses = list(register_uses(instructions))
    held = live_ranges(instructions, uses)
    return {
        "text": "\n".join(text.rstrip() for text in instructions.texts),
        "size": list(instructions.sizes),
        "offset": deltas(instructions.offsets),
        "opcode": names,
        "op": [opcode_of[name] for name in instructions.opcodes],
        "place": deltas(place),
        "flags": flags,
        "id": deltas(NO_NUMBER if number is None else number for number in visa_numbers) if visa_numbers else None,
        "functions": [[function_name(function), function.code.start] for function in kernel.functions],
        "block": deltas(blocks),
        "depth": [loops.depths[row] for row in blocks] if loops else None,
        "flow": _flow(instructions, loops) if loops else None,
        "targets": [[row, *rows] for row, rows in targets.items()],
        "wait": _waits(instructions),
        "distance": _distances(instructions),
        "message": message_columns(instructions),
        "live": list(pressure.live) if pressure else None,
        "peak": _peak(instructions, source_map, places, pressure) if pressure else None,
        "is_lower_bound": pressure.is_lower_bound if pressure else None,
        "use": _uses(instructions, uses, held.values if held else {}),
        "range": _ranges(held.ranges) if held else None,
        "cycles": cycle_columns(kernel),
        "samples": sample_columns(placed_samples(sampled, kernel.name, instructions) if sampled else None),
        **variable_columns(kernel),
    }


def compacted_of(instructions: Instructions) -> list[bool]:
    """Return for each instruction whether it is compacted."""
    packed = packed_of(instructions)
    return packed.compacted if packed is not None else [False] * len(instructions)


def _peak(
    instructions: Instructions, source_map: SourceMap | None, places: Places, pressure: Pressure
) -> dict[str, Any]:
    """Return the row where most registers are live, and the lines whose values they hold there, as ``annotate --pressure``
    has them."""
    row = pressure.peak_index
    held = []
    for values in held_at(instructions, source_map, row) if row is not None else ():
        file = None if values.path is None else places.file(values.path)
        line = None if file is None else [file, values.line]
        held.append({"line": line, "origin": values.origin or None, "registers": list(values.registers)})
    return {"row": row, "registers": pressure.peak, "held": held}


def _targets(instructions: Instructions) -> dict[int, list[int]]:
    """Return the rows that each branch or call can go to, by its row; those outside of the kernel are left out."""
    row_of = {offset: row for row, offset in enumerate(instructions.offsets)}
    targets = {}
    for row, offsets in instructions.branches.items():
        rows = dict.fromkeys(row_of[offset] for offset in offsets if offset in row_of)
        if rows:
            targets[row] = list(rows)
    return targets


def _blocks(instructions: Instructions, targets: dict[int, list[int]], functions: Sequence[int]) -> list[int]:
    """Return the rows that begin a basic block, ascending; ``functions`` are the first rows of functions."""
    starts = {0, *functions, *(target for rows in targets.values() for target in rows)}
    starts |= {row + 1 for row in targets if instructions.opcodes[row] not in _CALLS}
    starts |= {row + 1 for row in instructions.stops}
    return sorted(start for start in starts if start < len(instructions))


def _waits(instructions: Instructions) -> dict[str, Any]:
    """Return the rows that wait for a message or other long instruction, by the tokens of the software scoreboard."""
    waits = list(token_waits(instructions))
    return {"row": deltas(wait.waiter for wait in waits), "back": [wait.waiter - wait.producer for wait in waits]}


def _distances(instructions: Instructions) -> list[int | list[int]]:
    """Return how many rows back the producers are that rows wait for by a distance: an entry for each such row."""
    entries: list[int | list[int]] = []
    for waiter, producers in distance_waits(instructions):
        backs = [waiter - producer for producer in producers]
        entries.append(backs if len(backs) > 1 else backs[0] if backs else NOT_TOLD)
    return entries


def _flow(instructions: Instructions, loops: Loops) -> dict[str, Any] | None:
    """Return the blocks of straight code that lanes go through, where a call counts as going straight on; the loops that they
    are in, and who branches where. None if the ways of lanes are not known."""
    routes, count = instructions.routes, len(instructions)
    if routes is None:
        return None
    named = {target for route in routes.values() for target in route.targets}
    behind_calls = {row + 1 for row, route in routes.items() if route.is_call} - named
    firsts = [part.start for part in straight_code(routes, count).code if part.start not in behind_calls]
    jumps = ((row, route) for row, route in sorted(routes.items()) if not route.is_call)
    ways = [[row, *(target for target in route.targets if target < count)] for row, route in jumps]
    return {
        "block": deltas(firsts),
        "loop": [loops.innermost[row] for row in firsts],
        "parent": [NO_LOOP if loop.parent is None else loop.parent for loop in loops.loops],
        "header": [loop.header.start for loop in loops.loops],
        "jump": [way for way in ways if len(way) > 1],
    }


def _uses(
    instructions: Instructions, uses: Sequence[RegisterUse], values: Mapping[tuple[int, int], int]
) -> dict[str, Any] | None:
    """Return which rows wrote what each row reads of the general registers, and which bytes; None if that is not known."""
    effects = instructions.effects
    if effects is None:
        return None
    within = [use for use in uses if use.writer != BEFORE_THE_CODE]
    before = [use for use in uses if use.writer == BEFORE_THE_CODE]
    number_of: dict[int, int] = {}
    part = [number_of.setdefault(use.read, len(number_of)) for use in within]
    return {
        "row": deltas(use.reader for use in within),
        "back": [use.reader - use.writer for use in within],
        "register": [use.register for use in within],
        "value": [values.get((use.writer, use.register), NO_VALUE) for use in within],
        "part": part,
        "parts": [_runs(read) for read in number_of],
        "before": {
            "row": deltas(use.reader for use in before),
            "register": [use.register for use in before],
            "value": [values.get((use.writer, use.register), NO_VALUE) for use in before],
        },
        "partial": deltas(row for row, effect in enumerate(effects.effects) if effect.is_partial and effect.writes),
    }


def _runs(bits: int) -> list[int]:
    """Return the first and the last position of each run of bits."""
    runs: list[int] = []
    position = 0
    while bits:
        skipped = (bits & -bits).bit_length() - 1
        bits >>= skipped
        length = (~bits & bits + 1).bit_length() - 1
        runs += [position + skipped, position + skipped + length - 1]
        bits >>= length
        position += skipped + length
    return runs


def _ranges(ranges: Sequence[LiveRange]) -> dict[str, Any]:
    """Return live ranges as columns."""
    return {
        "register": deltas(each.register for each in ranges),
        "row": deltas(each.rows.start for each in ranges),
        "rows": [len(each.rows) for each in ranges],
        "value": deltas(each.value for each in ranges),
    }
