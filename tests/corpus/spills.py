"""Messages that spill, held against what IGC's assembly dumps say of them, on kernels that must make do with 64 registers:
``python -m tests.corpus.spills --help``."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from kernlens.isa.devices import device
from kernlens.isa.intel.decode import decode
from kernlens.isa.intel.iga_library import search_also
from kernlens.model.instruction_kind import STORE
from tests.corpus.build import Built, build
from tests.corpus.checks import Outcome
from tests.corpus.compiler import DEBIAN, Compiler, newest
from tests.corpus.manifest import DEVICES, NEWEST_DEVICES, CorpusProgram, program, programs
from tests.corpus.oracles.igc_dump import read_dump

#: ``.dat`` is the machine code of the very attempt that ``.asm`` shows.
KEPT = ("*.asm", "*.dat")
#: So few registers that many kernels spill; fewer make more of them do.
FEW_REGISTERS = (64, 48, 40)

#: Behind an instruction: ``scratch space spill: SP_GRF_V0171_0 from offset[0x32]``, ``fill from offset[43*64]``.
_COMMENT = re.compile(r"//.*\b(?:scratch space )?(spill|fill)(?:: | to | from )")
_MESSAGE = re.compile(r"\b(send|load|store)")

#: Programs with many kernels that spill; the others follow.
_MOST = (
    "darktable/basic", "darktable/diffuse", "darktable/demosaic_rcd", "darktable/atrous", "darktable/denoiseprofile",
    "hashcat/m01400_a3-optimized", "hashcat/m00500-pure", "piglit/calls",
)  # fmt: skip
_TOGETHER = 8


def with_few_registers(compiler: Compiler, registers: int = FEW_REGISTERS[0]) -> Compiler:
    """Return the compiler, which has to spill."""
    return replace(compiler, settings=(("IGC_VISAOptions", f"-TotalGRFNum {registers}"),), dumps=KEPT)


def check_spills(built: Built) -> dict[str, Outcome]:
    """Return for each kernel that spills, at each width and attempt, whether the messages that spill or fill are those
    that the dump says it of."""
    outcomes = {}
    for path in built.assembly:
        dump = read_dump(path)
        theirs = {
            index: match[1]
            for index, instruction in enumerate(dump.instructions)
            if (match := _COMMENT.search(instruction.text)) and _MESSAGE.search(instruction.text.split("//")[0])
        }
        instructions = decode(device(built.device), path.with_suffix(".dat").read_bytes())[: len(dump.instructions)]
        ours = {
            index: "spill" if kind.access.action == STORE else "fill"
            for index, kind in enumerate(instructions.kinds)
            if kind.access and kind.access.is_spill
        }
        if not ours and not theirs:
            continue
        outcome = Outcome("messages")
        sizes = [size == 8 for size in instructions.sizes]
        outcome.compare(
            f"{built.name} {path.name}", sizes, [instruction.compacted for instruction in dump.instructions]
        )
        outcome.compared = len(ours.keys() | theirs.keys())
        for index in sorted(ours.keys() | theirs.keys()):
            if ours.get(index) != theirs.get(index):
                sentence = f"kernlens {ours.get(index)}, the dump {theirs.get(index)}"
                outcome.differences.append(
                    f"{built.name} {path.name}[{index}]: {sentence}: {dump.instructions[index].text}"
                )
        outcomes[f"{built.folder.name} {path.stem}"] = outcome
    return outcomes


def spilling(compiler: Compiler, name: str, least: int) -> dict[str, Outcome]:
    """Return the outcomes of ``least`` kernels that spill, compiled for the device ``name``, as far as the corpus has them."""
    outcomes: dict[str, Outcome] = {}
    others = [program for program in programs() if program.name not in _MOST]
    for some in ([program(name) for name in _MOST], *batches(others)):
        for registers in FEW_REGISTERS:
            for program_name in build(some, [name], compiler=with_few_registers(compiler, registers))[0]:
                outcomes |= check_spills(program_name)
            if len(outcomes) >= least:
                return outcomes
    return outcomes


def batches(chosen: Sequence[CorpusProgram]) -> Iterator[Sequence[CorpusProgram]]:
    """Yield so many programs at a time."""
    for start in range(0, len(chosen), _TOGETHER):
        yield chosen[start : start + _TOGETHER]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line per device; exit status 1 if a message differs or too few kernels spill."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", action="append", help=f"default: {', '.join(DEVICES)}")
    parser.add_argument("--newest-root", type=Path, help="the newest compiler, in this root folder")
    parser.add_argument("--least", type=int, default=50, help="how many kernels must spill (default: 50)")
    chosen = parser.parse_args(arguments)
    root = chosen.newest_root
    if root:
        search_also(lambda: {"newest": str(root)})
    compiler = newest(root) if root else DEBIAN
    is_right = True
    for name in chosen.device or (NEWEST_DEVICES if root else DEVICES):
        outcomes = spilling(compiler, name, chosen.least)
        differences = [line for outcome in outcomes.values() for line in outcome.differences]
        messages = sum(outcome.compared for outcome in outcomes.values())
        words = f"{len(outcomes)} attempts at kernels spill, in {messages:,} messages"
        print(f"{name} ({compiler}): {words}, {len(differences)} differences", flush=True)
        for line in differences[:10]:
            print(f"    {line}")
        is_right = is_right and not differences and len(outcomes) >= chosen.least
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
