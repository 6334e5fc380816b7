"""The kernels of a SPIR-V module that hold assembly of the program's own."""

from __future__ import annotations

import contextlib

import pytest

from kernlens.errors import FormatError
from kernlens.formats.spirv.inline_assembly import kernels_with_assembly
from tests.writers.spirv import SpirvWriter

CAPABILITY, ENTRY_POINT, TARGET, ASM, ASM_CALL = 17, 15, 5609, 5610, 5611
KERNEL, PLAIN, CALLER, HELPER, BY_ADDRESS = 20, 21, 22, 23, 24
TYPE, TEXT, GOAL = 1, 30, 31


def module(text: str, *, capabilities: int = 1) -> SpirvWriter:
    """Four kernels: with the assembly ``text``, without, that call a helper with it, and that name such a helper."""
    writer = SpirvWriter()
    for number in range(capabilities):
        writer.add(CAPABILITY, 5606 if number == capabilities - 1 else 100 + number)
    for kernel, name in ((KERNEL, "own"), (PLAIN, "plain"), (CALLER, "caller"), (BY_ADDRESS, "by_address")):
        writer.add(ENTRY_POINT, 6, kernel, name)
    writer.add(TARGET, GOAL, "spirv64-unknown-unknown").add(ASM, TYPE, TEXT, 2, GOAL, text, "+rw")
    for function, inside in (
        (KERNEL, (ASM_CALL, TYPE, 40, TEXT, 9)),
        (PLAIN, (61, TYPE, 41, 8)),
        (CALLER, (57, TYPE, 42, HELPER)),
        (HELPER, (ASM_CALL, TYPE, 43, TEXT)),
        (BY_ADDRESS, (62, 8, HELPER)),
    ):
        writer.add(54, TYPE, function, 0, 2).add(248, 50).add(*inside).add(253).add(56)
    return writer


@pytest.mark.parametrize("capabilities", [1, 3])
def test_kernels_that_reach_assembly(capabilities: int) -> None:
    content = module("mov (M1, 16) %0(0,0)<1> 0x1:d", capabilities=capabilities).build()
    assert kernels_with_assembly([memoryview(content)]) == {"own", "caller", "by_address"}


@pytest.mark.parametrize("text", ["", " \n", "{\n}\n"])
def test_text_without_an_instruction_is_none(text: str) -> None:
    assert kernels_with_assembly([memoryview(module(text).build())]) == frozenset()


def test_functions_of_modules_that_are_linked() -> None:
    """The helper with assembly is another module's, by a name; a kernel of its own names no such function."""
    importing = SpirvWriter().add(ENTRY_POINT, 6, CALLER, "far").add(ENTRY_POINT, 6, PLAIN, "alone")
    importing.add(71, KERNEL, 41, "helper", 1).add(54, TYPE, KERNEL, 0, 2).add(56)
    importing.add(54, TYPE, CALLER, 0, 2).add(57, TYPE, 42, KERNEL).add(56)
    importing.add(54, TYPE, PLAIN, 0, 2).add(253).add(56)
    exporting = module("mov")
    exporting.add(71, HELPER, 41, "helper", 0)
    other = module("mov").add(71, HELPER, 41, "another", 0)
    first, *others = (memoryview(writer.build()) for writer in (importing, exporting, other))
    assert kernels_with_assembly([first]) == frozenset()
    assert kernels_with_assembly([first, others[0]]) == {"far", "caller", "own", "by_address"}
    assert kernels_with_assembly([first, others[1]]) == {"caller", "own", "by_address"}


def test_without_the_capability_nothing_is_looked_for() -> None:
    writer = module("mov")
    writer.words[1] = 6
    assert kernels_with_assembly([memoryview(writer.build())]) == frozenset()
    assert kernels_with_assembly([memoryview(b"\x7fELF")]) == frozenset()
    assert kernels_with_assembly([memoryview(b"")]) == frozenset()


def test_a_module_that_is_cut_off_is_an_error_or_has_fewer() -> None:
    content = bytes(module("mov").build())
    for end in range(len(content)):
        with contextlib.suppress(FormatError):
            assert kernels_with_assembly([memoryview(content[:end])]) <= {"own", "caller", "by_address"}
