"""A page decodes each kernel once: those of AMD's libraries by themselves, with libLLVM in a process of its own."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kernlens.isa.llvm.disassemble import Disassembly
from tests.explore_reader import Page
from tests.unit.conftest import Kernlens
from tests.writers import code_objects

#: Kernels of as many instructions as their number says.
KERNELS = {f"k{number}": code_objects.NOP * number + code_objects.END for number in range(1, 41)}


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> Counter[bytes]:
    """How often each code was decoded."""
    counts: Counter[bytes] = Counter()

    def counted(triple: str, code: bytes | memoryview, **_: Any) -> Disassembly:
        from array import array

        counts[bytes(code)] += 1
        rows = array("I", range(0, len(code), 4))
        return Disassembly(rows, b"\4" * len(rows), bytes(len(rows)), ["s_nop 0"] * len(rows), {}, {}, "LLVM 15")

    monkeypatch.setattr("kernlens.isa.amd.gcn_decode.disassemble", counted)
    return counts


def test_a_page_decodes_each_kernel_once(tmp_path: Path, kernlens: Kernlens, decoded: Counter[bytes]) -> None:
    stated = code_objects.metadata([code_objects.kernel(name, vgpr_count=1) for name in KERNELS])
    path = tmp_path / "library.hsaco"
    path.write_bytes(code_objects.code_object(KERNELS, stated))
    page = tmp_path / "page.html"
    assert kernlens("report", str(path), "-o", str(page)).status == 0
    assert decoded == Counter(KERNELS.values())
    (program,) = Page(page.read_text()).index["programs"]
    counts = dict(zip(program["kernels"]["name"], program["kernels"]["instructions"], strict=True))
    assert counts == {name: len(code) // 4 for name, code in KERNELS.items()}
    listed = json.loads(kernlens("disasm", str(path), "--json").out)["programs"][0]["kernels"]
    assert counts == {kernel["name"]: len(kernel["instructions"]) for kernel in listed}
