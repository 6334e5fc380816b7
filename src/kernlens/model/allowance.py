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
#: Statements of a text that are read of any input, for how many bytes of the text one more, and how many more for each byte of
#: the input: real PTX has a mark in 10 to 15 bytes, and is packed to a tenth.
FREE_STATEMENTS = 200_000
BYTES_PER_STATEMENT = 8
STATEMENTS_PER_BYTE = 1.5
#: Bytes of code that the kernels of any input may have together, and how many times the input's own: kernels may share code,
#: and each is decoded and printed by itself.
FREE_CODE = 4 << 20
CODE_RATIO = 4
#: How many entries' worth of time and memory a kernel and a program are.
KERNEL_WEIGHT, PROGRAM_WEIGHT = 4, 10


class Allowance:
    """The limits on one input of ``size`` bytes, shared by all its readers: bytes unpacked, entries, lines, statements
    and code."""

    def __init__(self, size: int = 0) -> None:
        self.size = size
        self.limit = FREE + RATIO * size
        self._unpacked = 0
        self._entries = 0
        self._lines = 0
        self._statements = 0
        self._code = 0

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
            more = f"one more {things} is" if number == 1 else f"another {number:,} {things} are"
            raise TooManyError(
                f"{more} too many for an input of {self.size:,} bytes",
                format=format,
                section=section,
            )

    def count_statements(self, number: int, size: int, *, format: str) -> None:
        """Count the statements of a text of ``size`` bytes that is about to be read. Raises TooManyError if they are too many
        for the text, or together with those before for the input: a text of nothing else is packed to next to nothing."""
        self._statements += number
        most = FREE_STATEMENTS + int(STATEMENTS_PER_BYTE * self.size)
        if number > FREE_STATEMENTS + size // BYTES_PER_STATEMENT or self._statements > most:
            raise TooManyError(
                f"{number:,} statements are too many for a text of {size:,} bytes in an input of {self.size:,}",
                format=format,
            )

    def count_code(self, size: int, holder: int, *, format: str) -> None:
        """Count the code of a program's kernels, whose container has ``holder`` bytes. Raises TooManyError if it is many times
        as large as that and all of the input: the kernels share code."""
        self._code += size
        limit = FREE_CODE + CODE_RATIO * max(holder, self.size + self._unpacked)
        if self._code > limit:
            raise TooManyError(
                f"the kernels share code: together they have {self._code:,} bytes; the limit for an input of"
                f" {max(holder, self.size):,} bytes is {limit:,}",
                format=format,
            )

    def count_lines(self, number: int, *, format: str) -> None:
        """Count the lines of a listing that is about to be read. Raises TooManyError if the input has too many for its
        size: lines of one letter are packed to next to nothing."""
        self._lines += number
        limit = FREE_LINES + self.size // BYTES_PER_LINE
        if self._lines > limit:
            raise TooManyError(
                f"{self._lines:,} lines in an input of {self.size:,} bytes, where kernlens reads {limit:,} at most: the file"
                " is damaged, or made to be slow",
                format=format,
            )
