"""What bounds a kernel, its occupancy with the next step, and what is said where no rule speaks."""

from __future__ import annotations

import json
import shutil
import sys
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from kernlens.analysis.executions import EXCHANGE, kernel_with_executions
from kernlens.analysis.kernel_notes import kernel_notes
from kernlens.loading.open import open_file
from kernlens.model.advice import AdvisedKernel
from kernlens.verbs.advise import advise
from kernlens.verbs.observe.observe import observe
from tests.documents import check_printed
from tests.integration.cli.test_cli import kernlens as run

pytestmark = pytest.mark.skipif(shutil.which("ocloc") is None, reason="no compiler for Intel's GPUs")
needs_oclgrind = pytest.mark.skipif(
    not Path("/usr/lib/oclgrind/liboclgrind-rt.so").exists(), reason="no Oclgrind 21.10"
)

SLM = """kernel __attribute__((reqd_work_group_size(256, 1, 1))) void chase(global float *o, global const float *a) {
  local float t[SIZE];
  int l = get_local_id(0);
  for (int k = 0; k < SIZE / 256; k++) t[l + k * 256] = a[l + k * 256];
  barrier(CLK_LOCAL_MEM_FENCE);
  float s = 0;
  for (int k = 0; k < 4096; k++) s = t[((int)s + k) & 4095];
  o[get_global_id(0)] = s;
}
"""
#: Outside the loop a thread waits for what it loads, in it for nothing.
MIXED = """kernel __attribute__((reqd_work_group_size(64, 1, 1))) void mixed(global float *o, global const int *a, int n) {
  local float t[2048];
  int g = get_global_id(0), l = get_local_id(0);
  float x = a[a[a[g]]], y = x, z = x;
  for (int j = 0; j < n; j++) {
    x = mad(x, y, z); y = mad(y, z, x); z = mad(z, x, y); x = mad(x, x, z);
    x = mad(x, y, z); y = mad(y, z, x); z = mad(z, x, y); x = mad(x, x, z);
  }
  t[l] = x + y;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[g] = t[63 - l] + z;
}
"""
QUIET = """kernel __attribute__((intel_reqd_sub_group_size(8))) void narrow(global float *o) { o[get_global_id(0)] = 1; }
kernel void plain(global float *o) { o[get_global_id(0)] = 1; }
"""


def advised(folder: Path, source: str, device: str, *words: str) -> tuple[dict[str, Any], str]:
    """Return the document of the first kernel, and the text."""
    (folder / "k.cl").write_text(source)
    command = ("advise", "k.cl", "--device", device, *words)
    done = run(*command, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    check_printed([*command, "--json"], done.stdout)
    kernel: dict[str, Any] = json.loads(done.stdout)["kernels"][0]
    return kernel, run(*command, "--full", cwd=folder).stdout


def test_waits_for_local_memory_that_too_few_threads_hide(tmp_path: Path) -> None:
    kernel, text = advised(tmp_path, SLM, "dg2", "--build-options=-DSIZE=8192")
    bound = kernel["bound"]
    # 4 work-groups of 32 KB fit the 128 KB of a core with 16 engines; each has 8 threads of 32 work-items.
    assert (bound["kind"], bound["threads"], bound["work_group"]) == ("wait", 4 * 8 / 16, 256)
    assert bound["threads_needed"] == ceil((bound["issue_cycles"] + bound["wait_cycles"]) / bound["issue_cycles"]) > 2
    assert bound["waits"][0]["operation"] == "SLM read"
    assert bound["waits"][0]["share"] > 0.9
    assert (
        "occupancy: 25% with work-groups of 256 (limited by SLM); with 16,384 bytes less SLM, each Xe-core runs 8"
        in text
    )


def test_the_next_step_gives_the_threads_that_it_promises(tmp_path: Path) -> None:
    kernel, text = advised(tmp_path, SLM, "dg2", "--build-options=-DSIZE=4096")
    assert kernel["bound"]["threads"] == 8 * 8 / 16
    assert "occupancy: 50% with work-groups of 256" in text


def test_a_bound_that_depends_on_rounds_is_none_until_they_are_stated(tmp_path: Path) -> None:
    kernel, text = advised(tmp_path, MIXED, "dg2")
    assert kernel["bound"]["kind"] is None
    assert (
        kernel["bound"]["reason"] == "it depends on the rounds of the loop of line 5 (`j < n`): state them with --trips"
    )
    assert "bound: it depends on the rounds of the loop of line 5" in text
    once, often = (advised(tmp_path, MIXED, "dg2", "--trips", f"5={rounds}")[0]["bound"] for rounds in (1, 1000))
    assert (once["kind"], often["kind"]) == ("wait", "issue_or_bandwidth")
    assert once["threads"] == often["threads"]


def test_nobody_is_sent_to_waits_that_are_unknown(tmp_path: Path) -> None:
    kernel, text = advised(tmp_path, SLM, "skl", "--build-options=-DSIZE=8192")
    assert kernel["bound"]["kind"] is None
    assert kernel["bound"]["reason"].startswith("cycles are not known: waits are unknown on Gen9")
    assert "--sort wait" not in text
    assert "occupancy: " in text


def test_what_no_rule_speaks_of_has_a_sentence(tmp_path: Path) -> None:
    narrow, text = advised(tmp_path, QUIET, "dg2")
    assert narrow["notes"] == ["SIMD8, where the widest kernels have 32 lanes: as the source requires it"]
    assert "no advice by the rules of docs/advice.md" in text
    assert "--sort wait" in text
    slow, _ = advised(tmp_path, QUIET, "dg2", "--build-options=-cl-opt-disable", "--kernel", "plain")
    assert slow["notes"][0].startswith("the build options have -cl-opt-disable")
    plain, _ = advised(tmp_path, QUIET, "dg2", "--kernel", "plain")
    assert plain["notes"] == []


TABLE = """kernel void table(global const float *a, global float *o, int n) {
  float t[96];
  for (int j = 0; j < 96; j++) t[j] = a[get_global_id(0)] + j * 0.25f;
  o[get_global_id(0)] = t[n & 63] * t[(n + get_global_id(0)) & 63];
}
"""


def test_private_memory_and_spills_that_no_rule_speaks_of_have_a_sentence(tmp_path: Path) -> None:
    """Without lines no rule finds the array; the rule on spills is silenced by leaving its advice out."""
    (tmp_path / "k.cl").write_text(TABLE)
    assert run("compile", "k.cl", "--device", "dg2", "--no-lines", "-o", "k.klens", cwd=tmp_path).returncode == 0
    document = json.loads(run("advise", "k.klens", "--json", cwd=tmp_path).stdout)
    (kernel,) = document["kernels"]
    assert (kernel["advice"], len(kernel["notes"])) == ([], 1)
    assert kernel["notes"][0].startswith("12,288 bytes of private memory in a thread: arrays that are not in registers")
    spilling = str(Path("examples/kernels/window.cl").resolve())
    assert run("compile", spilling, "--device", "dg2", "-o", "w.klens", cwd=tmp_path).returncode == 0
    (program,) = open_file(str(tmp_path / "w.klens")).programs
    window = program.kernels["window"]
    (piece,) = advise(str(tmp_path / "w.klens")).kernels[0].advice
    assert list(kernel_notes(AdvisedKernel(program, window, (piece,)))) == []
    (note,) = kernel_notes(AdvisedKernel(program, window, ()))
    assert note.startswith("226 messages spill or fill registers: kernlens annotate --top 10 --sort spill")


def test_inspect_prints_the_bound_of_a_kernel_that_is_named(tmp_path: Path) -> None:
    kernel, text = advised(tmp_path, SLM, "dg2", "--build-options=-DSIZE=8192")
    (line,) = [line for line in text.splitlines() if line.startswith("  bound: ")]
    command = ("inspect", "k.cl", "--device", "dg2", "--build-options=-DSIZE=8192")
    assert "bound: " not in run(*command, cwd=tmp_path).stdout
    assert f"  chase: {line.strip()}" in run(*command, "--kernel", "chase", "--full", cwd=tmp_path).stdout
    done = run(*command, "--kernel", "chase", "--json", cwd=tmp_path)
    check_printed(("inspect", "--json"), done.stdout)
    assert json.loads(done.stdout)["programs"][0]["kernels"][0]["bound"] == kernel["bound"]


#: A launch for each kind of work that bounds it, with the cycles of the busiest core that follow from the counts of a few of
#: its work-groups. dg2 has sub-groups of 32 here, 16 engines, and the board is an Arc A770: 560 GB/s, and 32 cores of 2.1 GHz.
ARITHMETIC = """kernel void k(global float *o, float x, int n) {
  float y = get_global_id(0);
  for (int i = 0; i < n; i++) y = mad(y, x, y) * y;
  o[get_global_id(0)] = y;
}
"""
COPY = "kernel void k(global float4 *o, global const float4 *a) { o[get_global_id(0)] = a[get_global_id(0)]; }\n"
STRIDED = """kernel void k(global float *o, global const float *a, int n) {
  float s = 0;
#pragma unroll 1
  for (int i = 0; i < n; i++) s += a[get_global_id(0) * 32 + (i & 31)];
  o[get_global_id(0)] = s;
}
"""
CONFLICT = """kernel void k(global float *o, int n) {
  local float t[2048];
  int l = get_local_id(0);
  for (int i = 0; i < n; i++) { t[l * 32] = i; barrier(CLK_LOCAL_MEM_FENCE); }
  o[get_global_id(0)] = t[l * 32];
}
"""
COUNTER = (
    "kernel void k(volatile global int *o, global const int *a) { atomic_xor(o + (a[get_global_id(0)] & 1), 5); }\n"
)
SIZE, GROUP, CORES = 32768, 64, 32
#: Work-groups of the busiest core.
BUSIEST = SIZE // GROUP // CORES
KINDS = {
    "issue": (ARITHMETIC, [f"zeros:float:{4 * SIZE}", "0.5", "100"], 4 * SIZE, None),
    # As many bytes are read as are written.
    "memory": (COPY, [f"zeros:float:{4 * SIZE}", f"random:float:{4 * SIZE}"], SIZE, 2 * 16 * SIZE / (560 / 2.1)),
    # A work-item loads a line in each of 16 rounds, and a work-group stores 4.
    "cache": (STRIDED, [f"zeros:float:{SIZE}", f"random:float:{32 * SIZE}", "16"], SIZE, BUSIEST * (16 * GROUP + 4)),
    "slm": (CONFLICT, [f"zeros:float:{SIZE}", "20"], SIZE, None),
    # All lanes change one address.
    "atomic": (COUNTER, ["zeros:int:2", f"zeros:int:{4 * SIZE}"], 4 * SIZE, 4 * BUSIEST * GROUP),
}


@needs_oclgrind
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_work_bounds_a_launch(kind: str, tmp_path: Path) -> None:
    source, arguments, size, cycles = KINDS[kind]
    (tmp_path / "k.cl").write_text(source)
    recording = tmp_path / "k.klens"
    observe(
        *(tmp_path / "k.cl",),
        size=[size], group=[GROUP], arguments=arguments, device="dg2", recording=recording, groups=8,
    )  # fmt: skip
    done = run("advise", recording, "--json")
    check_printed(["advise", "k.klens", "--json"], done.stdout)
    bound = json.loads(done.stdout)["kernels"][0]["bound"]
    assert (bound["kind"], bound["board"]) == (kind, "Arc A770")
    assert bound["is_partial"]
    slots = CORES * 128
    assert bound["device_fill"] == pytest.approx(min(1, size // 32 / slots))
    first = bound["core_cycles"][0]
    assert first["work"] == kind
    assert [each["cycles"] for each in bound["core_cycles"]] == sorted(
        (each["cycles"] for each in bound["core_cycles"]), reverse=True
    )
    if cycles is not None:
        assert first["cycles"] == round(cycles)
    assert (
        f"{first['cycles']:,} cycles of the busiest core, estimated from the work-groups that ran"
        in run("advise", recording, "--full").stdout
    )


@needs_oclgrind
def test_waits_bound_a_launch_that_fills_little_of_a_board(tmp_path: Path) -> None:
    """Each work-group has a core of its own, on which its two threads wait; a wave more on each core takes as long again."""
    (tmp_path / "k.cl").write_text(ARITHMETIC)
    cycles = []
    for groups in (4, CORES, CORES * 64, CORES * 64 + 1):
        recording = tmp_path / f"{groups}.klens"
        observe(
            *(tmp_path / "k.cl",),
            size=[groups * GROUP], group=[GROUP], arguments=[f"zeros:float:{groups * GROUP}", "0.5", "20"],
            device="dg2", recording=recording, groups=4,
        )  # fmt: skip
        bound = json.loads(run("advise", recording, "--json").stdout)["kernels"][0]["bound"]
        cycles.append({each["work"]: each["cycles"] for each in bound["core_cycles"]})
        assert (bound["kind"] == "wait") == (groups <= CORES)
        assert bound["is_partial"] == (groups > 4)
    few, one_each, full, more = (each["wait"] for each in cycles)
    assert few == one_each == full
    assert more == pytest.approx(2 * full, abs=1)
    # 64 work-groups of two threads take turns on 16 engines; two alone have an engine each.
    assert cycles[2]["issue"] == pytest.approx(8 * cycles[1]["issue"], abs=8)


@needs_oclgrind
def test_launches_of_other_sizes_are_compared_by_their_cycles(tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(COPY + COPY.replace("void k", "void one").replace("float4", "float"))
    for kernel, size in (("one", 65536), ("k", 16384)):
        arguments = ["zeros:float:65536", "random:float:65536"]
        recording = tmp_path / f"{kernel}.klens"
        observe(
            *(tmp_path / "k.cl",),
            kernel=kernel, size=[size], group=[64], arguments=arguments, device="dg2", recording=recording,
        )  # fmt: skip
    command = ("diff", "one.klens", "k.klens", "--pair", "one=k", "--full")
    done = run(*command, "--json", cwd=tmp_path)
    check_printed([*command, "--json"], done.stdout)
    (kernel,) = json.loads(done.stdout)["kernels"]
    # The same bytes: a copy in fewer requests gains nothing.
    cycles = round(2 * 4 * 65536 / (560 / 2.1))
    same = {"work": "memory", "core_cycles": cycles}
    assert kernel["behaviour"]["bounds"] == {"old": same, "new": same}
    words = f"{cycles:,} cycles of the busiest core by the model of the bound, as before; bound: "
    assert words in run(*command, cwd=tmp_path).stdout


STRIDED = """
import numpy as np, pyopencl as cl, sys
context = cl.Context(cl.get_platforms()[0].get_devices())
queue = cl.CommandQueue(context)
text = "kernel void k(global int *o) { int g = 32 * get_global_id(0); o[g] += o[g + 16]; }"
kernel = cl.Program(context, text).build().k
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 1 << 20)
for _ in range(int(sys.argv[1])):
    kernel(queue, (1 << 13,), (64,), buffer)
queue.finish()
"""


@needs_oclgrind
def test_each_launch_moves_each_byte_of_a_buffer_once_at_most(tmp_path: Path) -> None:
    """Of several launches, whose counts are one sum, as of one; and what ran another number of times is not compared."""
    pytest.importorskip("pyopencl")
    (tmp_path / "app.py").write_text(STRIDED)
    cycles = []
    for times in (1, 3):
        words = ("capture", "--observe", "--device", "dg2", "-o", f"{times}.klens", "--", sys.executable, "app.py")
        done = run(*words, str(times), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        (kernel,) = json.loads(run("advise", f"{times}.klens", "--json", cwd=tmp_path).stdout)["kernels"]
        cycles += [each["cycles"] for each in kernel["bound"]["core_cycles"] if each["work"] == "memory"]
    assert cycles == [pytest.approx((1 << 20) * each / (560 / 2.1), abs=1) for each in (1, 3)]
    assert "cycles of the busiest core" not in run("diff", "1.klens", "3.klens", "--full", cwd=tmp_path).stdout


#: A condition lets 3 of 12 rounds run, which the compiler wrote one behind the other; lanes exchange one of two values.
UNROLLED = """kernel void k(global int *o, global const int *a, int most) {
  int s = 0;
#pragma unroll
  for (int i = 0; i < 12; i++)
    if (i < most)
      s += a[i * 64 + get_local_id(0)] / a[i];
  o[get_global_id(0)] = s;
}
"""
EXCHANGED = """kernel void k(volatile global int *o) {
  volatile global int *at = o + get_local_id(0) % 4;
  int old = *at, seen;
  while ((seen = atomic_cmpxchg(at, old, old * 3 + 1)) != old)
    old = seen;
}
"""


@needs_oclgrind
def test_copies_of_a_line_run_as_often_as_the_line(tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(UNROLLED)
    issued = []
    for most in (3, 12):
        recording = tmp_path / f"{most}.klens"
        arguments = ["zeros:int:1024", "ramp:int:1024", str(most)]
        observe(tmp_path / "k.cl", size=[1024], group=[64], arguments=arguments, device="dg2", recording=recording)
        (program,) = open_file(recording).programs
        kernel = kernel_with_executions(program, program.kernels["k"])
        assert kernel.trip_weights is not None
        assert kernel.source_map is not None
        weights = kernel.trip_weights.rows
        issued.append(sum(weights[row] for row, at in enumerate(kernel.source_map.places) if at and at.line == 6))
    assert issued[0] * 4 == issued[1] > 0


@needs_oclgrind
def test_lanes_that_exchange_one_address_run_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(EXCHANGED)
    recording = tmp_path / "k.klens"
    observe(tmp_path / "k.cl", size=[256], group=[64], arguments=["zeros:int:4"], device="dg2", recording=recording)
    (program,) = open_file(recording).programs
    kernel = kernel_with_executions(program, program.kernels["k"])
    assert kernel.trip_weights is not None
    assert kernel.trip_weights.observed is not None
    width = kernel.behaviours[0].machine.width
    lanes = width // 4
    (row,) = [
        row
        for row, kind in enumerate(kernel.instructions.kinds)
        if kind.access is not None and kind.access.operation == EXCHANGE and kind.access.lanes
    ][:1]
    assert kernel.trip_weights.rows[row] == lanes * 256 // width
    note = f"line 4: {lanes} lanes of a request exchange one address, one round after the other"
    assert note in kernel.trip_weights.observed.notes
