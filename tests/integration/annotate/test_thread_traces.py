"""Counts of rocprofv3's thread traces on the lines of a kernel that clang compiled for an AMD GPU."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.unit.conftest import Kernlens, kernlens

__all__ = ["kernlens"]
SOURCE = """\
kernel void blur(global const float *in, global float *out) {
  int i = get_global_id(0);
  float sum = 0;
  for (int k = -2; k <= 2; ++k) sum += in[i + k];
  out[i] = sum / 5;
}
"""


def test_lines_have_the_sums_of_their_instructions(kernlens: Kernlens, tmp_path: Path) -> None:
    source, program, trace = tmp_path / "a.cl", tmp_path / "a.klens", tmp_path / "stats.csv"
    source.write_text(SOURCE)
    compiled = kernlens("compile", str(source), "--device", "gfx90a", "-o", str(program))
    if compiled.status:
        pytest.skip("no compiler for AMD's GPUs")
    (kernel,) = json.loads(kernlens("annotate", str(program), "--json").out)["programs"][0]["kernels"]
    rows, lines = ['3,6400,"; blur",0,0,0,0,"blur"'], Counter[int]()
    for number, each in enumerate(kernel["instructions"], 1):
        rows.append(f'3,{6400 + each["offset"]},"{each["text"]}",64,{number * 16},{number},0,""')
        lines[each["line"] or 0] += number * 16
    trace.write_text("\n".join(["CodeObj,Vaddr,Instruction,Hitcount,Latency,Stall,Idle,Source", *rows]) + "\n")
    done = kernlens("annotate", str(program), "--samples", str(trace), "--json")
    assert done.status == 0, done.err
    samples = json.loads(done.out)["programs"][0]["kernels"][0]["samples"]
    assert samples["without_instruction"] == []
    assert {each["line"]: each["measured"]["Latency"] for each in samples["lines"] if each["line"]} == {
        line: count for line, count in lines.items() if line
    }
    assert len(samples["lines"]) > 2
    shown = kernlens("annotate", str(program), "--samples", str(trace), "--line", "4")
    assert f"{lines[4]:,} Latency" in shown.out
