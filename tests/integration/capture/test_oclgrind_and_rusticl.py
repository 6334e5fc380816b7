"""Programs of Oclgrind and Rusticl: their binary is the LLVM bitcode that Oclgrind interprets, or holds SPIR-V, and that is
their stage."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernlens.loading import open_file
from kernlens.recording.reader import Recording
from kernlens.runtime.driver_environment import DriverEnvironment
from tests.integration.capture.capture_fixtures import captured, folder
from tests.integration.cli.test_cli import kernlens
from tests.integration.drivers.live_fixtures import run_script
from tests.integration.layers.opencl_layer_fixtures import Platform

__all__ = ["folder"]

LIBRARY = Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so")
RUSTICL, BUILT_INS = Path("/usr/lib/x86_64-linux-gnu/libRusticlOpenCL.so.1"), Path("/usr/lib/clc/spirv64-mesa3d-.spv")


@pytest.fixture
def oclgrind(tmp_path: Path) -> Platform:
    if not LIBRARY.is_file():
        pytest.skip("Oclgrind is not installed: apt-get install oclgrind")
    return Platform("Oclgrind", {"OCL_ICD_VENDORS": str(LIBRARY), "OCL_ICD_FILENAMES": str(LIBRARY)}, late="")


def test_the_stages_and_symbols_of_a_captured_program(oclgrind: Platform, folder: Path, tmp_path: Path) -> None:
    done = captured(oclgrind, folder, tmp_path, str(folder / "app"), "source", options=("--stages",))
    assert "no stages of" not in done.err
    (build,) = Recording(str(done.recording)).builds()
    forms = {(snapshot.stage, snapshot.form): snapshot.content for snapshot in build.snapshots}
    assert set(forms) == {("llvm-interpreted", "binary"), ("llvm-interpreted", "text")}
    bitcode = forms["llvm-interpreted", "binary"]
    assert bitcode == build.binary
    names = subprocess.run(
        ["llvm-nm-15", "--just-symbol-name", "-"], input=bitcode, capture_output=True, check=True, timeout=60
    ).stdout.decode()
    (program,) = open_file(str(done.recording)).programs
    assert {symbol.name for symbol in program.symbols} == {name for name in names.split() if "llvm." not in name}
    assert {symbol.name for symbol in program.symbols if symbol.kind == "kernel"} == {"add", "multiply"}
    assert b"define dso_local spir_kernel void @add(" in forms["llvm-interpreted", "text"]
    shown = kernlens("stages", done.recording)
    assert "LLVM bitcode that Oclgrind interprets, the program's binary" in shown.stdout
    listed = kernlens("symbols", done.recording)
    assert "kernels: add, multiply" in listed.stdout
    refused = kernlens("disasm", done.recording)
    assert "contains the stages of a compile but no machine code" in refused.stderr


def test_a_line_is_followed_into_what_is_interpreted(oclgrind: Platform, folder: Path, tmp_path: Path) -> None:
    done = captured(oclgrind, folder, tmp_path, str(folder / "app"), "source")
    (build,) = Recording(str(done.recording)).builds()
    line = next(number for number, text in enumerate(build.sources[0].text.splitlines(), 1) if "get_global_id" in text)
    shown = kernlens("stages", done.recording, "--line", str(line))
    assert "get_global_id" in shown.stdout


def test_a_live_program(oclgrind: Platform, tmp_path: Path) -> None:
    source = tmp_path / "own.cl"
    source.write_text("kernel void own(global int *out) { *out = N; }")
    answers = run_script(DriverEnvironment("oclgrind", oclgrind.environment), "other_platform", "Oclgrind", str(source))
    assert answers["stages"] == ["source", "llvm-interpreted"]
    assert answers["sizes"] == [answers["binary"]]
    assert "the program is one of Oclgrind for Oclgrind Simulator" in answers["after"]


def test_a_program_of_rusticl(folder: Path, tmp_path: Path) -> None:
    if not RUSTICL.exists() or not BUILT_INS.exists():
        pytest.skip("Rusticl is not installed: apt-get install mesa-opencl-icd libclc-15")
    variables = {
        "OCL_ICD_VENDORS": str(RUSTICL),
        "OCL_ICD_FILENAMES": str(RUSTICL),
        "RUSTICL_ENABLE": "swrast,llvmpipe",
    }
    under = Platform("rusticl", variables, late="")
    done = captured(under, folder, tmp_path, str(folder / "app"), "source", options=("--stages",))
    assert "no stages of" not in done.err
    (build,) = Recording(str(done.recording)).builds()
    forms = {(snapshot.stage, snapshot.form): snapshot.content for snapshot in build.snapshots}
    assert set(forms) == {("spirv", "binary"), ("spirv", "text")}
    assert build.binary.endswith(forms["spirv", "binary"])
    compiled = kernlens("compile", done.recording, "--device", "dg2", "-o", tmp_path / "dg2.klens")
    assert compiled.returncode == 0, compiled.stderr
    source = tmp_path / "own.cl"
    source.write_text("kernel void own(global int *out) { *out = N; }")
    answers = run_script(DriverEnvironment("rusticl", variables), "other_platform", "rusticl", str(source))
    assert answers["stages"] == ["source", "spirv"]
    assert 0 < answers["binary"] - answers["sizes"][0] < 100
