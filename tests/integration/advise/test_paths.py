"""The shortest and the longest path of real kernels, by pipe."""

from __future__ import annotations

from pathlib import Path

import pytest

import kernlens
from kernlens.analysis.flow.shortest_path import paths_of
from kernlens.model.path_cycles import PIPES, Paths

SOURCE = """kernel void branch(global float *o, global const float *a, int n) {
  int g = get_global_id(0);
  float v = a[g];
  if (n > 5)
    v = sin(v) + a[g + n];
  o[g] = v;
}
kernel void line(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = native_sin(a[g]);
}
kernel void loop(global float *o, global const float *a, int n) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = 0; i < n; i++) s = s * 0.5f + a[g * n + i];
  o[g] = s;
}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("paths") / "paths.cl"
    path.write_text(SOURCE)
    return path


@pytest.mark.parametrize("device", ["tgllp", "dg2", "pvc"])
def test_paths_by_pipe(source: Path, device: str) -> None:
    (program,) = kernlens.compile(source, device)
    paths = {}
    for name, kernel in program.kernels.items():
        answer = paths_of(kernel)
        assert isinstance(answer, Paths)
        assert kernel.waits is not None
        assert answer.whole.total == kernel.waits.cycles
        assert set(answer.whole.cycles) <= set(PIPES)
        assert answer.shortest.total <= answer.longest.total <= answer.whole.total
        paths[name] = answer
    branch, line, loop = paths["branch"], paths["line"], paths["loop"]
    # What the condition skips: a load and a function of hundreds of instructions.
    assert branch.longest.total > 2 * branch.shortest.total
    assert branch.longest.cycles["send"] > branch.shortest.cycles["send"]
    assert line.shortest == line.longest
    assert (line.longest.bound, line.longest.cycles["math"] > 0) == ("send", True)
    # The loop is on the longest path once, and not on the shortest.
    assert loop.longest.cycles["send"] > loop.shortest.cycles["send"]


def test_calls_and_unknown_cycles_say_so(source: Path, tmp_path: Path) -> None:
    (program,) = kernlens.compile(source, "skl")
    answer = paths_of(program.kernels["line"])
    assert isinstance(answer, str)
    calls = tmp_path / "calls.cl"
    calls.write_text(
        "__attribute__((noinline)) float f(float x, int n) { for (int i = 0; i < n; i++) x = sin(x); return x; }\n"
        "kernel void k(global float *o, int n) { o[0] = f(o[1], n) + f(o[2], n); }\n"
    )
    (program,) = kernlens.compile(calls, "dg2")
    assert paths_of(program.kernels["k"]) == "the kernel calls functions"
