"""Notes in assembly that is written out here."""

from __future__ import annotations

import pytest

from kernlens.formats.amdgpu.assembly_notes import stated_occupancies

KERNEL = "\t.amdhsa_kernel {}\n\t.end_amdhsa_kernel\n; Kernel info:\n; NumVgprs: 25\n; Occupancy: {}\n; WaveLimiterHint : 0\n"


def test_each_kernel_has_its_own() -> None:
    function = "; Function info:\n; NumVgprs: 2\n"
    assembly = function + KERNEL.format("blur", 8) + function + KERNEL.format('"a.b"', 16)
    assert stated_occupancies(assembly) == {"blur": 8, "a.b": 16}


@pytest.mark.parametrize(
    "assembly",
    [
        "", "; Occupancy: 8\n", KERNEL.format("blur", "max(1, 2)"), KERNEL.format("blur", "1" * 5000),
        "\t.amdhsa_kernel\n; Occupancy: 8\n", "\t.amdhsa_kernel blur\nx ; Occupancy: 8\n",
    ],
)  # fmt: skip
def test_what_is_not_stated_is_not_known(assembly: str) -> None:
    assert stated_occupancies(assembly) == {}


def test_the_first_statement_counts() -> None:
    assert stated_occupancies(KERNEL.format("blur", 8) + "; Occupancy: 3\n" + KERNEL.format("blur", 4)) == {"blur": 8}
