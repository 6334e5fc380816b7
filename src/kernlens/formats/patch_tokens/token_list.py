"""Walks over the tokens of a patch list and decodes them.

Source: ``patch_list.h`` and ``patch_shared.h`` of intel-graphics-compiler. A token is ``SPatchItemHeader`` {u32 Token,
u32 Size, which counts these 8 bytes} and its payload. The initial contents of tokens 41 and 42 follow the token and are
not counted in its Size (``patchtokens_decoder.cpp`` of compute-runtime does the same).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from kernlens.errors import FormatError
from kernlens.formats.patch_tokens import layouts
from kernlens.formats.patch_tokens.layouts import PatchToken
from kernlens.model.binary import c_text

FORMAT = "patch-tokens"
HEAD_SIZE = 8

_HEAD = struct.Struct("<II")
_POINTER = struct.Struct("<IQII")
_STRING_SIZES = struct.Struct("<6I")

#: Token number -> the offset of InlineDataSize from the token's start.
_CONTENTS_SIZE_AT = {layouts.GLOBAL_MEMORY: 16, layouts.CONSTANT_MEMORY: 12}

#: Size of a name in a symbol or relocation table.
_NAME_SIZE = 1024
#: Entry size -> (kind, offset[, size]); a u64 offset is how newer compilers' ``size_t s_offset`` comes out.
_SYMBOL_LAYOUTS = {1036: struct.Struct("<III"), 1048: struct.Struct("<I4xQI")}
_RELOCATION_LAYOUTS = {1032: struct.Struct("<II"), 1040: struct.Struct("<I4xQ")}
_HOST_ACCESS_SIZE = 2 * _NAME_SIZE


class TokenSpan(NamedTuple):
    """A token that is not decoded yet: its number, and where its head begins and its payload ends in the patch list."""

    number: int
    start: int
    end: int


def walk(patch_list: memoryview, *, base: int, has_contents: bool) -> list[TokenSpan]:
    """Returns all tokens of a patch list, in order. ``base`` is the list's offset in the program, for errors.

    ``has_contents``: tokens 41 and 42 are followed by memory contents (program level). Raises FormatError unless the
    last token ends where the list does.
    """
    spans = []
    offset, end = 0, len(patch_list)
    unpack = _HEAD.unpack_from
    while offset < end:
        if end - offset < HEAD_SIZE:
            raise error(f"the patch list ends within a token's head: {end - offset} bytes are left", base + offset)
        number, size = unpack(patch_list, offset)
        if has_contents and number in _CONTENTS_SIZE_AT:
            size += _contents_size(patch_list, number, offset, size, base)
        if not HEAD_SIZE <= size <= end - offset:
            raise error(
                f"token {number} says {size} bytes; {HEAD_SIZE} to {end - offset} are possible here", base + offset
            )
        spans.append(TokenSpan(number, offset, offset + size))
        offset += size
    return spans


def _contents_size(patch_list: memoryview, number: int, offset: int, size: int, base: int) -> int:
    field = _CONTENTS_SIZE_AT[number]
    if size < field + 4 or offset + field + 4 > len(patch_list):
        raise error(f"token {number} of {size} bytes is too short to say the size of its memory", base + offset)
    return int.from_bytes(patch_list[offset + field : offset + field + 4], "little")


def decode(patch_list: memoryview, span: TokenSpan, *, base: int) -> PatchToken:
    """Returns the token as its class, one of unknown number as PatchToken. Raises FormatError if it is too short."""
    payload = patch_list[span.start + HEAD_SIZE : span.end]
    layout = _WORDS.get(span.number)
    token_offset = base + span.start
    if layout is not None:
        make, least, most = layout
        return make(span.number, span.start, payload, *_words(span.number, payload, least, most, token_offset))
    special = _SPECIAL.get(span.number)
    if special is not None:
        return special(span.number, span.start, payload, token_offset)
    return PatchToken(span.number, span.start, payload)


def _words(number: int, payload: memoryview, least: int, most: int, token_offset: int) -> tuple[int, ...]:
    """Returns the first u32s of a payload: at least ``least``, at most ``most``."""
    count = min(len(payload) // 4, most)
    if count < least:
        raise error(
            f"token {number} has a payload of {len(payload)} bytes, too few for its {least} fields", token_offset
        )
    return struct.unpack_from(f"<{count}I", payload)


def _thread_payload(number: int, start: int, payload: memoryview, token_offset: int) -> PatchToken:
    values: list[int | None] = list(_words(number, payload, 12, 20, token_offset))
    if len(values) == 14:
        values.insert(13, None)  # skip_ffid_setup came third, before pass_inline_constants
    if len(values) == 19:
        values.insert(15, None)  # rt_stack_id_present
    return layouts.ThreadPayload(number, start, payload, *values)  # type: ignore[arg-type]


def _execution_environment(number: int, start: int, payload: memoryview, token_offset: int) -> PatchToken:
    """Chooses the layout by size: fields were added in the middle at 96 bytes (multi scratch) and at 136 (has sample,
    version 1082)."""
    words = len(payload) // 4
    values: list[int | None] = list(_words(number, payload, 19, 31, token_offset))
    if words < 34:
        values.insert(6, None)
    if words < 24:
        values.insert(15, None)
    count = len(values)
    if words < 23:
        count = 23  # what follows walk_order_dimensions was reserved
    elif words < 31:
        count = 24  # what follows has_global_atomics moved until 124 bytes
    elif words < 32:
        count = 30  # SIMDInfo stood in has_stack_calls' place
    return layouts.ExecutionEnvironment(number, start, payload, *values[: min(count, 31)])  # type: ignore[arg-type]


def _argument_description(number: int, start: int, payload: memoryview, token_offset: int) -> PatchToken:
    argument, *sizes = _words(number, payload, 6, 6, token_offset)
    start_of_text = _STRING_SIZES.size
    texts = []
    for size in sizes:
        if size > len(payload) - start_of_text:
            raise error(
                f"token {number}: {size} bytes of text do not fit into {len(payload) - start_of_text} left",
                token_offset,
            )
        texts.append(c_text(payload[start_of_text : start_of_text + size]))
        start_of_text += size
    return layouts.ArgumentDescription(number, start, payload, argument, *texts)


def _kernel_attributes(number: int, start: int, payload: memoryview, token_offset: int) -> PatchToken:
    return layouts.KernelAttributes(number, start, payload, _sized_text(number, payload, 0, token_offset))


def _printf_string(number: int, start: int, payload: memoryview, token_offset: int) -> PatchToken:
    (index,) = _words(number, payload, 1, 1, token_offset)
    return layouts.PrintfString(number, start, payload, index, _sized_text(number, payload, 4, token_offset))


def _sized_text(number: int, payload: memoryview, field: int, token_offset: int) -> str:
    """Returns the string behind the u32 size at ``field``."""
    size = _words(number, payload[field:], 1, 1, token_offset)[0]
    left = len(payload) - field - 4
    if size > left:
        raise error(f"token {number}: a string of {size} bytes does not fit into the {left} left", token_offset)
    return c_text(payload[field + 4 : field + 4 + size])


def _program_memory(number: int, start: int, payload: memoryview, token_offset: int) -> PatchToken:
    has_kind = number == layouts.GLOBAL_MEMORY
    kind, index, size = (None, 0, 0)
    if has_kind:
        kind, index, size = _words(number, payload, 3, 3, token_offset)
    else:
        index, size = _words(number, payload, 2, 2, token_offset)
    if size > len(payload) - (12 if has_kind else 8):
        raise error(f"token {number}: {size} bytes of memory contents do not fit into it", token_offset)
    return layouts.ProgramMemory(number, start, payload, kind, index, payload[len(payload) - size :])


def _pointer_initializer(number: int, start: int, payload: memoryview, token_offset: int) -> PatchToken:
    _words(number, payload, _POINTER.size // 4, 5, token_offset)
    return layouts.PointerInitializer(number, start, payload, *_POINTER.unpack_from(payload))


def _symbol_table(number: int, start: int, payload: memoryview, token_offset: int) -> PatchToken:
    size, starts = _table(number, payload, tuple(_SYMBOL_LAYOUTS), token_offset)
    layout = _SYMBOL_LAYOUTS[size]
    entries = []
    for entry in starts:
        kind, offset, length = layout.unpack_from(payload, entry)
        entries.append(layouts.SymbolEntry(kind, offset, length, _name(payload, entry + layout.size)))
    return layouts.SymbolTable(number, start, payload, tuple(entries))


def _relocation_table(number: int, start: int, payload: memoryview, token_offset: int) -> PatchToken:
    size, starts = _table(number, payload, tuple(_RELOCATION_LAYOUTS), token_offset)
    layout = _RELOCATION_LAYOUTS[size]
    entries = []
    for entry in starts:
        kind, offset = layout.unpack_from(payload, entry)
        entries.append(layouts.RelocationEntry(kind, offset, _name(payload, entry + layout.size)))
    return layouts.RelocationTable(number, start, payload, tuple(entries))


def _host_access_table(number: int, start: int, payload: memoryview, token_offset: int) -> PatchToken:
    _size, starts = _table(number, payload, (_HOST_ACCESS_SIZE,), token_offset)
    entries = tuple((_name(payload, entry), _name(payload, entry + _NAME_SIZE)) for entry in starts)
    return layouts.HostAccessTable(number, start, payload, entries)


def _table(number: int, payload: memoryview, sizes: tuple[int, ...], token_offset: int) -> tuple[int, range]:
    """Returns the entry size that fits the table, one of ``sizes``, and where each entry starts."""
    (count,) = _words(number, payload, 1, 1, token_offset)
    for size in sizes:
        if count * size == len(payload) - 4:
            return size, range(4, len(payload), size)
    expected = " or ".join(map(str, sizes))
    raise error(
        f"token {number}: {count} entries in {len(payload) - 4} bytes; an entry has {expected} bytes", token_offset
    )


def _name(payload: memoryview, start: int) -> str:
    return c_text(payload[start : start + _NAME_SIZE])


def error(message: str, offset: int) -> FormatError:
    """Returns the error of what stands at ``offset`` of a program."""
    return FormatError(message, format=FORMAT, offset=offset)


_Special: TypeAlias = Callable[[int, int, memoryview, int], PatchToken]

#: Tokens that are u32s only: class, fewest fields, most fields.
_WORDS: dict[int, tuple[Callable[..., PatchToken], int, int]] = {
    2: (layouts.StateSip, 1, 1),
    5: (layouts.SamplerStateArray, 3, 3),
    8: (layouts.BindingTable, 3, 3),
    11: (layouts.BufferArgument, 5, 5),
    12: (layouts.ImageArgument, 9, 10),
    15: (layouts.LocalSurface, 2, 2),
    16: (layouts.SamplerArgument, 8, 9),
    17: (layouts.PayloadParameter, 8, 9),
    18: (layouts.ScratchSlot, 2, 2),
    19: (layouts.InterfaceDescriptorLoad, 1, 1),
    21: (layouts.InterfaceDescriptor, 4, 4),
    25: (layouts.PayloadSize, 1, 1),
    30: (layouts.StatelessArgument, 7, 7),
    31: (layouts.StatelessArgument, 7, 7),
    33: (layouts.IndexedSurface, 4, 4),
    36: (layouts.IndexedSurface, 4, 4),
    38: (layouts.PrivateMemory, 4, 5),
    43: (layouts.IndexedSurface, 4, 4),
    44: (layouts.IndexedSurface, 4, 4),
    45: (layouts.PayloadSurface, 3, 3),
    46: (layouts.StatelessArgument, 7, 7),
    55: (layouts.ScratchSlot, 2, 2),
    56: (layouts.PayloadSurface, 3, 3),
    58: (layouts.PayloadSurface, 3, 3),
}

_SPECIAL: dict[int, _Special] = {
    22: _thread_payload,
    23: _execution_environment,
    26: _argument_description,
    27: _kernel_attributes,
    28: _printf_string,
    41: _program_memory,
    42: _program_memory,
    47: _pointer_initializer,
    48: _pointer_initializer,
    53: _symbol_table,
    54: _relocation_table,
    57: _host_access_table,
}
