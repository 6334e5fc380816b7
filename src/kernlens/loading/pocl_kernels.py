"""PoCL's kernels: what its program binary holds of each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from kernlens.dataclass import replace
from kernlens.errors import UnsupportedError
from kernlens.formats.elf.elf_file import Elf, read_elf
from kernlens.formats.poclbin import NAMELESS, SOURCE_COPY, PoclBinary, PoclFile, PoclKernel
from kernlens.loading.listed_code import ListedKernel
from kernlens.model.binary import EMPTY, Section
from kernlens.model.kernel_resources import KernelResources
from kernlens.model.stage import BINARY, KERNEL, TEXT, Snapshot
from kernlens.model.stages import FROM_COMPILER, POCL, Stage, held

if TYPE_CHECKING:
    from kernlens.model.allowance import Allowance
    from kernlens.model.instruction import Instructions
    from kernlens.model.line_table import LineTable

_SHARED_OBJECT, _OBJECT = ".so", ".so.o"
_X86_64 = 62
_WITHOUT_CODE = (
    "the binary holds no machine code of this kernel: PoCL compiles a work-group function when the kernel is first run, or"
    " when its program's binary is asked for"
)
_WITHOUT_LINES = (
    "PoCL built the program without debug data; build with -g, or capture with --lines, to get a line table"
)


def pocl_kernels(read: PoclBinary, allowance: Allowance) -> list[ListedKernel]:
    """Return a kernel for each work-group function. That for any size of work-group has the kernel's name; others have
    theirs behind it (``blur@16x2x1``). A kernel of which none was compiled has no code. Raises FormatError for damaged
    files."""
    kernels = []
    for kernel in read.kernels:
        names: set[str] = set()
        for file in _machine_code(kernel):
            size = "x".join(map(str, file.work_group_size or ()))
            name = f"{kernel.name}@{size}" if size else kernel.name
            name = f"{kernel.name}@{file.folder}" if name in names else name
            if name not in names:
                kernels.append(_with_code(kernel, name, file, allowance))
            names.add(name)
        if not names:
            kernels.append(
                ListedKernel(
                    kernel.name,
                    EMPTY,
                    partial(_no_instructions, kernel.name),
                    resources=_resources(kernel),
                    arguments=kernel.arguments,
                    line_reason=_WITHOUT_CODE,
                )
            )
    return kernels


def stage_snapshots(read: PoclBinary) -> tuple[Snapshot, ...]:
    """Return the stages of the compile that the binary holds: bitcode and objects, each also as text."""
    files: list[tuple[str | None, PoclFile]] = [(None, file) for file in read.files]
    files += [(kernel.name, file) for kernel in read.kernels for file in kernel.files if file.work_group_size is None]
    return tuple(
        snapshot
        for stage in POCL.stages
        if stage.origin == FROM_COMPILER
        for kernel, file in files
        if file.path.endswith(stage.dump) and (kernel is not None) == (stage.scope == KERNEL) and file.data
        for snapshot in _forms(stage, file, kernel)
    )


def _forms(stage: Stage, file: PoclFile, kernel: str | None) -> Iterator[Snapshot]:
    from kernlens.toolchain.host_texts import bitcode_text, object_text

    content = bytes(file.data)
    disassemble = partial(bitcode_text if stage.text == ".ll" else object_text, content)
    yield held(stage, content, BINARY, kernel)
    yield Snapshot(stage.name, kernel, TEXT, stage.text or "", disassemble)


def _machine_code(kernel: PoclKernel) -> list[PoclFile]:
    """Return the files with the machine code of each work-group function: the shared object or, where that is left out, the
    object that it is linked from."""
    files = {file.path.removesuffix(".o"): file for file in kernel.files if file.name.endswith(_OBJECT)}
    files |= {file.path: file for file in kernel.files if file.name.endswith(_SHARED_OBJECT)}
    return sorted(files.values(), key=lambda file: (file.work_group_size or (0, 0, 0), file.folder))


def _with_code(kernel: PoclKernel, name: str, file: PoclFile, allowance: Allowance) -> ListedKernel:
    elf = read_elf(file.data, format="poclbin", allowance=allowance)
    section = elf.section(".text")
    has_lines = (lines := elf.section(".debug_line")) is not None and lines.size > 0
    if section is None:
        return ListedKernel(name, EMPTY, partial(_no_instructions, name), line_reason=_WITHOUT_CODE)
    return ListedKernel(
        name,
        section.data,
        partial(_instructions, name, elf, section),
        resources=_resources(kernel),
        arguments=kernel.arguments,
        find_lines=partial(_lines, elf, section, allowance) if has_lines else lambda: None,
        line_reason=None if has_lines else _WITHOUT_LINES,
        functions=_functions(elf, section),
    )


def _resources(kernel: PoclKernel) -> KernelResources:
    return KernelResources(
        slm_bytes=kernel.local_bytes,
        required_work_group_size=kernel.required_work_group_size,
        required_sub_group_size=kernel.required_sub_group_size,
    )


def _functions(elf: Elf, section: Section) -> dict[int, str | None]:
    return {
        symbol.value - section.address: symbol.name
        for symbol in elf.symbols()
        if symbol.type == "func" and symbol.section == section.name
        if 0 <= symbol.value - section.address < section.size
    }


def _lines(elf: Elf, section: Section, allowance: Allowance) -> LineTable | None:
    from kernlens.formats.dwarf.line_tables import read_linked_line_table

    table = read_linked_line_table(elf, section.address, allowance)
    if table is None:
        return None
    # The copy's name is another one in each build.
    files = (replace(file, path=NAMELESS) if SOURCE_COPY.fullmatch(file.path) else file for file in table.files)
    return replace(table, files=tuple(files))


def _instructions(name: str, elf: Elf, section: Section) -> Instructions:
    from kernlens.isa.x86.decode_x86 import decode_x86
    from kernlens.toolchain.registered import register_llvm_roots

    if elf.machine != _X86_64:
        raise UnsupportedError(
            f"the code of {name} is for a processor that kernlens does not decode (ELF machine {elf.machine}); of PoCL's it"
            " decodes x86-64"
        )
    register_llvm_roots()
    return decode_x86(section.data, section.address)


def _no_instructions(name: str) -> Instructions:
    from kernlens.model.listed_instructions import ListedInstructions

    return ListedInstructions((), (), (), ())
