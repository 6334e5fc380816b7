"""Specialisation constants of SPIR-V, and the code that their values take out."""

from __future__ import annotations

import pytest

from kernlens.errors import FormatError
from kernlens.formats.spirv.decided_code import without_undecided
from kernlens.formats.spirv.specialization import read_spec_constants
from kernlens.formats.spirv.uses import read_spirv_uses
from kernlens.model.spirv import SpecConstant
from tests.limits import processor_time
from tests.writers.spirv import SpirvWriter

INTEGER, TRUTH, VOID, KIND, ZERO, FLAG, FOREIGN, KERNEL = 10, 11, 12, 13, 20, 21, 40, 41


def branching(*, copies: int = 1) -> memoryview:
    """A kernel that calls an import where constant 5 (0 by default) is not 0, once for each of ``copies``."""
    writer = SpirvWriter()
    writer.add(17, 4).add(14, 2, 2).add(15, 6, KERNEL, "work").add(71, FLAG, 1, 5)
    writer.add(20, TRUTH).add(21, INTEGER, 32, 0).add(19, VOID).add(33, KIND, VOID)
    writer.add(43, INTEGER, ZERO, 0).add(50, INTEGER, FLAG, 0)
    writer.add(54, VOID, FOREIGN, 0, KIND).add(56).add(54, VOID, KERNEL, 0, KIND)
    for number in range(copies):
        first = 100 + 5 * number
        writer.add(248, first).add(171, TRUTH, first + 1, FLAG, ZERO).add(250, first + 1, first + 2, first + 5)
        writer.add(248, first + 2).add(57, VOID, first + 3, FOREIGN).add(249, first + 5)
    writer.add(248, 100 + 5 * copies).add(253).add(56)
    return writer.build()


def named(data: memoryview) -> bool:
    return FOREIGN in read_spirv_uses(data).in_functions[KERNEL]


def test_a_branch_on_a_given_value_leads_one_way() -> None:
    module = branching()
    (constant,) = read_spec_constants(module).values()
    assert (constant.number, constant.ids, str(constant)) == (5, (FLAG,), "5 (int, 32 bits)")
    assert named(module)
    assert not named(without_undecided(module, {5: 0}))
    assert named(without_undecided(module, {5: 3}))
    assert without_undecided(module, {6: 0}) is module
    assert len(without_undecided(module, {5: 0})) == len(module)


@pytest.mark.slow
def test_a_large_module_takes_time_in_proportion() -> None:
    module = branching(copies=20_000)
    with processor_time(6):
        assert not named(without_undecided(module, {5: 0}))


def test_a_module_cut_within_a_function_is_read_as_far_as_it_goes() -> None:
    words = branching()
    for length in range(4 * 5, len(words), 4):
        content = words[:length]
        try:
            read_spirv_uses(content)
        except FormatError:  # The readers before refuse it.
            continue
        without_undecided(content, {5: 0})


@pytest.mark.parametrize(
    ("kind", "width", "text", "bits"),
    [
        ("int", 32, "-1", 0xFFFFFFFF),
        ("int", 8, "0xff", 0xFF),
        ("int", 64, "0x123456789abcdef", 0x123456789ABCDEF),
        ("bool", 1, "true", 1),
        ("float", 32, "0.5", 0x3F000000),
        ("float", 64, "-2", 0xC000000000000000),
    ],
)
def test_values(kind: str, width: int, text: str, bits: int) -> None:
    assert SpecConstant(1, kind, width, (2,)).bits(text) == bits


@pytest.mark.parametrize(
    ("kind", "width", "text"),
    [
        ("int", 8, "256"),
        ("int", 8, "-129"),
        ("int", 32, "1.5"),
        ("bool", 1, "2"),
        ("float", 16, "1e9"),
        ("float", 32, "x"),
    ],
)
def test_values_that_are_none(kind: str, width: int, text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (the caller says what it is about)
        SpecConstant(1, kind, width, (2,)).bits(text)
