"""What commands say of code that is not for Intel's GPUs: nothing that is true of Intel's alone, and next steps that exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens import check
from kernlens.isa.llvm.llvm_libraries import installed_llvm
from kernlens.loading import load
from kernlens.model.build import Build
from kernlens.model.figures import STATED, shown_figures
from kernlens.model.kernel_resources import KernelResources
from kernlens.model.verdict import Verdict
from kernlens.report.check.verdict_text import verdict_lines
from kernlens.toolchain.device_compilers import why_not_compiled
from kernlens.verbs.capture import second_builds
from tests.nvidia_files import triton
from tests.unit.conftest import Kernlens
from tests.writers.code_objects import END, GFX90A, NOP, code_object, kernel, metadata
from tests.writers.elf import ElfWriter

needs_llvm = pytest.mark.skipif(not installed_llvm(), reason="no libLLVM for AMD's GPUs (libllvm15)")


def code_object_in(folder: Path, name: str, nops: int = 1) -> Path:
    stated = metadata([kernel("add", vgpr_count=12, sgpr_count=20, group_segment_fixed_size=64, wavefront_size=64)])
    path = folder / name
    path.write_bytes(code_object({"add": NOP * nops + END}, stated, flags=GFX90A))
    return path


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        ("--max-grf-count", "its binary states VGPRs, SGPRs instead: --max-vgprs, --max-sgprs"),
        ("--max-slm", "its binary states LDS instead: --max-lds"),
        ("--min-simd", "its binary states wave size instead: --min-wave-size"),
    ],
)
def test_limits_of_other_metrics(bound: str, words: str, tmp_path: Path, kernlens: Kernlens) -> None:
    path = code_object_in(tmp_path, "a.hsaco")
    done = kernlens("check", path, f"{bound}=10")
    assert done.status == 2
    assert words in done.out
    for option in words.partition("instead: ")[2].split(", "):
        assert kernlens("check", path, f"{option}=12").status in (0, 1), "the option that is named exists"


def test_limits_of_a_cubin(tmp_path: Path, kernlens: Kernlens) -> None:
    (tmp_path / "k.cubin").write_bytes(triton(".cubin"))
    assert "registers per thread instead: --max-thread-registers" in kernlens(
        "check", tmp_path / "k.cubin", "--max-grf-count=1"
    ).out.replace("\n", " ")


def lines_of(verdict: Verdict) -> str:
    return "\n".join(verdict_lines(verdict))


def test_the_limit_of_registers_is_for_all_vendors(tmp_path: Path) -> None:
    """The limit ``max-registers`` is a word of all vendors: VGPRs of AMD's GPUs, registers per thread of NVIDIA's."""
    cubin = tmp_path / "k.cubin"
    cubin.write_bytes(triton(".cubin"))
    code_object = code_object_in(tmp_path, "a.hsaco")
    for path, value, words in ((cubin, None, "registers per thread"), (code_object, 12, "VGPRs 12, at most 11")):
        number = load(path)[0].entry_kernels.popitem()[1].resources.register_files.get("registers") or value
        assert number is not None
        assert check(path, max_registers=number).exit_status == 0
        verdict = check(path, max_registers=number - 1)
        assert (verdict.exit_status, words in lines_of(verdict)) == (1, True), verdict


def test_symbols_and_parts(tmp_path: Path, kernlens: Kernlens) -> None:
    path = code_object_in(tmp_path, "a.hsaco")
    assert "library-compilation" not in kernlens("symbols", path).out
    assert kernlens("extract", path, "-o", tmp_path / "parts").status == 0
    assert [each.name for each in (tmp_path / "parts").rglob("kernels/*")] == ["add.code"]


@needs_llvm
def test_comparisons_and_advice(tmp_path: Path, kernlens: Kernlens) -> None:
    old, new = code_object_in(tmp_path, "a.hsaco"), code_object_in(tmp_path, "b.hsaco", 3)
    done = kernlens("diff", old, new, "--pair", "add=add")
    assert done.status == 1, done.err
    assert "sync" not in done.out
    assert "      old    new      -      +  instructions\n" in done.out
    advice = kernlens("advise", old).out
    assert "most rules need lines" not in advice
    assert "--sort wait" not in advice
    assert "1 kernel: there is no advice on amdgcn code" in advice
    assert "before Xe-LP" not in kernlens("check", old, "--max-wait-share=1").out


class Resources:
    def __init__(self, resources: KernelResources) -> None:
        self.resources = resources
        self.code_size = 8
        self.launch_shared_bytes = self.launch_time = self.trip_weights = None


def test_columns_that_no_kernel_has() -> None:
    of_pocl = Resources(KernelResources(slm_bytes=0))
    assert [figure.key for figure in shown_figures([of_pocl], STATED)] == ["slm_bytes", "code_size"]  # type: ignore[list-item]
    of_intel = Resources(KernelResources(simd=16, register_files={"GRF": 128}, slm_bytes=0))
    sums = tuple(figure for figure in STATED if not figure.is_detail)
    assert shown_figures([of_pocl, of_intel], STATED) == sums  # type: ignore[list-item]


def test_devices_that_no_offline_compiler_is_for() -> None:
    assert why_not_compiled("dg2") is why_not_compiled("gfx1030") is why_not_compiled("pocl") is None
    assert "kernlens stages SOURCE --device pocl" in (why_not_compiled("x86-64") or "")
    nvidia = why_not_compiled("sm_90") or ""
    assert nvidia.endswith("kernlens capture --stages")


def test_a_32_bit_elf(tmp_path: Path, kernlens: Kernlens) -> None:
    content = bytearray(ElfWriter(machine=40, type=3).build())
    content[4] = 1
    (tmp_path / "arm.elf").write_bytes(content)
    err = kernlens("inspect", tmp_path / "arm.elf").err
    assert "a 32-bit ELF; kernlens reads 64-bit ELFs" in err
    assert "Intel" not in err


def test_stages_that_a_cache_kept_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second build that differs names --fresh-cache where the driver may have had the code in its cache."""
    monkeypatch.setattr(second_builds, "_are_alike", lambda build, staged: False)
    for device, has_fresh_caches, is_advised in (
        ("x86-64", False, True),
        ("x86-64", True, False),
        ("dg2", False, False),
    ):
        findings = second_builds.Findings(has_fresh_caches)
        build = Build("p", device, ok=True)
        findings.add(build, second_builds.SecondBuildResult(staged=build))
        (sentence,) = findings.sentences([])
        assert sentence.startswith("no stages of p: built again, it has other machine code")
        assert ("the same capture with --fresh-cache" in sentence) == is_advised


def test_a_violation_of_two_limits_is_printed_once(tmp_path: Path) -> None:
    """The limit ``max-registers`` is for AMD what ``max-vgprs`` is: the lower one counts."""
    path = code_object_in(tmp_path, "a.hsaco")
    for registers, vgprs in ((11, 10), (10, 11)):
        verdict = check(path, max_registers=registers, max_vgprs=vgprs)
        assert verdict.exit_status == 1
        assert lines_of(verdict).count("VGPRs 12, at most 10") == 1
        assert "at most 11" not in lines_of(verdict)
    assert check(path, max_registers=11, max_vgprs=12).exit_status == 1, "the other one counts too"
    assert check(path, max_registers=12, max_vgprs=12).exit_status == 0


@needs_llvm
def test_the_pressure_of_other_vendors_code_is_not_asked_of_a_decoder(tmp_path: Path, kernlens: Kernlens) -> None:
    path = code_object_in(tmp_path, "a.hsaco")
    sentence = "kernlens reads what instructions do to registers for Intel's GPUs alone"
    for words in (("annotate", path, "--pressure"), ("check", path, "--max-vgprs=10")):
        out = kernlens(*words).out
        assert "decoder" not in out
        assert sentence in out or "no line" in out.replace("source lines", "no line")
    assert sentence in kernlens("annotate", path, "--pressure").out
