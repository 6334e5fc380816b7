"""The notes that stand beside a listing's lines: what the kernel did on data, and what its code says of accesses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernlens.model.kernel import Kernel
    from kernlens.model.program import Program
    from kernlens.report.beside import Beside


def notes_of(program: Program, kernel: Kernel, *, has_addresses: bool) -> Iterator[Beside]:
    """Yield those that there are; ``has_addresses``: with what the code says of accesses."""
    observed = None
    if kernel.behaviours:
        from kernlens.analysis.observed_code import observed_code
        from kernlens.cli.answers.behaviour_notes import BehaviourNotes

        if (observed := observed_code(kernel)) is not None:
            yield BehaviourNotes(program, kernel, observed)
    if has_addresses and program.spirv:
        from kernlens.cli.answers.access_words import AccessNotes

        yield AccessNotes(program, kernel, observed.lines if observed else ())
