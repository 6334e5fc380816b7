"""Products of floats in loops whose only use is a sum: two instructions, and two roundings, where one would do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.loop_values import loops_to_follow
from kernlens.analysis.advice.rule import Rule
from kernlens.analysis.flow.register_uses import register_uses
from kernlens.model.advice import MAY_DIFFER, Advice, Edit
from kernlens.model.compiler_options import FREE_WITH_FLOATS, MAD_ENABLE
from kernlens.model.intel_instructions import packed_of
from kernlens.model.source_map import SourcePlace

#: The share of a loop's instructions that such pairs are at least.
_LEAST_SHARE = 0.1
#: Instructions behind a product within which an accumulator is read, at most.
_NEAR = 32
_REAL = ("f", "hf", "df")


def _advise(facts: Facts) -> Iterator[Advice]:
    loops, source_map = loops_to_follow(facts), facts.kernel.source_map
    options, texts = facts.program.build.options or "", facts.tokens.texts.values()
    if loops is None or not loops.loops or source_map is None or any(each in options for each in FREE_WITH_FLOATS):
        return
    if any("FP_CONTRACT" in line for lines in texts for line in lines):  # The author has decided.
        return
    products = {row for row in _vector(facts, "mul") if loops.innermost[row] >= 0}
    sums = set(_vector(facts, "add")) if products else set[int]()
    readers: dict[int, set[int]] = {}
    for use in register_uses(facts.code) if sums else ():
        if use.writer in products:
            readers.setdefault(use.writer, set()).add(use.reader)
    for row in products - readers.keys() if sums else ():
        readers[row] = _readers_of_accumulator(facts, row)
    lengths = Counter(loops.innermost)
    places: dict[SourcePlace, list[int]] = {}
    pairs = Counter[int]()
    for product, users in sorted(readers.items()):
        user = min(users, default=-1)
        if len(users) != 1 or user not in sums or loops.innermost[user] != loops.innermost[product]:
            continue
        if facts.types(user)[0] == facts.types(product)[0] and (place := source_map.place(user)) is not None:
            places.setdefault(place, []).extend((product, user))
            pairs[loops.innermost[product]] += 1
    for place, rows in places.items():
        number = loops.innermost[rows[0]]
        if 2 * pairs[number] >= _LEAST_SHARE * lengths[number]:
            fact = (
                f"adds a product that nothing else uses, in a loop: {len(rows) // 2:,} times two instructions for one"
            )
            action = f"write `mad(a, b, c)` or `fma(a, b, c)`, or build with {MAD_ENABLE}"
            edit = Edit(options=MAD_ENABLE)
            yield RULE.advice(facts, place, rows, "A sum", fact, action, is_exact=True, edit=edit)


def _readers_of_accumulator(facts: Facts, row: int) -> set[int]:
    """Return the rows behind a product that read it from an accumulator; none if it is in none, or one may be read later."""
    code, readers = packed_of(facts.code), set[int]()
    written = code[row].destination if code is not None else None
    if code is None or written is None or written.file != "acc":
        return set()
    for after in range(row + 1, min(row + _NEAR, len(code))):
        instruction = code[after]
        if any(each.file == "acc" and each.number == written.number for each in instruction.sources):
            readers.add(after)
        own = instruction.destination
        if own is not None and own.file == "acc" and own.number == written.number:
            return readers
    return readers if len(readers) == 1 else set()


def _vector(facts: Facts, opcode: str) -> list[int]:
    """Return the rows with this operation on floats, for lanes."""
    rows = [row for row, each in enumerate(facts.code.opcodes) if each == opcode]
    return [row for row in facts.vector(rows) if facts.types(row)[0] in _REAL]


RULE = Rule("unfused-multiply-add", "Unfused multiply-add", (MAY_DIFFER,), _advise)
