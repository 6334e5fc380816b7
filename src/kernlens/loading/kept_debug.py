"""The parts that a program's build kept beside its machine code, for all its kernels: line tables and stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from kernlens.errors import FormatError, TooManyError
from kernlens.model.binary import EMPTY, Section
from kernlens.model.build import Build
from kernlens.model.compiler import UNKNOWN_COMPILER, Compiler

if TYPE_CHECKING:
    from kernlens.formats.dwarf.line_tables import LineTables
    from kernlens.formats.patch_tokens.debug_data import DebugData
    from kernlens.formats.zebin.zebin_file import Zebin
    from kernlens.loading.stage_maps import Beside
    from kernlens.model.allowance import Allowance
    from kernlens.model.kernel import Kernel
    from kernlens.model.line_table import LineTable
    from kernlens.model.program import Program
    from kernlens.model.stage import Snapshot

#: The stages that together tell the line of an instruction (``loading.stated_places``).
LINE_STAGES = "gen-assembly", "visa-llvm-map"


class KeptDebug:
    """The parts that a program's build kept besides its machine code, read on first use and once for all its kernels."""

    #: Makes the Program that a kernel is of, with that kernel alone. (It holds no other kernels, which hold this.)
    make_program: Callable[[Kernel, KeptDebug], Program] | None = None

    def __init__(self, build: Build, allowance: Allowance) -> None:
        self._build = build
        self._allowance = allowance

    @property
    def compiler(self) -> Compiler:
        """The compiler, as the build's toolchain names it; else what the binary tells of it."""
        toolchain = self._build.toolchain
        named = toolchain.compiler if toolchain else UNKNOWN_COMPILER
        return named if named.version else Compiler(self.told_version())

    def told_version(self) -> tuple[int, ...]:
        """Return the first numbers of IGC's version, as far as the binary tells."""
        return ()

    @property
    def folder(self) -> str:
        """The temporary folder of the compile, if it worked in one."""
        return self._build.folder

    @property
    def snapshots(self) -> tuple[Snapshot, ...]:
        """The snapshots of the compile, single passes too."""
        return self._build.snapshots

    @cached_property
    def beside(self) -> Beside | None:
        """The stages of the compile, if any were kept."""
        if not self._build.snapshots:
            return None
        from kernlens.loading.stage_maps import Beside

        return Beside.of_stages(self._build.snapshots)

    def tells_lines(self, kernel: str) -> bool:
        """Return whether the stages that were kept may tell the line of each of a kernel's instructions."""
        from kernlens.model.stage import TEXT

        beside = self.beside
        return beside is not None and None not in (beside.find(stage, TEXT, kernel) for stage in LINE_STAGES)

    @cached_property
    def assembly_kernels(self) -> frozenset[str]:
        """The kernels that hold inline assembly, as far as the program's SPIR-V tells, or that of what it was linked from."""
        build = self._build
        if not build.spirv and not build.inputs:
            return frozenset()
        from kernlens.formats.spirv.inline_assembly import kernels_with_assembly

        try:
            return kernels_with_assembly([memoryview(build.spirv)] if build.spirv else map(_spirv, build.all_inputs))
        except FormatError:
            return frozenset()  # It is not known what a damaged one was.


def _spirv(build: Build) -> memoryview:
    """Return the SPIR-V of what a program was linked from, which may be wrapped in its binary."""
    from kernlens.formats.neo_elf import is_neo_elf, read_neo_elf

    binary = memoryview(build.binary)
    part = read_neo_elf(binary).spirv if not build.spirv and is_neo_elf(binary) else None
    return part.data if part else memoryview(build.spirv)


class LinesDebug(KeptDebug):
    """The line tables of a program's kernels, by their names. Debug data that cannot be read is the reason why a kernel has no
    lines, and no other answer's business; too much of it is all answers'."""

    def __init__(self, build: Build, allowance: Allowance) -> None:
        super().__init__(build, allowance)
        #: Why the line table of a kernel cannot be read.
        self.unreadable: dict[str, str] = {}

    def readable_table(self, name: str) -> LineTable | None:
        """Return a kernel's line table; None if there is none, or it cannot be read."""
        with self._noting(name):
            return self.line_table(name)
        return None

    def absent_lines(self, name: str) -> str | None:
        """Return why a kernel has no line table, or none that can be read as far as was tried; None if it has one."""
        with self._noting(name):
            return self.unreadable.get(name) or self.line_table_reason(name)
        return self.unreadable[name]

    @contextmanager
    def _noting(self, name: str) -> Iterator[None]:
        try:
            yield
        except TooManyError:
            raise
        except FormatError as error:
            self.unreadable[name] = f"its debug data cannot be read: {error}"

    def line_table(self, name: str) -> LineTable | None:
        """Return a kernel's line table."""
        raise NotImplementedError

    def line_table_reason(self, name: str) -> str | None:
        """Return why a kernel has no line table; None if it has one."""
        raise NotImplementedError

    def code_copy(self, name: str) -> memoryview | None:
        """Return the copy of a kernel's code that the debug data keeps; None if it keeps none."""
        return None


class ProgramDebug(LinesDebug):
    """The debug data of one patch-token program."""

    def told_version(self) -> tuple[int, ...]:
        return (1,)  # IGC 2 writes zebin alone.

    @cached_property
    def _read(self) -> DebugData | None:
        from kernlens.formats.patch_tokens.debug_data import read_debug_data

        content = self._build.debug
        return read_debug_data(memoryview(content), self._allowance) if content else None

    def line_table(self, name: str) -> LineTable | None:
        from kernlens.formats.dwarf.line_tables import read_kernel_debug_elf

        elf = self._debug_elf(name)
        return read_kernel_debug_elf(elf, self._allowance) if elf else None

    def line_table_reason(self, name: str) -> str | None:
        from kernlens.loading.absent_lines import NO_TABLE, without_debug

        if self._read is None:
            return without_debug(self._build)
        section = self._section(name, ".debug_line")
        return None if section is not None and section.size else NO_TABLE

    def code_copy(self, name: str) -> memoryview | None:
        section = None
        with self._noting(name):
            section = self._section(name, ".text")
        return section.data if section is not None and section.size else None

    def _section(self, name: str, section: str) -> Section | None:
        from kernlens.formats.elf.elf_file import read_elf

        elf = self._debug_elf(name)
        return read_elf(elf, format="kernel-debug-elf").section(section) if elf else None

    def _debug_elf(self, name: str) -> memoryview:
        kernel = self._read.kernel(name) if self._read is not None else None
        return kernel.elf if kernel is not None else EMPTY


class ZebinDebug(LinesDebug):
    """The line tables of one zebin, or of the debug ELF that its build kept beside it."""

    @property
    def spirv(self) -> memoryview:
        """The SPIR-V that the zebin was made from; empty if it is not known."""
        return memoryview(self._build.spirv)

    def __init__(self, zebin: Zebin, build: Build, allowance: Allowance) -> None:
        super().__init__(build, allowance)
        self._zebin = zebin

    def told_version(self) -> tuple[int, ...]:
        return self._zebin.notes.compiler_version

    @cached_property
    def _tables(self) -> LineTables:
        from kernlens.formats.dwarf.line_tables import read_zebin_line_tables
        from kernlens.formats.zebin.zebin_file import read_zebin

        beside = self._build.debug
        elf = read_zebin(memoryview(beside)).elf if beside else self._zebin.elf
        return read_zebin_line_tables(elf, self._allowance)

    def line_table(self, name: str) -> LineTable | None:
        return self._tables.get(name)

    def line_table_reason(self, name: str) -> str | None:
        if name in self._tables:
            return None
        from kernlens.loading.absent_lines import NO_TABLE, UNKNOWN_TABLE, without_debug

        if self._tables.has_others:
            return UNKNOWN_TABLE
        return NO_TABLE if self._tables else without_debug(self._build, self._zebin.notes.zebin_version)
