"""The walk over the tokens of a patch list.

Source: ``patch_list.h`` and ``patch_shared.h`` of intel-graphics-compiler (``PATCH_TOKEN`` and the ``SPatch*`` structures that
readers of tokens name). Everything is little-endian and packed. A token is ``SPatchItemHeader`` {u32 Token, u32 Size, which
counts these 8 bytes} and its payload. The initial contents of tokens 41 and 42 follow the token and are not counted in its
Size (``patchtokens_decoder.cpp`` of compute-runtime does the same).
"""

from __future__ import annotations

import struct

from kernlens.dataclass import NamedTuple
from kernlens.errors import FormatError
from kernlens.model.binary import c_text

FORMAT = "patch-tokens"

#: Numbers of the tokens that kernlens reads (``PATCH_TOKEN``).
LOCAL_SURFACE = 15
PAYLOAD_PARAMETER = 17
SCRATCH_SLOT_0 = 18
THREAD_PAYLOAD = 22
EXECUTION_ENVIRONMENT = 23
ARGUMENT_DESCRIPTION = 26
KERNEL_ATTRIBUTES = 27
PRIVATE_MEMORY = 38
SYMBOL_TABLE = 53
RELOCATION_TABLE = 54
SCRATCH_SLOT_1 = 55

_HEAD = struct.Struct("<II")
#: Tokens of global and constant memory -> the offset of InlineDataSize from the token's start.
_CONTENTS_SIZE_AT = {41: 16, 42: 12}
#: What a zebin calls the contents of these tokens.
CONTENTS = {41: ".data.global", 42: ".data.const"}
#: Size of a name in a symbol or relocation table.
_NAME_SIZE = 1024


class TokenSpan(NamedTuple):
    """A token in its patch list: its number, and where its head begins and its payload ends there."""

    number: int
    start: int
    end: int


class Token(NamedTuple):
    """One item of a patch list: ``payload`` is what follows its head, ``offset`` where it starts in the program, for errors."""

    number: int
    payload: memoryview
    offset: int

    def words(self, least: int, most: int | None = None) -> tuple[int, ...]:
        """Return the first u32s of the payload: ``least`` of them, or up to ``most``, as structures have grown at their
        end. Raises FormatError if there are fewer."""
        count = min(len(self.payload) // 4, most or least)
        if count < least:
            message = f"token {self.number} has a payload of {len(self.payload)} bytes, too few for its {least} fields"
            raise error(message, self.offset)
        return struct.unpack_from(f"<{count}I", self.payload)

    def texts(self, start: int, *sizes: int) -> list[str]:
        """Return texts of these sizes in bytes that stand one behind the other from ``start`` on in the payload. Raises
        FormatError if they go beyond it."""
        texts = []
        for size in sizes:
            if size > len(self.payload) - start:
                left = len(self.payload) - start
                raise error(f"token {self.number}: {size} bytes of text do not fit into {left} left", self.offset)
            texts.append(c_text(self.payload[start : start + size]))
            start += size
        return texts

    def entries(self, layouts: dict[int, struct.Struct]) -> list[tuple[str, tuple[int, ...]]]:
        """Return the entries of a table (``SPatchFunctionTableInfo``): each one's name, and the numbers before it.
        ``layouts`` has them by the size of an entry in bytes. Raises FormatError if no size fits."""
        (count,) = self.words(1)
        size = len(self.payload) - 4
        for entry_size, layout in layouts.items():
            if count * entry_size == size:
                names = (start + layout.size for start in range(4, len(self.payload), entry_size))
                return [
                    (
                        c_text(self.payload[name : name + _NAME_SIZE]),
                        layout.unpack_from(self.payload, name - layout.size),
                    )
                    for name in names
                ]
        expected = " or ".join(map(str, layouts))
        raise error(f"token {self.number}: {count} entries in {size} bytes; an entry has {expected} bytes", self.offset)


def walk(patch_list: memoryview, *, base: int, has_contents: bool) -> list[TokenSpan]:
    """Return all tokens of a patch list, in order. ``base`` is the list's offset in the program, for errors.

    ``has_contents``: tokens 41 and 42 are followed by memory contents (program level). Raises FormatError unless the
    last token ends where the list does.
    """
    spans = []
    offset, end = 0, len(patch_list)
    head, unpack = _HEAD.size, _HEAD.unpack_from
    while offset < end:
        if end - offset < head:
            raise error(f"the patch list ends within a token's head: {end - offset} bytes are left", base + offset)
        number, size = unpack(patch_list, offset)
        if has_contents and number in _CONTENTS_SIZE_AT:
            size += _contents_size(patch_list, number, offset, size, base)
        if not head <= size <= end - offset:
            raise error(
                f"token {number} claims {size} bytes; {head} to {end - offset} are possible here", base + offset
            )
        spans.append(TokenSpan(number, offset, offset + size))
        offset += size
    return spans


def _contents_size(patch_list: memoryview, number: int, offset: int, size: int, base: int) -> int:
    field = _CONTENTS_SIZE_AT[number]
    if size < field + 4 or offset + field + 4 > len(patch_list):
        raise error(f"token {number} of {size} bytes is too short to contain the size of its memory", base + offset)
    return int.from_bytes(patch_list[offset + field : offset + field + 4], "little")


def contents_of(patch_list: memoryview, span: TokenSpan) -> memoryview:
    """Return the initial contents that follow a token of global or constant memory; none of any other token."""
    if span.number not in _CONTENTS_SIZE_AT:
        return patch_list[:0]
    return patch_list[span.start + _CONTENTS_SIZE_AT[span.number] + 4 : span.end]


def token_at(patch_list: memoryview, span: TokenSpan, *, base: int) -> Token:
    """Return the token of a span; ``base`` is the list's offset in the program."""
    return Token(span.number, patch_list[span.start + _HEAD.size : span.end], base + span.start)


def error(message: str, offset: int) -> FormatError:
    """Return the error of what stands at ``offset`` of a program."""
    return FormatError(message, format=FORMAT, offset=offset)
