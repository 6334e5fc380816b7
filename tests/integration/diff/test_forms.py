"""The registers of each instruction, as ``diff`` reads them in its text: those that the decoder's own record states."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kernlens.analysis.comparison.normal_form import Form, Reader
from kernlens.isa.devices import device
from kernlens.loading import load
from kernlens.model.effects import GENERAL, Access, Effect
from kernlens.model.program import Program
from tests.corpus.build import Built

#: Bytes of a cell, and where the accumulators begin.
CELL, ACCUMULATORS = 2, 512


def cells(accesses: Iterable[Access]) -> set[int]:
    """Return the cells of general registers."""
    return {
        (start + bit - GENERAL) // CELL
        for start, pattern in accesses
        if start >= GENERAL
        for bit in range(pattern.bit_length())
        if pattern >> bit & 1
    }


def check(form: Form, effect: Effect, accumulators: int) -> None:
    written = {cell for run in form.written for cell in run if cell < accumulators}
    stated = cells(effect.writes)
    # What a message answers may be less than the registers that it is written into.
    assert written >= stated if form.is_message else written == stated
    assert (form.first if stated else -1) == min(stated, default=-1)
    read = [cell for cell in form.read if cell < accumulators]
    assert set(read) <= {min(cells([access])) for access in effect.reads if access[0] >= GENERAL}
    assert bool(read) == bool(cells(effect.reads))


def compared(programs: Iterable[Program]) -> int:
    count, reader = 0, Reader()
    for program in programs:
        for kernel in program.kernels.values():
            instructions = kernel.instructions
            assert instructions.effects is not None
            accumulators = ACCUMULATORS * instructions.effects.register_bytes // CELL
            forms = reader.forms(instructions, program.device)
            for form, effect, text in zip(forms, instructions.effects.effects, instructions.texts, strict=True):
                if "a0." not in text and "[" not in text:  # Registers by address are known at run time only.
                    check(form, effect, accumulators)
                    count += 1
    return count


@pytest.mark.parametrize("name", ["skl", "tgllp", "dg2", "pvc"])
def test_forms_of_real_code_have_the_registers_of_its_records(name: str, corpus_sample: list[Built]) -> None:
    assert (
        compared(program for built in corpus_sample if built.device == name for program in load(built.binary)) > 2_000
    )


@pytest.mark.parametrize("name", ["dg2", "bmg", "ptl"])
def test_so_have_those_of_the_newest_compiler(name: str, newest_sample: list[Built]) -> None:
    assert device(name) is not None
    assert (
        compared(program for built in newest_sample if built.device == name for program in load(built.binary)) > 2_000
    )
