"""The limits on the cost of reading an input: a small file can unpack to gigabytes, or be entries that each cost memory."""

from __future__ import annotations

from kernlens.errors import FormatError, TooManyError

#: Bytes that any input may unpack to, and how many more for each of its own bytes. Sources, listings and debug data of
#: honest files are packed to a fifth, a tenth at best.
FREE = 32 << 20
RATIO = 20
#: Entries (symbols, relocations, what a module exports) that any input may have, and for how many bytes of it there may be
#: one more. Honest programs have one for each kilobyte; only what is made of nothing but entries has more.
FREE_ENTRIES = 50_000
BYTES_PER_ENTRY = 128
#: Lines of listings that are read of any input, and for how many bytes of it one more: recordings have one for each ten.
FREE_LINES = 1_000_000
BYTES_PER_LINE = 4
#: How many entries' worth of time and memory a kernel and a program are.
KERNEL_WEIGHT, PROGRAM_WEIGHT = 4, 10


class Allowance:
    """The limits on one input of ``size`` bytes, shared by all its readers: bytes unpacked, entries, and lines."""

    def __init__(self, size: int = 0) -> None:
        self.size = size
        self.limit = FREE + RATIO * size
        self._unpacked = 0
        self._entries = 0
        self._lines = 0

    def unpack(self, size: int, *, format: str, section: str | None = None) -> None:
        """Count ``size`` bytes that are about to be unpacked. Raises FormatError if they are too many."""
        if self._unpacked + size > self.limit:
            raise FormatError(
                f"the input of {self.size:,} bytes would unpack to {self._unpacked + size:,} bytes; the limit for its size is"
                f" {self.limit:,}",
                format=format,
                section=section,
            )
        self._unpacked += size

    def count(self, number: int, things: str, *, format: str, section: str | None = None, weight: int = 1) -> None:
        """Count ``number`` entries, of ``things``, that are about to be read. Raises TooManyError if they are too many
        for the input and what was unpacked of it."""
        self._entries += number * weight
        if self._entries > FREE_ENTRIES + (self.size + self._unpacked) // BYTES_PER_ENTRY:
            raise TooManyError(
                f"{'one more' if number == 1 else f'another {number:,}'} {things} are too many for an input of"
                f" {self.size:,} bytes",
                format=format,
                section=section,
            )

    def count_lines(self, number: int, *, format: str) -> None:
        """Count the lines of a listing that is about to be read. Raises TooManyError if the input has too many for its
        size: lines of one letter are packed to next to nothing."""
        self._lines += number
        limit = FREE_LINES + self.size // BYTES_PER_LINE
        if self._lines > limit:
            raise TooManyError(
                f"another {number:,} lines are too many for an input of {self.size:,} bytes; the limit for its size is"
                f" {limit:,}",
                format=format,
            )
