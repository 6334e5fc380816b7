"""The corpus compiled for AMD's GPUs, and held against LLVM's own tools: ``python -m tests.corpus.amd --help``.

It takes every toolchain's compiler for AMD: the machine's (Debian 12: clang-15, lld-15, llvm-15, rocm-device-libs), and what
``kernlens toolchain add amd-newest`` made, if that has LLVM's tools (llvm-21) too.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from kernlens.formats.amdgpu.code_object import read_code_object
from kernlens.loading.context import Context
from kernlens.loading.unpack import Unpacker
from kernlens.model.build import Build
from kernlens.model.kernel import Kernel
from kernlens.model.line_table import END_SEQUENCE
from kernlens.toolchain.amd_clang import amd_devices_of, compile_for_amd
from kernlens.toolchain.amd_compiler import AmdCompiler, amd_compiler
from kernlens.toolchain.toolchains import find_toolchains
from tests.corpus.build import JOINED, main_source
from tests.corpus.manifest import CorpusProgram, programs
from tests.corpus.oracles.llvm_tools import dwarfdump_rows, objdump_texts, readelf_kernels
from tests.corpus.outcome import Outcome
from tests.corpus.packages import fetch, packages_folder

#: One of each generation that OpenCL's images are on, and one that has none.
#: A branch as llvm-objdump prints it.
_BRANCH = re.compile(r"(s_(?:c?branch\w*|call_b64 \S+|subvector_loop_\w+ \S+)) (-?\d+|0x[0-9a-f]+)")
DEVICES = ("gfx900", "gfx90a", "gfx1030", "gfx1100", "gfx1201", "gfx942")
#: What readelf calls a figure -> what kernlens does.
_FIGURES = {
    "vgpr_count": "vgprs", "sgpr_count": "sgprs", "agpr_count": "agprs", "vgpr_spill_count": "vgpr_spills",
    "sgpr_spill_count": "sgpr_spills", "group_segment_fixed_size": "lds_bytes",
    "private_segment_fixed_size": "private_segment_bytes", "wavefront_size": "wave_size",
    "max_flat_workgroup_size": "max_work_group",
}  # fmt: skip


def labelled(text: str, offset: int, size: int) -> str:
    """Return llvm-objdump's text of a branch with a label, ``L96``, in place of the words that it goes on from the next
    instruction; one that leaves the kernel's code keeps them."""
    branch = _BRANCH.fullmatch(text)
    if branch is None:
        return text
    words = int(branch[2], 0) & 0xFFFF
    target = offset + 4 + 4 * (words - 0x10000 if words & 0x8000 else words)
    return f"{branch[1]} L{target}" if 0 <= target < size else text


def compiled(program: CorpusProgram, device: str, compiler: AmdCompiler) -> Build:
    """Compile a program of the corpus, with line tables."""
    folder = packages_folder()
    words = [word for word in program.options.split() if not word.startswith("-cl-intel")]
    options = " ".join(["-gline-tables-only", f"-I{folder}", f"-I{folder / JOINED}", *words])
    return compile_for_amd(folder / main_source(program), device, options, compiler.toolchain, 300)


def check(build: Build, compiler: AmdCompiler) -> dict[str, Outcome]:
    """Return what differs between kernlens and LLVM's tools on a code object."""
    outcomes = {
        name: Outcome(unit)
        for name, unit in (("texts", "instructions"), ("rows", "rows"), ("lines", "lines"), ("figures", "figures"))
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.hsaco")
        path.write_bytes(build.binary)
        texts, lines = objdump_texts(compiler, path)
        rows, figures = dwarfdump_rows(compiler, path), readelf_kernels(compiler, path)
    unpacker = Unpacker()
    unpacker.unpack(memoryview(build.binary), build.name, 0, Context(build))
    (program,) = unpacker.programs
    starts = {kernel.name: kernel.address for kernel in read_code_object(memoryview(build.binary)).kernels}
    for kernel in program.kernels.values():
        where, start = f"{build.name}@{build.device} {kernel.name}", starts[kernel.name]
        offsets, end = kernel.instructions.offsets, start + kernel.code_size
        theirs = [
            labelled(texts[address], address - start, end - start)
            for address in sorted(texts)
            if start <= address < end
        ]
        outcomes["texts"].compare(where, list(kernel.instructions.texts), theirs)
        assert [address for address in sorted(texts) if start <= address < end] == [
            start + offset for offset in offsets
        ]
        outcomes["rows"].compare(where, list(_rows(kernel, start)), [row for row in rows if start <= row[0] < end])
        assert kernel.source_map is not None, where
        places = {start + offset: kernel.source_map.place(index) for index, offset in enumerate(offsets)}
        listed = [address for address in sorted(lines) if address in places]
        ours = [(place.path, place.line) if place else None for place in (places[address] for address in listed)]
        outcomes["lines"].compare(where, ours, [lines[address] for address in listed])
        stated = {
            key: int(figures[kernel.name][name]) for name, key in _FIGURES.items() if name in figures[kernel.name]
        }
        outcomes["figures"].compare(where, sorted(_figures(kernel).items()), sorted(stated.items()))
    return outcomes


def _figures(kernel: Kernel) -> dict[str, int]:
    resources = kernel.resources
    files = {f"{name.lower()}s": count for name, count in resources.register_files.items()}
    spills = {f"{name.lower()}_spills": count for name, count in resources.spilled_registers.items()}
    # The metadata does not state the occupancy; tests.corpus.occupancy compares it.
    stated = {key: value for key, value in resources.stated.items() if key != "occupancy"}
    return {**files, **spills, **stated}


def _rows(kernel: Kernel, start: int) -> Iterator[tuple[int, int, int, int, bool]]:
    table = kernel.line_table
    if table is not None:
        for row, flag in zip(table.rows, table.flags, strict=True):
            if not flag & END_SEQUENCE:
                yield start + row.offset, row.line, row.column, row.file, row.is_stmt


def main() -> int:
    """Print one line per check and device; exit status 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", action="append", help=f"default: {', '.join(DEVICES)}")
    parser.add_argument("--program", action="append", help="a name or the start of one (default: darktable/)")
    arguments = parser.parse_args()
    prefixes = tuple(arguments.program or ["darktable/"])
    chosen = [program for program in programs() if program.name.startswith(prefixes)]
    fetch(dict.fromkeys(name for program in chosen for name in program.packages))
    return max(_verify(chosen, device) for device in arguments.device or DEVICES)


def _verify(chosen: Sequence[CorpusProgram], device: str) -> int:
    differ = 0
    for toolchain in find_toolchains():
        compiler = amd_compiler(toolchain)
        if compiler is None or device not in amd_devices_of(toolchain):
            continue
        totals: dict[str, Outcome] = {}
        refused = 0
        for program in chosen:
            build = compiled(program, device, compiler)
            if not build.ok:
                refused += 1
                continue
            for name, outcome in check(build, compiler).items():
                totals.setdefault(name, Outcome(outcome.unit)).add(outcome)
        figures = ", ".join(
            f"{each.compared:,} {each.unit}, {len(each.differences)} differ" for each in totals.values()
        )
        print(
            f"{device} by {toolchain.name}, {compiler.title}: {len(chosen) - refused} programs, {refused} refused: {figures}"
        )
        for difference in [text for outcome in totals.values() for text in outcome.differences][:10]:
            print(f"  {difference}")
            differ = 1
    return differ


if __name__ == "__main__":
    sys.exit(main())
