"""Kernels that have another name now, found by equal code, or by code that is nearly equal.

Code is compared by its sequences of four opcodes, of which each kernel keeps the 128 that a mixing function puts first: what
two kernels share of these is near what they share of all (A. Broder, "On the resemblance and containment of documents",
1997). So each kernel is read once, and looks only at those with which it shares one of its first sequences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kernlens.analysis.comparison.pairs import (
    BY_EQUAL_CODE,
    BY_SIMILAR_CODE,
    KernelPair,
    Pairing,
    Unpaired,
    joined,
)
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError
from kernlens.model.device import Device, IpVersion
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program

#: The bits of four opcodes in a row, and how many of a kernel's sequences are kept.
_SEQUENCE, _KEPT = 0xFFFFFFFF, 128
#: By how many of these a kernel looks for others, how many others it may find by each, and how many it is compared with.
_INDEXED, _MOST_ALIKE, _COMPARED = 16, 16, 8
#: How much of their code two kernels must share: in programs that belong together, and elsewhere. Edits of 13 of darktable's
#: programs left each of 190 kernels 94% alike or more; of 181 kernels of other names 22 are 90% like another of their own
#: program, most of them copies of one another.
_LEAST_IN_PROGRAM, _LEAST = 0.6, 0.9
#: The opcode of ``sync`` from Xe on.
_SYNC, _FIRST_SYNC = 0x01, IpVersion(12, 0, 0)
#: Mixes the bits of a sequence (D. Knuth, "The Art of Computer Programming" 3, 6.4: multiplicative hashing).
_GOLDEN, _WORD = 0x9E3779B97F4A7C15, (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class _Left:
    """A kernel that only one side has."""

    program: Program
    kernel: Kernel
    code: bytes


def with_renamed(pairing: Pairing) -> Pairing:
    """Return the pairing with the kernels paired that have another name now: for one device, of equal code, or of the
    most alike code that is alike enough."""
    old, new = _kernels(pairing.only_old), _kernels(pairing.only_new)
    if not old or not new:
        return pairing
    related = {(id(before), id(after)) for before, after in pairing.programs}
    related |= {(id(each.old_program), id(each.new_program)) for each in pairing.kernels}
    renamed: list[KernelPair] = []
    waiting: dict[tuple[str, bytes], list[_Left]] = {}
    for each in reversed(old):
        waiting.setdefault((str(each.program.device), each.code), []).append(each)
    for each in new:
        if alike := waiting.get((str(each.program.device), each.code)):
            last = range(len(alike) - 1, max(len(alike) - _MOST_ALIKE, 0) - 1, -1)
            own = (place for place in last if (id(alike[place].program), id(each.program)) in related)
            renamed.append(_pair(alike.pop(next(own, -1)), each, BY_EQUAL_CODE))
    paired = {id(kernel) for both in renamed for kernel in (both.old, both.new)}
    old, new = ([each for each in left if id(each.kernel) not in paired] for left in (old, new))
    ranked = sorted(_candidates(old, new, related), key=lambda candidate: -candidate[0])
    for _, before, after in ranked:
        if id(before.kernel) not in paired and id(after.kernel) not in paired:
            paired |= {id(before.kernel), id(after.kernel)}
            renamed.append(_pair(before, after, BY_SIMILAR_CODE))
    return joined(pairing, renamed)


def _pair(old: _Left, new: _Left, paired_by: str) -> KernelPair:
    return KernelPair(old.program, new.program, old.kernel, new.kernel, paired_by)


def _kernels(entries: Iterable[Unpaired]) -> list[_Left]:
    kernels = []
    for entry in entries:
        if entry.kernel is None or entry.kernel.name == PSEUDO_KERNEL:
            continue
        try:
            code = bytes(entry.kernel.code)
        except KernlensError:  # A damaged kernel is like no other.
            continue
        if code:
            kernels.append(_Left(entry.program, entry.kernel, code))
    return kernels


def _candidates(
    old: Sequence[_Left], new: Sequence[_Left], related: set[tuple[int, int]]
) -> Iterable[tuple[float, _Left, _Left]]:
    """Yield pairs that are alike enough, with what they share."""
    if not old or not new:
        return
    sketches = [_sketch(_operations(each.kernel), each.program.device) for each in new]
    by_sequence: dict[tuple[str, int], list[int]] = {}
    for number, (other, sketch) in enumerate(zip(new, sketches, strict=True)):
        for value in sketch[:_INDEXED]:
            known = by_sequence.setdefault((str(other.program.device), value), [])
            if len(known) < _MOST_ALIKE:
                known.append(number)
    for each in old:
        own = _sketch(_operations(each.kernel), each.program.device)
        counts: Counter[int] = Counter()
        for value in own[:_INDEXED]:
            counts.update(by_sequence.get((str(each.program.device), value), ()))
        for number, _ in counts.most_common(_COMPARED):
            other = new[number]
            is_related = (id(each.program), id(other.program)) in related
            shared = _shared(own, sketches[number])
            if shared >= (_LEAST_IN_PROGRAM if is_related else _LEAST):
                yield shared + is_related, each, other


def _shared(old: Sequence[int], new: Sequence[int]) -> float:
    """Return how much of their sequences two kernels share, from 0 to 1."""
    both = set(old) & set(new)
    first = sorted({*old, *new})[:_KEPT]
    return sum(value in both for value in first) / len(first)


def _operations(kernel: Kernel) -> bytes:
    try:
        return kernel.operations
    except KernlensError:  # What cannot be decoded is like no other.
        return b""


def _sketch(operations: bytes, device: Device | None) -> list[int]:
    """Return the first sequences of opcodes in the order of their mixed bits; those that only wait are left out."""
    has_sync = device is not None and device.ip is not None and device.ip >= _FIRST_SYNC
    sequences: set[int] = set()
    sequence = 0
    for opcode in operations:
        if opcode != _SYNC or not has_sync:
            sequence = (sequence << 8 | opcode) & _SEQUENCE
            sequences.add(sequence)
    return sorted(sequence * _GOLDEN & _WORD for sequence in sequences)[:_KEPT]
