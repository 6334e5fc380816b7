"""Kernels of our own in the interpreter: how accesses become requests, faults, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from kernlens.dataclass import replace
from kernlens.errors import KernlensError, NotFoundError, ToolError, UnsupportedError
from kernlens.model.behaviour import Behaviour, ObservedLine
from kernlens.toolchain.oclgrind import oclgrind
from kernlens.verbs.observe.observe import observe
from tests.documents import check_printed

pytestmark = pytest.mark.skipif(
    not Path("/usr/lib/oclgrind/liboclgrind-rt.so").exists(), reason="no Oclgrind 21.10 (Debian 12's oclgrind)"
)


def run(
    folder: Path,
    body: str,
    arguments: Sequence[str] = ("zeros:float:256",),
    *,
    size: int = 64,
    group: int = 64,
    device: str | None = "h100",
    sub_group: int | None = None,
) -> Behaviour:
    """Run a kernel whose first line is line 1."""
    source = folder / "k.cl"
    source.write_text(body)
    return observe(
        source, size=[size], group=[group], arguments=arguments, device=device, sub_group=sub_group, uninitialized=True
    )


def line(observed: Behaviour, number: int) -> ObservedLine:
    return next(each for each in observed.lines if each.place.line == number)


def test_accesses_of_one_round_are_one_request(tmp_path: Path) -> None:
    """By their ordinals the first of one lane would stand beside the third of another, and hide the conflict."""
    observed = run(
        tmp_path,
        "kernel void k(global float *a)\n{\n local float s[32 * 32];\n int l = get_local_id(0);\n float v = 0;\n"
        " for (int m = 0; m < 32; m++)\n  if (l <= m)\n   s[l * 32 + m] = m;\n a[l] = v;\n}\n",
        size=32,
        group=32,
    )
    # In round m the lanes 0 to m write to the same bank.
    assert line(observed, 8).wavefronts == sum(range(1, 33))
    assert line(observed, 8).local_requests == 32


def test_an_access_wider_than_its_alignment_is_split_on_one_gpu(tmp_path: Path) -> None:
    text = "kernel void k(global float *a)\n{\n float4 v = vload4(get_global_id(0), a);\n vstore4(v, get_global_id(0), a);\n}\n"
    split, whole = run(tmp_path, text), run(tmp_path, text, device="gfx1100")
    assert (line(split, 3).requests, line(split, 3).units) == (8, 4 * 2 * 16)
    assert (line(whole, 3).requests, line(whole, 3).units) == (2, 2 * 4)
    assert line(split, 4) == replace(line(split, 3), place=line(split, 4).place)


def test_aligned_vectors_and_structures(tmp_path: Path) -> None:
    observed = run(
        tmp_path,
        "typedef struct { float x, y, z, w, v; } S;\nkernel void k(global float4 *a, global S *s)\n{\n"
        " int i = get_global_id(0);\n a[i] = a[63 - i];\n s[i] = s[63 - i];\n}\n",
        ("zeros:float4:64", "random:float:320"),
    )
    assert line(observed, 5).requests == 4  # a load and a store of 16 bytes, by two sub-groups
    assert line(observed, 5).units == 4 * 16
    # 20 bytes that are aligned to 4 go in five parts, each of which touches all 20 lines.
    assert line(observed, 6).requests == 2 * 2 * 5
    assert line(observed, 6).units == 2 * 2 * 5 * 20


@pytest.mark.parametrize(
    ("type_", "index", "wavefronts"),
    [
        ("float", "l", 2),
        ("float", "0", 2),
        ("float", "(l * 32) & 1023", 64),
        ("float", "(l * 33) & 1023", 2),
        ("float2", "l", 4),
        ("float2", "l / 2", 2),
        ("float4", "l", 8),
        ("float4", "l / 2", 4),
        ("float4", "0", 4),
    ],
)
def test_wavefronts_of_local_memory(type_: str, index: str, wavefronts: int, tmp_path: Path) -> None:
    """Wide accesses are served in halves and quarters, two of which join where neighbours read the same."""
    observed = run(
        tmp_path,
        f"kernel void k(global {type_} *a, local {type_} *s)\n{{\n int l = get_local_id(0);\n a[l] =\n  s[{index}];\n}}\n",
        (f"zeros:{type_}:64", "local:16384"),
    )
    assert line(observed, 5).wavefronts == wavefronts
    assert line(observed, 5).local_requests == 2


def test_constant_memory_and_inlined_functions(tmp_path: Path) -> None:
    observed = run(
        tmp_path,
        "float get(constant float *t, int i)\n{\n return t[i];\n}\nkernel void k(global float *a, constant float *t)\n{\n"
        " a[get_global_id(0)] = get(t, 0) + get(t, get_local_id(0));\n}\n",
        ("zeros:float:64", "random:float:64"),
    )
    loads = [each for each in observed.accesses if each.kind == "load" and each.space == "constant"]
    assert [(each.pattern, each.requests) for each in loads] == [("same address", 2), ("consecutive", 2)]
    assert {(each.place.line, each.calls[0].line) for each in loads if each.place} == {(3, 7)}


def test_atomics_count_addresses_and_contention(tmp_path: Path) -> None:
    observed = run(
        tmp_path,
        "kernel void k(global int *a)\n{\n atomic_add(&a[get_global_id(0) & 7], 1);\n atomic_inc(&a[9]);\n}\n",
        ("zeros:int:64",),
    )
    assert (line(observed, 3).atomics, line(observed, 3).units, line(observed, 3).contention) == (2, 2, 4)
    assert line(observed, 4).contention == 32
    shared = next(each for each in observed.accesses if each.place is not None and each.place.line == 4)
    assert (shared.kind, shared.distinct, shared.contention) == ("atomic", 2, 64)


def test_branches_and_loops(tmp_path: Path) -> None:
    observed = run(
        tmp_path,
        "kernel void k(global float *a)\n{\n int i = get_global_id(0);\n if (i & 1)\n  a[i] = 1;\n if (i < 32)\n  a[i] = 2;\n"
        " for (int k = 0; k < i; k++)\n  a[i] += k;\n}\n",
    )
    parted = {
        each.place.line: (each.parted, each.sub_groups, sorted(each.shares)) for each in observed.branches if each.place
    }
    assert parted[4] == (2, 2, [32, 32])
    assert parted[6] == (0, 2, [32, 32])
    (loop,) = observed.loops
    assert loop.place is not None
    assert (loop.place.line, loop.entries, loop.least, loop.most, loop.mean) == (8, 63, 1, 63, 32.0)
    assert loop.sub_group_rounds == (31 + 63) / 2


def test_the_width_of_a_sub_group(tmp_path: Path) -> None:
    text = "kernel void k(global float *a)\n{\n a[get_global_id(0)] = 1;\n}\n"
    for device, sub_group, width in (("gfx90a", None, 64), ("gfx1100", None, 32), (None, None, 32), ("h100", 8, 8)):
        observed = run(tmp_path, text, device=device, sub_group=sub_group)
        assert (observed.machine.width, line(observed, 3).requests) == (width, 64 // width)


@pytest.mark.skipif(shutil.which("ocloc") is None, reason="no compiler for Intel's GPUs")
def test_the_width_of_a_compiled_kernel(tmp_path: Path) -> None:
    text = "__attribute__((intel_reqd_sub_group_size(8))) kernel void k(global float *a)\n{\n a[get_global_id(0)] = 1;\n}\n"
    observed = run(tmp_path, text, device="dg2")
    assert (observed.machine.width, observed.unit, observed.machine.banks) == (8, 64, 16)
    assert line(observed, 3).requests == 8


FAULTS = [
    ("a[get_global_id(0) + 256] = 1;", "bounds", "a",
     "writes 4 bytes out of bounds, at byte 1,024 of its buffer of 1,024 bytes"),
    ("a[0] = a[get_global_id(0) - 1];", "bounds", "a",
     "reads 4 bytes out of bounds, 4 bytes in front of its buffer of 1,024 bytes"),
    ("a[0] += get_global_id(0);", "race", "a", "data race: one work-item .* the same bytes, .* at byte"),
    ("a[(get_global_id(0) + 1) & 63] = a[get_global_id(0)];", "race", "a", "data race: one work-item"),
    ("local int s[2]; s[0] = get_local_id(0); a[1] = 1;", "race", None,
     "data race: .*, at byte 0 of its variable s in local memory"),
    ("a[0] = get_global_id(0);", "race", "a", "data race: one work-item and another write the same bytes"),
    (
        "local int s[64]; a[get_global_id(0)] = s[get_local_id(0)];", "uninitialized", "a",
        "writes a value that was never set at byte 0 of its buffer of 1,024 bytes, computed from s",
    ),
    ("if (get_local_id(0) < 8) barrier(CLK_LOCAL_MEM_FENCE);", "barrier", None,
     "not all work-items of the work-group reach the barrier: 8 of 64 do, this work-item does not"),
    ("*(global int *)0 = 1;", "bounds", None, "writes 4 bytes out of bounds, at address 0x0, which is in no buffer"),
    ("local int s[8]; s[get_local_id(0)] = 1; a[get_global_id(0)] = s[0];", "bounds", None,
     "writes 4 bytes of local memory out of bounds, at byte 32 of its array s of 8 elements"),
    ("local int s[64]; s[get_local_id(0)] = 1; barrier(1); a[get_global_id(0)] = s[get_local_id(0) - 1];", "bounds", None,
     "reads 4 bytes of local memory out of bounds, 4 bytes in front of its array s of 64 elements"),
    ("int p[4] = {1, 2, 3, 4}; p[get_local_id(0) & 7] = 1; a[get_global_id(0)] = p[b[get_global_id(0)] == 1];", "bounds", None,
     "writes 4 bytes of private memory out of bounds, at byte 16 of its array p of 4 elements"),
    ("local int s[4][8]; s[1][get_local_id(0) % 10] = 1; a[get_global_id(0)] = s[1][0];", "bounds", None,
     "accesses an array of 8 elements out of bounds, at index 8"),
    ("global float4 *v = (global float4 *)(a + 1); v[0] = (float4)(1);", "other", None,
     "stores at an address that is not aligned for its type"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "kind", "argument", "sentence"), FAULTS)
def test_faults_have_lines_and_arguments(
    body: str, kind: str, argument: str | None, sentence: str, tmp_path: Path
) -> None:
    observed = run(
        tmp_path, f"kernel void k(global float *b, global float *a)\n{{\n\n {body}\n}}\n", ("zeros:float:256",) * 2
    )
    fault = next(each for each in observed.faults if each.kind == kind)
    assert fault.argument == argument
    assert re.match(sentence, fault.sentence)
    assert "Oclgrind" not in " ".join(each.sentence for each in observed.faults)
    assert (fault.places[0].line, fault.places[0].path) == (4, str(tmp_path / "k.cl"))
    assert fault.work_items
    keys = [(each.kind, each.argument, each.sentence.partition(",")[0]) for each in observed.faults]
    assert len(keys) == len(set(keys))


def test_constants_of_the_program_are_no_arguments(tmp_path: Path) -> None:
    text = (
        "constant float T[4] = {1, 2, 3, 4};\nkernel void k(global float *b, global float *a)\n{\n"
        " a[64 + get_global_id(0)] = T[get_global_id(0) & 3];\n}\n"
    )
    (fault,) = run(tmp_path, text, ("zeros:float:64", "zeros:float:64")).faults
    assert (fault.kind, fault.argument, fault.count) == ("bounds", "a", 64)


CLEAN = [
    "a[get_global_id(0)] = 1;",
    "if (get_global_id(0) == 0) a[0] = 1;",
    "local float s[64]; s[get_local_id(0)] = 1; barrier(CLK_LOCAL_MEM_FENCE); a[get_global_id(0)] = s[63 - get_local_id(0)];",
    "atomic_inc((global int *)a);",
    "for (int k = 0; k < 3; k++) { barrier(CLK_LOCAL_MEM_FENCE); a[get_global_id(0)] += k; }",
    "float4 v = vload4(get_global_id(0), a); v.x += 1; vstore4(v, get_global_id(0), a);",
]


@pytest.mark.parametrize("body", CLEAN)
def test_kernels_without_faults_are_silent(body: str, tmp_path: Path) -> None:
    assert run(tmp_path, f"kernel void k(global float *a)\n{{\n {body}\n}}\n").faults == ()


def test_what_relies_on_lockstep_is_not_counted(tmp_path: Path) -> None:
    observed = run(
        tmp_path,
        "kernel void k(global int *a)\n{\n volatile local int s[64];\n int l = get_local_id(0);\n s[l] = l;\n"
        " if (l < 16)\n  s[l] += s[l + 16];\n a[l] = s[l];\n}\n",
        ("zeros:int:64",),
    )
    assert (observed.lines, observed.accesses) == ((), ())
    assert "relies on lockstep" in observed.reason


RACES = {
    "a tree of several sub-groups": " for (int n = 128; n > 0; n >>= 1)\n  if (l < n)\n   s[l] += s[l + n];\n a[l] = s[0];",
    "the named pair is of one sub-group": " if (l == 0 || l == 1 || l == 40)\n  s[255] = l;\n a[l] = s[l];",
    "a race in global memory beside it": " if (l < 16)\n  s[l] += s[l + 16];\n a[0] = s[l];",
}


@pytest.mark.parametrize("body", RACES.values(), ids=RACES)
def test_a_race_of_several_sub_groups_is_no_lockstep(body: str, tmp_path: Path) -> None:
    observed = run(
        tmp_path,
        f"kernel void k(global int *a)\n{{\n volatile local int s[256];\n int l = get_local_id(0);\n s[l] = l;\n{body}\n}}\n",
        ("zeros:int:256",),
        size=256,
        group=256,
    )
    races = [each for each in observed.faults if each.kind == "race"]
    assert (observed.reason, bool(observed.lines)) == ("", True)
    assert races
    assert not all(each.is_lockstep for each in races)
    if "128" in body:  # The pair that is told is one of two sub-groups.
        assert len({x // 32 for x, _, _ in races[0].work_items}) == 2


def test_what_the_interpreter_cannot_run_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"Oclgrind cannot run .*sub_group_reduce_add; nothing was counted"):
        run(tmp_path, "kernel void k(global int *a)\n{\n a[get_global_id(0)] = sub_group_reduce_add(a[0]);\n}\n")
    with pytest.raises(ToolError, match=r"does not compile in Oclgrind: .*k\.cl:1:.*error"):
        run(tmp_path, "kernel void k(global int *a) { x; }\n")
    endless = "kernel void k(global int *a)\n{\n volatile int x = 1;\n while (x)\n  a[0] = x;\n}\n"
    (tmp_path / "endless.cl").write_text(endless)
    with pytest.raises(ToolError, match="not one work-group of k ended within 1 s"):
        observe(tmp_path / "endless.cl", size=[64], group=[64], arguments=["zeros:int:64"], seconds=1)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"arguments": []}, r"k takes 1 arguments \(float\* a\), and 0 are described"),
        ({"group": [48]}, r"work-groups of 48 do not divide 64 work-items"),
        ({"arguments": ["random:flot:4"]}, "flot is none of char"),
        ({"arguments": ["nowhere.npy"]}, "is neither random:TYPE:N"),
        ({"kernel": "other"}, "there is no kernel other; there are: k"),
    ],
)
def test_launches_that_do_not_fit(words: dict[str, list[str]], told: str, tmp_path: Path) -> None:
    source = tmp_path / "k.cl"
    source.write_text("kernel void k(global float *a)\n{\n a[get_global_id(0)] = 1;\n}\n")
    launch = {"size": [64], "group": [64], "arguments": ["zeros:float:64"], **words}
    with pytest.raises((KernlensError, NotFoundError), match=told):
        observe(source, **launch)  # type: ignore[arg-type]


def test_the_command(tmp_path: Path) -> None:
    source = tmp_path / "k.cl"
    source.write_text("kernel void k(global float *a)\n{\n a[get_global_id(0) * 2] = 1;\n}\n")
    words = [str(source), "--size", "64", "--group", "32", "--arg", "zeros:float:64", "--device", "h100"]

    def kernlens(*more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "kernlens", "observe", *words, *more]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        check_printed(["observe", *words, *more], done.stdout)
        return done

    done = kernlens("--json")
    document = json.loads(done.stdout)
    (first,) = [each for each in document["lines"] if each["line"] == 3]
    assert (first["requests"], first["units"], first["least_units"], first["lanes"]) == (2, 16, 8, 32.0)
    assert (document["work_groups"], document["faults"][0]["argument"]) == (2, "a")
    assert kernlens("--fail-on-faults").returncode == 1
    text = kernlens().stdout
    assert "Counted in an interpreter, on this data" in text
    assert "line 3, strided access: a store of 4 bytes touches 8 units of 32 bytes a request where 4 would do" in text
    assert kernlens("--csv").stdout.splitlines()[0].startswith("path,line,runs,sub_group_runs,lanes,requests,units")


def test_without_the_interpreter_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KERNLENS_TOOLCHAINS", str(tmp_path))
    monkeypatch.setattr("kernlens.toolchain.oclgrind._LIBRARY", "nowhere")
    with pytest.raises(UnsupportedError, match="kernlens toolchain add oclgrind"):
        oclgrind()


@pytest.mark.parametrize(("size", "status"), [(1 << 20, 2), (64, 0)])
def test_no_fault_is_said_of_what_ran_alone(size: int, status: int, tmp_path: Path) -> None:
    """A fault may be in a work-group that did not run."""
    source = tmp_path / "slow.cl"
    source.write_text(
        "kernel void slow(global float *a, global float *b)\n{\n    float v = 0;\n    for (int k = 0; k < 1000; k++)\n"
        "        v += a[k & 63];\n    b[get_global_id(0)] = v;\n}\n"
    )
    words = [
        "--size",
        str(size),
        "--group",
        "64",
        "--arg",
        "zeros:float:64",
        "--arg",
        f"zeros:float:{size}",
        "--seconds",
        "2",
        "--fail-on-faults",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "kernlens", "observe", str(source), *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, "is not known" in done.stderr) == (status, status == 2)
    assert "No fault in what ran" in done.stdout
