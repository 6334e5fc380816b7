"""Kernels of several instruction sets beside one another: ``python -m tests.corpus.beside``.

Programs of darktable are compiled for an Intel GPU, an AMD GPU, and PoCL, and ``diff`` compares each two of them. For each
source line it must count as many instructions on either side as ``annotate`` does of that side alone, and miss no line.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

import kernlens
from kernlens.model.program import Program
from kernlens.toolchain.sources.includes import join_options
from tests.corpus.build import JOINED, main_source
from tests.corpus.manifest import CorpusProgram, programs
from tests.corpus.outcome import Outcome
from tests.corpus.packages import fetch, packages_folder

GPUS = ("dg2", "gfx1030")
#: Builds a source on PoCL with these options, and writes its binary.
_BUILD = """
import sys, pyopencl as cl
(device,) = [p for p in cl.get_platforms() if p.name.startswith("Portable")][0].get_devices()[:1]
program = cl.Program(cl.Context([device]), open(sys.argv[1]).read())
open(sys.argv[2], "wb").write(program.build(sys.argv[3], cache_dir=False).binaries[0])
"""
#: A line by its number and the last part of its file's path: PoCL has no name for a program's own source.
Line = tuple[str | None, int | None]


def built_by_pocl(source: Path, options: str, binary: Path) -> Sequence[Program]:
    """Return the program that PoCL makes of a source, with lines."""
    words = [sys.executable, "-c", _BUILD, str(source), str(binary), f"-g {options}"]
    subprocess.run(words, check=True, capture_output=True, timeout=600)
    return kernlens.load(binary)


def compare(old: Sequence[Program], new: Sequence[Program], source: str) -> Outcome:
    """Return where ``diff`` and ``annotate`` of these sides do not count alike. ``source`` is the programs' own."""
    outcome = Outcome("lines")
    document = kernlens.diff(old, new).document()
    changed = {kernel["name"]: kernel for kernel in document["kernels"]}
    names = [kernel.name for kernel in old[0].kernels if kernel in new[0].kernels]
    assert names, "the sides have a kernel in common"
    assert set(names) <= changed.keys(), "no kernel is equal in two instruction sets"
    for name in names:
        for number, (side, programs_of_side) in enumerate((("old", old), ("new", new))):
            ours: Counter[Line] = Counter()
            for row in changed[name]["lines"]:
                path = row["path"] if row[f"{side}_line"] else None
                ours[_line(path, row[f"{side}_line"], source)] += row[side]
            theirs: Counter[Line] = Counter()
            table = kernlens.annotate(programs_of_side, kernel=name).instructions.columns
            for path, line in zip(table["path"], table["line"], strict=True):
                theirs[_line(path, line, source)] += 1
            where = f"{name} on {(old, new)[number][0].device}"
            outcome.compare(where, _counts(ours), _counts(theirs))
    return outcome


def _line(path: object, line: object, source: str) -> Line:
    if not isinstance(path, str) or not isinstance(line, int):
        return None, None
    name = path.rpartition("/")[2]
    return source if name == "<stdin>" else name, line


def _counts(lines: Counter[Line]) -> list[tuple[str, int, int]]:
    return sorted((name or "", line or 0, count) for (name, line), count in lines.items() if count)


def check(program: CorpusProgram, folder: Path) -> Outcome:
    """Compile a program for all devices and compare each two."""
    packages = packages_folder()
    words = [f"-I{packages}", f"-I{packages / JOINED}"]
    for word in program.options.split():  # Folders are named from that of the packages.
        words.append(f"-I{packages / word[2:]}" if word.startswith("-I") else word)
    options = join_options([word for word in words if not word.startswith("-cl-intel")])
    source = packages / main_source(program)
    sides = [kernlens.compile(source, gpu, options=options) for gpu in GPUS]
    sides.append(list(built_by_pocl(source, options, folder / "program.poclbin")))
    outcome = Outcome("lines")
    for old, new in combinations(sides, 2):
        outcome.add(compare(old, new, source.name))
    return outcome


def main(chosen: Iterable[CorpusProgram] = ()) -> int:
    """Print one line for each program; exit status 1 if anything differs."""
    chosen = list(chosen) or [each for each in programs() if each.name.startswith("darktable/")][:20]
    fetch(dict.fromkeys(name for program in chosen for name in program.packages))
    total = Outcome("lines")
    for program in chosen:
        with tempfile.TemporaryDirectory() as folder:
            outcome = check(program, Path(folder))
        print(
            f"{program.name}: {outcome.compared:,} lines, {len(outcome.differences)} differ", *outcome.differences[:3]
        )
        total.add(outcome)
    print(f"{len(chosen)} programs: {total.compared:,} lines, {len(total.differences)} differ")
    return int(bool(total.differences))


if __name__ == "__main__":
    sys.exit(main())
