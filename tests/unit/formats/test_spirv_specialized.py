"""Specialisation constants of SPIR-V."""

from __future__ import annotations

import pytest

from kernlens.formats.spirv.specialization import read_spec_constants
from kernlens.model.spirv import SpecConstant
from tests.writers.spirv import SpirvWriter


def test_constants_that_a_module_has() -> None:
    writer = SpirvWriter()
    writer.add(17, 4).add(14, 2, 2).add(71, 21, 1, 5).add(21, 10, 32, 0).add(50, 10, 21, 0)
    (constant,) = read_spec_constants(writer.build()).values()
    assert (constant.number, constant.ids, str(constant)) == (5, (21,), "5 (int, 32 bits)")


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
def test_a_value_becomes_the_bits_of_its_type(kind: str, width: int, text: str, bits: int) -> None:
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
