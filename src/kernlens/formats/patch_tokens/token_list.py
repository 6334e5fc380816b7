"""A patch list: where its tokens lie, and each token decoded.

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

#: Where InlineDataSize stands, counted from the token's start.
_CONTENTS_SIZE_AT = {layouts.GLOBAL_MEMORY: 16, layouts.CONSTANT_MEMORY: 12}

#: Size of a name in a symbol or relocation table.
_NAME_SIZE = 1024
#: Entry size -> (kind, offset[, size]); a u64 offset is how newer compilers' ``size_t s_offset`` comes out.
_SYMBOL_LAYOUTS = {1036: struct.Struct("<III"), 1048: struct.Struct("<I4xQI")}
_RELOCATION_LAYOUTS = {1032: struct.Struct("<II"), 1040: struct.Struct("<I4xQ")}
_HOST_ACCESS_SIZE = 2 * _NAME_SIZE


class TokenSpan(NamedTuple):
    """A token that is not decoded yet: its number, and where its head and its payload begin and where it ends."""

    number: int
    start: int
    end: int


def walk(patch_list: memoryview, *, base: int, has_contents: bool) -> list[TokenSpan]:
    """All tokens of a patch list, in order. ``base`` is the list's offset in the program, for errors.

    ``has_contents``: tokens 41 and 42 are followed by memory contents (program level). Raises FormatError unless the
    last token ends where the list does.
    """
    spans = []
    at, end = 0, len(patch_list)
    unpack = _HEAD.unpack_from
    while at < end:
        if end - at < HEAD_SIZE:
            raise _error(f"the patch list ends within a token's head: {end - at} bytes are left", base + at)
        number, size = unpack(patch_list, at)
        if has_contents and number in _CONTENTS_SIZE_AT:
            size += _contents_size(patch_list, number, at, size, base)
        if not HEAD_SIZE <= size <= end - at:
            raise _error(f"token {number} says {size} bytes; {HEAD_SIZE} to {end - at} are possible here", base + at)
        spans.append(TokenSpan(number, at, at + size))
        at += size
    return spans


def _contents_size(patch_list: memoryview, number: int, at: int, size: int, base: int) -> int:
    place = _CONTENTS_SIZE_AT[number]
    if size < place + 4 or at + place + 4 > len(patch_list):
        raise _error(f"token {number} of {size} bytes is too short to say the size of its memory", base + at)
    return int.from_bytes(patch_list[at + place : at + place + 4], "little")


def decode(patch_list: memoryview, span: TokenSpan, *, base: int) -> PatchToken:
    """The token as its dataclass; of an unknown number, a plain PatchToken. Raises FormatError if it is too short."""
    payload = patch_list[span.start + HEAD_SIZE : span.end]
    known = _WORDS.get(span.number)
    at = base + span.start
    if known is not None:
        make, least, most = known
        return make(span.number, span.start, payload, *_words(span.number, payload, least, most, at))
    special = _SPECIAL.get(span.number)
    if special is not None:
        return special(span.number, span.start, payload, at)
    return PatchToken(span.number, span.start, payload)


def _words(number: int, payload: memoryview, least: int, most: int, at: int) -> tuple[int, ...]:
    """The first u32s of a payload: at least ``least``, at most ``most``."""
    count = min(len(payload) // 4, most)
    if count < least:
        raise _error(f"token {number} has a payload of {len(payload)} bytes, too few for its {least} fields", at)
    return struct.unpack_from(f"<{count}I", payload)


def _thread_payload(number: int, start: int, payload: memoryview, at: int) -> PatchToken:
    values: list[int | None] = list(_words(number, payload, 12, 20, at))
    if len(values) == 14:
        values.insert(13, None)  # skip_ffid_setup came third, before pass_inline_constants
    if len(values) == 19:
        values.insert(15, None)  # rt_stack_id_present
    return layouts.ThreadPayload(number, start, payload, *values)  # type: ignore[arg-type]


def _execution_environment(number: int, start: int, payload: memoryview, at: int) -> PatchToken:
    """Layout by size: fields came into the middle with 96 bytes (multi scratch) and 136 (has sample, version 1082)."""
    words = len(payload) // 4
    values: list[int | None] = list(_words(number, payload, 19, 31, at))
    if words < 34:
        values.insert(6, None)
    if words < 24:
        values.insert(15, None)
    known = len(values)
    if words < 23:
        known = 23  # what follows walk_order_dimensions was reserved
    elif words < 31:
        known = 24  # what follows has_global_atomics moved until 124 bytes
    elif words < 32:
        known = 30  # SIMDInfo stood in has_stack_calls' place
    return layouts.ExecutionEnvironment(number, start, payload, *values[: min(known, 31)])  # type: ignore[arg-type]


def _argument_description(number: int, start: int, payload: memoryview, at: int) -> PatchToken:
    argument, *sizes = _words(number, payload, 6, 6, at)
    place = _STRING_SIZES.size
    texts = []
    for size in sizes:
        if size > len(payload) - place:
            raise _error(f"token {number}: {size} bytes of text do not fit into {len(payload) - place} left", at)
        texts.append(c_text(payload[place : place + size]))
        place += size
    return layouts.ArgumentDescription(number, start, payload, argument, *texts)


def _kernel_attributes(number: int, start: int, payload: memoryview, at: int) -> PatchToken:
    return layouts.KernelAttributes(number, start, payload, _sized_text(number, payload, 0, at))


def _printf_string(number: int, start: int, payload: memoryview, at: int) -> PatchToken:
    (index,) = _words(number, payload, 1, 1, at)
    return layouts.PrintfString(number, start, payload, index, _sized_text(number, payload, 4, at))


def _sized_text(number: int, payload: memoryview, place: int, at: int) -> str:
    """The string behind the u32 size at ``place``."""
    size = _words(number, payload[place:], 1, 1, at)[0]
    left = len(payload) - place - 4
    if size > left:
        raise _error(f"token {number}: a string of {size} bytes does not fit into the {left} left", at)
    return c_text(payload[place + 4 : place + 4 + size])


def _program_memory(number: int, start: int, payload: memoryview, at: int) -> PatchToken:
    has_kind = number == layouts.GLOBAL_MEMORY
    kind, index, size = (None, 0, 0)
    if has_kind:
        kind, index, size = _words(number, payload, 3, 3, at)
    else:
        index, size = _words(number, payload, 2, 2, at)
    if size > len(payload) - (12 if has_kind else 8):
        raise _error(f"token {number}: {size} bytes of memory contents do not fit into it", at)
    return layouts.ProgramMemory(number, start, payload, kind, index, payload[len(payload) - size :])


def _pointer_initializer(number: int, start: int, payload: memoryview, at: int) -> PatchToken:
    _words(number, payload, _POINTER.size // 4, 5, at)
    return layouts.PointerInitializer(number, start, payload, *_POINTER.unpack_from(payload))


def _symbol_table(number: int, start: int, payload: memoryview, at: int) -> PatchToken:
    size, places = _table(number, payload, tuple(_SYMBOL_LAYOUTS), at)
    layout = _SYMBOL_LAYOUTS[size]
    entries = []
    for place in places:
        kind, offset, length = layout.unpack_from(payload, place)
        entries.append(layouts.SymbolEntry(kind, offset, length, _name(payload, place + layout.size)))
    return layouts.SymbolTable(number, start, payload, tuple(entries))


def _relocation_table(number: int, start: int, payload: memoryview, at: int) -> PatchToken:
    size, places = _table(number, payload, tuple(_RELOCATION_LAYOUTS), at)
    layout = _RELOCATION_LAYOUTS[size]
    entries = []
    for place in places:
        kind, offset = layout.unpack_from(payload, place)
        entries.append(layouts.RelocationEntry(kind, offset, _name(payload, place + layout.size)))
    return layouts.RelocationTable(number, start, payload, tuple(entries))


def _host_access_table(number: int, start: int, payload: memoryview, at: int) -> PatchToken:
    _size, places = _table(number, payload, (_HOST_ACCESS_SIZE,), at)
    entries = tuple((_name(payload, place), _name(payload, place + _NAME_SIZE)) for place in places)
    return layouts.HostAccessTable(number, start, payload, entries)


def _table(number: int, payload: memoryview, sizes: tuple[int, ...], at: int) -> tuple[int, range]:
    """The entry size that fits the table, one of ``sizes``, and where each entry starts."""
    (count,) = _words(number, payload, 1, 1, at)
    for size in sizes:
        if count * size == len(payload) - 4:
            return size, range(4, len(payload), size)
    known = " or ".join(map(str, sizes))
    raise _error(f"token {number}: {count} entries in {len(payload) - 4} bytes; an entry has {known} bytes", at)


def _name(payload: memoryview, place: int) -> str:
    return c_text(payload[place : place + _NAME_SIZE])


def _error(message: str, offset: int) -> FormatError:
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
