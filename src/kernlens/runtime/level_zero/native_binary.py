"""The parts of a module's native binary that the binding needs: its kernels' code, its exports and imports."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from kernlens.errors import NotFoundError
from kernlens.model.intel_symbols import PSEUDO_KERNEL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernlens.formats.patch_tokens.program_binary import PatchTokenProgram
    from kernlens.formats.zebin.zebin_file import Zebin
    from kernlens.model.binary import Symbol

_DATA = ".data."


class NativeBinary:
    """The bytes of zeModuleGetNativeBinary or CL_PROGRAM_BINARIES, read on first use. ``name`` is for errors. Its
    properties and methods raise FormatError if the bytes are neither a zebin nor a patch-token program."""

    def __init__(self, binary: bytes, name: str) -> None:
        self._binary = memoryview(binary)
        self._name = name

    def code(self, kernel: str) -> memoryview:
        """Return the kernel's machine code without padding. Raises NotFoundError if the binary has no such kernel."""
        return self._kernel(kernel)[0]

    def heap(self, kernel: str) -> memoryview:
        """Return the kernel's machine code as the driver loads it, with padding. Raises NotFoundError like ``code``."""
        return self._kernel(kernel)[1]

    @cached_property
    def kernel_names(self) -> tuple[str, ...]:
        """The kernels, in the binary's order."""
        return tuple(name for name in self._kernels if name != PSEUDO_KERNEL)

    @cached_property
    def exports(self) -> tuple[str, ...]:
        """The functions and variables that other modules may import, in the binary's order."""
        return self._named("export")

    @cached_property
    def imports(self) -> tuple[str, ...]:
        """The functions and variables that other modules must provide, in the binary's order."""
        return self._named("import")

    @cached_property
    def data_imports(self) -> tuple[str, ...]:
        """The imports whose address a global initialiser takes; only a zebin holds them."""
        # A patch-token program's relocations are all in kernels, whose names contain no dot.
        symbols = dict.fromkeys(item.symbol for item in self._program.relocations if item.section.startswith(_DATA))
        return tuple(name for name in symbols if name in self.imports)

    def _named(self, kind: str) -> tuple[str, ...]:
        symbols: tuple[Symbol, ...] = self._program.symbols
        return tuple(dict.fromkeys(symbol.name for symbol in symbols if symbol.kind == kind))

    def _kernel(self, name: str) -> tuple[memoryview, memoryview]:
        code = self._kernels.get(name)
        if code is None:
            raise NotFoundError(f"the binary of {self._name} has no kernel {name!r}")
        return code

    @cached_property
    def _kernels(self) -> Mapping[str, tuple[memoryview, memoryview]]:
        return {kernel.name: (kernel.code, kernel.heap) for kernel in self._program.kernels}

    @cached_property
    def _program(self) -> Zebin | PatchTokenProgram:
        from kernlens.formats.neo_elf import is_neo_elf, read_neo_elf
        from kernlens.formats.patch_tokens.program_binary import is_patch_tokens, read_patch_tokens
        from kernlens.formats.zebin.zebin_file import read_zebin

        device_binary = self._binary
        if is_neo_elf(device_binary):
            part = read_neo_elf(device_binary).device_binary
            if part is not None:
                device_binary = part.data
        return read_patch_tokens(device_binary) if is_patch_tokens(device_binary) else read_zebin(device_binary)
