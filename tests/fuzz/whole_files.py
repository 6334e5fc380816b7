"""Targets for whole files: opened, analysed and printed in every form, as the command line does it."""

from __future__ import annotations

import json
from contextlib import suppress
from unittest import mock

from kernlens.analysis.parts import parts as parts_of
from kernlens.cli.answers.costliest import costliest_kernel, costliest_table
from kernlens.cli.answers.overview import overview, program_lines
from kernlens.cli.answers.pressure_answer import pressure_lines
from kernlens.cli.answers.rows import csv_lines
from kernlens.errors import KernlensError
from kernlens.isa.devices import device
from kernlens.loading.context import Context
from kernlens.loading.linkable import LINKABLE, module_of
from kernlens.loading.open import Contents, open_bytes
from kernlens.model.program import Program
from kernlens.report.link.symbol_tables import symbols_document, symbols_text
from kernlens.report.listing import annotated, disassembly
from kernlens.report.program_document import inspect_document, kernel_json, kernel_pieces
from tests.fuzz.inputs import parts
from tests.fuzz.rendering import check_document, check_lines
from tests.writers import programs
from tests.writers.documents import annotate_document, report_page
from tests.writers.dwarf import UnitWriter, debug_zebin, line_unit_4

#: Kernels that are printed of one program: more would be more of the same.
_KERNELS = 3
#: Instructions above which a document is looked at piece by piece, as it is printed: whole it would be the most in memory.
_PARSED = 50_000


def print_everything(contents: Contents) -> None:
    """Ask for everything in a file, as the verbs do, and print it in every form."""
    check_lines(overview(contents.path, contents.containers, map(program_lines, contents.programs)))
    check_document(inspect_document(contents.containers, contents.programs))
    for program in contents.programs:
        try:
            _print_program(program)
        except KernlensError:
            continue  # The next program may be whole.
    taken = set()
    for part in parts_of(contents.containers, contents.programs):
        assert part.path not in taken, f"two parts are {part.path}"
        taken.add(part.path)
        for name in part.path:
            assert name not in ("", ".", ".."), part.path
            assert not set(name) & {"/", "\\", "\0", ":"}, part.path
            check_lines([name])
        assert not any(part.path[:length] in taken for length in range(1, len(part.path))), part.path


def _print_program(program: Program) -> None:
    _ = program.sources, program.build.log, program.build.snapshots
    if program.format in LINKABLE:
        module = module_of(program)
        check_lines(symbols_text(program, module, all_relocations=True))
        check_document(symbols_document(program, module))
    with mock.patch("kernlens.isa.intel.decode.decode_many", programs.decoded), suppress(KernlensError):
        check_lines(report_page(program, list(program.kernels.keys())[:_KERNELS]).split("\n"))
    for kernel in list(program.kernels.values())[:_KERNELS]:
        _ = kernel.resources, kernel.arguments
        try:
            # No libiga64: kernlens's own readers are tried here.
            with mock.patch("kernlens.isa.intel.decode.decode_many", programs.decoded):
                check_lines(disassembly(program, kernel))
                check_lines(annotated(program, kernel))
                check_lines(csv_lines(program, kernel))
                check_lines(costliest_table(program, kernel, 3, "memory"))
                check_lines(pressure_lines(program, kernel))
                check_document(json.loads(costliest_kernel(program, kernel, 3, "instructions")))
                if len(kernel.instructions) > _PARSED:
                    check_lines(kernel_pieces(kernel, is_placed=True))
                    continue
                check_document(json.loads(kernel_json(kernel, is_placed=False)))
                document = annotate_document([(program, [kernel])])
                check_document(document)
        except KernlensError:
            continue  # The next kernel may be whole.


def files(data: bytes) -> None:
    """Print everything in a file of any kind but a recording."""
    print_everything(open_bytes(memoryview(data), "input", Context(device=device("dg2"))))


def composed_files(data: bytes) -> None:
    """Print everything in files that are well formed, but whose names, texts and line programs are the input's parts."""
    name, kernel, options, directory, program, code = parts(data, 6)
    words = [part.decode("utf-8", "replace").replace("\0", "") for part in (name, kernel, options, directory)]
    file, kernel_name, build_options, folder = words
    low, size, which = (code + bytes(3))[:3]
    content: bytes | memoryview
    if which % 3 == 0:
        unit = UnitWriter("k", 0, folder)
        origin = unit.abstract(file)
        unit.subprogram(kernel_name, 0, 64)
        unit.inlined(origin, low, size, (1, 2, 3))
        unit.close()
        unit.close()
        content = debug_zebin(["k"], [unit], line_unit_4(program, [(file, 0), (kernel_name, 1)], [folder]), []).build()
    elif which % 3 == 1:
        content = programs.binary(file, kernel=kernel_name, options=build_options)
    else:
        # An instruction has at most 65,535 words.
        content = programs.spirv(exports=kernel_name[:60_000], imports=file[:60_000])
    print_everything(open_bytes(memoryview(content), f"{file}.bin", Context(device=device("dg2"))))
