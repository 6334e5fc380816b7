"""Patch-token programs ("CTNI"): the device binaries of Intel's driver up to 2022, and of old devices later.

Source: ``patch_list.h`` of intel-graphics-compiler for the headers, and ``patchtokens_decoder.cpp`` of compute-runtime
for the order of the parts: program header, program patch list, then per kernel its header, name, kernel heap, general,
dynamic and surface state heap, patch list.

Reading a program walks over the kernels' headers and names only; patch lists are decoded when asked for.
"""

from __future__ import annotations

import struct
from functools import cached_property

from kernlens.dataclass import NamedTuple, dataclass, field
from kernlens.formats.patch_tokens import token_list
from kernlens.formats.patch_tokens.kernel_tokens import arguments_of, payload_load_bytes, resources_of
from kernlens.formats.patch_tokens.linkage import relocations_of, symbols_of, with_imports
from kernlens.formats.patch_tokens.token_list import Token, TokenSpan, error
from kernlens.model.allowance import KERNEL_WEIGHT, Allowance
from kernlens.model.binary import Relocation, Symbol
from kernlens.model.device import DeviceId
from kernlens.model.kernel import KernelArgument
from kernlens.model.kernel_resources import KernelResources

MAGIC = b"CTNI"

_PROGRAM_LAYOUT = struct.Struct("<4s6I")
_KERNEL_LAYOUT = struct.Struct("<IQ7I")


class ProgramHeader(NamedTuple):
    """The program header, ``SProgramBinaryHeader``, 28 bytes. ``device`` is a render core (GFXCORE_FAMILY); sizes are bytes."""

    magic: bytes
    version: int
    device: int
    gpu_pointer_size_in_bytes: int
    number_of_kernels: int
    stepping_id: int
    patch_list_size: int


class KernelHeader(NamedTuple):
    """A kernel's header, ``SKernelBinaryHeaderCommon``, 40 bytes. Sizes are bytes.

    ``check_sum`` is the low half of a hash over all that follows the header, ``shader_hash_code`` the compiler's hash of
    what it compiled, ``kernel_unpadded_size`` the machine code's part of the kernel heap.
    """

    check_sum: int
    shader_hash_code: int
    kernel_name_size: int
    patch_list_size: int
    kernel_heap_size: int
    general_state_heap_size: int
    dynamic_state_heap_size: int
    surface_state_heap_size: int
    kernel_unpadded_size: int


def is_patch_tokens(data: memoryview) -> bool:
    """Return whether ``data`` begins like a patch-token program, or CTNI debug data: only the bytes behind tell which."""
    return data[:4] == MAGIC


class PatchTokenKernel:
    """A kernel of a patch-token program. ``offset`` is that of its header in the program, ``index`` its number.

    All heaps are views. Members that need the patch list raise FormatError if it is damaged. (A plain class, whose header
    is unpacked on first use: a frozen dataclass takes three times as long to make, and fat binaries have thousands of
    kernels.)
    """

    def __init__(self, name: str, index: int, offset: int, program: memoryview, render_core: int) -> None:
        self.name = name
        self.index = index
        self.offset = offset
        self._program = program
        self._render_core = render_core

    def __repr__(self) -> str:
        return f"PatchTokenKernel(name={self.name!r}, index={self.index}, offset={self.offset:#x})"

    @cached_property
    def header(self) -> KernelHeader:
        return KernelHeader._make(_KERNEL_LAYOUT.unpack_from(self._program, self.offset))

    @property
    def heap_offset(self) -> int:
        """The offset in the program at which ``heap`` (and ``code``) begin."""
        return self.offset + _KERNEL_LAYOUT.size + self.header.kernel_name_size

    @property
    def code(self) -> memoryview:
        """The machine code without padding."""
        start = self.heap_offset
        return self._program[start : start + self.header.kernel_unpadded_size]

    @property
    def heap(self) -> memoryview:
        """The kernel heap as the driver loads it: code and padding."""
        start = self.heap_offset
        return self._program[start : start + self.header.kernel_heap_size]

    @property
    def patch_list(self) -> memoryview:
        """The patch list, which stands behind all heaps."""
        start = self._patch_list_offset
        return self._program[start : start + self.header.patch_list_size]

    @property
    def _patch_list_offset(self) -> int:
        header = self.header
        states = header.general_state_heap_size + header.dynamic_state_heap_size + header.surface_state_heap_size
        return self.heap_offset + header.kernel_heap_size + states

    @cached_property
    def _spans(self) -> list[TokenSpan]:
        return token_list.walk(self.patch_list, base=self._patch_list_offset, has_contents=False)

    def tokens_of(self, *numbers: int) -> tuple[Token, ...]:
        """Return the tokens with these numbers, in the list's order."""
        patch_list, base = self.patch_list, self._patch_list_offset
        return tuple(token_list.token_at(patch_list, span, base=base) for span in self._spans if span.number in numbers)

    def resources(self) -> KernelResources:
        """Return the kernel's resources; ``kernel_tokens.resources_of`` says what cannot be known."""
        return resources_of(self.tokens_of, self._render_core)

    def payload_load_bytes(self) -> int:
        """Return the size of the code at the start that loads each thread's own part of the payload."""
        return payload_load_bytes(self.tokens_of)

    def arguments(self) -> tuple[KernelArgument, ...]:
        """Return the arguments by number; names and types are there only if compiled with ``-cl-kernel-arg-info``."""
        return arguments_of(self.tokens_of)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols in the kernel's own tokens (53): functions lie in this kernel's heap."""
        return symbols_of(self.tokens_of(token_list.SYMBOL_TABLE), self.name, self.index)

    @cached_property
    def relocations(self) -> tuple[Relocation, ...]:
        """The sites in this kernel's heap that the driver must fill (token 54); their ``section`` is the kernel's name."""
        return relocations_of(self.tokens_of(token_list.RELOCATION_TABLE), self.name)


@dataclass(frozen=True, eq=False)
class PatchTokenProgram:
    """A patch-token program. ``pointer_size`` is in bytes; ``size`` is where the last kernel ends."""

    data: memoryview = field(repr=False)
    version: int
    device: DeviceId
    pointer_size: int
    kernels: tuple[PatchTokenKernel, ...]
    size: int
    _patch_list_size: int = field(repr=False)

    @property
    def _patch_list(self) -> memoryview:
        return self.data[_PROGRAM_LAYOUT.size : _PROGRAM_LAYOUT.size + self._patch_list_size]

    @property
    def contents(self) -> dict[str, bytes]:
        """The initial contents of global and constant memory, where there are any."""
        contents: dict[str, bytes] = {}
        for span in token_list.walk(self._patch_list, base=_PROGRAM_LAYOUT.size, has_contents=True):
            if content := bytes(token_list.contents_of(self._patch_list, span)):
                name = token_list.CONTENTS[span.number]
                contents[name] = contents.get(name, b"") + content
        return contents

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols of all symbol tables and, as imports, those that are relocated but in no table."""
        base, patch_list = _PROGRAM_LAYOUT.size, self._patch_list
        spans = token_list.walk(patch_list, base=base, has_contents=True)
        tables = [span for span in spans if span.number == token_list.SYMBOL_TABLE]
        own = symbols_of([token_list.token_at(patch_list, span, base=base) for span in tables], "", -1)
        listed = own + tuple(symbol for kernel in self.kernels for symbol in kernel.symbols)
        return with_imports(listed, self.relocations)

    @cached_property
    def relocations(self) -> tuple[Relocation, ...]:
        """The relocations of all kernels."""
        return tuple(relocation for kernel in self.kernels for relocation in kernel.relocations)


def read_patch_tokens(data: memoryview, allowance: Allowance | None = None) -> PatchTokenProgram:
    """Read the program header and walk over the kernels. ``allowance`` is that of the whole input (None: this is it).

    Raises FormatError if any part lies outside ``data``, TooManyError if the kernels are too many for the allowance.

    Bytes behind the last kernel are allowed (``size`` tells where it ends), since some tools pad their output.
    """
    if data[:4] != MAGIC:
        raise error("this is not a patch-token program: it does not begin with CTNI", 0)
    end = len(data)
    if end < _PROGRAM_LAYOUT.size:
        raise error(f"{end} bytes are too few for the program header of {_PROGRAM_LAYOUT.size}: it is cut off", 0)
    header = ProgramHeader._make(_PROGRAM_LAYOUT.unpack_from(data))
    start = _PROGRAM_LAYOUT.size + header.patch_list_size
    if start > end:
        raise error(f"the patch list of {header.patch_list_size} bytes ends at {start:#x}, the program at {end:#x}", 24)
    possible = min(header.number_of_kernels, (end - start) // _KERNEL_LAYOUT.size)
    (allowance or Allowance(end)).count(possible, "kernels", format=token_list.FORMAT, weight=KERNEL_WEIGHT)
    kernels, size = _walk_kernels(data, start, header.number_of_kernels, header.device)
    return PatchTokenProgram(
        data=data,
        version=header.version,
        device=DeviceId(render_core=header.device, stepping=header.stepping_id),
        pointer_size=header.gpu_pointer_size_in_bytes,
        kernels=kernels,
        size=size,
        _patch_list_size=header.patch_list_size,
    )


def _walk_kernels(
    data: memoryview, offset: int, count: int, render_core: int
) -> tuple[tuple[PatchTokenKernel, ...], int]:
    """Return the kernels from ``offset`` on and where they end. A hot loop, as a fat binary has thousands of kernels:
    no record is made of a header."""
    end = len(data)
    kernels = []
    head = _KERNEL_LAYOUT.size
    unpack = _KERNEL_LAYOUT.unpack_from
    for number in range(1, count + 1):
        if end - offset < head:
            left = f"{end - offset} of {head} bytes are there"
            raise error(f"header {number} of {count} kernels is cut off: {left}", offset)
        _, _, name_size, patch_list_size, heap_size, general, dynamic, surface, unpadded_size = unpack(data, offset)
        name_start = offset + head
        name_end = name_start + name_size
        kernel_end = name_end + heap_size + general + dynamic + surface + patch_list_size
        if kernel_end > end:
            raise error(
                f"kernel {number} of {count} would end at {kernel_end:#x}, the program ends at {end:#x}", offset
            )
        if unpadded_size > heap_size:
            raise error(f"kernel {number} has {unpadded_size} bytes of code in a heap of {heap_size}", offset + 36)
        name = str(data[name_start:name_end], "utf-8", "backslashreplace").partition("\0")[0]
        kernels.append(PatchTokenKernel(name, number - 1, offset, data, render_core))
        offset = kernel_end
    return tuple(kernels), offset
