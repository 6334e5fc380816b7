"""Hostile text into the assembler: ``python -m tests.corpus.hostile_assembly --newest-root ROOT --count 100000``.

Texts of real kernels, broken in every way: characters, lines and numbers changed, repeated, cut, nested. Of each, nothing but a
KernlensError may come out, within bounded time and memory; where a process of the assembler ends, the next text gets a new one.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from collections import Counter
from pathlib import Path

import kernlens
from kernlens.errors import AssemblyError, KernlensError, ToolError
from kernlens.formats.listings.editable_code import read_editable
from kernlens.isa.intel.iga_library import search_also
from kernlens.verbs.editable import editable_text, old_code
from kernlens.verbs.edited_instructions import OldCode, assemble_edit
from tests.corpus.build import build
from tests.corpus.compiler import DEBIAN, Compiler, newest
from tests.corpus.manifest import programs

_WORDS = (
    "{", "}", "((((((((", "))))", "r999999.0<1>:f", "<", ">", ":ub", "-1", "0x" + "F" * 40, "1e999:f", "$16", "A@99", "F@-1",
    "L0", "L99999999999999999999", "\x00", "\xff", "é", "/*", "*/", "//", "send.ugm", "goto", "jmpi", "(f9.9)", "|M99", "null",
    "ip", "a0.0", "%", "&", "$", "'", '"', "\\", "\t", "#if", ".kernel x", "bfn.(s0&s1)", "dpas.8x8", "{Compacted", ";", "=",
    "{AccWrEn,Atomic}", "nan:f",
)  # fmt: skip
#: The most seconds that one text may take, and megabytes that all of them may add to this process.
_SECONDS, _MEGABYTES = 30.0, 400


def hostile(lines: list[str], generator: random.Random) -> str:
    """Return a few lines of a text, broken."""
    start = generator.randrange(max(1, len(lines) - 12))
    chosen = lines[start : start + generator.randrange(1, 12)]
    text = "\n".join(chosen)
    for _ in range(generator.randrange(1, 8)):
        at = generator.randrange(len(text) + 1)
        kind = generator.randrange(7)
        if kind == 0:
            text = text[:at] + generator.choice(_WORDS) + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + generator.randrange(1, 20) :]
        elif kind == 2:
            text = text[:at] + chr(generator.randrange(1, 0x250)) + text[at + 1 :]
        elif kind == 3:
            piece = text[at : at + generator.randrange(1, 40)]
            text = text[:at] + piece * generator.randrange(2, 60) + text[at:]
        elif kind == 4:
            text = text[:at] + str(generator.randrange(-(1 << 70), 1 << 70)) + text[at:]
        elif kind == 5:
            text = text[:at] + generator.choice("([{-~") * generator.choice((10, 1000, 20000)) + text[at:]
        else:
            words = text.split(" ")
            generator.shuffle(words)
            text = " ".join(words)
    return text


def try_texts(old: OldCode, lines: list[str], count: int, generator: random.Random, results: Counter[str]) -> list[str]:
    """Assemble ``count`` broken texts, and return what should not have come of them."""
    faults = []
    for _ in range(count):
        text = hostile(lines, generator)
        began = time.monotonic()
        try:
            assemble_edit(old, read_editable(text))
            results["assembled"] += 1
        except ToolError as error:
            results["the assembler's process ended"] += 1
            if "Traceback" in str(error):
                faults.append(f"{error}: {text[:300]!r}")
        except AssemblyError:
            results["refused with line and column"] += 1
        except KernlensError:
            results["refused before"] += 1
        except Exception as error:
            faults.append(f"{type(error).__name__}: {error}: {text[:300]!r}")
        if time.monotonic() - began > _SECONDS:
            faults.append(f"{time.monotonic() - began:.0f} s for {text[:300]!r}")
    return faults


def main() -> int:
    """Print what came of the texts; exit status 1 for any but a KernlensError, or too much time or memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--newest-root", type=Path, required=True)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    search_also(lambda: {"newest": str(arguments.newest_root)})
    generator = random.Random(arguments.seed)
    (chosen,) = [each for each in programs() if each.name == "darktable/basic"]
    rounds: list[tuple[Compiler, str]] = [(DEBIAN, device) for device in ("skl", "dg2", "pvc")]
    rounds += [(newest(arguments.newest_root), device) for device in ("dg2", "bmg")]
    results: Counter[str] = Counter()
    faults: list[str] = []
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.monotonic()
    for compiler, device in rounds:
        (built,), _ = build([chosen], [device], compiler=compiler, jobs=1)
        (program,) = kernlens.load(built.binary)
        kernel = max(program.kernels.values(), key=lambda kernel: len(set(kernel.instructions.opcodes)))
        lines = [line for line in editable_text("x", program, kernel) if line and not line.startswith("//")]
        faults += try_texts(old_code(program, kernel), lines, -(-arguments.count // len(rounds)), generator, results)
        print(f"{device} ({compiler}): {results.total():,} texts, {len(faults)} faults", flush=True)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    if grown > _MEGABYTES:
        faults.append(f"{grown} MB more in this process")
    counts = ", ".join(f"{count:,} {what}" for what, count in results.most_common())
    print(
        f"{results.total():,} texts in {time.monotonic() - began:.0f} s: {counts}; {grown} MB here, {children} MB in children"
    )
    for fault in faults[:10]:
        print(f"    {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
