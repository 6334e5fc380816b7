"""Patch-token programs ("CTNI"): the device binaries of Intel's driver up to 2022, and of old devices later.

Source: ``patch_list.h`` of intel-graphics-compiler (``SProgramBinaryHeader``, 28 bytes; ``SKernelBinaryHeaderCommon``,
40 bytes) and ``patchtokens_decoder.cpp`` of compute-runtime for the order of the parts: program header, program patch
list, then per kernel its header, name, kernel heap, general, dynamic and surface state heap, patch list.

Reading a program walks over the kernels' headers and names only; patch lists are decoded when asked for.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from functools import cached_property

from kernlens.errors import FormatError
from kernlens.formats.patch_tokens import layouts
from kernlens.formats.patch_tokens import token_list as patch_token_list
from kernlens.formats.patch_tokens.kernel_tokens import arguments_of, resources_of
from kernlens.formats.patch_tokens.layouts import PatchToken
from kernlens.formats.patch_tokens.linkage import relocations_of, symbols_of, with_imports
from kernlens.formats.patch_tokens.token_list import TokenSpan
from kernlens.model.binary import Relocation, Symbol
from kernlens.model.device import DeviceId
from kernlens.model.figures import KernelResources
from kernlens.model.kernel import KernelArgument

MAGIC = b"CTNI"

_PROGRAM_HEADER = struct.Struct("<4s6I")
_KERNEL_HEADER = struct.Struct("<IQ7I")


def is_patch_tokens(data: memoryview) -> bool:
    """Whether ``data`` begins like a patch-token program. CTNI debug data begins alike: ask what contains them."""
    return data[:4] == MAGIC


class PatchTokenKernel:
    """A kernel of a patch-token program. ``offset`` is its header's place in the program, ``index`` its number.

    All heaps are views. What needs the patch list raises FormatError if that is damaged. (A plain class: a frozen
    dataclass takes three times as long to make, and fat binaries have thousands of kernels.)
    """

    def __init__(
        self, name: str, index: int, offset: int, program: memoryview, header: tuple[int, ...], render_core: int
    ) -> None:
        self.name = name
        self.index = index
        self.offset = offset
        self._program = program
        self._header = header
        self._render_core = render_core

    def __repr__(self) -> str:
        return f"PatchTokenKernel(name={self.name!r}, index={self.index}, offset={self.offset:#x})"

    @property
    def checksum(self) -> int:
        """CheckSum: the low half of a hash over all that follows the header."""
        return self._header[0]

    @property
    def code_hash(self) -> int:
        """ShaderHashCode: the compiler's hash of what it compiled."""
        return self._header[1]

    @property
    def heap_offset(self) -> int:
        """Where ``heap`` (and ``code``) begin in the program."""
        return self.offset + _KERNEL_HEADER.size + self._header[2]

    @property
    def code(self) -> memoryview:
        """The machine code without padding (KernelUnpaddedSize)."""
        start = self.heap_offset
        return self._program[start : start + self._header[8]]

    @property
    def heap(self) -> memoryview:
        """The kernel heap as the driver loads it: code and padding."""
        start = self.heap_offset
        return self._program[start : start + self._header[4]]

    @property
    def general_state_heap(self) -> memoryview:
        return self._part(0)

    @property
    def dynamic_state_heap(self) -> memoryview:
        return self._part(1)

    @property
    def surface_state_heap(self) -> memoryview:
        return self._part(2)

    @property
    def patch_list(self) -> memoryview:
        """The patch list, undecoded."""
        return self._part(3)

    def _part(self, number: int) -> memoryview:
        """The number-th of the parts behind the kernel heap."""
        start = self._place(number)
        sizes = self._part_sizes
        return self._program[start : start + sizes[number]]

    def _place(self, number: int) -> int:
        return self.heap_offset + self._header[4] + sum(self._part_sizes[:number])

    @property
    def _part_sizes(self) -> tuple[int, ...]:
        return (*self._header[5:8], self._header[3])

    @cached_property
    def _spans(self) -> list[TokenSpan]:
        return patch_token_list.walk(self.patch_list, base=self._place(3), has_contents=False)

    def tokens_of(self, *numbers: int) -> tuple[PatchToken, ...]:
        """The tokens with these numbers only, decoded, in the list's order."""
        patch_list, base = self.patch_list, self._place(3)
        return tuple(
            patch_token_list.decode(patch_list, span, base=base) for span in self._spans if span.number in numbers
        )

    @cached_property
    def tokens(self) -> tuple[PatchToken, ...]:
        """All tokens in order, decoded; those of unknown number by number and bytes."""
        patch_list, base = self.patch_list, self._place(3)
        return tuple(patch_token_list.decode(patch_list, span, base=base) for span in self._spans)

    def resources(self) -> KernelResources:
        """What the kernel takes of the machine; see ``patch_token_kernel.resources_of`` for what cannot be known."""
        return resources_of(self.tokens_of, self._render_core)

    def arguments(self) -> tuple[KernelArgument, ...]:
        """The arguments by number. Names and types are there only if compiled with ``-cl-kernel-arg-info``."""
        return arguments_of(self.tokens_of)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbol tables (token 53) among the kernel's tokens: functions lie in this kernel's heap."""
        return symbols_of(self.tokens_of(layouts.SYMBOL_TABLE), self.name, self.index)

    @cached_property
    def relocations(self) -> tuple[Relocation, ...]:
        """The places in this kernel's heap that the driver must fill (token 54); ``section`` is the kernel's name."""
        return relocations_of(self.tokens_of(layouts.RELOCATION_TABLE), self.name)


@dataclass(frozen=True, eq=False)
class PatchTokenProgram:
    """A patch-token program. ``pointer_size`` is bytes; ``size`` is where the last kernel ends."""

    data: memoryview = field(repr=False)
    version: int
    device: DeviceId
    pointer_size: int
    kernels: tuple[PatchTokenKernel, ...]
    size: int
    _patch_list_size: int = field(repr=False)

    @cached_property
    def tokens(self) -> tuple[PatchToken, ...]:
        """The program's own tokens, decoded. Raises FormatError if they are damaged."""
        base = _PROGRAM_HEADER.size
        patch_list = self.data[base : base + self._patch_list_size]
        spans = patch_token_list.walk(patch_list, base=base, has_contents=True)
        return tuple(patch_token_list.decode(patch_list, span, base=base) for span in spans)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols of all symbol tables, and as imports what is relocated but in none of them."""
        own = symbols_of(tuple(token for token in self.tokens if token.number == layouts.SYMBOL_TABLE), "", -1)
        tables = own + tuple(symbol for kernel in self.kernels for symbol in kernel.symbols)
        return with_imports(tables, self.relocations)

    @cached_property
    def relocations(self) -> tuple[Relocation, ...]:
        """The relocations of all kernels."""
        return tuple(relocation for kernel in self.kernels for relocation in kernel.relocations)


def read_patch_tokens(data: memoryview) -> PatchTokenProgram:
    """Read the program header and walk over the kernels. Raises FormatError if any part lies outside ``data``.

    Bytes behind the last kernel are allowed (``size`` tells), since some tools pad their output.
    """
    if data[:4] != MAGIC:
        raise _error("this is not a patch-token program: it does not begin with CTNI", 0)
    end = len(data)
    if end < _PROGRAM_HEADER.size:
        raise _error(f"{end} bytes are too few for the program header of {_PROGRAM_HEADER.size}: it is cut off", 0)
    _magic, version, render_core, pointer_size, count, stepping, patch_list_size = _PROGRAM_HEADER.unpack_from(data)
    at = _PROGRAM_HEADER.size + patch_list_size
    if at > end:
        raise _error(f"the patch list of {patch_list_size} bytes ends at {at:#x}, the program at {end:#x}", 24)
    kernels, size = _walk_kernels(data, at, count, render_core)
    return PatchTokenProgram(
        data=data,
        version=version,
        device=DeviceId(render_core=render_core, stepping=stepping),
        pointer_size=pointer_size,
        kernels=kernels,
        size=size,
        _patch_list_size=patch_list_size,
    )


def _walk_kernels(data: memoryview, at: int, count: int, render_core: int) -> tuple[tuple[PatchTokenKernel, ...], int]:
    """The kernels from offset ``at`` on and where they end. A hot loop: a fat binary has thousands of kernels."""
    end = len(data)
    kernels = []
    head = _KERNEL_HEADER.size
    unpack = _KERNEL_HEADER.unpack_from
    for index in range(count):
        if end - at < head:
            raise _error(f"header {index + 1} of {count} kernels is cut off: {end - at} of {head} bytes are there", at)
        header = unpack(data, at)
        _checksum, _hash, name_size, patch_size, heap_size, general, dynamic, surface, code_size = header
        name_at = at + head
        name_end = name_at + name_size
        next_at = name_end + heap_size + general + dynamic + surface + patch_size
        if next_at > end:
            raise _error(f"kernel {index + 1} of {count} would end at {next_at:#x}, the program ends at {end:#x}", at)
        if code_size > heap_size:
            raise _error(f"kernel {index + 1} has {code_size} bytes of code in a heap of {heap_size}", at + 36)
        name = str(data[name_at:name_end], "utf-8", "backslashreplace").partition("\0")[0]
        kernels.append(PatchTokenKernel(name, index, at, data, header, render_core))
        at = next_at
    return tuple(kernels), at


def _error(message: str, offset: int) -> FormatError:
    return FormatError(message, format=patch_token_list.FORMAT, offset=offset)
