"""Whole small files for tests of verbs: a patch-token program with debug data, SPIR-V modules, a compiler that is a script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernlens.formats.neo_elf import BUILD_OPTIONS, DEVICE_BINARY, DEVICE_DEBUG
from kernlens.model.compiler import Compiler
from kernlens.model.device import Device
from kernlens.model.hash_trailer import HashTrailer
from kernlens.model.instruction_kind import InstructionKind
from kernlens.model.intel_instructions import END_OF_THREAD, IntelInstructions
from tests.writers.dwarf import Row, encode, line_unit_4
from tests.writers.elf import ElfWriter
from tests.writers.instruction_records import record
from tests.writers.patch_tokens import KernelToWrite, debug_data, environment, neo_elf, program
from tests.writers.spirv import SpirvWriter

SOURCE = "kernel void scale(global int *a) {\n    int id = get_global_id(0);\n    a[id] *= 2;\n}\n"
#: IntelInstructions of 16 bytes; the first two are of line 2, the third of line 3.
ROWS: list[Row] = [(0, 1, 2, 5, True), (32, 1, 3, 5, True)]
CODE_SIZE = 48
EXPORT, IMPORT = 0, 1


def binary(source: str = "scale.cl", *, kernel: str = "scale", options: str = "-gline-tables-only") -> bytes:
    """Return a NEO ELF for skl with the kernels ``kernel``, which has a line table that names ``source``, and ``plain``."""
    kernels = [KernelToWrite(name, code=bytes(CODE_SIZE), tokens=[environment(simd=16)]) for name in (kernel, "plain")]
    debug_elf = ElfWriter(machine=182)
    debug_elf.add(".text", bytes(CODE_SIZE))
    debug_elf.add(".debug_line", line_unit_4(encode(ROWS, CODE_SIZE), files=[(source, 0)]))
    return neo_elf(
        [
            (BUILD_OPTIONS, options.encode() + b"\0"),
            (DEVICE_BINARY, program(kernels)),
            (DEVICE_DEBUG, debug_data([(kernel, bytes(debug_elf.build()), b"")])),
        ]
    )


def decoded(
    kernels: Sequence[tuple[Device, bytes | memoryview, Compiler]],
    threads: int | None = None,
    *,
    texts: bool = False,
    trailers: Sequence[HashTrailer | None] = (),
) -> list[IntelInstructions]:
    """Stand in for ``decode_many`` where no libiga64 is wanted: every 16 bytes are a ``mov``, the last of which ends
    the thread."""
    return [_movs(len(code)) for _, code, _ in kernels]


def _movs(size: int) -> IntelInstructions:
    offsets = range(0, size, 16)
    return IntelInstructions(
        b"".join(record(offset=offset, flags=END_OF_THREAD if offset == offsets[-1] else 0) for offset in offsets),
        ["mov"],
        lambda: [f"mov r{offset}" for offset in offsets],
        classify=lambda _: [InstructionKind("move")] * len(offsets),
    )


def spirv(exports: str = "", imports: str = "") -> bytes:
    """Return a module with a kernel ``work`` that calls the imported function, and one exported function."""
    void, integer, kind, kernel, offered, foreign = 10, 11, 12, 40, 41, 42
    writer = SpirvWriter()
    writer.add(17, 4).add(17, 6).add(14, 2, 2).add(15, 6, kernel, "work").add(5, kernel, "work")
    if exports:
        writer.add(5, offered, exports).add(71, offered, 41, exports, EXPORT)
    if imports:
        writer.add(5, foreign, imports).add(71, foreign, 41, imports, IMPORT)
    writer.add(19, void).add(21, integer, 32, 0).add(33, kind, integer, integer).add(43, integer, 20, 1)
    if imports:
        writer.add(54, integer, foreign, 0, kind).add(56)
    writer.add(54, void, kernel, 0, kind).add(248, 60)
    if imports:
        writer.add(57, integer, 70, foreign, 20)
    writer.add(253).add(56)
    if exports:
        writer.add(54, integer, offered, 0, kind).add(248, 61).add(254, 20).add(56)
    return bytes(writer.build())


#: Answers the questions that kernlens asks ocloc, and "compiles" by copying a file.
_OCLOC = """\
#!/bin/sh
case "$1 $2" in
  "query OCL_DRIVER_VERSION") printf '22.43.24595' > "$2" ;;
  "compile --help") echo "  <device_type> can be: skl, icllp, dg2" ;;
  compile*)
    echo "$@" >> {folder}/calls
    while [ $# -gt 0 ]; do
      case "$1" in -file) source=$2 ;; -out_dir) folder=$2 ;; esac
      shift
    done
    if grep -q broken "$source"; then
      echo "$source:1:1: error: it is broken"
      exit 245
    fi
    cp {folder}/binary "$folder/program" ;;
esac
"""


def write_compiler(folder: Path) -> Path:
    """Write a script ``ocloc`` in ``folder`` that yields ``binary()`` for every source that does not say "broken"."""
    folder.mkdir()
    (folder / "binary").write_bytes(binary())
    script = folder / "ocloc"
    script.write_text(_OCLOC.format(folder=folder))
    script.chmod(0o755)
    return script
