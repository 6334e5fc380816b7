"""Kernels with inline assembly: Intel's compiler writes a line table for them whose lines are those of other instructions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import kernlens
from kernlens import compile
from kernlens.formats.listings.gen_assembly import read_gen_assembly_lines
from kernlens.loading.absent_lines import ASSEMBLY
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.toolchain.toolchains import NEWEST, SYSTEM

MULTIPLY = "mul (M1, 16) %0(0,0)<1> %0(0,0)<1;1,0> %0(0,0)<1;1,0>"
THREE = f"{{\\n.decl T v_type=G type=f num_elts=16\\n{MULTIPLY}\\n{MULTIPLY}\\n{MULTIPLY}\\n}}"
SOURCE = """\
{helper}
__attribute__((intel_reqd_sub_group_size(16)))
kernel void assembly(global float *a)
{{
    int i = get_global_id(0);
    float x = a[i] + 3;
    {use}
    float y = native_sin(x);
    float z = native_sqrt(y);
    a[i] = native_exp2(z);
}}

__attribute__((intel_reqd_sub_group_size(16)))
kernel void beside(global float *a) {{ a[get_global_id(0)] = native_sin(a[get_global_id(0)]); }}
"""
#: An application that links what it compiled.
LINKING = """\
import pyopencl as cl
platforms = [platform for platform in cl.get_platforms() if "Intel" in platform.name]
device, = [device for platform in platforms for device in platform.get_devices() if device.type == cl.device_type.GPU]
context = cl.Context([device])
parts = [open({source!r}).read(), "kernel void other(global float *a) {{ *a = native_sin(*a); }}"]
programs = [cl.Program(context, part).compile() for part in parts]
cl.link_program(context, programs).all_kernels()
"""
INLINE = '__asm__ volatile("{}" : "+rw"(x));'
ROOT = 9


def compiled(work: Path, device: str, text: str, *, in_helper: bool = False, stages: bool = False) -> Program:
    """Compile a kernel with this assembly, and one without beside it."""
    use = INLINE.format(text)
    helper = f"float helper(float x) {{ {use} return x; }}" if in_helper else ""
    source = work / "assembly.cl"
    source.write_text(SOURCE.format(helper=helper, use="x = helper(x);" if in_helper else use))
    toolchain = NEWEST if device == "bmg" else SYSTEM
    if stages:
        command = ["stages", str(source), "--device", device, "--toolchain", toolchain, "-o", str(work / "a.klens")]
        subprocess.run([sys.executable, "-m", "kernlens", *command], check=True, stdout=subprocess.DEVNULL)
        return kernlens.load(work / "a.klens")[0]
    (program,) = compile(source, [device], toolchain=toolchain)
    return program


def root(kernel: Kernel) -> int:
    """Return the offset of the instruction that line ``ROOT`` became, as its text shows."""
    rows = zip(kernel.instructions.offsets, kernel.instructions.texts, strict=True)
    (offset,) = (offset for offset, text in rows if "math.sqt" in text)
    return offset


@pytest.fixture(params=["dg2", "bmg"])
def device(request: pytest.FixtureRequest) -> str:
    if request.param == "bmg":
        request.getfixturevalue("newest_root")
    return str(request.param)


@pytest.mark.parametrize("text", [MULTIPLY, THREE])
def test_no_line_is_shown_where_assembly_shifts_them(device: str, text: str, tmp_path: Path) -> None:
    program = compiled(tmp_path, device, text)
    kernel = program.kernels["assembly"]
    table = kernel.table_as_held
    assert table is not None
    # The compiler's own table has the root on another line: once it has not, this guard can go.
    lines = [line for line, offset in zip(table.lines, table.offsets, strict=True) if offset <= root(kernel)]
    assert lines[-1] != ROOT
    assert kernel.line_table is None
    assert kernel.source_map is None
    assert kernel.line_table_reason == ASSEMBLY
    assert kernel.variables_reason is not None
    assert program.kernels["beside"].source_map is not None, "its lines are its own"


def test_assembly_in_a_function_that_is_called(device: str, tmp_path: Path) -> None:
    program = compiled(tmp_path, device, THREE, in_helper=True)
    assert program.kernels["assembly"].line_table_reason == ASSEMBLY
    assert program.kernels["beside"].line_table_reason is None


def test_assembly_without_an_instruction_shifts_nothing(device: str, tmp_path: Path) -> None:
    kernel = compiled(tmp_path, device, "").kernels["assembly"]
    assert kernel.source_map is not None
    place = kernel.source_map.place_at(root(kernel))
    assert place is not None
    assert place.line == ROOT


@pytest.mark.parametrize("text", [MULTIPLY, THREE])
def test_kept_stages_tell_the_true_lines(device: str, text: str, tmp_path: Path) -> None:
    program = compiled(tmp_path, device, text, stages=True)
    kernel = program.kernels["assembly"]
    assert kernel.source_map is not None
    assert kernel.line_warning is not None
    assert kernel.variables == ()
    assert kernel.source_map.place_at(root(kernel)) is not None
    # IGC's listing has each instruction under its own line, from marks that it carried through the compile.
    (listing,) = (
        stage.listing
        for stage in program.build.snapshots
        if (stage.stage, stage.kernel, stage.form) == ("gen-assembly", "assembly", "text")
    )
    listed = read_gen_assembly_lines(listing).places
    pairs = [(ours, theirs) for ours, theirs in zip(kernel.source_map.places, listed, strict=False) if ours and theirs]
    assert len(pairs) > len(kernel.instructions) / 3
    assert [ours.line for ours, _ in pairs] == [theirs.line for _, theirs in pairs]


def test_annotate_says_why(tmp_path: Path) -> None:
    program = compiled(tmp_path, "dg2", THREE)
    (tmp_path / "a.bin").write_bytes(program.build.binary)
    command = [sys.executable, "-m", "kernlens", "annotate", str(tmp_path / "a.bin"), "--kernel", "assembly", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (document,) = json.loads(done.stdout)["programs"]
    assert document["kernels"][0]["line_table_reason"] == ASSEMBLY


def test_a_program_that_was_linked(tmp_path: Path) -> None:
    """Its binary has no SPIR-V: that of what it was linked from tells."""
    source = tmp_path / "assembly.cl"
    source.write_text(SOURCE.format(helper="", use=INLINE.format(THREE)))
    application = tmp_path / "linking.py"
    application.write_text(LINKING.format(source=str(source)))
    recording = tmp_path / "linked.klens"
    command = ["capture", "--simulate", "dg2", "--toolchain", SYSTEM, "--lines", "-o", str(recording)]
    done = subprocess.run(
        [sys.executable, "-m", "kernlens", *command, "--", sys.executable, str(application)],
        capture_output=True,
        text=True,
    )
    assert recording.exists(), done.stderr
    kernels = {name: kernel for program in kernlens.load(recording) for name, kernel in program.kernels.items()}
    assert kernels["assembly"].line_table_reason == ASSEMBLY
    assert kernels["beside"].line_table_reason is None
    assert kernels["other"].line_table_reason is None
