"""The check that every byte of a program's code sections is in a listing, or a zero behind the last instruction; that
every function that has a symbol is listed by its name: ``python -m tests.corpus.code_bytes --help`` checks the corpus
in variants that keep calls."""

from __future__ import annotations

import argparse
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import kernlens
from kernlens.isa.intel.iga_library import search_also
from kernlens.model.kernel import Kernel
from tests.corpus.build import Built, build
from tests.corpus.compiler import DEBIAN, Compiler, newest
from tests.corpus.manifest import DEVICES, NEWEST_DEVICES, programs
from tests.corpus.oracles.readelf import elf_contents
from tests.corpus.outcome import Outcome

#: What keeps functions from being inlined, or changes what stands behind code.
VARIANTS = {
    "as the corpus is": lambda compiler: compiler,
    "-cl-opt-disable": lambda compiler: replace(compiler, options="-cl-opt-disable"),
    "-g": lambda compiler: replace(compiler, options="-g"),
    "forced calls": lambda compiler: replace(compiler, settings=(("IGC_FunctionControl", "3"),)),
    "zebin, forced calls": lambda compiler: replace(
        compiler, settings=(("IGC_EnableZEBinary", "1"), ("IGC_FunctionControl", "3"))
    ),
}

_TEXT = ".text."
_DEVICE_BINARY = "Intel(R) OpenCL Device Binary"
#: SProgramBinaryHeader: the number of kernels at byte 16, the size of the patch list at 24.
_PROGRAM = struct.Struct("<16xI4xI")
#: SKernelBinaryHeaderCommon: the sizes of name, patch list and the four heaps.
_KERNEL = struct.Struct("<12x6I4x")

#: A code section: the kernel's name, its bytes, and its other functions: (offset, name).
_Section = tuple[str, bytes, list[tuple[int, str]]]


def check_code_bytes(built: Built) -> Outcome:
    """Check that each kernel's instructions follow each other without a gap, and are all of its section but last zeros."""
    outcome = Outcome("bytes of code")
    (program,) = kernlens.load(built.binary)
    sections = list(_sections(built.binary))
    outcome.compare(f"{built.name} kernels", sorted(program.kernels.keys()), sorted(name for name, _, _ in sections))
    for name, content, functions in sections:
        where = f"{built.name} {name}"
        kernel = program.kernels[name]
        listed = _listed(kernel)
        whole = listed + bytes(max(0, len(content) - len(listed)))
        if whole == content:
            outcome.compared += len(content)
        else:
            outcome.compare(where, whole, content)
        ends = [0, *accumulate(function.size for function in kernel.functions)]
        starts = [function.offset for function in kernel.functions]
        covered = kernel.code_size + (kernel.trailer.size if kernel.trailer else 0)
        if starts and (starts != ends[:-1] or ends[-1] != covered):
            outcome.differences.append(f"{where}: its functions are not all of its code")
        named = {(function.offset, function.name) for function in kernel.functions}
        if missing := [function for function in functions if function not in named]:
            outcome.differences.append(f"{where}: the functions {missing} are not listed")
    return outcome


def _listed(kernel: Kernel) -> bytes:
    """Return the bytes of the instructions, up to where one does not begin where the one before ended."""
    instructions, listed, trailer = kernel.instructions, bytearray(), kernel.trailer
    for offset, size in zip(instructions.offsets, instructions.sizes, strict=True):
        if trailer and len(listed) == trailer.offset:
            listed += kernel.heap[trailer.offset : trailer.end]
        if offset != len(listed):
            break
        listed += kernel.heap[offset : offset + size]
    if trailer and len(listed) == trailer.offset:
        listed += kernel.heap[trailer.offset : trailer.end]
    return bytes(listed)


def _sections(path: Path) -> Iterator[_Section]:
    """Yield the code sections of a zebin, or the heaps of the kernels in a patch-token program, as readelf places them."""
    content, elf = path.read_bytes(), elf_contents(path)
    for index, name, _, offset, size, *_ in elf.sections:
        if name.startswith(_TEXT):
            kernel = name.removeprefix(_TEXT)
            functions = {
                value: symbol
                for _, value, _, kind, _, section, symbol in reversed(elf.symbols)
                if section == str(index) and kind == "func" and symbol not in (kernel, "_entry")
            }
            yield kernel, content[offset : offset + size], sorted(functions.items())
        elif name == _DEVICE_BINARY:
            yield from _heaps(content[offset : offset + size])


def _heaps(program: bytes) -> Iterator[_Section]:
    count, patch_list = _PROGRAM.unpack_from(program)
    position = 28 + patch_list
    for _ in range(count):
        name, tokens, heap, *others = _KERNEL.unpack_from(program, position)
        position += _KERNEL.size
        kernel = program[position : position + name].rstrip(b"\0").decode()
        position += name
        yield kernel, program[position : position + heap], []
        position += heap + tokens + sum(others)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line per variant and device; exit status 1 if a byte is left out, or nothing was compared."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", action="append")
    parser.add_argument("--program", action="append", help="a name or the start of one, e.g. darktable/ (default: all)")
    parser.add_argument("--variant", action="append", choices=VARIANTS, help="default: all")
    parser.add_argument("--newest-root", type=Path, help="the newest compiler, in this root folder")
    chosen = parser.parse_args(arguments)
    if chosen.newest_root:
        search_also(lambda: {"newest": str(chosen.newest_root)})
    compiler: Compiler = newest(chosen.newest_root) if chosen.newest_root else DEBIAN
    prefixes = tuple(chosen.program or [""])
    selected = [program for program in programs() if program.name.startswith(prefixes)]
    is_right = True
    for variant in chosen.variant or VARIANTS:
        for device in chosen.device or (NEWEST_DEVICES if chosen.newest_root else DEVICES):
            built, failed = build(selected, [device], compiler=VARIANTS[variant](replace(compiler, dumps=())))
            total = Outcome("bytes of code")
            for item in built:
                total.add(check_code_bytes(item))
            print(
                f"{variant}, {device}: {len(built)} binaries ({len(failed)} do not compile), {total.compared:,} "
                f"{total.unit}, {len(total.differences)} differences",
                flush=True,
            )
            for difference in total.differences[:10]:
                print(f"    {difference}")
            is_right = is_right and bool(total.compared) and not total.differences
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
