"""Spills that a binary does not state in bytes: ``check``, ``diff`` and ``sweep`` count them in the code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from kernlens.model.compiler import Compiler
from kernlens.model.device import Device
from kernlens.model.figures import figure_named
from kernlens.model.hash_trailer import HashTrailer
from kernlens.model.instruction_kind import Access, InstructionKind
from kernlens.model.intel_instructions import IntelInstructions
from kernlens.model.kernel import Kernel
from kernlens.model.sweep_row import MEASURED, SweepRow, worst_first
from tests.unit.conftest import Kernlens
from tests.unit.verbs.test_check import states
from tests.unit.verbs.test_check_functions import zebin
from tests.writers.instruction_records import record
from tests.writers.patch_tokens import KernelToWrite, environment, neo_elf, program, token

DEVICE_BINARY = 0xFF000005
MOVE, SPILL, FILL = b"\0", b"\1", b"\2"
KINDS = (
    InstructionKind("move"),
    InstructionKind("scratch", Access("store", "store", 32, 4, 1, "scratch", 128, is_spill=True)),
    InstructionKind("scratch", Access("load", "load", 32, 4, 1, "scratch", 128, is_spill=True)),
)
SCRATCH = token(18, 0, 4096), token(38, 0, 0, 8, 0, 1), token(55, 0, 1024)


def decoded(
    kernels: Sequence[tuple[Device, bytes | memoryview, Compiler]],
    threads: int | None = None,
    *,
    texts: bool = False,
    trailers: Sequence[HashTrailer | None] = (),
) -> list[IntelInstructions]:
    """Stand in for ``decode_many``: the first of 16 bytes is the number of the instruction's kind."""
    return [_instructions(bytes(code)[::16]) for _, code, _ in kernels]


def _instructions(numbers: bytes) -> IntelInstructions:
    records = b"".join(record(offset=16 * index) for index in range(len(numbers)))
    texts = [f"mov r{number}" for number in numbers]
    return IntelInstructions(records, ["mov"], lambda: texts, classify=lambda _: [KINDS[number] for number in numbers])


def written(name: str, code: bytes, *tokens: bytes) -> None:
    """Write a patch-token binary with the kernel ``k``; with the tokens ``SCRATCH`` it does not say what it spills."""
    padded = b"".join(bytes([kind]) + bytes(15) for kind in code)
    Path(name).write_bytes(
        neo_elf([(DEVICE_BINARY, program([KernelToWrite("k", code=padded, tokens=[environment(), *tokens])]))])
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working folder: a kernel of 30 instructions that spills nothing, 9 or 10 registers, or has private memory alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("kernlens.isa.intel.decode.decode_many", decoded)
    written("none.bin", MOVE * 30)
    written("nine.bin", MOVE * 12 + SPILL * 9 + FILL * 9, *SCRATCH)
    written("ten.bin", MOVE * 8 + SPILL * 10 + FILL * 9, *SCRATCH)
    written("private.bin", MOVE * 30, *SCRATCH)


def test_one_spill_more_is_no_improvement(kernlens: Kernlens, folder: None) -> None:
    done = kernlens("check", "ten.bin", "--baseline", "nine.bin")
    assert (done.status, done.err) == (1, "")
    assert "  baseline-spill-stores: spill stores 9 -> 10, at most 9 (tolerance 0)\n" in done.out
    assert kernlens("check", "nine.bin", "--baseline", "ten.bin", "--tolerance", "instructions=any").status == 1, (
        "three more bytes of code"
    )
    figures = kernlens("diff", "nine.bin", "ten.bin", "--json").document["kernels"][0]["figures"]
    assert {"metric": "spill_stores", "old": 9, "new": 10} in figures
    assert not any(figure["metric"] in ("spill_bytes", "fill_loads") for figure in figures)
    mirrored = kernlens("diff", "ten.bin", "nine.bin", "--json").document["kernels"][0]["figures"]
    assert [(each["metric"], each["new"], each["old"]) for each in mirrored] == [
        (each["metric"], each["old"], each["new"]) for each in figures
    ]


def test_a_kernel_that_begins_to_spill(kernlens: Kernlens, folder: None) -> None:
    done = kernlens("check", "nine.bin", "--baseline", "none.bin", "--json")
    assert done.status == 1
    assert states(done)["k baseline-spill-bytes"] == "skipped"
    assert states(done)["k baseline-spill-stores"] == states(done)["k baseline-fill-loads"] == "failed"
    reasons = [each["reason"] for each in done.document["findings"] if each["rule"] == "baseline-spill-bytes"]
    assert reasons == ["spill stores and fill loads are checked instead"]
    text = kernlens("check", "private.bin", "--max-spill-bytes", "0").out
    checked = "1 kernel, 0 unread, 3 bounds checked: 1 not known (spill stores and fill loads are checked instead)"
    assert text == f"{checked}, all others kept\n"
    private = kernlens("check", "private.bin", "--baseline", "none.bin", "--tolerance", "scratch=any", "--json")
    assert private.status == 0, "unknown bytes, but no spill in the code"
    assert "9 -> 10" in kernlens("diff", "nine.bin", "ten.bin").out


def test_the_worst_spill_comes_first(kernlens: Kernlens, folder: None) -> None:
    """Where no side says how many bytes it spills, the order of ``diff`` is that of the spills in the code."""
    for side, names in (("old", ("nine", "ten")), ("new", ("ten", "nine"))):
        Path(side).mkdir()
        for kernel, name in zip(("grows", "shrinks"), names, strict=True):
            content = Path(f"{name}.bin").read_bytes()
            Path(side, f"{kernel}.bin").write_bytes(content)
    for words in ((), ("--sort", "spill-bytes")):
        kernels = kernlens("diff", "old", "new", "--json", *words).document["kernels"]
        assert [each["new"]["program"] for each in kernels] == ["grows", "shrinks"]


@pytest.mark.parametrize("name", ["none", "nine", "private"])
def test_a_file_is_no_worse_than_itself(name: str, kernlens: Kernlens, folder: None) -> None:
    words = ("--tolerance", "live-grfs=0", "--tolerance", "wait-share=0", "--junit", "x.xml")
    done = kernlens("check", f"{name}.bin", "--baseline", f"{name}.bin", *words)
    assert done.status == 0, done.out
    assert '<skipped message="wait share' in Path("x.xml").read_text()


def test_what_a_tolerance_says_of_spills(kernlens: Kernlens, folder: None) -> None:
    others = ("--baseline", "nine.bin", "--tolerance", "instructions=any", "--tolerance", "code-size=any")
    words = {
        ("spill-bytes=12%",): 0,
        ("spill-bytes=5%",): 1,
        ("spill-bytes=any",): 0,
        ("spill-bytes=4096",): 1,  # bytes of memory say nothing of messages
        ("spill-stores=1",): 0,
        ("spill-stores=any",): 0,
        ("spill-stores=0", "spill-bytes=any"): 1,
    }
    for tolerances, status in words.items():
        named = [word for each in tolerances for word in ("--tolerance", each)]
        assert kernlens("check", "ten.bin", *others, *named).status == status, tolerances


def test_a_limit_of_bytes_is_not_passed_by_accident(kernlens: Kernlens, folder: None) -> None:
    for words in ((), ("--allow-unknown",)):
        done = kernlens("check", "nine.bin", "--max-spill-bytes", "0", *words)
        assert done.status == 1
        assert "  max-spill-stores: spill stores 9, at most 0 (--max-spill-bytes)\n" in done.out
    assert kernlens("check", "private.bin", "--max-spill-bytes", "0").status == 0, "it spills nothing"
    assert kernlens("check", "private.bin", "--max-spill-bytes", "64").status == 0
    assert kernlens("check", "nine.bin", "--max-spill-bytes", "64").status == 2, "nobody says whether it is more"
    own = kernlens("check", "nine.bin", "--max-spill-bytes", "0", "--max-spill-stores", "9", "--max-fill-loads", "9")
    assert own.status == 0, "what is named goes before"


def test_code_that_neither_side_holds_is_no_worse(
    kernlens: Kernlens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("kernlens.isa.intel.decode.decode_many", decoded)
    monkeypatch.setattr(Kernel, "calls_by_address", property(lambda kernel: kernel.name == "gemm"))
    for called in ("elsewhere", "helper"):
        Path(f"{called}.bin").write_bytes(zebin(called).replace(b"\x11", b"\0").replace(b"\x22", b"\0"))
    assert kernlens("check", "elsewhere.bin", "--baseline", "elsewhere.bin").status == 0
    done = kernlens("check", "elsewhere.bin", "--baseline", "helper.bin")
    assert (done.status, "it calls elsewhere, which the file does not hold" in done.out) == (2, True)


def test_a_sweep_by_bytes_has_unknown_spills_among_the_known(folder: None) -> None:
    def row(kernel: str, **values: int) -> SweepRow:
        figures = {"spill_bytes": None, **dict.fromkeys(("spill_stores", "spill_store_bytes"), 0), **values}
        return SweepRow("a.cl", "dg2", "", "", "", kernel, tuple(figures.get(each.key, 0) for each in MEASURED))

    rows = [row("none", spill_bytes=0), row("private"), row("spills", spill_stores=9, spill_store_bytes=1152)]
    rows += [row("less", spill_bytes=64), row("more", spill_bytes=2048)]
    ordered = worst_first(rows, figure_named("spill-bytes"))
    assert [each.kernel for each in ordered] == ["more", "spills", "less", "none", "private"]
