"""Renaming is no change, on real kernels: values moved to other registers, and another order of the compiler's own."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import kernlens
from kernlens.analysis.comparison.renaming import is_renaming
from kernlens.analysis.flow.definitions import definitions_of
from kernlens.analysis.flow.liveness import Liveness
from kernlens.dataclass import replace
from kernlens.model.effects import GENERAL, Access, Effects
from kernlens.model.kernel import Kernel
from kernlens.model.register_links import BEFORE_THE_CODE
from kernlens.toolchain.toolchains import NEWEST
from tests.corpus.register_readers import readers_of

#: An access: the instruction, whether it is a write, and its place among these.
Place = tuple[int, bool, int]


def accesses(effects: Effects, index: int, is_write: bool) -> tuple[Access, ...]:
    effect = effects.effects[index]
    return effect.writes if is_write else effect.reads


def value_of(liveness: Liveness, start: Place) -> set[Place] | None:
    """Every access to the value that an instruction writes, on all ways; None if the thread began with a part of it."""
    effects, result, waiting = liveness.effects, set[Place](), [start]
    while waiting:
        place = waiting.pop()
        if place in result:
            continue
        result.add(place)
        index, is_write, number = place
        first, pattern = accesses(effects, index, is_write)[number]
        places = pattern << first
        others: list[tuple[int, bool]] = []
        if is_write:
            others += [(reader, False) for reader in readers_of(liveness, index)]
        if not is_write or effects.effects[index].is_partial:
            others += [(writer, True) for writer in definitions_of(liveness, index, places)]
        for other, writes in others:
            if other == BEFORE_THE_CODE:
                return None
            waiting += [
                (other, writes, position)
                for position, (begin, bits) in enumerate(accesses(effects, other, writes))
                if bits << begin & places
            ]
    return result


def moved(effects: Effects, value: set[Place]) -> Effects:
    """The effects of the code in which these accesses are to registers that no device has."""
    distance = 512 * effects.register_bytes

    def places(index: int, is_write: bool) -> tuple[Access, ...]:
        every = enumerate(accesses(effects, index, is_write))
        return tuple((start + distance * ((index, is_write, n) in value), pattern) for n, (start, pattern) in every)

    changed = [
        replace(effect, reads=places(index, False), writes=places(index, True))
        for index, effect in enumerate(effects.effects)
    ]
    return Effects(effects.register_bytes, changed, effects.routes)


def check(kernel: Kernel, count: int) -> int:
    """Moves values of a kernel to other registers, each whole and each without one of its accesses; returns how many."""
    effects, texts, dice = kernel.instructions.effects, kernel.instructions.texts, random.Random(kernel.name)
    assert effects is not None
    if any(effect.is_lower_bound for effect in effects.effects):
        return 0  # Registers by address are left where they are.
    liveness = Liveness(effects)
    writes = [
        (index, True, number)
        for index, effect in enumerate(effects.effects)
        for number, (start, _) in enumerate(effect.writes)
        if start >= GENERAL
    ]
    done = 0
    for start in dice.sample(writes, min(count, len(writes))):
        value = value_of(liveness, start)
        # What a barrier's message leaves as it was ties values together that have nothing to do with one another.
        if value is None or len(value) < 2 or any("barrier" in texts[index] for index, _, _ in value):
            continue
        assert is_renaming(effects, moved(effects, value), texts), (kernel.name, start, texts[start[0]])
        for left in dice.sample(sorted(value), min(2, len(value))):
            assert not is_renaming(effects, moved(effects, value - {left}), texts), (kernel.name, start, left)
        done += 1
    return done


@pytest.mark.parametrize("device", ["skl", "dg2", "pvc"])
def test_a_value_may_have_another_register_but_must_have_it_everywhere(device: str, darktable_kernels: Path) -> None:
    programs = kernlens.compile([darktable_kernels / "sharpen.cl", darktable_kernels / "bilateral.cl"], device)
    kernels = [kernel for program in programs for kernel in program.entry_kernels.values()]
    assert any(kernel.instructions.effects.routes for kernel in kernels if kernel.instructions.effects)
    assert sum(check(kernel, 10) for kernel in kernels) >= 30


def test_another_order_of_registers_is_no_change(newest_root: Path, darktable_kernels: Path) -> None:
    """The newest compiler, told to take registers from the first on rather than one after the other."""
    source = darktable_kernels / "gaussian.cl"
    options = ["", "-igc_opts 'VISAOptions=-noroundrobin'"]
    difference = kernlens.diff(source, device="dg2", toolchain=NEWEST, options=options)
    renamed = [pair for pair in difference.pairing.kernels if pair.old.code != pair.new.code]
    changed = {change.pair.new.name for change in difference.changes if not change.is_same_code}
    assert len(renamed) - len(changed) >= 4
    assert any(pair.old.instructions.effects.routes for pair in renamed if pair.old.instructions.effects)
