"""LLVM's machine code analyser, ``llvm-mca``: when each instruction issues in LLVM's scheduling model of a processor.

It is of the LLVM that disassembled the code, as that one reads its own texts again. It gets the text of one kernel's blocks on
its standard input, in a process with limits that can open no other file, where the machine can confine one.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from typing import Any

from kernlens import log
from kernlens.dataclass import dataclass
from kernlens.errors import NotFoundError, ToolError, UnsupportedError
from kernlens.model.waits import Step
from kernlens.toolchain.confinement import Confinement, Limits, confinement
from kernlens.toolchain.process import run, temporary_folder
from kernlens.toolchain.registered import roots
from kernlens.toolchain.shown_files import is_offered, parts_of_root
from kernlens.toolchain.toolchains import Toolchain

NAME = "llvm-mca"
#: Its answer has 0.4 KB for each instruction; 20,000 take less than a second.
MOST_INSTRUCTIONS = 200_000
_LIMITS = Limits(seconds=60.0, memory=4 << 30, file_size=1 << 20, written=1 << 20, output=256 << 20)
_VIEWS = (
    "--json", "--timeline", "--timeline-max-cycles=0", "--timeline-max-iterations=1", "--iterations=1",
    "--resource-pressure=false",
)  # fmt: skip
#: What LLVM says of a processor that it does not know, whose instructions it takes for another's.
_NO_PROCESSOR = "is not a recognized processor"


@dataclass(frozen=True, slots=True)
class LlvmMca:
    """The program of an LLVM ``major``, in a toolchain."""

    toolchain: Toolchain
    path: str
    major: int

    @property
    def title(self) -> str:
        """Its name and the version of its LLVM."""
        return f"{NAME} {self.major}"

    def simulate(self, target: str, processor: str, features: str, blocks: Sequence[Sequence[str]]) -> list[list[Step]]:
        """Return the steps of each block's instructions, simulated alone. Raises UnsupportedError if the model does not know
        the processor or an instruction, ToolError if it takes too much."""
        words = [f"--mtriple={target}", f"--mcpu={processor}", *([f"--mattr={features}"] if features else [])]
        command = self.toolchain.command(self.path, *words, *_VIEWS, "-")
        shown = parts_of_root(str(self.toolchain.root)) if self.toolchain.root else ()
        text = "".join(_region(number, block) for number, block in enumerate(blocks)).encode()
        if confinement() is not None:
            done = run(command, timeout=_LIMITS.seconds, output_limit=_LIMITS.output, stdin=text)
        else:
            with temporary_folder() as folder, Confinement(folder, _LIMITS, shown if is_offered() else None):
                done = run(command, timeout=_LIMITS.seconds, output_limit=_LIMITS.output, stdin=text)
        if _NO_PROCESSOR in done.stderr:
            raise UnsupportedError(f"{self.title} has no model of {processor}")
        if not done.ok:
            complaint = next((line for line in done.stderr.splitlines() if "error: " in line), "")
            reason = complaint.partition("error: ")[2].strip() or done.ending
            raise UnsupportedError(f"{self.title} does not simulate this code: {reason}")
        try:
            return _steps(json.loads(done.stdout), list(map(len, blocks)))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ToolError(f"{self.title} answered what kernlens does not read") from error


def llvm_mca(major: int) -> LlvmMca:
    """Return the program of this LLVM, of the machine or else of a toolchain. Raises UnsupportedError, which says what to
    install, if there is none."""
    for toolchain, path in _candidates(major):
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return LlvmMca(toolchain, path, major)
        log.debug("toolchain", "no %s: %s", NAME, path)
    from kernlens.toolchain.packages import how_to_get

    raise UnsupportedError(
        f"{NAME} of LLVM {major}, which disassembled the code, is not installed: {how_to_get(f'{NAME}-{major}')}"
    )


def _candidates(major: int) -> Iterator[tuple[Toolchain, str]]:
    below = f"usr/lib/llvm-{major}/bin/{NAME}"
    system = Toolchain("system", None, None, None, None)
    on_path = shutil.which(f"{NAME}-{major}")
    yield system, f"/{below}"
    if on_path:
        yield system, on_path
    try:
        registered = roots()
    except NotFoundError as error:
        log.debug("toolchain", "no %s of a toolchain: %s", NAME, error)
        return
    for name, root in registered.items():
        yield Toolchain(name, root, None, None, None), str(root / below)


def _region(number: int, texts: Sequence[str]) -> str:
    lines = (f"# LLVM-MCA-BEGIN {number}", *texts, f"# LLVM-MCA-END {number}")
    return "".join(f"{line}\n" for line in lines)


def _steps(answer: Any, sizes: Sequence[int]) -> list[list[Step]]:
    """Return the steps of an answer. Raises ValueError, KeyError or TypeError if it is not of blocks of these sizes."""
    regions = {region["Name"]: region for region in answer["CodeRegions"]}
    steps = [_of_region(regions[str(number)]) for number in range(len(sizes))]
    if list(map(len, steps)) != list(sizes):
        raise ValueError("instructions are missing")
    return steps


def _of_region(region: Any) -> list[Step]:
    timeline, described = region["TimelineView"]["TimelineInfo"], region["InstructionInfoView"]["InstructionList"]
    return [
        Step(
            int(times["CycleIssued"]),
            int(times["CycleExecuted"]),
            int(each["NumMicroOpcodes"]),
            bool(each["mayLoad"] or each["mayStore"]),
        )
        for times, each in zip(timeline, described, strict=True)
    ]
