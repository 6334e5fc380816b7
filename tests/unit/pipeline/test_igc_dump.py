"""A dump folder as snapshots: which attempt counts, kernels by name, passes in place, dumps that were cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.analysis.pass_times import pass_times
from kernlens.errors import NotFoundError, OutputError
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.stage import Snapshot, choose
from kernlens.model.stages import IGC_1, IGC_2, PASS_TIMES
from kernlens.pipeline import igc_dump
from kernlens.pipeline.igc_dump import pass_time_lines, read_dump, stands_in

H = "OCL_asm0123456789abcdef"


def write(folder: Path, **files: bytes) -> None:
    for name, content in files.items():
        (folder / (H + name.replace("__", "."))).write_bytes(content)


def content_of(result: tuple[Snapshot, ...], stage: str, kernel: str | None = None, form: str | None = None) -> bytes:
    (chosen,) = choose(result, stage, kernel, form)
    return chosen.content


def test_the_try_whose_machine_code_is_in_the_program_counts(tmp_path: Path) -> None:
    for width, code in (("32", b"no"), ("16", b"CODE"), ("8", b"other")):
        write(
            tmp_path,
            **{
                f"_simd{width}_entry_0001__dat": code,
                f"_simd{width}_entry_0001__asm": f"//.kernel heavy\n// {width}\n".encode(),
                f"_simd{width}_entry_0001__visaasm": f'.kernel "heavy"\n// {width}\n'.encode(),
            },
        )
    snapshots = read_dump(tmp_path, IGC_1, b"...CODE...")
    assert content_of(snapshots, "gen-assembly", "heavy") == b"//.kernel heavy\n// 16\n"
    assert content_of(snapshots, "gen-assembly", "heavy", "binary") == b"CODE"
    assert content_of(snapshots, "visa") == b'.kernel "heavy"\n// 16\n'


def test_each_attempt_is_a_snapshot_and_a_kernel_has_that_whose_code_is_in_the_program(tmp_path: Path) -> None:
    asm = b"//.kernel k\n"
    write(tmp_path, _codegen__ll=b"first\n", _codegen_1__ll=b"second\n", _optimized__ll=b"only\n")
    write(tmp_path, _simd8_entry_0001__asm=asm + b"// 0\n", _1_simd8_entry_0001__asm=asm + b"// 1\n")
    write(tmp_path, _simd8_entry_0001__dat=b"SAME", _1_simd8_entry_0001__dat=b"SAME", _1_simd8_entry_0001__cos=b"c\n")
    write(tmp_path, _simd8_entry_0002__asm=b"//.kernel first\n", _simd8_entry_0002__dat=b"FIRST")
    write(tmp_path, _1_simd8_entry_0002__dat=b"not in the program", _1_simd8_entry_0002__cos=b"c of first\n")
    snapshots = read_dump(tmp_path, IGC_1, b"SAME FIRST")
    assert [(it.content, it.attempt) for it in choose(snapshots, "llvm-codegen")] == [(b"first\n", 1), (b"second\n", 2)]
    assert content_of(snapshots, "llvm-codegen", "k") == b"second\n"
    assert content_of(snapshots, "llvm-codegen", "first") == b"first\n"
    assert content_of(snapshots, "llvm-optimized") == content_of(snapshots, "llvm-optimized", "k") == b"only\n"
    with pytest.raises(NotFoundError, match="the stage llvm-codegen has no kernel 'other'; it has: k, first"):
        choose(snapshots, "llvm-codegen", "other")
    # IGC 1 numbers the resources of all kernels by the last attempt; they are of the kernel's all the same.
    assert content_of(snapshots, "resources", "first") == b"c of first\n"
    assert {it.stage: it.attempt for it in snapshots if it.kernel == "first"} == {"gen-assembly": 1, "resources": 1}
    snapshots = tuple(it for it in snapshots if it.kernel != "first")
    assert content_of(snapshots, "gen-assembly") == asm + b"// 1\n"
    assert content_of(snapshots, "resources") == b"c\n"
    newer = tmp_path / "newer"
    newer.mkdir()
    write(newer, _codegen__ll=b"first\n", _1_codegen__ll=b"second\n")
    contents = [(it.content, it.attempt) for it in choose(read_dump(newer, IGC_2, b""), "llvm-codegen")]
    assert contents == [(b"first\n", 1), (b"second\n", 2)]


def moves(*constants: int, opcode: int = 0x61) -> bytes:
    head = bytes([opcode, *range(11)])
    return b"".join(head + constant.to_bytes(4, "little") for constant in constants)


def test_all_of_a_kernels_code_counts_but_the_hash_that_igc_2_appends() -> None:
    body = bytes(range(200, 240))
    code = body + moves(0x1234, 0x5678, 0, 7)
    assert stands_in(code, b"before" + code + b"after")
    assert stands_in(code, b"before" + body + body + moves(0xFFFF, 0, 0, 7))
    assert not stands_in(code, body + moves(0x1234, 0x5678, 1, 7))
    assert not stands_in(code, body + moves(0x1234, 0x5678, 0, 8))
    assert not stands_in(code, code[:-1])
    assert not stands_in(code, body[:-1] + b"?" + code[-64:])
    older = body + moves(1, 2, 0, 7, opcode=0x31)
    assert stands_in(older, older)
    assert not stands_in(older, body + moves(1, 3, 0, 7, opcode=0x31))
    assert not stands_in(b"", older)


def test_passes_belong_to_the_attempt_that_they_ran_in(tmp_path: Path) -> None:
    """The order of both generations, one pass for each phase."""
    older = ["Unify", "OPT", "CG"] * 2
    newer = ["OPTPre", "Unify", "OPTPre", "OPT", "CG", "UpdateOptPre", "CG"] * 2
    for phases in (older, newer):
        folder = tmp_path / str(len(phases))
        folder.mkdir()
        for number, phase in enumerate(phases):
            write(folder, **{f"_{number:04}_{phase}_after_P{number}__ll": b"p\n"})
        for point in ("beforeUnification", "afterUnification", "optimized", "codegen"):
            write(folder, **{f"_{point}__ll": b"1\n", f"_1_{point}__ll": b"2\n"})
        snapshots = read_dump(folder, IGC_2, b"")
        passes = sorted((it.stage, it.attempt) for it in snapshots if it.is_pass)
        half = len(phases) // 2
        assert [attempt for _, attempt in passes] == [1] * half + [2] * half


def test_kernels_keep_the_programs_order_and_their_own_names(tmp_path: Path) -> None:
    for entry, name in (("0002", "b"), ("0001", "z"), ("0003", PSEUDO_KERNEL)):
        write(tmp_path, **{f"_simd8_entry_{entry}__asm": f"//.kernel {name}\n".encode()})
        write(tmp_path, **{f"_entry_{entry}__kernbin": name.encode()})
    snapshots = read_dump(tmp_path, IGC_1, b"")
    assert [snapshot.kernel for snapshot in snapshots if snapshot.stage == "gen-assembly"] == ["z", "b"]
    assert content_of(snapshots, "resources", "b", "binary") == b"b"


def test_stages_come_in_pipeline_order_and_passes_before_the_stage_they_lead_to(tmp_path: Path) -> None:
    write(tmp_path, _beforeUnification__ll=b"1\n", _afterUnification__ll=b"2\n", _optimized__ll=b"3\n")
    write(tmp_path, _codegen__ll=b"4\n", __cl=b"kernel\0", __spv=b"\x03\x02\x23\x07", __progbin=b"P", __spvasm=b"; S\n")
    write(tmp_path, _0002_OPT_after_SROA__ll=b"o\n", _0001_Unify_after_SROA__ll=b"u\n", _0010_CG_after_LICM__ll=b"c\n")
    write(tmp_path, _cmd__txt=b"x\n", _AfterLowerGEP__ll=b"x\n", _simd8_entry_0001__isaasm=b"x\n")
    snapshots = read_dump(tmp_path, IGC_2, b"")
    assert [snapshot.stage for snapshot in snapshots] == [
        "source",
        "spirv",
        "spirv",
        "llvm-before-unification",
        "0001-Unify-SROA",
        "llvm-unified",
        "0002-OPT-SROA",
        "llvm-optimized",
        "0010-CG-LICM",
        "llvm-codegen",
        "program",
    ]
    assert content_of(snapshots, "source") == b"kernel"  # the dump's last byte is a NUL that is not the source's
    assert choose(snapshots, "spirv")[0].form == "binary"
    assert content_of(snapshots, "LICM") == b"c\n"
    with pytest.raises(NotFoundError, match=r"the pass SROA ran 2 times.*0001-Unify-SROA, 0002-OPT-SROA"):
        choose(snapshots, "SROA")
    with pytest.raises(NotFoundError, match=r"there is no stage 'LICN'.*0010-CG-LICM"):
        choose(snapshots, "LICN")


def test_a_dump_that_was_cut_off_is_a_failure_with_its_reason(tmp_path: Path) -> None:
    write(tmp_path, _codegen__ll=b"whole\n", _optimized__ll=b"cut o", __progbin=b"")
    snapshots = read_dump(tmp_path, IGC_2, b"")
    assert content_of(snapshots, "llvm-codegen") == b"whole\n"
    for stage in ("llvm-optimized", "program"):
        with pytest.raises(OutputError, match=f"no snapshot of the stage {stage}: the dump was cut off"):
            content_of(snapshots, stage)


def test_a_pass_that_dumped_nothing_is_no_full_disk(tmp_path: Path) -> None:
    write(tmp_path, _codegen__ll=b"whole\n", _0010_CG_after_LICM__ll=b"")
    with pytest.raises(OutputError, match="0010-CG-LICM: the compiler dumped nothing, as after a pass over loops"):
        content_of(read_dump(tmp_path, IGC_2, b""), "LICM")


def test_on_a_full_disk_nothing_that_was_dumped_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, _codegen__ll=b"whole, or not\n")
    monkeypatch.setattr(igc_dump, "is_full", lambda folder: True)
    snapshots = read_dump(tmp_path, IGC_2, b"")
    assert {snapshot.stage for snapshot in snapshots} >= {"spirv", "llvm-codegen", "program"}
    assert all("disk of the dump folder is full" in (snapshot.failure or "") for snapshot in snapshots)


def test_the_functions_that_a_kernel_calls_follow_it(tmp_path: Path) -> None:
    asm = b"//.kernel k\n"
    write(tmp_path, _simd8_entry_0001__dat=b"CODE", _simd8_entry_0001__asm=asm)
    (tmp_path / f"{H}_simd8_entry_0001.visa.ll").write_bytes(b"kernel\n")
    for number in (10, 0, 2):
        (tmp_path / f"{H}_simd8_entry_0001_f{number}.visa.ll").write_bytes(b"function %d\n" % number)
    (tmp_path / f"{H}_simd16_entry_0001_f0.visa.ll").write_bytes(b"of another width\n")
    snapshots = read_dump(tmp_path, IGC_1, b"CODE")
    assert content_of(snapshots, "visa-llvm-map", "k") == b"kernel\nfunction 0\nfunction 2\nfunction 10\n"


def test_times_of_passes_have_the_names_of_the_dumps(tmp_path: Path) -> None:
    """Of several programs of one compile they are added up; what is no number counts for nothing."""
    assert list(pass_time_lines(tmp_path)) == []
    (tmp_path / "TimeStatPerPass_Shaders.csv").write_text(
        "Frequency:1000000000,Passes Count,Total,CG_EmitPass,OPT_Simplify the CFG,Unify_igc-3d-to-2darray,Odd,\n"
        "/tmp/x/OCL_asm1.isa,4,6000,1000,2000,x,9,\n\n"
        "/tmp/x/OCL_asm2.isa,4,600,500,\n"
    )
    assert list(pass_time_lines(tmp_path)) == ["CG-EmitPass,0.000001500", "OPT-SimplifytheCFG,0.000002000"]
    snapshot = Snapshot(PASS_TIMES, None, "text", ".csv", lambda: b"CG-EmitPass,0.0000015\nodd\nbad,-1\nbad,nan\n")
    assert pass_times([snapshot]) == {"CG-EmitPass": 1.5e-6}
