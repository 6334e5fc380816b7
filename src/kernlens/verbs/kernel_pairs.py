"""The kernels of two sides that ``diff`` compares: found by name, source and code, or named by the user."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernlens.analysis.comparison.kernel_changes import Comparison, KernelChange
from kernlens.analysis.comparison.pairs import KernelPair, Pairing, chosen_pairs, pair
from kernlens.analysis.comparison.renamed_kernels import with_renamed
from kernlens.analysis.kernel_names import matching
from kernlens.errors import KernlensError, NotFoundError
from kernlens.loading.decoded_kernels import decode_kernels
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.verbs.absent import Whole, resolved


def kernel_pairs(
    old: Sequence[Program], new: Sequence[Program], pairs: Iterable[tuple[str, str]] = (), whole: Whole | None = None
) -> Pairing:
    """Return what is compared: the ``pairs`` of an old and a new kernel's name, and nothing else; without any, all kernels.
    ``whole`` is all that the sides are of.

    Raises KernlensError for a name that several kernels have, and what ``resolved`` does for one that its side lacks.
    """
    whole = whole or Whole([*old, *new])
    chosen = [
        both
        for before, after in pairs
        for both in chosen_pairs(_named(before, old, "old", new, whole), _named(after, new, "new", old, whole))
    ]
    if chosen:
        return Pairing(tuple(chosen), (), ())
    return with_renamed(pair(old, new))


def _named(
    name: str, programs: Sequence[Program], side: str, others: Sequence[Program], whole: Whole
) -> list[tuple[Program, Kernel]]:
    known = dict.fromkeys(kernel.name for program in programs for kernel in program.kernels)
    elsewhere = dict.fromkeys(kernel.name for program in others for kernel in program.kernels)
    if not matching(name, known) and matching(name, elsewhere):
        raise NotFoundError(f"the {side} side has no kernel {name!r}, but the other has: a pair is OLD=NEW")
    names = resolved([name], known, whole)
    if len(names) > 1:
        raise KernlensError(
            f"a pair names one kernel on each side, and {name!r} fits {len(names):,} of the {side} side's"
        )
    return [(program, program.kernels[names[0]]) for program in programs if names[0] in program.kernels]


def changed(pairs: Sequence[KernelPair]) -> list[KernelChange]:
    """Decode the kernels of these pairs and return what differs between those that do."""
    # What is the same to the byte needs no decoding.
    differing = [both for both in pairs if both.old.code != both.new.code]
    decode_kernels(
        [each for both in differing for each in ((both.old_program, [both.old]), (both.new_program, [both.new]))],
        texts=True,
    )
    comparison = Comparison()
    return [change for both in pairs if (change := comparison.kernel_change(both)).differs]
