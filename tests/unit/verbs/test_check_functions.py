"""``kernlens check`` of kernels that call functions: no code passes unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.kernel import Kernel
from tests.unit.conftest import Kernlens
from tests.writers.elf import FUNC, GLOBAL, LOCAL, NOTYPE, SHT_NOTE, SHT_REL, ElfWriter, note, rel

ZE_INFO = 0xFF000011


def zebin(called: str) -> bytes:
    """A kernel ``gemm`` of 48 bytes that calls ``called``, a kernel ``alone`` that calls nothing, both SIMD16, and 112 bytes
    with the function ``helper``, SIMD8."""
    writer = ElfWriter()
    gemm = writer.add(".text.gemm", b"\x11" * 48 + bytes(16), flags=6)
    alone = writer.add(".text.alone", b"\x11" * 32 + bytes(32), flags=6)
    functions = writer.add(f".text.{PSEUDO_KERNEL}", b"\x22" * 112 + bytes(16), flags=6)
    symbols = [
        ("gemm", 0, 48, LOCAL, FUNC, gemm),
        ("alone", 0, 32, LOCAL, FUNC, alone),
        (PSEUDO_KERNEL, 0, 16, LOCAL, FUNC, functions),
        ("helper", 16, 96, GLOBAL, FUNC, functions),
        ("elsewhere", 0, 0, GLOBAL, NOTYPE, 0),
        ("variable", (1 << 64) - 1, 4, GLOBAL, NOTYPE, 0),
    ]
    symtab = writer.add_symbols(symbols)
    number = next((index for index, symbol in enumerate(symbols, 1) if symbol[0] == called), 0)
    relocations = rel((4, number, 2), (12, 6, 2))
    writer.add(".rel.text.gemm", relocations, type=SHT_REL, entry_size=16, link=symtab, info=gemm)
    lines = ["version: '1.73'", "kernels:"]
    for name, simd in (("gemm", 16), ("alone", 16), (PSEUDO_KERNEL, 8)):
        lines += [f"  - name: {name}", "    execution_env:", f"      simd_size: {simd}", "      grf_count: 128"]
    writer.add(".ze_info", "\n".join([*lines, "..."]).encode(), type=ZE_INFO)
    writer.add(".note.intelgt.compat", note(1, b"\xf6\x04\0\0") + note(4, b"1.73\0"), type=SHT_NOTE)
    return bytes(writer.build())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, where ``gemm`` calls by address."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Kernel, "calls_by_address", property(lambda kernel: kernel.name == "gemm"))
    Path("calls.bin").write_bytes(zebin("helper"))
    return tmp_path


def test_the_code_of_functions_has_the_bounds_of_counts(kernlens: Kernlens, folder: Path) -> None:
    done = kernlens("check", "calls.bin", "--max-code-size", "64", "--min-simd", "16")
    assert done.status == 1
    assert f"{PSEUDO_KERNEL}  calls on dg2" in done.out
    assert "  max-code-size: code size 112, at most 64 (--max-code-size)\n" in done.out
    assert "3 kernels, 0 unread, 5 bounds checked: 1 not kept" in done.out, "its width is not a kernel's"
    assert kernlens("check", "calls.bin", "--max-code-size", "112").status == 0
    # A kernel that is chosen brings the functions that it calls with it.
    assert kernlens("check", "calls.bin", "--kernel", "gemm", "--max-code-size", "64").status == 1
    assert kernlens("check", "calls.bin", "--kernel", "alone", "--max-code-size", "64").status == 0


def test_functions_without_a_bound_leave_a_count_unknown(kernlens: Kernlens, folder: Path) -> None:
    Path("kernlens.toml").write_text("[kernel.gemm]\nmax-code-size = 64\nmin-simd = 16\n")
    done = kernlens("check", "calls.bin")
    assert done.status == 2
    reason = f"it calls functions in {PSEUDO_KERNEL}, for which there is no such bound"
    assert f"  max-code-size: code size 48: cannot be checked; {reason}\n" in done.out
    finding = kernlens("check", "calls.bin", "--json").document["findings"][1]
    assert (finding["state"], finding["value"], finding["reason"]) == ("unknown", 48, reason)
    assert kernlens("check", "calls.bin", "--allow-unknown").status == 0
    Path("kernlens.toml").write_text(
        f"[kernel.gemm]\nmax-code-size = 64\n[kernel.{PSEUDO_KERNEL}]\nmax-code-size = 112\n"
    )
    assert kernlens("check", "calls.bin").status == 0
    Path("kernlens.toml").write_text("[kernel.gemm]\nmax-code-size = 47\n")
    assert kernlens("check", "calls.bin").status == 1, "too much is too much, whatever else there is"


@pytest.mark.parametrize(
    ("called", "reason"),
    [
        ("elsewhere", "it calls elsewhere, which the file does not hold"),
        ("", "it calls code that nothing in the file names"),
    ],
)
def test_code_that_the_file_does_not_hold_leaves_a_count_unknown(
    called: str, reason: str, kernlens: Kernlens, folder: Path
) -> None:
    Path("open.bin").write_bytes(zebin(called))
    done = kernlens("check", "open.bin", "--max-code-size", "1000")
    assert (done.status, reason in done.out) == (2, True)
    assert "3 kernels, 0 unread, 3 bounds checked: 1 cannot be checked" in done.out
    assert kernlens("check", "open.bin", "--min-simd", "16").status == 0


def test_functions_that_a_baseline_does_not_have(kernlens: Kernlens, folder: Path) -> None:
    assert kernlens("check", "calls.bin", "--baseline", "calls.bin", "--tolerance", "instructions=any").status == 0
    inlined = zebin("helper").replace(PSEUDO_KERNEL.encode(), b"another_kernel_whatever_its_nam")
    Path("inlined.bin").write_bytes(inlined)
    words = ("--baseline", "inlined.bin", "--tolerance", "instructions=any")
    done = kernlens("check", "calls.bin", "--kernel", "gemm", *words)
    assert (done.status, "baseline-code-size: code size 48 -> 48: cannot be checked" in done.out) == (2, True)
