"""Compares what kernlens reads of cubins with what NVIDIA's tools print of them.

For every cubin in the files given (cubins, fat binaries, libraries): each instruction's offset and text with ``nvdisasm -c``,
its lines and inlined calls with ``nvdisasm -c -gi``, its line of the PTX with ``-gp``; and where ``cuobjdump`` is there,
registers, stack and shared memory with its ``-res-usage``.

    python -m tests.integration.nvidia.sass_oracle FILE...
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from kernlens.analysis.correlate import correlate
from kernlens.formats.cubin.cubin_file import Cubin, read_cubin
from kernlens.formats.cubin.cubin_lines import PTX_LINES, SOURCE_LINES, CubinLines
from kernlens.isa.nvidia.sass_listing import SassListing
from kernlens.loading import open_file
from kernlens.toolchain.nvdisasm import disassemble_cubin, find_nvdisasm

#: An instruction's offset, its text, and its places: its own, then the calls through which it was inlined.
Row = tuple[int, str, tuple[tuple[str, int], ...]]
_SECTION = re.compile(r'\s*\.section\s+"?\.text\.([^",]+)')
_FILE = re.compile(r'\s*//## File "(.*?)", line (\d+)')
_INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*$")
_NOTE = re.compile(r"\s+(?=\(\*\")")
_NAMED = re.compile(r"\.L_x_\d+")
_USAGE = re.compile(r"Function (\S+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+)")


def printed(path: Path, flag: str) -> dict[str, list[Row]]:
    """Return what nvdisasm prints of each section of code."""
    nvdisasm = find_nvdisasm()
    assert nvdisasm is not None
    words = [nvdisasm, "-c", *([flag] if flag else []), str(path)]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    sections: dict[str, list[Row]] = {}
    rows: list[Row] = []
    places: list[tuple[str, int]] = []
    is_open = False
    for line in text.splitlines():
        if match := _SECTION.match(line):
            rows, places, is_open = sections.setdefault(match[1], []), [], False
        elif match := _FILE.match(line):
            places = [*(places if is_open else []), (match[1], int(match[2]))]
            is_open = True
        elif match := _INSTRUCTION.match(line):
            rows.append((int(match[1], 16), match[2], tuple(places)))
            is_open = False
    return sections


def _as_label(path: Path, kernel: str) -> Callable[[re.Match[str]], str]:
    """Return what replaces a label that nvdisasm made by ``L`` and the offset of the instruction that stands behind it."""
    nvdisasm = find_nvdisasm()
    assert nvdisasm is not None
    text = subprocess.run([nvdisasm, "-c", str(path)], capture_output=True, text=True, check=True).stdout
    offsets: dict[str, int] = {}
    waiting: list[str] = []
    section = ""
    for line in text.splitlines():
        if match := _SECTION.match(line):
            section, waiting = match[1], []
        elif line.startswith(".L") and line.endswith(":"):
            waiting.append(line[:-1])
        elif (match := _INSTRUCTION.match(line)) and section == kernel:
            offsets |= dict.fromkeys(waiting, int(match[1], 16))
            waiting = []
    return lambda match: f"L{offsets[match[0]]}" if match[0] in offsets else match[0]


def cubins_in(path: Path) -> Iterator[bytes]:
    """Yield the cubins in a file."""
    for program in open_file(path).programs:
        if program.format == "cubin":
            yield bytes(program.binary)


def compare(content: bytes, folder: Path, differing: list[str]) -> Counter[str]:
    """Compare one cubin; return how much was compared of what, and add a sentence for each difference."""
    path = folder / "compared.cubin"
    path.write_bytes(content)
    read = read_cubin(memoryview(content))
    counts: Counter[str] = Counter()
    listing = SassListing(*disassemble_cubin(content))
    plain = printed(path, "")
    for kernel in read.kernels:
        instructions = listing.instructions(kernel.name, kernel.code)
        mine = list(zip(instructions.offsets, instructions.texts, strict=True))
        as_label = _as_label(path, kernel.name)
        theirs = [(offset, _NOTE.sub(" ", _NAMED.sub(as_label, text))) for offset, text, _ in plain[kernel.name]]
        counts["instructions"] += len(theirs)
        if mine != theirs:
            differing.append(f"{kernel.name}: instructions")
    for flag, section in (("-gi", SOURCE_LINES), ("-gp", PTX_LINES)):
        lines = CubinLines(read, section)
        if lines.has_section:
            counts[flag] += _compare_lines(read, lines, printed(path, flag), flag, differing)
    cuobjdump = shutil.which("cuobjdump", path=str(Path(find_nvdisasm() or "").parent))
    if cuobjdump is not None:
        usage = subprocess.run([cuobjdump, "-res-usage", str(path)], capture_output=True, text=True, check=True).stdout
        stated = {match[1]: tuple(map(int, match.groups()[1:])) for match in _USAGE.finditer(usage)}
        for kernel in read.kernels:
            if kernel.name in stated:
                counts["resources"] += 1
                own = read.resources(kernel)
                if (own.registers, own.stack_bytes, own.shared_bytes) != stated[kernel.name]:
                    differing.append(f"{kernel.name}: {own} is not {stated[kernel.name]}")
    return counts


def _compare_lines(
    read: Cubin, lines: CubinLines, oracle: dict[str, list[Row]], flag: str, differing: list[str]
) -> int:
    count = 0
    for kernel in read.kernels:
        table = lines.get(kernel.name)
        rows = oracle[kernel.name]
        if table is None:
            if any(places for _, _, places in rows):
                differing.append(f"{kernel.name}: no lines, {flag} has some")
            continue
        source_map = correlate([offset for offset, _, _ in rows], table)
        for index, (offset, _, places) in enumerate(rows):
            count += 1
            place = source_map.place(index)
            own = () if place is None else (place, *source_map.inlined_at(index))
            named = tuple((each.path or ".nv_debug_ptx_txt", each.line) for each in own)
            if named != places:
                differing.append(f"{kernel.name} at {offset:#x}: {named} is not {places} ({flag})")
    return count


def main() -> int:
    """Compare all files that are named, and print the counts."""
    total: Counter[str] = Counter()
    differing: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:]:
            for content in cubins_in(Path(name)):
                try:
                    total += compare(content, Path(folder), differing)
                except Exception as error:
                    total["cubins that nvdisasm does not read"] += 1
                    if "deprecated" not in str(error) and "before Volta" not in str(error):
                        differing.append(str(error))
    print(dict(total), f"{len(differing)} differ", *differing[:20], sep="\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
