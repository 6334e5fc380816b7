"""What differs between two sets of programs, with all that differs decoded: for the command line and for the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlens.analysis.comparison.kernel_changes import Comparison, KernelChange, by_badness
from kernlens.loading.decoding import decode_kernels

if TYPE_CHECKING:
    from kernlens.analysis.comparison.pairs import Pairing


def changes_of(pairing: Pairing, sort: str | None = None) -> list[KernelChange]:
    """Return the kernels that differ, the worst first: by the figure ``sort``, or by what costs most."""
    # What is the same to the byte needs no decoding.
    differing = [both for both in pairing.kernels if both.old.code != both.new.code]
    decode_kernels(
        [each for both in differing for each in ((both.old_program, [both.old]), (both.new_program, [both.new]))],
        texts=True,
    )
    comparison = Comparison()
    changes = [change for both in pairing.kernels if (change := comparison.kernel_change(both)).differs]
    return by_badness(changes, sort)
