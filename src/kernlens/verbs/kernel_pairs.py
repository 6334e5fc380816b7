"""The kernels of two sides that ``diff`` compares: found by name, source and code, or named by the user."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernlens.analysis.comparison.pairs import Pairing, chosen_pairs, pair
from kernlens.analysis.comparison.renamed_kernels import with_renamed
from kernlens.analysis.kernel_names import kernels_meant
from kernlens.errors import KernlensError
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program


def kernel_pairs(old: Sequence[Program], new: Sequence[Program], pairs: Iterable[tuple[str, str]] = ()) -> Pairing:
    """Return what is compared: the ``pairs`` of an old and a new kernel's name, and nothing else; without any, all kernels.

    Raises KernlensError for a name that several kernels have, UnknownKernelError for one that its side does not have.
    """
    chosen = [
        both for before, after in pairs for both in chosen_pairs(_named(before, old, "old"), _named(after, new, "new"))
    ]
    if chosen:
        return Pairing(tuple(chosen), (), ())
    return with_renamed(pair(old, new))


def _named(name: str, programs: Sequence[Program], side: str) -> list[tuple[Program, Kernel]]:
    known = dict.fromkeys(kernel for program in programs for kernel in program.kernels)
    names = kernels_meant(name, known)
    if len(names) > 1:
        raise KernlensError(
            f"a pair names one kernel on each side, and {name!r} fits {len(names):,} of the {side} side's"
        )
    return [(program, program.kernels[names[0]]) for program in programs if names[0] in program.kernels]
