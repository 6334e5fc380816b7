"""Advice: one sentence on how a kernel could be cheaper, with the instructions that it is about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kernlens.dataclass import dataclass, field, in_short
from kernlens.model.coverage import Coverage, coverage

if TYPE_CHECKING:
    from kernlens.model.failed_builds import FailedBuilds
    from kernlens.model.kernel import Kernel
    from kernlens.model.program import Program

#: The page with a section for each rule.
PAGE = "docs/advice.md"
#: The origin of advice that only the machine code, its line table and its source text are needed for.
COUNTED = "counted in the code"
#: What an action does to a kernel's results: ``Advice.results``. Of floats, in units in the last place.
#: Bounds are the sums of both sides' bounds in the OpenCL specification.
ULP = 23
EQUAL, WITHIN_ULP, MAY_DIFFER, DIFFER = "stay equal", f"within {ULP} ulp", "may differ", "differ"
#: The key of the rule on spills, which other build options may help against.
SPILL = "spill"


@dataclass(frozen=True, slots=True)
class Edit:
    """The action of a piece of advice where that takes no person.

    ``replaced`` are parts of the text of the source that the piece is in, each with another text: first character, character
    behind the last, new text; lines end with one character. ``options`` are added to those of the build. No edit adds or
    removes a line."""

    replaced: tuple[tuple[int, int, str], ...] = ()
    options: str = ""

    def of(self, text: str) -> str:
        """Return the text with the edit."""
        for start, end, new in sorted(self.replaced, reverse=True):
            text = text[:start] + new + text[end:]
        return text


@dataclass(frozen=True, slots=True)
class Advice:
    """A piece of advice: ``rule`` is the key of the rule that gave it.

    ``subject`` names the construct (`` `sin` ``), ``fact`` says what became of it (``is 313 instructions``), ``action``
    what to do. ``path``, ``line`` and ``column`` are its place in the source; ``path`` is None for advice on a whole kernel,
    ``column`` 0 for a whole line. ``rows`` are the indexes of the instructions that it is about, ascending and never empty;
    ``total`` is the number of instructions of the kernel. ``results`` says what the action does to the kernel's results where
    the conditions in its words hold, one of the words above. ``origin`` says what the fact is from.
    ``certain`` is how many of the instructions are certainly of that very line (``SourceMap.certain``), None without a
    place, and ``elsewhere`` how many stand under other lines. ``is_bound``: some may not be of the construct at all.
    ``edit`` is the action, None where it takes a person.
    """

    rule: str
    subject: str
    fact: str
    action: str
    path: str | None
    line: int
    column: int
    rows: tuple[int, ...] = field(repr=False)
    total: int
    results: str
    origin: str = COUNTED
    certain: int | None = None
    elsewhere: int = 0
    is_bound: bool = False
    edit: Edit | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.rows:
            raise ValueError(f"advice of the rule {self.rule} names no instruction")

    def __repr__(self) -> str:
        return in_short(f"<Advice {self.rule}: {self.sentence}>")

    @property
    def count(self) -> int:
        """The number of instructions that it is about."""
        return len(self.rows)

    @property
    def share(self) -> float:
        """Their share of the kernel's instructions, from 0 to 1. Each counts once, however often it runs."""
        return len(self.rows) / self.total

    @property
    def place(self) -> str:
        """Its place in a sentence: ``tone.cl:12:9``; empty for a whole kernel."""
        if self.path is None:
            return ""
        return f"{self.file_line}:{self.column}" if self.column else self.file_line

    @property
    def file_line(self) -> str:
        """Its place without the column: ``tone.cl:12``; empty for a whole kernel."""
        return f"{self.path.rsplit('/', 1)[-1]}:{self.line}" if self.path is not None else ""

    @property
    def sentence(self) -> str:
        """The whole sentence: the construct, its place, the fact, the share of the kernel's instructions, and what to do."""
        where = f" at {self.place}" if self.path is not None else ""
        return f"{self.subject}{where} {self.short.removeprefix(self.subject).lstrip()}"

    @property
    def short(self) -> str:
        """The sentence without the place, for tables that have it in a column of its own."""
        bound = "at most " if self.is_bound else ""
        share = f"{bound}{100 * self.share:.1f}% of the kernel"
        return f"{self.subject} {self.fact} ({share}); {self.action} (results {self.results})"

    @property
    def link(self) -> str:
        """The section of the documentation that explains the rule."""
        return f"{PAGE}#{self.rule}"


@dataclass(frozen=True)
class AdvisedKernel:
    """A kernel and the ``advice`` on it, that on most instructions first. ``reason`` says why the rules that need lines or
    the source's text are silent; None if they have both."""

    program: Program
    kernel: Kernel
    advice: tuple[Advice, ...]
    reason: str | None = None

    @property
    def is_unread(self) -> bool:
        """True if no rule could judge it: its code cannot be read, and nobody observed it."""
        kernel = self.kernel
        if kernel.behaviours:
            return False
        return not kernel.code_size or kernel.advice_reason is not None or not kernel.instructions.is_whole


def advice_coverage(kernels: Sequence[AdvisedKernel], failed: Iterable[FailedBuilds]) -> Coverage:
    """Return what the rules looked at."""
    builds = [build for group in failed for build in group.builds]
    return coverage([each.program for each in kernels], builds, len(kernels), sum(each.is_unread for each in kernels))
