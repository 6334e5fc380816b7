"""In-order pipes and the distances that count in them, held against what the compiler says and does.

Two oracles, neither of which knows kernlens' rule. The newest IGC writes each instruction's pipe into its listings. And
whatever compiler made the code wrote a distance for a hazard: who is waited for writes what the waiting one reads or
writes, or reads what it writes. The registers are those that ``check_registers`` holds against libiga64's texts.

    python -m tests.corpus.distances --newest-root ROOT

counts the judgements per device, by kernlens' rule and by wrong ones: an oracle that found these right, too, would tell
nothing.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from copy import copy
from functools import partial
from pathlib import Path

import kernlens
from kernlens.analysis.flow.distance_waits import distance_waits
from kernlens.isa.intel.iga_library import search_also
from kernlens.model.effects import ACCUMULATORS, ADDRESSES, FLAGS, SCALARS, Access, Effect, mask
from kernlens.model.intel_instructions import SEND, IntelInstructions
from kernlens.model.pipes import Pipes
from tests.corpus.build import Built, build
from tests.corpus.compiler import DEBIAN, newest
from tests.corpus.manifest import DEVICES, NEWEST_DEVICES, programs
from tests.packed_code import packed

_PIPE = re.compile(r"\bALU pipe: (\w+);")
_LETTERS = {"float": "F", "int": "I", "long": "L", "math": "M", "S0": "S"}
#: The compiler writes no larger distance, also for a hazard that is further back, up to so many (``SWSB_G4IR.h``).
FARTHEST, TRACKED = 7, 18

#: How a distance is judged: the first two are right, the last is wrong, the others tell nothing.
HAZARD, REGISTER, FORCED, CAPPED = "hazard", "same register", "forced", "capped"
UNTOLD, UNKNOWN, NO_HAZARD = "with one not told", "unknown", "no hazard"
JUDGEMENTS = HAZARD, REGISTER, FORCED, CAPPED, UNTOLD, UNKNOWN, NO_HAZARD
_ALL = "all"


def stated_pipe(listed: str) -> str:
    """Return the pipe that a line of IGC's listing states, as a letter; empty if it states none."""
    match = _PIPE.search(listed)
    return _LETTERS[match[1]] if match else ""


def judged(instructions: IntelInstructions) -> Iterator[tuple[int, str]]:
    """Yield each row that waits for rows by a distance, and how that is judged.

    ``REGISTER``: they meet in a register, though not in a byte of it, as compilers count the sources of some instructions,
    or in flags, which IGC 1 takes for one. ``FORCED``: everything before it must be done (``A@1``), as calls, the first
    instruction and architecture registers want it; or the float pipe (``F@1``), as the first one wants that writes an
    address register; or a move to nowhere, which stands there to be waited for.
    ``CAPPED``: the hazard is with one further back in the pipe; ``UNTOLD``: with one that another way may lead past, and
    that is therefore not told, whereas one of another pipe is. ``UNKNOWN``: an operand is known only at run time."""
    pipes, effects = instructions.pipes, instructions.effects
    assert pipes is not None
    assert effects is not None
    rows_of = {letter: [row for row, pipe in enumerate(pipes.own) if pipe == letter] for letter in set(pipes.own)}
    for row, rows in distance_waits(instructions):
        if not rows:
            continue
        back, awaited = pipes.distances[row]
        users = list(_users(instructions, row))
        farther = (
            [row_ for row in rows for row_ in _further_back(rows_of[pipes.own[row]], row)] if back == FARTHEST else []
        )
        others = [
            rows_of[pipe] for pipe in awaited if pipe in rows_of and pipe not in {pipes.own[told] for told in rows}
        ]
        untold = [other[at - back] for other in others if (at := bisect_left(other, row)) >= back]
        if _are_hazards(instructions, rows, users):
            yield row, HAZARD
        elif _are_hazards(instructions, rows, users, by_register=True):
            yield row, REGISTER
        elif any(effects.effects[user].is_lower_bound for user in (*users, *rows)):
            yield row, UNKNOWN
        elif back == 1 and (
            len(awaited) > 1
            or awaited == "A"
            or not effects.effects[rows[0]].writes
            or any(_writes_addresses(effects.effects[user]) for user in users)
        ):
            yield row, FORCED
        elif _are_hazards(instructions, farther, users, by_register=True):
            yield row, CAPPED
        elif _are_hazards(instructions, untold, users, by_register=True):
            yield row, UNTOLD
        else:
            yield row, NO_HAZARD


def _writes_addresses(effect: Effect) -> bool:
    return any(ADDRESSES <= start < SCALARS for start, _ in effect.writes)


def _users(instructions: IntelInstructions, row: int) -> Iterator[int]:
    """Yield the rows on whose behalf a row waits: itself; of a sync the next that does something; of a macro all of it."""
    opcodes, texts = instructions.opcodes, instructions.texts
    uncounted = instructions.pipes.uncounted if instructions.pipes else ()
    while (opcodes[row] == "sync" or row in uncounted) and row + 1 < len(opcodes):
        row += 1
    yield row
    while "Atomic" in texts[row] and row + 1 < len(opcodes):
        row += 1
        yield row


def _further_back(rows: Sequence[int], row: int) -> Sequence[int]:
    at = bisect_left(rows, row)
    return rows[max(0, at - TRACKED + FARTHEST) : at]


def _are_hazards(
    instructions: IntelInstructions, producers: Sequence[int], users: Sequence[int], by_register: bool = False
) -> bool:
    """Return whether any of ``users`` touches what any of ``producers`` does, and one of the two writes it."""
    before, after = ([_touched(instructions, row, by_register) for row in rows] for rows in (producers, users))
    return any(
        written & (read_after | written_after) or read & written_after
        for read, written in before
        for read_after, written_after in after
    )


def _touched(instructions: IntelInstructions, row: int, by_register: bool) -> tuple[int, int]:
    """Return the places that a row reads, and those that it writes; of messages whole registers, as compilers take them."""
    effects = instructions.effects
    assert effects is not None
    effect, size = effects.effects[row], effects.register_bytes
    if by_register or instructions.flags[row] & SEND:
        return _whole(effect.reads, size), _whole(effect.writes, size)
    return mask(effect.reads), mask(effect.writes)


def _whole(accesses: Sequence[Access], size: int) -> int:
    """Return all of the registers that these are in; all flags, address registers and scalar registers count as one each."""
    grains = 0
    for start, pattern in accesses:
        grain = ADDRESSES - FLAGS if start < ACCUMULATORS else size
        begin = start - start % grain
        end = start + pattern.bit_length()
        grains |= (1 << -(-(end - begin) // grain) * grain) - 1 << begin
    return grains


#: The pipe of most instructions, where a wrong rule names it.
_COMMON = "?"
ONE_PIPE = "all in one pipe"
COUNTED = "what the compiler inserts afterwards counts"
#: Rules that are wrong: of an instruction's pipe and mnemonic they make another pipe.
WRONG: dict[str, Callable[[str, str], str]] = {
    ONE_PIPE: lambda pipe, _: pipe and _COMMON,
    "float and integer swapped": lambda pipe, _: {"F": "I", "I": "F"}.get(pipe, pipe),
    "long is integer": lambda pipe, _: "I" if pipe == "L" else pipe,
    "branches do not count": lambda pipe, mnemonic: "" if mnemonic in ("goto", "join", "jmpi", "call") else pipe,
    "math counts": lambda pipe, mnemonic: _COMMON if mnemonic == "math" else pipe,
    "messages count": lambda pipe, mnemonic: _COMMON if mnemonic.startswith("send") else pipe,
    COUNTED: lambda pipe, _: pipe,
    "syncs count": lambda pipe, mnemonic: _COMMON if mnemonic == "sync" else pipe,
}


def by_wrong_rule(instructions: IntelInstructions, name: str) -> IntelInstructions:
    """Return these instructions with the pipes that this rule of ``WRONG`` gives them."""
    pipes = instructions.pipes
    assert pipes is not None
    common = "A" if "A" in pipes.own else "I"
    own = [WRONG[name](*each).replace(_COMMON, common) for each in zip(pipes.own, instructions.opcodes, strict=True)]
    distances = pipes.distances
    if name == ONE_PIPE:
        distances = {row: distance._replace(pipes=common) for row, distance in distances.items()}
    changed = copy(instructions)
    vars(changed)["pipes"] = Pipes(own, distances, frozenset() if name == COUNTED else pipes.uncounted)
    return changed


def _counted(built: Built, root: Path | None) -> dict[str, Counter[str]]:
    """Return for each rule how many distances have each judgement, and how many there are at all."""
    if root is not None:
        search_also(lambda: {"newest": str(root)})
    counts: dict[str, Counter[str]] = {"kernlens": Counter(), **{name: Counter() for name in WRONG}}
    (program,) = kernlens.load(built.binary)
    for kernel in program.kernels.values():
        right = packed(kernel.instructions)
        if right.pipes is None:
            continue
        for name, count in counts.items():
            count.update(judgement for _, judgement in judged(by_wrong_rule(right, name) if name in WRONG else right))
            count[_ALL] += len(right.pipes.distances)
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Print counts per device and rule; exit status 1 if by kernlens' rule a distance has no hazard."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--newest-root", type=Path, help="zebins of the newest compiler, in this root folder")
    parser.add_argument("--device", action="append")
    parser.add_argument("--program", action="append", help="a name or the start of one, e.g. darktable/ (default: all)")
    chosen = parser.parse_args(arguments)
    root = chosen.newest_root
    compiler = newest(root) if root else DEBIAN
    selected = [program for program in programs() if program.name.startswith(tuple(chosen.program or [""]))]
    is_right = True
    for device in chosen.device or (NEWEST_DEVICES if root else DEVICES[2:]):
        built, _ = build(selected, [device], compiler=compiler)
        totals: dict[str, Counter[str]] = defaultdict(Counter)
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            for counts in pool.map(partial(_counted, root=root), built, chunksize=4):
                for rule, total in counts.items():
                    totals[rule].update(total)
        print(f"{device} ({compiler}), {len(built)} programs:")
        for rule, total in totals.items():
            told = total.total() - total[_ALL]
            words = ", ".join(f"{total[judgement]:,} {judgement}" for judgement in JUDGEMENTS)
            share = 100 * total[NO_HAZARD] / max(1, told)
            print(f"    {rule}: {told:,} of {total[_ALL]:,} distances told: {words} ({share:.2f}%)")
        is_right = is_right and not totals["kernlens"][NO_HAZARD]
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
