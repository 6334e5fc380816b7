"""What reading one input may cost: compressed content in a small file can be gigabytes."""

from __future__ import annotations

from kernlens.errors import FormatError

#: Bytes that any input may unpack to, and how many more for each of its own bytes. Sources, listings and debug data of
#: honest files are packed to a fifth, a tenth at best.
FREE = 32 << 20
RATIO = 20


class Budget:
    """The bytes that may be unpacked out of one input, a file of ``size`` bytes; all readers of the input share it."""

    def __init__(self, size: int = 0) -> None:
        self.size = size
        self.limit = FREE + RATIO * size
        self._unpacked = 0

    def unpack(self, size: int, *, format: str, section: str | None = None) -> None:
        """Counts ``size`` bytes that are about to be unpacked. Raises FormatError if they are too many."""
        if self._unpacked + size > self.limit:
            raise FormatError(
                f"with these {size:,} bytes the input of {self.size:,} would unpack to {self._unpacked + size:,},"
                f" and at most {self.limit:,} are read of one so small",
                format=format,
                section=section,
            )
        self._unpacked += size
