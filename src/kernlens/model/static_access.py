"""The accesses of a kernel as its code has them: what can be said of their addresses without data."""

from __future__ import annotations

from kernlens.dataclass import dataclass
from kernlens.model.source_map import SourcePlace

#: A stride is told of from so many times the access's bytes on: then less than half of what is moved may be used.
_WORTH = 2
#: What the pattern of an access begins with whose neighbours are equally far apart.
STRIDED = "stride"
#: What it ends with where a clamp, a least or a greatest number may give some work-items another address.
BETWEEN_BOUNDS = " between bounds"
SAME, CONSECUTIVE, UNKNOWN = "same address", "consecutive", "unknown"


@dataclass(frozen=True, slots=True)
class StaticAccess:
    """A memory access of the source; ``calls`` are those through which it was inlined, innermost first. ``kind``, ``space`` and
    ``width`` are those of an ``ObservedAccess``.

    ``pattern`` says how the addresses of a sub-group's work-items follow each other, whatever the data: "same address",
    "consecutive", "stride of 4 x height bytes" with the kernel's arguments, "stride that is not known" where all neighbours are
    equally far apart, or "unknown". ``stride`` is that in bytes where it is a number, and ``used`` how many of them are asked
    for by the kernel's accesses of this kind together, as by those of a structure's fields.
    """

    place: SourcePlace | None
    calls: tuple[SourcePlace, ...]
    kind: str
    space: str
    width: int
    pattern: str
    stride: int | None
    used: int | None = None

    @property
    def is_far(self) -> bool:
        """True where neighbours are so far apart that what lies between them is moved too."""
        far = self.stride is None or abs(self.stride) >= _WORTH * self.width
        return self.pattern.startswith(STRIDED) and far and self.kind != "atomic"
