"""``diff`` of machine code for several instruction sets: lines by source, figures of one side alone, nothing converted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernlens.toolchain.amd_compiler import amd_compiler
from kernlens.toolchain.toolchains import find_toolchains
from tests.corpus.beside import check
from tests.corpus.manifest import program
from tests.corpus.packages import CorpusError, fetch
from tests.integration.cli.test_cli import kernlens
from tests.tree import ROOT

EXAMPLES = ROOT / "examples" / "kernels"
pytestmark = pytest.mark.skipif(
    not any(map(amd_compiler, find_toolchains())),
    reason="no clang with lld and the ROCm device libraries (rocm-device-libs, lld-15)",
)
#: Spills on gfx900, whose compiler counts registers.
HEAVY = """\
__attribute__((reqd_work_group_size(1024, 1, 1)))
kernel void heavy(global const float *in, global float *out, int n) {
    int i = get_global_id(0);
    float a[64];
    for (int k = 0; k < 64; k++) a[k] = in[i + k * n];
    for (int r = 0; r < 4; r++)
        for (int k = 0; k < 64; k++) a[k] = a[k] * a[(k + 17) & 63] + in[i + r + k];
    float s = 0;
    for (int k = 0; k < 64; k++) s += native_exp(a[k]) * a[63 - k];
    out[i] = s;
}
"""


def answer(*words: str | Path, status: int = 0) -> Any:
    done = kernlens(*words, "--json")
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


def test_figures_of_one_family_are_not_compared() -> None:
    document = answer("diff", EXAMPLES / "blur.cl", "--device", "dg2,gfx1030", status=1)
    (kernel,) = document["kernels"]
    compared = {each["metric"]: (each["old"], each["new"]) for each in kernel["figures"]}
    assert compared.keys() == {"instructions", "code_size", "max_work_group"}
    assert all(old and new for old, new in compared.values())
    old, new = ({each["metric"] for each in kernel[key]} for key in ("old_figures", "new_figures"))
    assert {"simd", "grf_count", "spill_bytes"} <= old
    assert {"vgprs", "sgprs", "vgpr_spills", "wave_size"} <= new
    assert old.isdisjoint(new)
    assert document["summary"]["simd"] == document["summary"]["spills"] == []
    assert (
        sum(line["new"] - line["old"] for line in kernel["lines"])
        == compared["instructions"][1] - compared["instructions"][0]
    )


def test_the_text_says_whose_figures_are_whose() -> None:
    done = kernlens("diff", EXAMPLES / "blur.cl", "--device", "dg2,gfx1030")
    assert "  only dg2 (12.55.8): SIMD 32, GRF count 128, spill bytes 0" in done.stdout
    assert "  only gfx1030: VGPRs " in done.stdout
    assert "-> -" not in done.stdout
    assert "- ->" not in done.stdout
    assert "      old    new  instructions\n" in done.stdout


def test_a_folder_of_sources_for_two_vendors() -> None:
    done = kernlens("diff", EXAMPLES, "--device", "dg2,gfx1030", "--top", "0")
    assert done.returncode == 1, done.stderr
    assert "5 kernels compared, 5 differ" in done.stdout
    assert "  SIMD width       not compared: no kernel has it on both sides\n" in done.stdout
    assert "  wait cycles      not compared: no kernel has it on both sides\n" in done.stdout


def test_one_instruction_set_is_compared_as_before() -> None:
    done = kernlens("diff", EXAMPLES / "blur.cl", "--device", "skl,dg2")
    assert "  only skl" not in done.stdout
    assert "      old    new      -      +   sync  instructions\n" in done.stdout


def test_a_bound_of_one_family_does_not_ask_the_other(tmp_path: Path) -> None:
    recording = tmp_path / "blur.klens"
    assert kernlens("compile", EXAMPLES / "blur.cl", "--device", "dg2,gfx1030", "-o", recording).returncode == 0
    for bound, status in (
        ("--max-vgprs=200", 0),
        ("--max-vgprs=3", 1),
        ("--min-simd=16", 0),
        ("--max-spill-bytes=0", 0),
    ):
        done = kernlens("check", recording, bound)
        assert done.returncode == status, (bound, done.stdout, done.stderr)
    # Where no kernel has the metric, a misunderstanding must not pass.
    assert kernlens("check", recording, "--device", "dg2", "--max-vgprs=200").returncode == 2


def test_a_spill_that_the_code_does_not_tell_is_unknown(tmp_path: Path) -> None:
    source = tmp_path / "heavy.cl"
    source.write_text(HEAVY)
    recording = tmp_path / "heavy.klens"
    assert kernlens("compile", source, "--device", "gfx900", "-o", recording).returncode == 0
    (program_document,) = answer("annotate", recording, "--top", "3")["programs"]
    (kernel,) = program_document["kernels"]
    assert kernel["vgpr_spills"] > 0
    for costs in (kernel["costs"], *(line["costs"] for line in kernel["lines"]), kernel["other_lines"]):
        assert costs["spill_stores"] is costs["fill_loads"] is costs["spill_load_bytes"] is None
        assert costs["instructions"] > 0
    done = kernlens("annotate", recording, "--top", "3", "--sort", "spill")
    assert "which lines spill is unknown" in done.stdout


@pytest.mark.skipif(not Path("/etc/OpenCL/vendors/pocl.icd").exists(), reason="PoCL is not installed")
@pytest.mark.parametrize("name", ["darktable/soften", "darktable/bspline"])
def test_lines_are_counted_as_annotate_counts_them(name: str, tmp_path: Path) -> None:
    """On an Intel GPU, an AMD GPU and PoCL, each two compared. All: ``python -m tests.corpus.beside``."""
    chosen = program(name)
    try:
        fetch(chosen.packages)
    except CorpusError as error:
        pytest.skip(str(error))
    outcome = check(chosen, tmp_path)
    assert outcome.differences == []
    assert outcome.compared > 100
