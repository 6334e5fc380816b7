"""Random edits of real kernels' machine code, and what came of each: ``python -m tests.corpus.code_edits --help``.

Each edit inserts, deletes or swaps instructions, or changes an immediate or a register. The new binary is read back: the edited
instruction as it was meant, every other one with its bytes (branches with their targets) and its line, by kernlens and by
readelf; and drivers of both generations, on simulated devices, take it, and hold exactly that code.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import kernlens
from kernlens.errors import KernlensError, ToolError
from kernlens.formats.neo_elf import is_neo_elf
from kernlens.isa.intel.iga_library import search_also
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.runtime.driver_environment import DriverEnvironment, package_folder
from kernlens.runtime.isolation import OPENCL, IsolatedDriver
from kernlens.toolchain.simulation import simulated_driver
from kernlens.verbs.assemble import Assembly, assemble
from kernlens.verbs.editable import editable_text, old_code
from tests.corpus.build import DEBUG_OPTIONS, JOINED, build, main_source
from tests.corpus.compiler import DEBIAN, Compiler, newest
from tests.corpus.manifest import CorpusProgram, programs
from tests.corpus.oracles.readelf import line_rows
from tests.corpus.packages import packages_folder
from tests.tree import ROOT

KINDS = ("insert", "delete", "swap", "immediate", "register")
SCRIPT = ROOT / "tests" / "integration" / "drivers" / "live_scripts" / "held_code.py"
_COMMENT = re.compile(r"// 0x([0-9a-f]+)")
_IMMEDIATE = re.compile(r"(?<= )(\d+):(w|d|ud|uw)\b")
_REGISTER = re.compile(r"(?<= )r(\d+)\.(\d+)<1>:(f|d|ud)\b")
#: Instructions that an edit leaves alone: the code before the kernel proper is at fixed places, others bind control flow.
_BOUND = re.compile(
    r"\b(?:goto|join|if|else|endif|while|jmpi|call|ret|brd|brc|send\w*|sync|calla|cont|break|halt|illegal|dpas)\b"
)


@dataclass
class Outcome:
    """What came of edits: their number by kind, instructions compared, answers of drivers, and differences in words."""

    edits: Counter[str] = field(default_factory=Counter)
    instructions: int = 0
    lines: int = 0
    held: int = 0
    differences: list[str] = field(default_factory=list)


@dataclass
class Edited:
    """An edit: its kind, the new text, the old line's number that it is about (0-based), and the words that it puts there."""

    kind: str
    text: list[str]
    words: str | None


def random_edit(lines: Sequence[str], generator: random.Random, first: int) -> Edited | None:
    """Return an edit of a text, behind offset ``first`` of its code; None if the chosen kind fits nowhere."""
    kind = generator.choice(KINDS)
    # Behind the end of the thread stands what the compiler leaves there for itself.
    last = max((number for number, line in enumerate(lines) if "EOT" in line), default=len(lines))
    places = [
        number
        for number, line in enumerate(lines)
        if (match := _COMMENT.search(line)) and first <= int(match[1], 16) and number < last and not line.startswith("//")
        and not _BOUND.search(line) and "driver fills" not in line and "Atomic" not in line and "cr0" not in line
    ]  # fmt: skip
    if not places:
        return None
    new = list(lines)
    at = generator.choice(places)
    if kind == "insert":
        words = f"(W) mov (1|M0) r{generator.randrange(100, 126)}.0<1>:ud 0x{generator.randrange(1 << 31):X}:ud"
        new.insert(at, words)
        return Edited(kind, new, words)
    if kind == "delete":
        del new[at]
        return Edited(kind, new, None)
    if kind == "swap":
        if at + 1 not in places:
            return None
        new[at], new[at + 1] = new[at + 1], new[at]
        return Edited(kind, new, None)
    pattern = _IMMEDIATE if kind == "immediate" else _REGISTER
    candidates = [
        number
        for number in places
        if pattern.search(lines[number].partition("//")[0]) and "Compacted" not in lines[number]
    ]
    if not candidates:
        return None
    at = generator.choice(candidates)
    code, mark, comment = lines[at].partition("//")
    if kind == "immediate":
        code = _IMMEDIATE.sub(lambda match: f"{(int(match[1]) + 1) % 30000}:{match[2]}", code, count=1)
    else:
        code = _REGISTER.sub(lambda match: f"r{(int(match[1]) + 2) % 120}.{match[2]}<1>:{match[3]}", code, count=1)
    if code == lines[at].partition("//")[0]:
        return None
    new[at] = code + mark + comment
    return Edited(kind, new, code)


def _code_lines(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if line.strip() and not line.startswith("//") and not re.match(r"L\d+:", line)]


def check_edit(
    where: str,
    edited: Edited,
    kernel: Kernel,
    assembly: Assembly,
    path: Path,
    others: Mapping[str, tuple[bytes, object]],
    outcome: Outcome,
) -> None:
    """Hold the new binary against the old kernel and what the edit meant; ``others`` are the rows of all old kernels."""
    (program,) = kernlens.load(path)
    new = program.kernels[kernel.name]
    if bytes(new.code) != assembly.code:
        outcome.differences.append(f"{where}: the file's code is not that which was assembled")
        return
    due_lines = _code_lines(edited.text)
    if len(new.instructions) != len(due_lines):
        outcome.differences.append(f"{where}: {len(new.instructions)} instructions of {len(due_lines)} lines")
        return
    old_rows = {offset: row for row, offset in enumerate(kernel.instructions.offsets)}
    origins = []
    for line in due_lines:
        match = _COMMENT.search(line)
        origins.append(old_rows[int(match[1], 16)] if match else None)
    _check_rows(where, edited, kernel, program, origins, due_lines, outcome)
    for name, other in others.items():
        if name != kernel.name and _rows(program.kernels[name]) != other:
            outcome.differences.append(f"{where}: the kernel {name}, which was not edited, has other code or lines")


def _rows(kernel: Kernel) -> tuple[bytes, object]:
    """Return a kernel's code and the rows of its line table."""
    table = kernel.line_table
    rows = None if table is None else (list(table.offsets), list(table.lines), list(table.columns))
    return bytes(kernel.code), rows


def _check_rows(
    where: str,
    edited: Edited,
    kernel: Kernel,
    program: Program,
    origins: Sequence[int | None],
    due_lines: Sequence[str],
    outcome: Outcome,
) -> None:
    new = program.kernels[kernel.name]
    new_of = {origin: row for row, origin in enumerate(origins) if origin is not None}
    old_bytes, new_bytes = bytes(kernel.code), bytes(new.code)
    old_map, new_map = kernel.source_map, new.source_map
    texts = old_code(program, new).text.texts
    for row, origin in enumerate(origins):
        line = due_lines[row].partition("//")[0]
        instruction = new.instructions[row]
        if edited.words is not None and line.split() == edited.words.split():
            if texts[row].split() != edited.words.split():
                outcome.differences.append(f"{where}: {edited.words.split()} reads {texts[row].split()}")
            if origin is None:
                continue
        if origin is None:
            continue
        before = kernel.instructions[origin]
        outcome.instructions += 1
        if edited.words is None or line.split() != edited.words.split():
            ours = new_bytes[instruction.offset : instruction.offset + instruction.size]
            theirs = old_bytes[before.offset : before.offset + before.size]
            targets = [_row_at(kernel, target) for target in before.targets]
            if before.targets:
                ours, theirs = ours[:8], theirs[:8]
                moved = [
                    _target_of(new_of, target, len(kernel.instructions), len(new.instructions)) for target in targets
                ]
                rows = [_row_at(new, target) for target in instruction.targets]
                if not all(_is_at(row_now, row_due, origins) for row_now, row_due in zip(rows, moved, strict=True)):
                    outcome.differences.append(f"{where}: the branch at {before.offset:#x} goes elsewhere")
            if ours != theirs:
                outcome.differences.append(f"{where}: the instruction at {before.offset:#x} has other bytes")
        if old_map is not None:
            place, other = old_map.place(origin), None if new_map is None else new_map.place(row)
            outcome.lines += 1
            if place != other:
                outcome.differences.append(
                    f"{where}: the instruction at {before.offset:#x} was of {place}, and is of {other}"
                )


def _row_at(kernel: Kernel, offset: int) -> int:
    offsets = kernel.instructions.offsets
    return offsets.index(offset) if offset in offsets else len(offsets)


def _target_of(new_of: dict[int, int], row: int, count: int, new_count: int) -> int:
    """Return where a label that stood before an old row is: before the first row behind it that is still there."""
    return new_of.get(row, -1) if row < count else new_count


def _is_at(row: int, due: int, origins: Sequence[int | None]) -> bool:
    """Return whether a label is before row ``due``, or before what was inserted or swapped there, or whose row was deleted."""
    return row == due or due == -1 or abs(row - due) == 1


def held_code(driver: DriverEnvironment, binaries: Sequence[tuple[Path, str]], folder: Path) -> list[str]:
    """Return what a driver says of binaries: the hash of the code that it holds of a kernel of each, or its error."""
    listed = folder / "binaries.txt"
    listed.write_text("".join(f"{path}\t{name}\n" for path, name in binaries))
    done = subprocess.run(
        [*driver.python, str(SCRIPT), str(listed)],
        env=driver.full_environment(str(package_folder())),
        capture_output=True,
        text=True,
        timeout=900,
        cwd=folder,
    )
    if done.returncode:
        return [f"the driver's process ended with {done.returncode}: {done.stderr[-300:]}"] * len(binaries)
    answers: list[str] = json.loads(done.stdout)
    return answers


def edited_binaries(
    path: Path, count: int, generator: random.Random, folder: Path, outcome: Outcome, name: str
) -> list[tuple[Path, str, str]]:
    """Make ``count`` edits of a file's kernels, check each, and return the new files with the kernel and its code's hash."""
    results: list[tuple[Path, str, str]] = []
    (program,) = kernlens.load(path)
    kernels = [kernel for kernel in program.kernels.values() if len(kernel.instructions) < 3000]
    rows = {kernel.name: _rows(kernel) for kernel in program.kernels.values()}
    texts: dict[str, list[str]] = {}
    tries = 0
    while len(results) < count and kernels and tries < 6 * count:
        tries += 1
        kernel = generator.choice(kernels)
        if kernel.name not in texts:
            texts[kernel.name] = editable_text(str(path), program, kernel)
        edit = random_edit(texts[kernel.name], generator, _first(program, kernel))
        if edit is None:
            continue
        where = f"{name} {kernel.name} {edit.kind} {tries}"
        target = folder / f"{name.replace('/', '-')}-{tries}.bin"
        try:
            assembly = assemble("\n".join(edit.text), path, kernel=kernel.name, output=target)
        except KernlensError as error:
            outcome.differences.append(f"{where}: {error}")
            continue
        outcome.edits[edit.kind] += 1
        check_edit(where, edit, kernel, assembly, target, rows, outcome)
        if not results and not is_neo_elf(memoryview(assembly.binary)):
            check_readelf(target, outcome, where)
        results.append((target, kernel.name, hashlib.sha256(assembly.code.rstrip(b"\0")).hexdigest()))
    return results


def _first(program: Program, kernel: Kernel) -> int:
    """Return where edits may begin: behind the code that loads the payload, to which the driver knows offsets."""
    return max(0x200, kernel.resources.prologue_bytes or 0)


def check_driver(
    toolchain: str, device: str, results: Sequence[tuple[Path, str, str]], folder: Path, outcome: Outcome
) -> None:
    """Hold the code that a driver on a simulated device holds of each file against what was assembled."""
    answers = held_code(simulated_driver(device, toolchain), [(path, name) for path, name, _ in results], folder)
    for (path, name, due_lines), answer in zip(results, answers, strict=True):
        if answer == due_lines:
            outcome.held += 1
        else:
            outcome.differences.append(f"{toolchain}/{device}: {path.name} {name}: {answer}")


def check_readelf(path: Path, outcome: Outcome, where: str) -> None:
    """Check that readelf reads the same rows of a new zebin's line tables as kernlens does."""
    theirs = sorted((address, line) for rows in line_rows(path) for _, line, address in rows if line is not None)
    ours = []
    for program in kernlens.load(path):
        for kernel in program.kernels.values():
            if kernel.line_table is not None:
                ours += list(zip(kernel.line_table.offsets, kernel.line_table.lines, strict=True))
    if not set(theirs) <= set(ours) or not theirs:
        outcome.differences.append(f"{where}: readelf reads {len(theirs)} rows, kernlens {len(ours)}")


def _offline(program: CorpusProgram, device: str, compiler: Compiler) -> Path | None:
    built, _ = build([program], [device], compiler=compiler, jobs=1)
    return built[0].binary if built else None


def _live(program: CorpusProgram, device: str, folder: Path, more: str) -> Path | None:
    """Return the binary that the newest driver builds on a simulated device, None if it does not build the program."""
    home = packages_folder()
    main_file = home / main_source(program)
    options = " ".join(f"-I{home / word[2:]}" if word.startswith("-I") else word for word in program.options.split())
    options += f" -I{main_file.parent} -I{home / JOINED} -I{home} {more or DEBUG_OPTIONS}"
    with IsolatedDriver(simulated_driver(device, "newest")) as driver:
        try:
            driver.build_source(program.name, main_file.read_text(), options)
        except ToolError:
            return None
        (live,) = driver.live_builds(program.name, OPENCL)
    path = folder / f"{program.name.replace('/', '-')}.live"
    path.write_bytes(live.binary)
    return path


def main() -> int:
    """Print what came of the edits; exit status 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--newest-root", type=Path, required=True)
    parser.add_argument("--edits", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--options", default="", help="added to the builds' options: -g has debug data of variables")
    arguments = parser.parse_args()
    search_also(lambda: {"newest": str(arguments.newest_root)})
    generator = random.Random(arguments.seed)
    chosen = [each for each in programs() if each.name.startswith("darktable/")][:10]
    outcome = Outcome()
    rounds = (
        [("system", replace(DEBIAN, options=arguments.options), device) for device in ("skl", "icllp", "tgllp", "dg2", "pvc")]
        + [("newest", newest(arguments.newest_root), device) for device in ("dg2", "bmg", "lnl", "ptl")]
    )  # fmt: skip
    each = -(-arguments.edits // (len(rounds) * len(chosen)))
    for toolchain, compiler, device in rounds:
        before = len(outcome.differences)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            results: list[tuple[Path, str, str]] = []
            # Of the newest driver, only what it has built itself is for its simulated devices.
            for item in chosen:
                is_offline, more = toolchain == "system", arguments.options
                path = _offline(item, device, compiler) if is_offline else _live(item, device, folder, more)
                if path is not None:
                    results += edited_binaries(path, each, generator, folder, outcome, f"{item.name}@{device}")
            check_driver(toolchain, device, results, folder, outcome)
        print(
            f"{toolchain}/{device}: {len(results)} edits, {len(outcome.differences) - before} differences", flush=True
        )
        for difference in outcome.differences[before : before + 5]:
            print(f"    {difference}")
    counts = ", ".join(f"{count} {kind}" for kind, count in outcome.edits.items())
    print(
        f"{outcome.edits.total():,} edits ({counts}): {outcome.instructions:,} untouched instructions, {outcome.lines:,} lines,"
        f" {outcome.held:,} held by drivers as edited, {len(outcome.differences)} differences"
    )
    return 1 if outcome.differences else 0


if __name__ == "__main__":
    sys.exit(main())
