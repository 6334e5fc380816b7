"""The coverage of an answer, with which verdicts end, so that no silence passes for a yes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kernlens.dataclass import dataclass

if TYPE_CHECKING:
    from kernlens.model.build import Build
    from kernlens.model.program import Program

#: Macros, and options of the language but for the one by which interpreters of a capture get the arguments' names.
_DECIDING = re.compile(r"(?<!\S)-(?:D\s*|cl-(?!kernel-arg-info))(\S+)")


@dataclass(frozen=True, slots=True)
class Coverage:
    """Numbers of what an answer is about. ``kernels`` were looked at. ``unread`` are builds that failed, and kernels of which
    nothing could be read. Of sources that are compiled in several variants, with other macros or options each, ``variants``
    compiled of ``of_variants``; 0 without such."""

    kernels: int
    unread: int
    variants: int = 0
    of_variants: int = 0

    @property
    def words(self) -> str:
        """The words: ``2 of 2 variants, 5 kernels, 0 unread``."""
        variants = f"{self.variants:,} of {self.of_variants:,} variants, " if self.of_variants else ""
        return f"{variants}{self.kernels:,} kernel{'' if self.kernels == 1 else 's'}, {self.unread:,} unread"

    @property
    def document(self) -> dict[str, int]:
        """The same as JSON has it."""
        return {
            "variants": self.variants,
            "of_variants": self.of_variants,
            "kernels": self.kernels,
            "unread": self.unread,
        }

    def __or__(self, other: Coverage) -> Coverage:
        """Return what two sides of a comparison have in common, each of which says how many variants it has."""
        sides = [each for each in (self, other) if each.of_variants]
        return Coverage(
            self.kernels + other.kernels,
            self.unread + other.unread,
            min((each.variants for each in sides), default=0),
            max((each.of_variants for each in sides), default=0),
        )


def coverage(programs: Iterable[Program], failed: Iterable[Build], kernels: int, unread: int = 0) -> Coverage:
    """Return the coverage of an answer on so many ``kernels`` of these programs, ``unread`` of them without what was asked;
    ``failed`` are the builds beside the programs."""
    lost = list(failed)
    read = {_variant(each.build) for each in programs}
    every = read.union(map(_variant, lost))
    several = {source for source, count in Counter(source for source, _ in every).items() if count > 1}
    counts = (sum(source in several for source, _ in variants) for variants in (read, every))
    return Coverage(kernels, len(lost) + unread, *counts)


def _variant(build: Build) -> tuple[tuple[str, str, str], tuple[str, ...]]:
    """Return what was compiled, and with which macros and options: builds of two recordings with the same are no variants."""
    source = build.path or build.name, build.device, build.toolchain.name if build.toolchain else ""
    return source, tuple(_DECIDING.findall(build.options or ""))
