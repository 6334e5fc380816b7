"""Kernels into which oneDNN spliced micro kernels: ``python -m tests.corpus.spliced RECORDING...``.

The recordings are of applications (``kernlens capture --simulate D --lines --stages -o FILE -- python openvino_models.py
attention``): each has the build before the splice and the one after it. The slow aligner here knows nothing of bytes: it is
``difflib`` over libiga64's texts. What it aligns must have the line of the build before, and that must be the line in the
compiler's own listing; all else must have none, and be the very bytes that oneDNN wrote into the source for the splice.
"""

from __future__ import annotations

import difflib
import re
import sys
from pathlib import Path

import kernlens
from kernlens.formats.listings.gen_assembly import read_gen_assembly_lines
from kernlens.isa.intel.iga_library import search_also
from kernlens.loading.context import Context
from kernlens.loading.open import open_bytes
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from tests.corpus.outcome import Outcome

_LABEL = re.compile(r"\bL-?\d+\b")
_SPACES = re.compile(r"\s+")
_START, _END = re.compile("0xCAFEF[0-9A-F]{3}:ud"), re.compile("0xFADEC[0-9A-F]{3}:ud")
#: The machine code of a micro kernel, as oneDNN leaves it in the source for who splices it.
_IN_SOURCE = re.compile(r"@_u_@\d+\S* ([0-9a-f]+)")
#: An instruction of 8 bytes without effect may stand before it, so that it is aligned.
_PADDING = (0, 8)
ROWS = {
    "the compiler's instructions have the line of before": "instructions",
    "and that of the compiler's listing": "instructions",
    "what was spliced in has no line": "instructions",
    "what was spliced in is in the source": "blocks",
    "no false line without the stages or the build before": "kernels",
}


def texts_of(kernel: Kernel) -> list[str]:
    """Return the instructions' texts without where branches lead."""
    return [_SPACES.sub(" ", _LABEL.sub("L", text)).strip() for text in kernel.instructions.texts]


def aligned(old: Kernel, new: Kernel) -> dict[int, int]:
    """Return new -> old instruction, by text alone; what stands between two marks in the old code is in no other."""
    old_texts, rows, is_marked = texts_of(old), list[int](), False
    for row, text in enumerate(old_texts):
        is_marked |= _START.search(text) is not None
        if not is_marked:
            rows.append(row)
        is_marked &= _END.search(text) is None
    matcher = difflib.SequenceMatcher(None, [old_texts[row] for row in rows], texts_of(new), autojunk=False)
    return {
        block.b + number: rows[block.a + number]
        for block in matcher.get_matching_blocks()
        for number in range(block.size)
    }


def check(before: Program, after: Program, old: Kernel, new: Kernel, outcomes: dict[str, Outcome]) -> None:
    """Hold one spliced kernel against the same from before."""
    origins = aligned(old, new)
    of_before, of_listing, of_spliced, of_source, _ = outcomes.values()
    name = f"{after.name} {new.name}"
    if len(origins) < len(new.instructions) / 5:
        of_before.differences.append(f"{name}: difflib aligned {len(origins)} instructions alone")
    listed = [
        read_gen_assembly_lines(stage.listing).places
        for stage in before.build.snapshots
        if (stage.stage, stage.kernel, stage.form) == ("gen-assembly", old.name, "text")
    ]
    for row in range(len(new.instructions)):
        place = new.source_map.place(row) if new.source_map else None
        if row not in origins:
            of_spliced.compare(f"{name} {row}", [place], [None])
            continue
        truth = old.source_map.place(origins[row]) if old.source_map else None
        of_before.compare(f"{name} {row}", [place], [truth])
        if listed and place and (line := listed[0][origins[row]]):
            of_listing.compare(f"{name} {row}", [place.line], [line.line])
    codes = [bytes.fromhex(code) for source in before.build.sources for code in _IN_SOURCE.findall(source.text)]
    blocks = [each for each in new.functions if each.is_spliced and each.name != new.name]
    if not blocks:
        of_source.differences.append(f"{name}: nothing was found to be spliced in")
    for block in blocks:
        code = bytes(new.code[block.offset : block.offset + block.size])
        of_source.compare(
            f"{name} {block.name}",
            [any(code.endswith(each) and len(code) - len(each) in _PADDING for each in codes)],
            [True],
        )
    if [row for block in blocks for row in block.code] != [
        row for row in range(len(new.instructions)) if row not in origins
    ]:
        of_spliced.differences.append(f"{name}: the blocks are not what difflib could not align")


def main() -> int:
    """Print a line per recording and per row; exit status 1 if anything differs."""
    root = Path.home() / ".cache" / "kernlens-tests" / "toolchains" / "newest"
    search_also(lambda: {"newest": str(root)})
    outcomes = {name: Outcome(unit) for name, unit in ROWS.items()}
    for path in sys.argv[1:]:
        programs = [program for program in kernlens.load(path) if program.kernels]
        earlier: dict[str, tuple[Program, Kernel]] = {}
        count = lines = 0
        for program in programs:
            for kernel in program.kernels.values():
                if kernel.code_change is None:
                    earlier[kernel.name] = program, kernel
                elif kernel.name in earlier:
                    check(earlier[kernel.name][0], program, earlier[kernel.name][1], kernel, outcomes)
                    count += 1
                    lines += kernel.source_map is not None
                    (alone,) = open_bytes(memoryview(program.build.binary), "alone", Context()).programs
                    outcomes[list(ROWS)[-1]].compare(
                        f"{program.name} alone", [alone.kernels[kernel.name].source_map], [None]
                    )
        print(f"{path}: {count} spliced kernels, {lines} of which have lines")
    for name, outcome in outcomes.items():
        print(f"{name}: {outcome.compared:,} {outcome.unit}, {len(outcome.differences)} differences")
        for difference in outcome.differences[:5]:
            print(f"    {difference}")
    return 1 if any(outcome.differences or not outcome.compared for outcome in outcomes.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
