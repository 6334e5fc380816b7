"""What ``kernlens capture`` says at its end: each reason and each next step only where it is one."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import kernlens
from kernlens.recording.reader import Recording
from kernlens.toolchain.toolchains import NEWEST, SYSTEM, Toolchain
from tests.integration.capture.capture_fixtures import MAIN, Done, captured, dg2, environment, folder, platform
from tests.integration.capture.level_zero_capture_fixtures import SOURCES, UNTRACED, Driver, level_zero_folder
from tests.integration.cli.test_cli import kernlens as kernlens_command
from tests.integration.drivers.live_fixtures import compile_spirv
from tests.integration.layers.opencl_layer_fixtures import Platform
from tests.integration.toolchain.toolchain_fixtures import newest

__all__ = ["dg2", "folder", "level_zero_folder", "newest", "platform"]

OFFER = "with source lines: the same capture with --lines"
FROM_BINARIES = "came from binaries, so their sources are not known; "


def reasons(done: Done) -> set[str | None]:
    return {
        kernel.line_table_reason for program in kernlens.load(done.recording) for kernel in program.kernels.values()
    }


def test_lines_are_offered_where_they_can_be_had(dg2: Platform, folder: Path, tmp_path: Path) -> None:
    app = str(folder / "app")
    for way in ("source", "link"):
        without = captured(dg2, folder, tmp_path, app, way)
        assert OFFER in without.err, way
        done = captured(dg2, folder, tmp_path, app, way, options=("--lines",))
        assert OFFER not in done.err
        assert reasons(done) == {None}, "the offer holds"


@pytest.mark.parametrize("lines", [False, True])
def test_spirv_gets_its_lines_when_it_is_made(lines: bool, dg2: Platform, folder: Path, tmp_path: Path) -> None:
    flags = ("-debug-info-kind=line-tables-only", "-dwarf-version=4") if lines else ()
    compile_spirv(SOURCES["constants"], tmp_path / "module.cl", *flags)
    for options in ((), ("--lines",)):
        words = (str(folder / "app"), "constants")
        module = {"MODULE": str(tmp_path / "module.spv")}
        done = captured(dg2, folder, tmp_path, *words, options=options, **module)
        (reason,) = reasons(done)
        assert OFFER not in done.err
        assert reason is None if lines else reason and reason.startswith("the SPIR-V that the program was made from")


@pytest.mark.parametrize("driver", [SYSTEM, NEWEST])
def test_modules_without_lines(driver: str, level_zero_folder: Path, tmp_path: Path, newest: Toolchain) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in SOURCES:
        compile_spirv(SOURCES[name], bare / f"{name}.cl")
    under = Driver(newest.name if driver == NEWEST else SYSTEM, "dg2", level_zero_folder)
    for options in ((), ("--lines",)):
        done = under.captured(tmp_path, under.app[0], str(bare), "spirv", options=options, variables=UNTRACED)
        (reason,) = reasons(done)
        assert reason is not None
        assert reason.startswith("the SPIR-V that the program was made from holds no lines")
        assert OFFER not in done.err


def test_zebin_of_the_older_drivers(level_zero_folder: Path, dg2: Platform, folder: Path, tmp_path: Path) -> None:
    zebin = {"IGC_EnableZEBinary": "1"}
    done = captured(dg2, folder, tmp_path, str(folder / "app"), "source", options=("--lines",), **zebin)
    (reason,) = reasons(done)
    assert reason is not None
    assert "NEO 22.43's drivers leave it out of zebin" in reason
    under = Driver(SYSTEM, "dg2", level_zero_folder)
    done = under.captured(tmp_path, "spirv", variables=UNTRACED | zebin)
    (reason,) = reasons(done)
    assert reason is not None
    assert "NEO 22.43's drivers leave it out of zebin" in reason
    assert OFFER not in done.err


def test_programs_from_binaries_of_another_run(dg2: Platform, folder: Path, tmp_path: Path) -> None:
    """The first run has pyopencl keep a binary, which the second loads."""
    devices = "import pyopencl as cl; devices = cl.get_platforms()[0].get_devices()"
    build = f"{devices}; cl.Program(cl.Context(devices), 'kernel void f(global int *a) {{ a[0] = 1; }}').build()"
    words, cache = (MAIN[0], "-c", build), {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    for options in ((), ()):
        done = captured(dg2, folder, tmp_path, *words, options=options, **cache)
    assert f"1 of 1 program {FROM_BINARIES}--fresh-cache gives the application empty caches" in done.err
    recorded = tmp_path / "binary"
    recorded.write_bytes(done.builds[0].binary)
    load = f"{devices}; cl.Program(cl.Context(devices), devices, [open({str(recorded)!r}, 'rb').read()]).build()"
    done = captured(dg2, folder, tmp_path, MAIN[0], "-c", load, options=("--fresh-cache",), **cache)
    assert f"1 of 1 program {FROM_BINARIES}its caches were empty, so it brings them along" in done.err


OWN_BINARIES = "came from binaries that the application built in this run, whose sources are recorded"


def test_programs_from_binaries_of_the_same_run(
    platform: Platform, folder: Path, tmp_path: Path, level_zero_folder: Path
) -> None:
    """Empty caches would change nothing, so they are not advised."""
    for options in ((), ("--fresh-cache",)):
        done = captured(platform, folder, tmp_path, str(folder / "app"), "binary", options=options)
        assert f"1 of 2 programs {OWN_BINARIES}" in done.err
        assert FROM_BINARIES not in done.err
    under = Driver(SYSTEM, "dg2", level_zero_folder)
    done = under.captured(tmp_path, "native", options=("--lines",), variables=UNTRACED)
    assert OWN_BINARIES in done.err
    assert FROM_BINARIES not in done.err


def test_a_program_without_kernels_has_nothing_to_compare(dg2: Platform, folder: Path, tmp_path: Path) -> None:
    devices = "import pyopencl as cl; devices = cl.get_platforms()[0].get_devices()"
    build = f"{devices}; cl.Program(cl.Context(devices), 'int f(int a) {{ return a; }}').build()"
    done = captured(dg2, folder, tmp_path, MAIN[0], "-c", build, options=("--lines",), PYOPENCL_NO_CACHE="1")
    assert done.status == 0, done.err
    assert "1 build, 0 kernels" in done.err
    assert "is not known" not in done.err


def test_a_capture_within_a_capture(dg2: Platform, folder: Path, tmp_path: Path) -> None:
    def nested(*script: str) -> dict[str, object]:
        command = [*MAIN, "capture", "-o", "outer.klens", "--json-file", "outer.json", "--"]
        words = ["sh", "-c", "; ".join(script), "sh", *MAIN]
        subprocess.run(
            [*command, *words], cwd=tmp_path, env=environment(dg2), check=True, timeout=120, capture_output=True
        )
        answer: dict[str, object] = json.loads((tmp_path / "outer.json").read_text())
        return answer

    inner, own = f'"$@" capture -o inner.klens -- {folder}/app source', f"{folder}/app source"
    told = f"what kernlens capture recorded that ran within this one is in {tmp_path}/inner.klens, and not here"
    document = nested(inner)
    assert document["reason"] == "nothing was built but by applications that kernlens capture ran within this one"
    assert document["findings"] == [told]
    document = nested(own, inner)
    assert (document["builds"], document["reason"], document["findings"]) == (1, None, [told])
    shared = 'eval "$("$@" layer --capture inner.klens)"'
    assert nested(shared, own)["findings"] == [told]
    assert kernlens.load(tmp_path / "inner.klens")


def test_an_application_that_builds_nothing(dg2: Platform, folder: Path, tmp_path: Path) -> None:
    """It only asks which devices there are; it finds no driver; it comes to no loader."""
    done = captured(dg2, folder, tmp_path, "clinfo", "-l")
    assert "clinfo: nothing was built: the application asked for OpenCL or Level Zero, and built no program" in done.err
    (tmp_path / "none").mkdir()
    for words, more in ((("clinfo", "-l"), {"OCL_ICD_VENDORS": str(tmp_path / "none")}), (("true",), {})):
        done = captured(dg2, folder, tmp_path, *words, options=(), **more)
        # Who looks at the process may see its loader, or come too late.
        assert re.search(r"nothing was built that kernlens can see: .*it found no driver \(kernlens doctor\)", done.err)
    assert os.listdir(tmp_path / "none") == []


@pytest.mark.parametrize(("device", "driver"), [("dg2", SYSTEM), ("bmg", NEWEST)])
def test_objects_are_of_the_simulated_device(
    device: str, driver: str, folder: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """What clCompileProgram makes names no device, and the driver calls a simulated one Intel(R) Graphics [0x0000]."""
    if driver == NEWEST:
        request.getfixturevalue("newest_root")
    words = (
        "--simulate",
        device,
        "--toolchain",
        driver,
        "-o",
        tmp_path / "x.klens",
        "--",
        folder / "app",
        "link",
        "wrong",
    )
    assert kernlens_command("capture", *words).returncode == 0
    with Recording(tmp_path / "x.klens") as recording:
        assert {(build.ok, build.device) for build in recording.builds()} == {(True, device), (False, device)}
