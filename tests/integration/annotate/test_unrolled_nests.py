"""Loops in loops, each unrolled or not: the bytes that the code's accesses move by their runs are those that were counted."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from kernlens.analysis.executions import kernel_with_executions
from kernlens.loading.open import open_file
from kernlens.model.kernel import Kernel
from kernlens.verbs.observe.observe import observe
from tests.integration.cli.test_cli import kernlens as run
from tests.integration.observe.test_darktable_counters import LAUNCHES
from tests.whole import each_run

pytestmark = [
    pytest.mark.skipif(not Path("/usr/lib/oclgrind/liboclgrind-rt.so").exists(), reason="no Oclgrind 21.10"),
    pytest.mark.skipif(shutil.which("ocloc") is None, reason="no compiler for Intel's GPUs"),
]
HEAD = "kernel void k(global const float *in, global float *out, int n, int m)\n{\n  int g = get_global_id(0);\n  float s = 0;"
#: Bodies: C is a constant number of rounds, n and m are arguments; each LOAD has another index. Whether the machine code runs
#: more rounds than the source in part: the last round of a loop whose condition is in its middle, or a rest that did not run.
NESTS = {
    "inner": ("FOR(b, n)\n FOR(i, C)\n  LOAD(b * C + i)", False),
    "three": ("FOR(b, n)\n FOR(i, C)\n  FOR(j, 3)\n   LOAD((b * C + i) * 3 + j)", False),
    "sequence": ("FOR(b, n) {\n FOR(i, C)\n  LOAD(b * C + i)\n FOR(i, 5)\n  LOAD(b * 5 + i + 7 * n)\n}", False),
    "beside": ("FOR(b, n) {\n LOAD(b + 900)\n FOR(i, C)\n  LOAD(b * C + i)\n}", False),
    "both": ("_Pragma(\"unroll 2\")\nFOR(b, n)\n FOR(i, C)\n  LOAD(b * C + i)", True),
    "partly": ("FOR(b, n)\n _Pragma(\"unroll 4\")\n FOR(i, C + 2)\n  LOAD(b * C + i)", True),
    "with rest": ("FOR(b, n)\n _Pragma(\"unroll 4\")\n FOR(i, m)\n  LOAD(b * m + i)", False),
    "argument": ("FOR(b, n)\n FOR(i, m)\n  LOAD(b * m + i)", False),
    "fixed": ("FOR(b, 24)\n FOR(i, C)\n  LOAD(b * C + i)", False),
}  # fmt: skip
MACROS = "#define FOR(v, c) for (int v = 0; v < (c); v++)\n#define LOAD(index) s = s * 0.5f + in[(index) * 256 + g];\n"


def observed(folder: Path, body: str, rounds: int, inner: int) -> Kernel:
    source = MACROS + f"#define C {inner}\n" + HEAD + "\n" + body + "\n  out[g] = s;\n}\n"
    (folder / "k.cl").write_text(source)
    arguments = ["random:float:262144", "zeros:float:256", str(rounds), str(inner)]
    observe(folder / "k.cl", size=[256], group=[64], arguments=arguments, device="dg2", recording=folder / "k.klens")
    (program,) = open_file(folder / "k.klens").programs
    return kernel_with_executions(program, program.kernels["k"])


def bytes_of_lines(kernel: Kernel) -> tuple[Counter[int], Counter[int]]:
    """Return the bytes of a lane that each line accesses, by its messages' weights and as the interpreter counted them."""
    assert kernel.source_map is not None
    assert kernel.trip_weights is not None
    (launch,) = kernel.behaviours
    weighed: Counter[int] = Counter()
    for row, kind in enumerate(kernel.instructions.kinds):
        place, access = kernel.source_map.places[row], kind.access
        if place is not None and access is not None and access.action in ("load", "store"):
            lanes = access.lanes if 1 < access.lanes < launch.machine.width else launch.machine.width
            weighed[place.line] += kernel.trip_weights.rows[row] * lanes * access.element_bytes * access.elements
    counted: Counter[int] = Counter()
    for each in launch.accesses:
        if each.place is not None:
            counted[each.place.line] += each.requests * each.width * launch.machine.width
    return weighed, counted


@pytest.mark.parametrize("nest", NESTS)
@pytest.mark.parametrize(("rounds", "inner"), [(3, 2), (16, 8), (3, 12)])
def test_lines_move_what_was_counted(nest: str, rounds: int, inner: int, tmp_path: Path) -> None:
    body, is_more = NESTS[nest]
    kernel = observed(tmp_path, body, rounds, inner)
    weighed, counted = bytes_of_lines(kernel)
    assert len(counted) >= 2
    if is_more:
        assert all(counted[line] <= weighed[line] <= 1.25 * counted[line] for line in counted), (weighed, counted)
    else:
        assert {line: weighed[line] for line in counted} == counted
    assert kernel.trip_weights is not None
    assert kernel.trip_weights.observed is not None
    assert not any("at most" in note or "one round each" in note for note in kernel.trip_weights.observed.notes)


@pytest.mark.parametrize(
    "name",
    each_run(
        "pixelmax",
        "gauss_c1",
        others=("blur_line", "conv_yuv", "dn_v", "dwt_col", "dwt_row", "gauss_t4", "nlm_h", "rcd_1_1"),
    ),
)
def test_kernels_of_an_application_move_what_was_counted(name: str, darktable_kernels: Path, tmp_path: Path) -> None:
    """Their accesses are all in the code, and in no branch that is taken less often."""
    launch = LAUNCHES[name]
    observe(
        darktable_kernels / launch["file"],
        kernel=launch["kernel"],
        size=launch["size"],
        group=launch["group"],
        arguments=launch["arguments"],
        device="dg2",
        options=f"-I{darktable_kernels}",
        recording=tmp_path / "k.klens",
    )
    (program,) = open_file(tmp_path / "k.klens").programs
    weighed, counted = bytes_of_lines(kernel_with_executions(program, program.kernels[launch["kernel"]]))
    assert counted
    assert {line: weighed[line] for line in counted} == counted


@pytest.mark.parametrize(("rounds", "inner"), [(3, 2), (3, 8), (16, 12)])
def test_what_a_branch_hides_is_no_unrolling(rounds: int, inner: int, tmp_path: Path) -> None:
    """Half of the rounds of an inner loop: as many as if it had half of them, or the loop around it were unrolled."""
    body = "FOR(b, n)\n FOR(i, C)\n  if (((b + i) & 1) == 0)\n   LOAD(b * C + i)"
    weighed, counted = bytes_of_lines(kernel := observed(tmp_path, body, rounds, inner))
    assert all(weighed[line] >= counted[line] for line in counted)
    assert kernel.trip_weights is not None
    assert kernel.trip_weights.observed is not None
    assert not any("unrolled 2 times" in note for note in kernel.trip_weights.observed.notes)


def test_figures_follow_the_rounds(tmp_path: Path) -> None:
    """A tile that is filled and summed in two inner loops: eight times the rounds, eight times the bytes."""
    (tmp_path / "sums.cl").write_text(
        "kernel void sums(global const float *in, global float *out, int width)\n{\n  local float tile[16][65];\n"
        "  int l = get_local_id(0);\n  float s = 0;\n  for (int x = 0; x < width; x += 16) {\n"
        "    for (int r = 0; r < 16; r++)\n      tile[r][l] = in[r * width + x + l];\n    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    for (int r = 0; r < 16; r++)\n      s += tile[r][(l * 7 + r) & 63];\n    barrier(CLK_LOCAL_MEM_FENCE);\n  }\n"
        "  out[get_global_id(0)] = s;\n}\n"
    )
    sends = []
    for width in (16, 128):
        words = (
            "--device",
            "dg2",
            "--size",
            "64",
            "--group",
            "64",
            "--arg",
            "random:float:65536",
            "--arg",
            "zeros:float:64",
        )
        run("observe", "sums.cl", *words, "--arg", str(width), "-o", f"{width}.klens", cwd=tmp_path)
        done = run("annotate", f"{width}.klens", "--top", "20", "--json", cwd=tmp_path)
        ((kernel,),) = (program["kernels"] for program in json.loads(done.stdout)["programs"])
        sends.append({each["line"]: each["weighed_costs"]["sends"] for each in kernel["lines"]})
    assert sends[0][8] > 0
    assert {line: sends[1][line] / sends[0][line] for line in (8, 11)} == {8: 8, 11: 8}
