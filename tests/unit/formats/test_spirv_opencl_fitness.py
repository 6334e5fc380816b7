"""SPIR-V that no compiler for OpenCL can make anything of, and sources without kernels: every verb says the reason."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from kernlens.formats.spirv.opencl_fitness import why_unfit
from tests.unit.conftest import Kernlens
from tests.unit.toolchain.test_compile_cache import calls
from tests.writers.programs import spirv
from tests.writers.spirv import SpirvWriter

GRAPHICS = (
    SpirvWriter()
    .add(17, 1)
    .add(14, 0, 1)
    .add(15, 5, 4, "main")
    .add(19, 2)
    .add(33, 3, 2)
    .add(54, 2, 4, 0, 3)
    .add(248, 5)
    .add(253)
    .add(56)
    .build()
)
WHOLE = spirv(exports="given", imports="taken")


def starts(content: bytes) -> list[int]:
    """Where each instruction begins."""
    places, at = [], 20
    while at < len(content):
        places.append(at)
        at += 4 * (struct.unpack_from("<I", content, at)[0] >> 16)
    return places


def test_a_whole_module_is_fit() -> None:
    assert why_unfit(memoryview(WHOLE)) is None
    assert why_unfit(memoryview(spirv())) is None


def test_a_module_that_is_cut_off_is_not() -> None:
    """But where what is left is a whole module, as it ends before an entry point is named."""
    (entry,) = (at for at in starts(WHOLE) if WHOLE[at] == 15)
    assert [end for end in range(len(WHOLE)) if why_unfit(memoryview(WHOLE[:end])) is None] == [entry]
    assert "2 words, but 1 are left" in (why_unfit(memoryview(WHOLE[:24])) or "")
    assert "no memory model" in (why_unfit(memoryview(WHOLE[:20])) or "")
    within = starts(WHOLE)[-2]
    assert "ends within a function" in (why_unfit(memoryview(WHOLE[:within])) or "")
    alone = spirv()
    first_function = next(at for at in starts(alone) if alone[at] == 54)
    assert "function of its entry point work" in (why_unfit(memoryview(alone[:first_function])) or "")


@pytest.fixture
def inputs(tmp_path: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("cut.spv").write_bytes(WHOLE[:-6])
    Path("vulkan.spv").write_bytes(GRAPHICS)
    Path("pixels.bin").write_bytes(b"a text at first \0" + bytes(range(256)))
    Path("code.bc").write_bytes(b"BC\xc0\xde" + bytes(64))
    return compiler


REASONS = {
    "cut.spv": "spirv, offset 0x",
    "vulkan.spv": "it is SPIR-V for a graphics API such as Vulkan (memory model GLSL450, "
    "addressing model Logical, capability Shader); kernlens compiles SPIR-V for OpenCL",
}


@pytest.mark.parametrize("words", [("compile",), ("check", "--max-spill-bytes", "0"), ("sweep",), ("stages",)])
@pytest.mark.parametrize("name", REASONS)
def test_every_verb_that_compiles_says_why(words: tuple[str, ...], name: str, kernlens: Kernlens, inputs: Path) -> None:
    done = kernlens(*words, name, "--device", "skl")
    assert done.status == 3
    # Verbs whose answer has no column of toolchains name the toolchain here.
    printed = (done.out + done.err).replace(" (toolchain system)", "")
    assert f"{name} does not compile for skl: {REASONS[name]}" in printed
    assert "0 kernels recorded" not in done.out
    assert not Path(name).with_suffix(".klens").exists()
    assert calls(inputs) == 0  # What nobody can compile no compiler is asked for.


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("pixels.bin", "pixels.bin is neither OpenCL C nor SPIR-V: it contains NUL bytes"),
        ("code.bc", "code.bc is LLVM bitcode; translate it to SPIR-V first: llvm-spirv"),
    ],
)
def test_what_is_no_source_is_not_compiled(name: str, reason: str, kernlens: Kernlens, inputs: Path) -> None:
    done = kernlens("compile", name, "--device", "skl")
    assert (done.status, done.out) == (2, "")
    assert reason in done.err
    assert calls(inputs) == 0


def test_a_program_without_kernels_gets_a_hint(
    kernlens: Kernlens, inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernlens.verbs.compile.compiled_kernels", lambda build: [])
    Path("none.cl").write_text("int f(int x) { return x; }\n")
    Path("none.spv").write_bytes(spirv())
    done = kernlens("compile", "none.cl", "none.spv", "--device", "skl,dg2")
    assert done.status == 0
    assert done.err.count("\n") == 2
    assert "none.cl compiles, but has no kernel: write 'kernel' before the functions that are kernels" in done.err
    assert "none.spv compiles, but has no kernel: the module has no entry point; kernlens symbols none.spv" in done.err


def test_a_source_of_another_language_is_named(kernlens: Kernlens, inputs: Path) -> None:
    Path("fill.hlsl").write_text("broken\n")
    done = kernlens("compile", "fill.hlsl", "--device", "skl")
    assert done.status == 3
    assert "fill.hlsl has the extension of HLSL; kernlens compiles OpenCL C and SPIR-V for OpenCL" in done.err
