"""The pieces of work that benchmarks time, each as a process of its own: ``python benchmarks/work.py NAME FILE...``."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path


def annotate(files: list[str], texts: bool) -> None:
    """Read instructions, line tables and their join for every kernel of the files."""
    from kernlens.loading import open_file
    from kernlens.loading.decoded_kernels import decode_kernels

    selection = [(program, list(program.kernels.values())) for file in files for program in open_file(file).programs]
    decode_kernels(selection, texts=texts)
    for _, kernels in selection:
        for kernel in kernels:
            if kernel.source_map is None:
                raise SystemExit(f"{kernel.name}: {kernel.line_table_reason}")


def line_tables(files: list[str]) -> None:
    """Print the seconds for all line tables: with kernlens and with pyelftools, from the same debug data in memory."""
    from elftools.elf.elffile import ELFFile

    from kernlens.formats.dwarf.line_tables import read_kernel_debug_elf
    from kernlens.formats.patch_tokens.debug_data import read_debug_data

    elves = [kernel.elf for file in files for kernel in read_debug_data(memoryview(Path(file).read_bytes())).kernels]
    start = time.perf_counter()
    rows = sum(len(table) for elf in elves if (table := read_kernel_debug_elf(elf)) is not None)
    ours = time.perf_counter() - start
    start = time.perf_counter()
    theirs_rows = 0
    for elf in elves:
        import io

        dwarf = ELFFile(io.BytesIO(bytes(elf))).get_dwarf_info(relocate_dwarf_sections=False)
        for unit in dwarf.iter_CUs():
            program = dwarf.line_program_for_CU(unit)
            if program is not None:
                theirs_rows += sum(1 for entry in program.get_entries() if entry.state is not None)
    theirs = time.perf_counter() - start
    if rows != theirs_rows:
        raise SystemExit(f"kernlens has {rows} rows, pyelftools {theirs_rows}")
    print(json.dumps({"ours": ours, "theirs": theirs, "rows": rows}))


def listing(files: list[str]) -> None:
    """Print the milliseconds to open an archive and name all kernels in it: first, then best of ten in the same process."""
    from kernlens.loading import open_file

    times = []
    for _ in range(10):
        start = time.perf_counter()
        names = [(program.name, kernel) for program in open_file(files[0]).programs for kernel in program.kernels]
        times.append(time.perf_counter() - start)
    print(json.dumps({"first": times[0] * 1e3, "best": min(times) * 1e3, "kernels": len(names), "peak": peak()}))


def memory(files: list[str]) -> None:
    """Print the peak memory in bytes when everything in one file was asked for."""
    annotate(files, texts=True)
    print(json.dumps({"peak": peak()}))


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


WORK: dict[str, Callable[[list[str]], None]] = {
    "records": lambda files: annotate(files, texts=False),
    "texts": lambda files: annotate(files, texts=True),
    "line-tables": line_tables,
    "listing": listing,
    "memory": memory,
}

if __name__ == "__main__":
    WORK[sys.argv[1]](sys.argv[2:])
