"""The cycles in which the instructions of a block issue, and their waits for each other, by the compiler's own estimate.

Source: the rule of ``BBStaticCycleProfiling`` in IGC's ``visa/Passes/StaticProfiling.cpp``. A row issues once the row
before has issued, and once the token that it names is free. Distances (``F@2``) cost nothing there: the rule takes what
is waited for as done when it has issued, and rows issue in order.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import compress, pairwise

from kernlens.model.flag_bits import indexes_of
from kernlens.model.instruction_record import RECORD_SIZE, SWSB_AT, read_values
from kernlens.model.intel_instructions import LABEL, SEND, IntelInstructions
from kernlens.model.operand import Swsb
from kernlens.model.waits import READ, TAKEN, WRITTEN, Timings, Wait, Waits

_BRANCHES = frozenset(
    {"jmpi", "if", "else", "endif", "while", "break", "cont", "halt", "goto", "brc", "brd", "call", "calla", "ret"}
)
#: The bits that the header of samplers keeps of a word of the thread's: IGC's ``TranslateSend3D.cpp``.
_HEADER_MASK = 0xFFFE
_WHY = {"set": TAKEN, "dst": WRITTEN, "src": READ}


def block_starts(instructions: IntelInstructions, prologue_bytes: int = 0, offsets: Iterable[int] = ()) -> list[int]:
    """Return the first rows of the blocks in which the compiler counts cycles, ascending: those that branches name, those
    behind branches, and the parts of the prologue. ``offsets`` are places of the code that begin blocks too. Nothing
    begins at a join by itself, nor behind it."""
    places, opcodes = instructions.offsets, instructions.opcodes
    records, count = instructions.records, len(instructions)
    names = {prologue_bytes, *offsets}
    for row in indexes_of(instructions.flags, LABEL):
        if opcodes[row] != "join":
            names.update(read_values(records, row)[1])
    starts = {0, *(bisect_left(places, offset) for offset in names)}
    starts.update(row + 1 for row in compress(range(count), map(_BRANCHES.__contains__, opcodes)))
    starts.update(_of_prologue(instructions, prologue_bytes))
    return sorted(row for row in starts if row < count)


def _of_prologue(instructions: IntelInstructions, prologue_bytes: int) -> Iterator[int]:
    """Yield the rows at which a part of the prologue begins: behind the nops that end the loads of each thread's payload,
    behind the loads of what threads share, and behind the making of the header that samplers share. The last two end
    where the kernel's own code sets how floats are rounded."""
    opcodes = instructions.opcodes
    straight = opcodes[: min([*indexes_of(instructions.flags, LABEL)[:1], *instructions.stops[:1], len(opcodes)])]
    if "nop" in straight:
        first = straight.index("nop")
        yield next((row for row in range(first, len(straight)) if straight[row] != "nop"), len(straight))
    begin = instructions.set_up_end(prologue_bytes) - 1
    loads = indexes_of(instructions.flags[: max(begin, 0)], SEND)
    if loads and opcodes[loads[-1] + 1] != "nop":
        yield loads[-1] + 1
    if begin > 0 and opcodes[begin - 1] == "and" and read_values(instructions.records, begin - 1)[0] == _HEADER_MASK:
        yield begin


def waits_of(instructions: IntelInstructions, timings: Timings, starts: Sequence[int]) -> Waits:
    """Return the cycles of the instructions, counted from each of ``starts`` on."""
    words = instructions.records.cast("I")[SWSB_AT // 4 :: RECORD_SIZE // 4].tolist()
    tokens = {word: _token(word) for word in set(words)}
    issue, waits = timings.issue, dict[int, Wait]()
    cycles = array("I")
    for first, end in pairwise([*starts, len(words)]):
        cycle = 0
        holders = dict[int, int]()
        for row in range(first, end):
            named = tokens[words[row]]
            if named is not None:
                token, why = named
                producer = holders.get(token)
                if producer is not None:
                    took = timings.read if why is READ else timings.written
                    wait = cycles[producer] + took[producer] - cycle
                    if wait > 0:
                        waits[row] = Wait(row, producer, wait, why)
                        cycle += wait
                    if why is WRITTEN:
                        del holders[token]
                if why is TAKEN:
                    holders[token] = row
            cycles.append(cycle)
            cycle += issue[row]
    return Waits(cycles, issue, waits, starts, sum(issue), sum(wait.cycles for wait in waits.values()))


@lru_cache(4096)
def _token(word: int) -> tuple[int, str] | None:
    """Return the token that an instruction's scoreboard names, and why it does."""
    swsb = Swsb.unpack(word)
    if swsb is None or swsb.token is None or swsb.token_use not in _WHY:
        return None
    return swsb.token, _WHY[swsb.token_use]
