"""The hash that Intel's newer compiler leaves in a kernel's code."""

from __future__ import annotations

from kernlens.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class HashTrailer:
    """The moves to nowhere behind the end of a kernel's thread in which IGC 2 leaves a hash of what it compiled: no
    instructions of the kernel, as control never comes there.

    ``offset`` is in bytes from the kernel's start, ``size`` in bytes. Functions may stand behind it. ``hash`` is of the
    source, the options and, with debug data, the paths; ``number`` that of the kernel in its module.
    """

    offset: int
    hash: int
    number: int
    size: int = 64
    #: Its moves.
    count: int = 4

    @property
    def end(self) -> int:
        """The offset behind it."""
        return self.offset + self.size

    def __str__(self) -> str:
        return f"{self.size} bytes, the compiler's hash {self.hash:#018x} of what it compiled"
