"""A thread's memory as binaries state it, equal to what the real drivers report of the kernels that they build of these."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.loading import open_build
from kernlens.runtime.driver_environment import DriverEnvironment
from tests.integration.drivers.live_fixtures import ALL_DRIVERS, NEWEST_DRIVERS, driver_environment, run_script
from tests.integration.drivers.test_opencl_live import builds_of
from tests.whole import each_run

__all__ = ["driver_environment"]

#: A private array with an index that is no constant, one of a called function, recursion, printf, and nothing of all that.
SOURCE = """\
kernel void array(global int *o, int n) {
  int i = get_global_id(0), t[64], s = 0;
  for (int j = 0; j < n; j++) t[o[j] & 63] = j * i;
  for (int j = 0; j < n; j++) s += t[(o[j] * 7 + i) & 63];
  o[i] = s;
}
__attribute__((noinline)) int fib(int n, global int *o) { return n < 2 ? o[n] : fib(n - 1, o) + fib(n - 2, o) + o[n]; }
kernel void recursing(global int *o, int n) { int i = get_global_id(0); o[i] = fib(n + i, o); }
kernel void printing(global int *o) { printf("%d\\n", o[get_global_id(0)]); }
kernel void plain(global int *o) { o[get_global_id(0)] = 1; }
kernel void spilling(global float *o, global const float *a) {
  int i = get_global_id(0);
  float t[96], s = 0;
  __attribute__((opencl_unroll_hint(96))) for (int j = 0; j < 96; j++) t[j] = a[i * 96 + j];
  barrier(CLK_GLOBAL_MEM_FENCE);
  __attribute__((opencl_unroll_hint(96))) for (int j = 0; j < 96; j++) s = s * t[95 - j] + sqrt(t[j] + s);
  __attribute__((opencl_unroll_hint(96))) for (int j = 0; j < 96; j++) o[i * 96 + j] = t[j] * s;
}
"""


@pytest.mark.parametrize(
    "driver_environment",
    each_run("system/skl", "system/dg2", "newest/pvc", "newest/bmg", others=ALL_DRIVERS),
    indirect=True,
)
def test_it_is_what_the_driver_reports(
    driver_environment: DriverEnvironment, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Drivers up to 22.43 report scratch slots as spills and private memory outside of them; newer ones what ze_info has, where
    a stack is among the spills."""
    path = tmp_path / "memory.cl"
    path.write_text(SOURCE)
    (build,) = builds_of(run_script(driver_environment, "pyopencl_program", "Intel", str(path), "-DN=1"))
    reported = {kernel.name: kernel.resources for kernel in build.kernels}
    kernels = {name: kernel for program in open_build(build) for name, kernel in program.entry_kernels.items()}
    assert kernels.keys() == reported.keys() == {"array", "recursing", "printing", "plain", "spilling"}
    is_newest = request.node.callspec.params["driver_environment"] in NEWEST_DRIVERS
    for name, kernel in kernels.items():
        own, (private, spilled) = kernel.resources, (reported[name].private_bytes, reported[name].spill_bytes)
        assert None not in (private, spilled, own.scratch_bytes), name
        if is_newest:
            spills = own.stack_bytes if own.spill_bytes is None else own.spill_bytes
            assert (own.private_bytes, spills) == (private, spilled), name
            assert (own.scratch_bytes or 0) >= (private or 0) + (spilled or 0), name
        else:
            assert own.scratch_bytes == (private or 0) + (spilled or 0), name
        if name != "spilling":  # Some compilers keep its table in memory instead.
            assert bool(own.scratch_bytes) == (name in ("array", "recursing")), name
        assert bool(own.stack_bytes) == (name == "recursing"), name
