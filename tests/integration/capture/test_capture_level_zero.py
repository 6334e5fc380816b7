"""``kernlens capture`` of Level Zero applications, on a driver of each generation.

What was recorded is compared with what the application itself reads from its modules, and with what the loader's tracing layer
counts (capture/level_zero_tracer.c): which is the application's own use of tracing, too.
"""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest

import kernlens
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from tests.integration.capture.capture_fixtures import MAIN
from tests.integration.capture.level_zero_capture_fixtures import (
    UNTRACED,
    Driver,
    agrees_with_the_tracer,
    driver,
    level_zero_folder,
    shown,
    sycl_python,
    without_addresses,
)

__all__ = ["driver", "level_zero_folder", "sycl_python"]

ALL_WAYS = ("spirv", "native", "static", "link", "link-without-log", "wrong", "failing", "threads", "constants")


def test_every_way_to_make_a_module_is_recorded(driver: Driver, tmp_path: Path) -> None:
    without = driver.alone(*ALL_WAYS)
    done = driver.captured(tmp_path, *ALL_WAYS)
    assert done.status == without.returncode == 0, done.err
    assert without_addresses(done.out, driver) == without_addresses(without.stdout, driver)
    agrees_with_the_tracer(done)
    builds = done.builds
    assert not set(re.findall(r"binary \d+ \w+", done.out)) - {shown(build.binary) for build in builds if build.ok}
    operations = [call["operation"] for call in done.noted["builds"]]
    modules = [build for build, operation in zip(builds, operations, strict=True) if operation == "module"]
    assert all(build.device == driver.device for build in modules if build.ok)
    assert all(build.toolchain and build.toolchain.name.startswith("level-zero driver 1.") for build in modules)
    assert modules[0].options == "-ze-opt-level=2"
    assert modules[0].spirv == (driver.folder / "plain.spv").read_bytes()
    assert re.search("2 of .* came from binaries, so their sources are not known", done.err), "two that are no binaries"
    assert re.search("1 of .* came from binaries that the application built in this run", done.err)
    assert {build.options for build in modules} >= {f"-DTHREAD={number}" for number in range(4)}
    assert len({call["thread"] for call in done.noted["builds"]}) == 5


def test_a_static_link_keeps_its_inputs(driver: Driver, tmp_path: Path) -> None:
    done = driver.captured(tmp_path, "static")
    linked, *inputs = done.builds
    assert linked.ok
    assert linked.spirv == b""
    assert [part.name for part in inputs] == ["program-1-input-1", "program-1-input-2"]
    assert {part.device for part in inputs} == {linked.device} == {driver.device}
    assert [part.spirv for part in inputs] == [
        (driver.folder / f"{name}.spv").read_bytes() for name in ("importer", "exporter")
    ]
    assert {part.options for part in inputs} == {linked.options} == {"-ze-opt-level=2"}
    assert "1 build," in done.err
    assert [build.outcome for build in done.builds] == ["built", "consumed", "consumed"]


def test_a_package_of_native_modules(level_zero_folder: Path, newest_root: Path, tmp_path: Path) -> None:
    """The newest driver makes one binary of several, and one of their debug data: each unit has its own lines."""
    done = Driver(NEWEST, "bmg", level_zero_folder).captured(tmp_path, "natives", options=("--stages",))
    assert (done.status, "natives 1" in done.out) == (0, True)
    exporter, plain, package, *inputs = done.builds
    assert package.binary[:8] == package.debug[:8] == b"!<arch>\n"
    assert [(each.outcome, each.binary) for each in inputs] == [
        ("consumed", plain.binary),
        ("consumed", exporter.binary),
    ]
    assert "no stages of program-3: the program was created from a binary" in done.err
    alone = {
        name: [(place.line, place.path) if place else None for place in kernel.source_map.places]
        for program in kernlens.load(done.recording)
        if program.name in ("program-1", "program-2")
        for name, kernel in program.kernels.items()
        if kernel.source_map is not None
    }
    units = [program for program in kernlens.load(done.recording) if program.name.startswith("pkg.unit")]
    assert len(units) == 2
    assert alone.keys() >= {"scale", "clear", "exporting"}
    for kernel in (kernel for unit in units for kernel in unit.kernels.values() if kernel.name in alone):
        assert kernel.source_map is not None
        places = [(place.line, place.path) if place else None for place in kernel.source_map.places]
        assert places == alone[kernel.name]


@pytest.mark.parametrize("word", ["link", "link-without-log"])
def test_a_dynamic_link_keeps_its_log(word: str, driver: Driver, tmp_path: Path) -> None:
    importer, exporter, link = driver.captured(tmp_path, word).builds
    assert importer.ok
    assert exporter.ok
    assert [build.outcome for build in (importer, exporter, link)] == ["built", "built", "linked"]
    assert link.reason == "a dynamic link makes no binary: it connects program-1, program-2"
    assert "Unresolved Symbol <helper> Successfully Resolved" in link.log


def test_a_failed_build_keeps_its_log(level_zero_folder: Path, tmp_path: Path) -> None:
    """A device without double precision; the application asks for no log."""
    done = Driver(SYSTEM, "dg2", level_zero_folder).captured(tmp_path, "failing")
    (build,) = done.builds
    assert (build.ok, build.options) == (False, "-ze-opt-level=2")
    assert build.spirv == (level_zero_folder / "doubles.spv").read_bytes()
    assert build.reason == "the application's module failed with ZE_RESULT_ERROR_MODULE_BUILD_FAILURE"
    assert "ouble" in build.log, build.log
    assert "1 build, which failed" in done.err


def test_specialization_constants_are_recorded(driver: Driver, tmp_path: Path) -> None:
    (call,) = driver.captured(tmp_path, "constants").noted["builds"]
    assert call["constants"] == {"1": "0x7", "0": "0xfffffffe"}


def test_lines_adds_an_option_to_modules_of_spirv(driver: Driver, tmp_path: Path) -> None:
    done = driver.captured(tmp_path, "spirv", "native", options=("--lines",))
    first, *_ = kernlens.load(done.recording)
    assert done.builds[0].options == "-ze-opt-level=2 -gline-tables-only"
    assert first.build.options == "-gline-tables-only -ze-opt-level=O2", "as the driver wrote it into the binary"
    scale = first.kernels["scale"]
    assert scale.source_map is not None
    assert {place.line for place in scale.source_map.places if place is not None} >= {4, 6}
    assert f"kernlens annotate {done.recording} --kernel" in done.err


def test_modules_are_built_again(driver: Driver, tmp_path: Path) -> None:
    """Their stages are those of the application's builds, and what was added is compared: with constants, and static links."""
    words = ("spirv", "native", "static", "link", "constants")
    done = driver.captured(tmp_path, *words, options=("--stages", "--lines"), variables=UNTRACED)
    programs = [program for program in kernlens.load(done.recording) if program.kernels]
    compared = sum(len(program.kernels) for program in programs if program.name != "program-3")
    assert f"with the added options the machine code of all {compared} kernels is the same as without" in done.err
    assert "no stages of program-3: the program was created from a binary" in done.err
    assert "no stages of program-" not in done.err.replace("no stages of program-3:", "")
    for program in programs:
        code = {each.kernel: each.content for each in program.build.snapshots if each.ending == ".dat"}
        assert bool(code) == (program.name != "program-3")
        assert set(code) <= program.kernels.keys()
        stages = {snapshot.stage for snapshot in program.build.snapshots}
        assert program.name == "program-3" or {"llvm-optimized", "visa", "gen-assembly", "program"} <= stages
    (static,) = (program for program in programs if program.name == "program-4")
    assert "-gline-tables-only" in (static.build.options or "").split(), "which the driver does not join to an input's"


def test_constants_count_when_modules_are_built_again(level_zero_folder: Path, tmp_path: Path) -> None:
    """Without them the machine code is another, so that no stages would be kept."""
    driver = Driver(SYSTEM, "dg2", level_zero_folder)
    done = driver.captured(tmp_path, "constants", options=("--stages",), variables=UNTRACED)
    (program,) = kernlens.load(done.recording)
    assert "no stages" not in done.err
    (optimized,) = (each for each in program.build.snapshots if each.stage == "llvm-optimized")
    assert re.search(r"store i32 -2\b", optimized.content.decode())


def test_constants_count_in_stages_and_compiles_of_the_recording(driver: Driver, tmp_path: Path) -> None:
    """The application gave other values than the module's own; a program of a binary beside it hides nothing."""
    done = driver.captured(tmp_path, "constants", "native", variables=UNTRACED)

    def kernlens_says(*words: str) -> tuple[str, str]:
        command = [*MAIN, words[0], str(done.recording), *words[1:]]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout, ended.stderr

    toolchain = ("--toolchain", driver.toolchain)
    out, err = kernlens_says("stages", *toolchain, "--stage", "llvm-optimized", "--kernel", "constants")
    assert re.search(r"store i32 -2\b", out)
    assert ", with specialization constants 0=0xfffffffe, 1=0x7\n" in err
    assert "program-3" not in err
    words = ("--device", driver.device, *toolchain, "--kernel", "constants", "-o", "again.klens")
    _, err = kernlens_says("compile", *words)
    assert (
        "kernlens: the SPIR-V is compiled as it was recorded, with specialization constants 0=0xfffffffe, 1=0x7" in err
    )
    both = [
        program.kernels["constants"].instructions
        for path in (done.recording, tmp_path / "again.klens")
        for program in kernlens.load(path)
        if "constants" in program.kernels
    ]
    # Behind a kernel of the newest compiler stands a hash of its input.
    recorded, again = (
        [each.text for each in instructions or () if " null<1>:ud " not in each.text] for instructions in both
    )
    assert again == recorded != []


def test_forked_children(driver: Driver, tmp_path: Path) -> None:
    """One that uses Level Zero before its parent does, and one that its parent has after it."""
    done = driver.captured(tmp_path, "fork", "spirv", "fork-late")
    assert done.status == 0
    assert "child 0\n" in done.out
    assert "child 3\n" in done.out
    assert len({call["process"] for call in done.noted["builds"]}) == len(done.builds) == 2
    several = "several 0\n" in done.out
    assert done.launches()["clear"] == 3 + several


def test_started_children(level_zero_folder: Path, tmp_path: Path) -> None:
    driver = Driver(SYSTEM, "dg2", level_zero_folder)
    app = " ".join(driver.app)
    line = f"{app} spirv; exec {app} launch"
    done = driver.captured(tmp_path, "/bin/sh", "-c", line, variables=UNTRACED)
    assert [build.options for build in done.builds] == ["-ze-opt-level=2", ""]
    assert len({call["process"] for call in done.noted["builds"]}) == 2
    assert done.launches()["scale"] >= 10


def test_forks_among_threads_that_build(driver: Driver, tmp_path: Path) -> None:
    done = driver.captured(tmp_path, "fork-among-threads", variables=UNTRACED)
    assert "ended 100\n" in done.out
    assert len(done.builds) == 5
    assert sum(kernel["created"] for kernel in done.noted["kernels"]) == 401


def test_memory_does_not_grow_with_kernels(driver: Driver, tmp_path: Path) -> None:
    def peak(out: str) -> int:
        return int(re.findall(r"peak (\d+)", out)[0])

    without = driver.alone("many")
    done = driver.captured(tmp_path, "many", variables=UNTRACED)
    assert sum(kernel["created"] for kernel in done.noted["kernels"]) == 4000
    assert peak(done.out) - peak(without.stdout) < 8192, "kilobytes"


def test_a_limit_of_file_sizes(driver: Driver, tmp_path: Path) -> None:
    """The application goes on; a build's file has more than two kilobytes."""
    words = ("spirv", "limited", "native")
    done = driver.captured(tmp_path, *words, variables=UNTRACED)
    # The newest driver and its compiler write files of their own, and may end the application under such a limit.
    assert done.status == 0 or driver.alone(*words).returncode < 0
    assert len(done.builds) >= 1
    if done.status == 0:
        assert done.out.count("binary") == 2
        assert "missing is a build: File too large (2 times)" in done.err
        assert len(done.builds) == 1


def test_an_application_that_is_killed(driver: Driver, tmp_path: Path) -> None:
    """What had finished is in the recording, the launches before a long wait too."""
    done = driver.captured(tmp_path, "launch", "die")
    assert done.status == -signal.SIGKILL
    assert [build.ok for build in done.builds] == [True]
    assert done.launches()["scale"] >= 5 * 2


@pytest.mark.parametrize("own", ["ZE_ENABLE_LOADER_INTERCEPT", "ZE_ENABLE_VALIDATION_LAYER"])
def test_the_loaders_other_ways(own: str, driver: Driver, tmp_path: Path) -> None:
    """With several drivers, as the first makes the loader believe, newer ones pass the tables by."""
    done = driver.captured(tmp_path, "spirv", "launch", variables={own: "1", "ZE_ENABLE_PARAMETER_VALIDATION": "1"})
    assert done.status == 0
    agrees_with_the_tracer(done)
    several = "several 0\n" in done.out
    assert done.launches()["clear"] == 7 + 5 * several


def test_drivers_that_the_user_names_stay(driver: Driver, tmp_path: Path) -> None:
    """One is no driver, which the loader passes over; the other is Intel's, under its name."""
    named = {"ZE_ENABLE_ALT_DRIVERS": f"{tmp_path}/none.so,libze_intel_gpu.so.1"}
    assert len(driver.captured(tmp_path, "spirv", variables=named).builds) == 1
    own = {"ZE_ENABLE_ALT_DRIVERS": f"{tmp_path}/none.so"}
    done = driver.captured(tmp_path, "spirv", variables={**UNTRACED, **own})
    assert done.status == 9
    assert "zeInit: 0x78000001" in done.out


def test_what_sycl_builds_below_dpnp_is_recorded(
    sycl_python: Path, newest_root: Path, level_zero_folder: Path, tmp_path: Path
) -> None:
    """SYCL takes the driver's functions from the loader's tables, which preloading does not change."""
    script = tmp_path / "app.py"
    script.write_text(
        "import dpctl, dpnp\n"
        "print(dpctl.SyclDevice().backend)\n"
        'a = dpnp.ones(1024, dtype="f4"); b = dpnp.arange(1024, dtype="f4")\n'
        "c = dpnp.sin(a) + b * 2\n"
        "dpnp.sum(c); dpnp.sort(b)\n"
        "c.sycl_queue.wait()\n"
    )
    driver = Driver(NEWEST, "bmg", level_zero_folder)
    done = driver.captured(
        tmp_path,
        *(str(sycl_python), str(script)),
        # The newer adapter launches through functions that the loader's tracing layer does not count; test_sycl has that one.
        variables={"ONEAPI_DEVICE_SELECTOR": "level_zero:gpu", "UR_LOADER_USE_LEVEL_ZERO_V2": "0"},
    )
    assert (done.status, done.out) == (0, "backend_type.level_zero\n"), done.err
    agrees_with_the_tracer(done)
    assert len(done.builds) >= 8
    assert "  dpnp::" in done.err, "C++ names are written out"
    assert sum(done.launches().values()) == done.counted["launch"] >= 8
    for program in kernlens.load(done.recording):
        for kernel in program.kernels.values():
            assert kernel.instructions
            assert "-gline-tables-only" in (kernel.line_table_reason or "")


def test_an_installation_without_the_layer(driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kernlens.verbs.capture import capture as capturing

    monkeypatch.setattr("kernlens.verbs.capture.level_zero_layer.find_layer", lambda layer: None)
    monkeypatch.chdir(tmp_path)
    done = capturing.capture([*driver.app, "spirv"], simulate=driver.device, toolchain=driver.toolchain)
    assert done.recording is None
    assert re.search("Level Zero is not recorded.*kernlens doctor", done.reason)
