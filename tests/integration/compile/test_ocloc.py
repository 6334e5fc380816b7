"""The offline compilers of both toolchains: results, failures, names in line tables."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from pathlib import Path

import pytest

import kernlens
from kernlens.errors import NotFoundError, ToolError
from kernlens.model.build import Source
from kernlens.toolchain.child import Child
from kernlens.toolchain.diagnostics import error_lines
from kernlens.toolchain.ocloc import compile_source, compiler, devices_of
from kernlens.toolchain.parallel_compiles import CompileJob, compile_many
from kernlens.toolchain.toolchains import Toolchain, find_toolchains
from tests.integration.toolchain.toolchain_fixtures import SCALE, SCALE_HEADER, each, newest, scale, system

__all__ = ["each", "newest", "scale", "system"]

LINES = "-gline-tables-only"


def line_table_paths(blob: bytes, tmp_path: Path) -> str:
    """What readelf prints of the line tables of every ELF file in ``blob`` (CTNI debug data holds one per kernel)."""
    printed = ""
    for start in [match.start() for match in re.finditer(rb"\x7fELF\x02", blob)]:
        part = tmp_path / "part.elf"
        part.write_bytes(blob[start:])
        done = subprocess.run(["readelf", "--debug-dump=decodedline", part], capture_output=True, check=False)
        printed += done.stdout.decode()
    return printed


def instructions(binary: bytes, name: str, newest: Toolchain, tmp_path: Path) -> list[str]:
    """The kernel's instructions as iga64 prints them, without the four to null that hold a hash of the input."""
    path, code = tmp_path / "whole.elf", tmp_path / "code"
    path.write_bytes(binary)
    subprocess.run(["objcopy", "-I", "elf64-little", "-O", "binary", "-j", f".text.{name}", path, code], check=True)
    listing = subprocess.run(newest.command("iga64", "-p=xe2", "-d", str(code)), capture_output=True, check=True)
    lines = listing.stdout.decode().splitlines()
    rows = [line for line in lines if not re.search(r"mov \(16\|M0\) +null<1>:ud +0x[0-9A-F]{1,8}:ud", line)]
    assert len(rows) == len(lines) - 4
    return rows


def test_a_source_with_a_header_of_its_own_folder(each: Toolchain, scale: Path, tmp_path: Path) -> None:
    result = compile_source(scale, "dg2", LINES, each)
    assert result.ok, result.log
    assert result.reason is None
    assert result.binary.startswith(b"\x7fELF")
    assert result.spirv[:4] == b"\x03\x02\x23\x07"
    assert result.sources == (Source(str(scale), SCALE), Source(str(scale.parent / "scale.h"), SCALE_HEADER))
    assert result.options == LINES
    printed = line_table_paths(result.debug or result.binary, tmp_path)
    # Both lie in the folder that DW_AT_comp_dir names, so the table gives them without it.
    assert re.search(r"^scale\.cl +5 ", printed, re.MULTILINE)
    assert re.search(r"^scale\.h +3 ", printed, re.MULTILINE)
    assert "<stdin>" not in printed
    assert str(scale.parent).encode() in (result.debug or result.binary)


def test_naming_the_source_does_not_change_the_code(newest: Toolchain, scale: Path, tmp_path: Path) -> None:
    """The same compile by hand, without what kernlens adds for the line table's sake."""
    ours = compile_source(scale, "bmg", LINES, newest)
    command = newest.command(compiler(newest), "compile", "-file", "scale.cl", "-device", "bmg", "-options", LINES)
    command += ["-output", "plain", "-output_no_suffix", "-out_dir", str(tmp_path)]
    subprocess.run(command, cwd=scale.parent, check=True, capture_output=True)
    plain = (tmp_path / "plain.bin").read_bytes()
    code = instructions(ours.binary, "scale", newest, tmp_path)
    assert len(code) > 20
    assert code == instructions(plain, "scale", newest, tmp_path)


def test_include_folders_relative_to_the_working_folder(
    each: Toolchain, scale: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = tmp_path / "my headers"
    headers.mkdir()
    (scale.parent / "scale.h").rename(headers / "scale.h")
    monkeypatch.chdir(tmp_path)
    result = compile_source(scale, "dg2", f'{LINES} -I "my headers"', each)
    assert result.ok, result.log
    assert [source.path for source in result.sources] == [str(scale), str(headers / "scale.h")]


def test_options_as_words(each: Toolchain, scale: Path, tmp_path: Path) -> None:
    folder = tmp_path / "my headers"
    folder.mkdir()
    (scale.parent / "scale.h").rename(folder / "scale.h")
    words = [LINES, f"-I{folder}", "-D", "UNUSED=1 + 2", "-DALSO=1 + 2"]
    (program,) = kernlens.compile(scale, "dg2", options=words, toolchain=each.name)
    assert [Path(source.path).name for source in program.sources] == ["scale.cl", "scale.h"]
    assert len(kernlens.stages(scale, "dg2", options=words, toolchain=each.name)) > 5


def test_nothing_is_left_behind(each: Toolchain, scale: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, temporary = tmp_path / "work", tmp_path / "temporary"
    work.mkdir()
    temporary.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    assert compile_source(scale, "dg2", "", each).ok
    assert list(work.iterdir()) == []
    assert list(temporary.iterdir()) == []


def test_the_same_compile_twice_gives_the_same_bytes(each: Toolchain, scale: Path) -> None:
    first, second = (compile_source(scale, "dg2", LINES, each) for _ in range(2))
    assert hashlib.sha256(first.binary).hexdigest() == hashlib.sha256(second.binary).hexdigest()


def test_a_syntax_error_is_told_with_its_place(each: Toolchain, tmp_path: Path) -> None:
    source = tmp_path / "wrong.cl"
    source.write_text("kernel void a(global float *p) { p[0] = 1 }\nint f(int a) { return b; }\n")
    for options in ("", LINES, "-g"):
        result = compile_source(source, "dg2", options, each)
        assert not result.ok
        assert result.binary == b""
        errors = [error for error in error_lines(result.log, result.path) if error.severity == "error"]
        assert [(error.path, error.line) for error in errors] == [(str(source), 1), (str(source), 2)]
        assert errors[1].message == "use of undeclared identifier 'b'"
        assert errors[1].column == 23
        assert result.reason is not None
        assert "expected ';'" in result.reason
        assert "and 1 more" in result.reason


def test_an_error_inside_a_header_names_the_header(each: Toolchain, scale: Path) -> None:
    header = scale.parent / "scale.h"
    header.write_text("float scaled(float value, float factor)\n{\n    return missing;\n}\n")
    result = compile_source(scale, "dg2", LINES, each)
    assert not result.ok
    error = next(error for error in error_lines(result.log, result.path) if error.severity == "error")
    assert (os.path.abspath(error.path), error.line) == (str(header), 3)


def test_a_missing_header_and_a_wrong_option(each: Toolchain, scale: Path) -> None:
    (scale.parent / "scale.h").unlink()
    missing = compile_source(scale, "dg2", LINES, each)
    assert missing.reason is not None
    assert "'scale.h' file not found" in missing.reason
    scale.write_text("kernel void a(global float *p) { p[0] = 1; }\n")
    option = compile_source(scale, "dg2", "-bogus", each)
    assert option.reason is not None
    assert "-bogus" in option.reason


def test_spirv_as_input(each: Toolchain, scale: Path, tmp_path: Path) -> None:
    first = compile_source(scale, "dg2", "", each)
    module = tmp_path / "module.bin"
    module.write_bytes(first.spirv)
    again = compile_source(module, "dg2", "", each)
    assert again.ok, again.log
    assert b"scale" in again.binary
    assert again.sources == ()
    module.write_bytes(first.spirv[:20] + os.urandom(400))
    garbage = compile_source(module, "dg2", "", each)
    assert not garbage.ok
    assert garbage.reason


def test_devices_are_those_that_ocloc_lists_without_families(system: Toolchain) -> None:
    known = devices_of(system)
    assert {"skl", "icllp", "tgllp", "dg2", "pvc"} <= set(known)
    assert not {"xe", "gen9", "xe-hpg", "version"} & set(known)


def test_devices_of_the_newest(newest: Toolchain) -> None:
    known = devices_of(newest)
    assert {"tgllp", "dg2", "mtl", "pvc", "bmg", "lnl", "ptl"} <= set(known)
    assert "skl" not in known
    assert not {"xe2", "xe3", "xe2-hpg", "gen12lp"} & set(known)


def test_an_unknown_device_offers_the_nearest(system: Toolchain, scale: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no device 'dg3'; did you mean dg2"):
        compile_source(scale, "dg3", "", system)


def test_a_device_of_another_toolchain(system: Toolchain, newest: Toolchain, scale: Path) -> None:
    with pytest.raises(NotFoundError, match=f"add --toolchain {newest.name}"):
        compile_source(scale, "bmg", "", system)


def test_devices_by_number(each: Toolchain, scale: Path) -> None:
    assert compile_source(scale, "12.55.8", "", each).ok
    unknown = compile_source(scale, "99.1.2", "", each)
    assert unknown.reason is not None
    assert "99.1.2" in unknown.reason


def test_an_empty_source(each: Toolchain, tmp_path: Path) -> None:
    """ocloc itself ends with a number and no word."""
    source = tmp_path / "empty.cl"
    source.touch()
    build = compile_source(source, "dg2", "", each)
    assert build.reason == f"{source} does not compile for dg2: the file is empty; write a kernel into it"


def test_a_source_that_is_not_there(system: Toolchain, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"gone\.cl"):
        compile_source(tmp_path / "gone.cl", "dg2", "", system)


def test_a_compile_that_takes_too_long(system: Toolchain, scale: Path) -> None:
    with pytest.raises(ToolError, match=r"did not finish within 0\.01 s") as caught:
        compile_source(scale, "dg2", "", system, timeout=0.01)
    assert caught.value.command is not None


def test_many_compiles(system: Toolchain, scale: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.cl"
    wrong.write_text("kernel void a( {")
    jobs = [CompileJob(scale, device, system, LINES) for device in ("skl", "dg2", "pvc", "nonsense")]
    jobs.append(CompileJob(wrong, "dg2", system))
    seen = []
    numbered = list(compile_many(jobs, 2, lambda done, total, result: seen.append((done, total, result.device))))
    assert [(done, total) for done, total, _ in seen] == [(n, 5) for n in range(1, 6)]
    results = [result for _, result in numbered]
    assert {index: (result.path, result.device) for index, result in numbered} == {
        index: (str(job.source), job.device) for index, job in enumerate(jobs)
    }
    outcome = {(Path(result.path).name, result.device): result for result in results}
    assert {key for key, result in outcome.items() if result.ok} == {
        ("scale.cl", "skl"),
        ("scale.cl", "dg2"),
        ("scale.cl", "pvc"),
    }
    assert "no device 'nonsense'" in (outcome["scale.cl", "nonsense"].reason or "")
    assert "error" in outcome["wrong.cl", "dg2"].log


def test_stopping_early_ends_the_running_compiles(
    system: Toolchain, scale: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[Child] = []
    kill = Child.kill

    def count(child: Child) -> None:
        killed.append(child)
        kill(child)

    monkeypatch.setattr(Child, "kill", count)
    slow = scale.parent / "slow.cl"
    body = "\n".join(f"    x = sin(x * {n}.5f) + cos(x) * tan(x + {n});" for n in range(400))
    slow.write_text(f"kernel void slow(global float *p) {{\n    float x = p[0];\n{body}\n    p[0] = x;\n}}\n")
    jobs = [CompileJob(scale, "dg2", system), *(CompileJob(slow, "dg2", system) for _ in range(6))]
    results = compile_many(jobs, 2)
    assert next(results)[1].ok
    results.close()  # type: ignore[attr-defined]
    assert killed
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(slow) not in running


def test_both_toolchains_are_found(system: Toolchain, newest: Toolchain) -> None:
    result = {chain.name: chain for chain in find_toolchains()}
    assert next(iter(result)) == "system"
    assert system.release is not None
    assert newest.release is not None
    assert system.release < newest.release
    assert [path.name for path in newest.iga_libraries] == ["libiga64.so.2"]
    assert result[newest.name] == newest
    assert newest.igc_version is not None
    assert newest.igc_version.startswith("2.")
