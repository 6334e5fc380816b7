"""A patch-token program with other code of a kernel: its heap, header, checksum, and the tokens that have offsets in code.

Source: ``patch_list.h`` of intel-graphics-compiler; ``kernel_info`` and ``hash.h`` of compute-runtime for the checksum, which
the driver makes again when it loads a program.
"""

from __future__ import annotations

import struct

from kernlens.errors import NotFoundError
from kernlens.formats.dwarf.moved_debug import moved_debug
from kernlens.formats.elf.elf_file import read_elf
from kernlens.formats.elf.elf_rewriting import with_contents
from kernlens.formats.intermediate_code import without_intermediate_code
from kernlens.formats.neo_elf import DEVICE_BINARY, DEVICE_DEBUG, FORMAT, NON_COHERENT_DEVICE_BINARY
from kernlens.formats.patch_tokens import token_list
from kernlens.formats.patch_tokens.debug_data import read_debug_data
from kernlens.formats.patch_tokens.program_binary import KernelHeader, PatchTokenKernel, read_patch_tokens
from kernlens.formats.zebin.edited_zebin import moved_entry, moved_sites
from kernlens.model.code_moves import CodeMoves

_ALIGNMENT = 64
_HEADER = struct.Struct("<IQ7I")
_WORD = struct.Struct("<I")
#: The headers of debug data: the program's bytes, and a kernel's.
_DEBUG_START = 28
_DEBUG_HEADER = struct.Struct("<3I")
_TOKEN_HEAD = 8
#: SPatchThreadPayload: OffsetToSkipPerThreadDataLoad and OffsetToSkipSetFFIDGP, the 12th and 13th word of the payload.
_ENTRIES = (12, 13)
#: Size of an entry of a table -> where its offset stands, and in how many bytes; of symbols also where the size does.
_SYMBOL_FIELDS = {1036: (4, 4, 8), 1048: (8, 8, 16)}
_RELOCATION_FIELDS = {1032: (4, 4), 1040: (8, 8)}
_FUNCTION_KINDS = (2, 6)
_MASK = 0xFFFFFFFF
_START = 0x428A2F98, 0x71374491, 0xB5C0FBCF


def edited_neo_elf(content: bytes, kernel: str, code: bytes, moves: CodeMoves) -> bytes:
    """Return a NEO ELF, or a bare patch-token program, with ``code`` as that of ``kernel``. Raises what
    ``edited_program`` does."""
    if not content.startswith(b"\x7fELF"):
        return edited_program(content, kernel, code, moves)
    elf = read_elf(memoryview(content), format=FORMAT)
    contents = {}
    for section in elf.sections:
        if section.type in (DEVICE_BINARY, NON_COHERENT_DEVICE_BINARY) and section.data:
            contents[section.index] = edited_program(bytes(section.data), kernel, code, moves)
        elif section.type == DEVICE_DEBUG and section.data:
            contents[section.index] = _edited_debug(bytes(section.data), kernel, code, moves)
    if not contents:
        raise NotFoundError("the NEO ELF has no device binary to put code into")
    return without_intermediate_code(with_contents(content, contents, format=FORMAT))


def edited_program(content: bytes, kernel: str, code: bytes, moves: CodeMoves) -> bytes:
    """Return a patch-token program with ``code`` as that of ``kernel``. Raises NotFoundError if it has no such kernel,
    FormatError for a damaged program, and for entry points that cannot be moved where they would have to."""
    program = read_patch_tokens(memoryview(content))
    own = next((each for each in program.kernels if each.name == kernel), None)
    if own is None:
        raise NotFoundError(f"the program has no kernel {kernel}")
    header = own.header
    heap = code + bytes(header.kernel_heap_size - header.kernel_unpadded_size)
    heap += bytes(-len(heap) % _ALIGNMENT)
    patch_list = _moved_tokens(own, moves)
    heap_at = own.heap_offset
    states_at = heap_at + header.kernel_heap_size
    list_at = states_at + (
        header.general_state_heap_size + header.dynamic_state_heap_size + header.surface_state_heap_size
    )
    end = list_at + header.patch_list_size
    body = content[own.offset + _HEADER.size : heap_at] + heap + content[states_at:list_at] + patch_list
    changed = KernelHeader(*header)._replace(
        check_sum=check_sum(body),
        kernel_heap_size=len(heap),
        kernel_unpadded_size=len(code),
        patch_list_size=len(patch_list),
    )
    return content[: own.offset] + _HEADER.pack(*changed) + body + content[end:]


def check_sum(content: bytes) -> int:
    """Return the checksum of what stands behind a kernel's header: the low half of a Jenkins hash over its words."""
    a, high, low = _START
    whole = len(content) - len(content) % 4
    for (word,) in _WORD.iter_unpack(bytes(content[:whole])):
        a, high, low = _mixed(a ^ word, high, low)
    if whole < len(content):
        value = 0
        for byte in content[whole:]:
            value = (value | byte) << 8 & _MASK
        a, high, low = _mixed(a ^ value, high, low)
    return low


def _mixed(a: int, high: int, low: int) -> tuple[int, int, int]:
    for first, second, third in ((13, 8, 13), (12, 16, 5), (3, 10, 15)):
        a = (a - high - low & _MASK) ^ low >> first
        high = (high - low - a & _MASK) ^ (a << second & _MASK)
        low = (low - a - high & _MASK) ^ high >> third
    return a, high, low


def _moved_tokens(kernel: PatchTokenKernel, moves: CodeMoves) -> bytes:
    """Return the patch list with its offsets in code moved."""
    patch_list = bytes(kernel.patch_list)
    parts = []
    for span in token_list.walk(kernel.patch_list, base=0, has_contents=False):
        token = bytearray(patch_list[span.start : span.end])
        if span.number == token_list.THREAD_PAYLOAD:
            _move_payload(token, moves)
        elif span.number == token_list.SYMBOL_TABLE:
            _move_symbols(token, moves)
        elif span.number == token_list.RELOCATION_TABLE:
            token = _moved_relocations(token, moves)
        parts.append(bytes(token))
    return b"".join(parts)


def _move_payload(token: bytearray, moves: CodeMoves) -> None:
    for index in _ENTRIES:
        at = _TOKEN_HEAD + 4 * index
        if at + 4 <= len(token):
            (offset,) = _WORD.unpack_from(token, at)
            if offset:
                _WORD.pack_into(token, at, moved_entry(offset, moves))


def _entry_size(token: bytearray, sizes: dict[int, tuple[int, int, int]] | dict[int, tuple[int, int]]) -> int | None:
    """Return the size of a table's entries, None for a table that is none of these."""
    body = len(token) - _TOKEN_HEAD - 4
    if body < 0:
        return None
    (count,) = _WORD.unpack_from(token, _TOKEN_HEAD)
    return next((size for size in sizes if count * size == body), None)


def _move_symbols(token: bytearray, moves: CodeMoves) -> None:
    size = _entry_size(token, _SYMBOL_FIELDS)
    if size is None:
        return
    at_offset, width, at_size = _SYMBOL_FIELDS[size]
    for start in range(_TOKEN_HEAD + 4, len(token), size):
        (kind,) = _WORD.unpack_from(token, start)
        if kind not in _FUNCTION_KINDS:
            continue
        offset = int.from_bytes(token[start + at_offset : start + at_offset + width], "little")
        (length,) = _WORD.unpack_from(token, start + at_size)
        moved = moves.boundary(offset)
        token[start + at_offset : start + at_offset + width] = moved.to_bytes(width, "little")
        if length:
            _WORD.pack_into(token, start + at_size, moves.boundary(offset + length) - moved)


def _moved_relocations(token: bytearray, moves: CodeMoves) -> bytearray:
    size = _entry_size(token, _RELOCATION_FIELDS)
    if size is None:
        return token
    at, width = _RELOCATION_FIELDS[size]
    entries = []
    for start in range(_TOKEN_HEAD + 4, len(token), size):
        entry = bytes(token[start : start + size])
        for site in moved_sites(int.from_bytes(entry[at : at + width], "little"), moves):
            entries.append(entry[:at] + site.to_bytes(width, "little") + entry[at + width :])
    whole = b"".join(entries)
    head = token[:4] + _WORD.pack(_TOKEN_HEAD + 4 + len(whole)) + _WORD.pack(len(entries))
    return head + whole


def _edited_debug(content: bytes, kernel: str, code: bytes, moves: CodeMoves) -> bytes:
    """Return CTNI debug data with the kernel's ELF for its new code; as it is without one."""
    own = read_debug_data(memoryview(content)).kernel(kernel)
    if own is None or not own.elf:
        return content
    data = bytes(own.elf)
    elf = read_elf(own.elf, format="debug-data")
    text = elf.section(".text")
    if text is None:
        return content
    contents = moved_debug(elf, text.index, moves)
    if len(text.data) >= moves.old_size:
        contents[text.index] = code + bytes(text.data[moves.old_size :])
    new = with_contents(data, contents, format="debug-data")
    start, end = own.elf_offset, own.elf_offset + len(data)
    at = _size_field(content, start)
    (size,) = _WORD.unpack_from(content, at)
    return content[:at] + _WORD.pack(size + len(new) - len(data)) + content[at + 4 : start] + new + content[end:]


def _size_field(content: bytes, part: int) -> int:
    """Return where debug data, which was read before, has the size of the part that begins at ``part``."""
    position = _DEBUG_START
    while True:
        name, visa, gen_isa = _DEBUG_HEADER.unpack_from(content, position)
        visa_at = position + _DEBUG_HEADER.size + name
        if part in (visa_at, visa_at + visa):
            is_first = part == visa_at and visa > 0
            return position + (4 if is_first else 8)
        position = visa_at + visa + gen_isa
