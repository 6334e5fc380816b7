"""The accesses of a source as its machine code has them: joined, repeated, uniform, gone; and the bytes that prove it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kernlens.analysis.machine_accesses import machine_accesses
from kernlens.analysis.observed_causes import causes_of_kernel, observed_causes
from kernlens.dataclass import replace
from kernlens.loading.open import open_file
from kernlens.model.kernel import Kernel
from kernlens.report.machine_words import machine_sentence
from kernlens.verbs.observe.observe import observe
from tests.documents import check_printed
from tests.integration.cli.test_cli import kernlens as run

pytestmark = [
    pytest.mark.skipif(not Path("/usr/lib/oclgrind/liboclgrind-rt.so").exists(), reason="no Oclgrind 21.10"),
    pytest.mark.skipif(shutil.which("ocloc") is None, reason="no compiler for Intel's GPUs"),
]
HEAD = "kernel void k(global const float *in, global float *out, int n) {\n  int i = get_global_id(0);\n"
#: A body, and for each line from the third on what became of its loads: state, bytes of a lane in the source and in the code.
CASES = {
    "four fields": (
        "  float4 *unused;\n  out[i] = in[4 * i] + in[4 * i + 1] + in[4 * i + 2] + in[4 * i + 3];\n",
        {4: ("joined", (4, 4, 4, 4), (16,))},
    ),
    "a copy": ("  out[i] = in[i];\n", {3: ("kept", (4,), (4,))}),
    "a vector": ("  vstore4(vload4(i, in), i, out);\n", {3: ("kept", (16,), (16,))}),
    "one address": ("  out[i] = in[n];\n", {3: ("uniform", (4,), (4,))}),
    "unrolled": (
        "  float s = 0;\n  for (int j = 0; j < 4; j++)\n    s += in[j * 64 + i];\n  out[i] = s;\n",
        {5: ("repeated", (4,), (4, 4, 4, 4))},
    ),
    "part of another line's": (
        "  float v = in[i + 3];\n  float w = in[i];\n  out[i] = w;\n  if (n < 0) out[i] = v;\n",
        {3: ("joined", (4,), (8,)), 4: ("absent", (4,), ())},
    ),
    "a structure": (
        "  global float *p = out + i * 8;\n  p[0] += p[3];\n  p[1] += p[4];\n",
        {4: ("joined", (4, 4), (12,)), 5: ("other", (4, 4), (4,))},
    ),
    "two": ("  float v = in[i];\n  float w = in[i + 512];\n  out[i] = v * w;\n",
            {3: ("kept", (4,), (4,)), 4: ("kept", (4,), (4,))}),
}  # fmt: skip


def observed(folder: Path, body: str, *, size: int = 256) -> Kernel:
    (folder / "k.cl").write_text(f"{HEAD}{body}}}\n")
    arguments = ["random:float:4096", "zeros:float:4096", "7"]
    observe(folder / "k.cl", size=[size], group=[64], arguments=arguments, device="dg2", recording=folder / "k.klens")
    (program,) = open_file(folder / "k.klens").programs
    return program.kernels["k"]


def test_what_one_lane_stores_is_no_mismatch(tmp_path: Path) -> None:
    """The code stores once for a whole sub-group where one of its lanes does, to local memory too."""
    body = (
        "  local float tile[66];\n  int l = get_local_id(0);\n  tile[l + 1] = in[i];\n  if (l == 0)\n"
        "    tile[0] = in[i + 1];\n  barrier(CLK_LOCAL_MEM_FENCE);\n  out[i] = tile[l];\n"
    )
    (store,) = (
        each
        for each in machine_accesses(observed(tmp_path, body))
        if each.kind == "store" and each.line[1] == 7 and each.space == "slm"
    )
    assert (store.state, store.source, store.code) == ("uniform", (4,), (4,))
    assert machine_sentence(store) == (
        "as the machine code has it: 1 store of 4 bytes of local memory: once for a whole sub-group"
    )
    apart = replace(store, state="other")
    assert "do not match" not in (machine_sentence(apart) or "")


@pytest.mark.parametrize("name", CASES)
def test_what_became_of_loads(name: str, tmp_path: Path) -> None:
    body, expected = CASES[name]
    kernel = observed(tmp_path, body)
    loads = {
        each.line[1]: (each.state, each.source, each.code) for each in machine_accesses(kernel) if each.kind == "load"
    }
    assert loads == expected
    # Held against the messages of each line: all their bytes, at full lanes, are those of the answer.
    assert kernel.source_map is not None
    for line, (_, _, code) in loads.items():
        messages = [
            kind.access
            for row, kind in enumerate(kernel.instructions.kinds)
            if kind.access is not None
            and kind.access.action == "load"
            and (place := kernel.source_map.place(row)) is not None
            and place.line == line
        ]
        lanes = kernel.resources.simd or 1
        if all(each.lanes > 1 for each in messages):
            assert sum(each.size or 0 for each in messages) == lanes * sum(code)


def test_joined_accesses_move_between_one_and_all(tmp_path: Path) -> None:
    """Four neighbours are one vector: what the source's first access touches, the others touch again."""
    kernel = observed(tmp_path, CASES["four fields"][0])
    (load,) = (each for each in machine_accesses(kernel) if each.kind == "load")
    assert load.units == (4 * 256 * 4 // 64, 4 * 4 * 256 * 4 // 64)
    vector = observed(tmp_path, "  float4 v = vload4(i, in);\n  out[i] = v.x + v.y + v.z + v.w;\n")
    (whole,) = (each for each in machine_accesses(vector) if each.kind == "load")
    assert whole.units == (load.units[0], load.units[0])


def test_the_listing_says_it(tmp_path: Path) -> None:
    observed(tmp_path, CASES["part of another line's"][0])
    words = ("annotate", "k.klens", "--json")
    done = run(*words, cwd=tmp_path)
    check_printed(list(words), done.stdout)
    ((kernel,),) = (program["kernels"] for program in json.loads(done.stdout)["programs"])
    entries: list[dict[str, Any]] = [each for each in kernel["machine_accesses"] if each["kind"] == "load"]
    assert [(each["line"], each["state"], each["units"]) for each in entries] == [
        (3, "joined", None),
        (4, "absent", None),
    ]
    text = run("annotate", "k.klens", cwd=tmp_path).stdout
    assert f"  k.cl:4: {entries[1]['sentence']}\n" in text
    lines = [line.strip() for line in text.split("\n")]
    (at,) = (number for number, line in enumerate(lines) if line.endswith("float v = in[i + 3];"))
    assert lines[at + 1] == entries[0]["sentence"]
    assert "became 1 load of 8 bytes, with those of other rounds or lines" in entries[0]["sentence"]


def test_what_the_code_mends_is_no_cause(tmp_path: Path) -> None:
    """Of four neighbours each wastes three quarters as the source is written; the vector that the code loads wastes nothing."""
    kernel = observed(tmp_path, CASES["four fields"][0])
    (launch,) = kernel.behaviours
    assert {cause.kind for cause in observed_causes(launch, {})} == {"strided access"}
    (program,) = open_file(tmp_path / "k.klens").programs
    assert causes_of_kernel(program, kernel) == ()
    far = observed(tmp_path, "  out[i] = in[16 * i] + in[16 * i + 1] + in[16 * i + 2] + in[16 * i + 3];\n")
    (program,) = open_file(tmp_path / "k.klens").programs
    assert {access.state for access in machine_accesses(far) if access.kind == "load"} == {"joined"}
    (cause,) = causes_of_kernel(program, far)
    # Of the 34 units that each sub-group moves so, loads and the store, 24 are waste.
    assert (cause.kind, cause.wasted, round(cause.share or 0, 3)) == ("strided access", 8 * 24, round(24 / 34, 3))
