"""``kernlens capture``: an application is recorded whole, and runs as it does without.

What was recorded is compared with what a layer of the tests (capture/counting_layer.c) counts of the same calls.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import kernlens
from kernlens.verbs.capture.changes import Changes
from kernlens.verbs.capture.replacing import Replacement
from kernlens.verbs.capture.spool import Spool, read_replaced
from kernlens.verbs.capture.spooled import Entry, read_entries
from tests.integration.capture.capture_fixtures import (
    APPLICATION,
    HERE,
    MAIN,
    Done,
    alone,
    captured,
    dg2,
    environment,
    folder,
    platform,
)
from tests.integration.capture.level_zero_capture_fixtures import LEVEL_ZERO_APPLICATION, level_zero_folder
from tests.integration.layers import native_builds
from tests.integration.layers.opencl_layer_fixtures import BUILDER, LAYER, LEVEL_ZERO_LAYER, Platform, led, pocl
from tests.integration.layers.test_native_sanitizers import COMPILER, build_preloaded, findings, sanitized_platform
from tests.whole import before_release, each_run

__all__ = ["dg2", "folder", "level_zero_folder", "platform"]

#: What the application does on both platforms.
ALL_PATHS = ("source", "link", "wrong", "notified", "threads", "binary")


def no_folder_stays(done: Done) -> None:
    assert not done.recording.with_name("x.klens.capture").exists()


def test_every_way_to_build_is_recorded_and_nothing_changes(platform: Platform, folder: Path, tmp_path: Path) -> None:
    app = str(folder / "app")
    alone(platform, tmp_path, app, *ALL_PATHS)  # PoCL's binaries hold what its cache does
    without = alone(platform, tmp_path, app, *ALL_PATHS, "5")
    done = captured(platform, folder, tmp_path, app, *ALL_PATHS, "5")
    assert done.out == without.stdout, "binaries and results are the same"
    assert done.status == without.returncode == 5
    builds, noted = done.builds, done.noted
    assert Counter(call["operation"] for call in noted["builds"]) == Counter(
        {name: done.counted[name] for name in ("build", "compile", "link")}
    )
    assert sum(kernel["launches"] for kernel in noted["kernels"]) == done.counted["launch"]
    assert sum(kernel["created"] for kernel in noted["kernels"]) == done.counted["kernel"]
    by_option = {build.options: build for build in builds}
    assert {"-cl-fast-relaxed-math", "-DFIRST=1", "-DSECOND=2", "-DWRONG", "-DNOTIFIED", "-DTHREAD=3"} <= set(by_option)
    assert "kernel void add" in by_option["-DTHREAD=3"].sources[0].text
    assert [source.path for source in by_option["-DFIRST=1"].sources] == ["", "number.h"]
    failed = [build for build in builds if not build.ok and build.options in ("-DWRONG", "-DNOTIFIED")]
    assert len(failed) == 2
    assert all("no_such_name" in build.log for build in failed if build.device == "dg2" or build.log)
    assert "CL_BUILD_PROGRAM_FAILURE" in (by_option["-DWRONG"].reason or "")
    sizes = [shape for kernel in noted["kernels"] for shape in kernel["shapes"] if kernel["launches"] == 5]
    assert sizes == [
        {"global": [32], "local": [16], "launches": 3},
        {"global": [64], "local": None, "launches": 2},
    ]
    assert len({call["thread"] for call in noted["builds"]}) == 5
    no_folder_stays(done)


def test_every_program_is_read_or_says_why_not(dg2: Platform, folder: Path, tmp_path: Path) -> None:
    done = captured(dg2, folder, tmp_path, str(folder / "app"), *ALL_PATHS)
    good = [build for build in done.builds if build.ok]
    programs = [program for program in kernlens.load(done.recording) if program.kernels]
    linkable = {call["program"] for call in done.noted["builds"] if call["operation"] != "compile"}
    assert len(programs) == sum(number in linkable for number, build in enumerate(done.builds, 1) if build.ok)
    assert len(good) > len(programs) > 0
    for program in programs:
        for kernel in program.kernels.values():
            assert kernel.instructions
            assert "-gline-tables-only" in (kernel.line_table_reason or "")


def test_lines_adds_an_option_to_what_is_built_from_source(dg2: Platform, folder: Path, tmp_path: Path) -> None:
    done = captured(dg2, folder, tmp_path, str(folder / "app"), "source", "link", "binary", options=("--lines",))
    assert done.status == 0
    first, *others = kernlens.load(done.recording)
    assert first.build.options == "-cl-fast-relaxed-math -gline-tables-only"
    assert "kernel void add" in first.sources[0].text
    (kernel,) = (kernel for kernel in first.kernels.values() if kernel.name == "add")
    assert kernel.source_map is not None
    assert {place.line for place in kernel.source_map.places if place is not None} == {1}
    assert [program.build.options for program in others if "linked" in program.kernels] == ["-cl-fast-relaxed-math"]
    assert "  yes" in done.err
    assert f"kernlens annotate {done.recording} --kernel add" in done.err


def test_a_linked_program_has_the_text_of_what_was_compiled(dg2: Platform, folder: Path, tmp_path: Path) -> None:
    done = captured(dg2, folder, tmp_path, str(folder / "app"), "link-one", options=("--lines",))
    compiled, linked = done.builds
    assert (linked.sources, linked.inputs) == ((), (compiled,))
    program = next(
        program for program in kernlens.load(done.recording) if "add" in program.kernels and program.build.inputs
    )
    assert ["kernel void add" in source.text for source in program.sources] == [True]
    # Which of two is the nameless file of the line table, nothing says.
    (tmp_path / "two").mkdir()
    done = captured(dg2, folder, tmp_path / "two", str(folder / "app"), "link", options=("--lines",))
    (program,) = (program for program in kernlens.load(done.recording) if "linked" in program.kernels)
    assert len(program.build.inputs) == 2
    assert [source.path for source in program.sources if "seven" in source.text] == []


def test_forked_and_started_children(platform: Platform, folder: Path, tmp_path: Path) -> None:
    app = folder / "app"
    done = captured(platform, folder, tmp_path, "sh", "-c", f"{app} fork; {app} source; exec {app} fork")
    assert done.status == 0
    assert [build.options for build in done.builds] == ["-DCHILD", "-cl-fast-relaxed-math", "-DCHILD"]
    assert len({call["process"] for call in done.noted["builds"]}) == 3
    assert done.launches() == {"add": 13} == {"add": done.counted["launch"]}


def test_memory_does_not_grow_with_kernels_and_launches(folder: Path, tmp_path: Path) -> None:
    """10,000 kernels of 2 programs, and 100,000 launches: the recorder holds what it needs to find a living kernel."""
    app, platform = str(folder / "app"), pocl(tmp_path / "cache")
    words = ("many", "10000", "100000", "peak")

    def peak(out: str) -> int:
        return int(re.findall(r"peak (\d+)", out)[0])

    # Fills PoCL's cache, with the binary that a capture asks for, too.
    captured(platform, folder, tmp_path, app, "many", "1", "2")
    without = peak(alone(platform, tmp_path, app, *words).stdout)
    done = captured(platform, folder, tmp_path, app, *words)
    assert done.launches() == {"add": 100_000}
    assert sum(kernel["created"] for kernel in done.noted["kernels"]) == 10_001
    assert peak(done.out) - without < 2048, "kilobytes"
    assert done.recording.stat().st_size < 300_000


def test_a_limit_of_file_sizes(platform: Platform, folder: Path, tmp_path: Path) -> None:
    command = [str(folder / "app"), "limited", "wrong", "3"]
    without = alone(platform, tmp_path, *command)
    done = alone(platform, tmp_path, *MAIN, "capture", "-o", "x.klens", "--", *command)
    assert (done.returncode, done.stdout) == (without.returncode, without.stdout) == (3, "build -11\n")
    assert "missing is a build: File too large" in done.stderr
    assert "nothing could be written of what was built" in done.stderr
    assert not (tmp_path / "x.klens").exists()


def test_a_full_disk(dg2: Platform, folder: Path, tmp_path: Path) -> None:
    """The application goes on, and the end says what is missing."""
    if os.geteuid() != 0:
        pytest.skip("a small file system is mounted, which needs to be root")
    disk = tmp_path / "disk"
    disk.mkdir()
    fill = f"head -c 10M /dev/zero > {disk}/fill 2>/dev/null; {folder}/app source wrong; rm {disk}/fill"
    line = f'mount -t tmpfs -o size=400k none {disk} && cd {disk} && exec "$@"'
    command = ["unshare", "-m", "sh", "-c", line, "sh", *MAIN, "capture", "-o", str(disk / "x.klens"), "--"]
    done = subprocess.run(
        [*command, "sh", "-c", fill], env=environment(dg2), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "build 0" in done.stdout
    assert "add 2016" in done.stdout
    assert "missing is a build: No space left on device (2 times)" in done.stderr, done.stderr


def test_clinfo_prints_the_same_when_it_is_captured(folder: Path, tmp_path: Path, dg2: Platform) -> None:
    without = alone(dg2, tmp_path, "clinfo")
    done = captured(dg2, folder, tmp_path, "clinfo")
    # The driver makes up a new LUID for each process.
    assert [line for line in done.out.splitlines() if "LUID" not in line] == [
        line for line in without.stdout.splitlines() if "LUID" not in line
    ]
    assert (done.status, len(done.builds)) == (0, done.counted["build"])


@before_release
def test_all_programs_of_darktable_are_recorded_with_lines(folder: Path, tmp_path: Path, dg2: Platform) -> None:
    """36 programs, from source; every kernel is read, with lines."""
    home = tmp_path / "home"
    home.mkdir()
    done = captured(dg2, folder, tmp_path, "darktable-cltest", options=("--lines",), HOME=str(home))
    assert done.status == 0
    assert len(done.builds) == done.counted["build"] > 30
    assert all(build.ok and build.sources and build.log is not None for build in done.builds)
    kernels = [kernel for program in kernlens.load(done.recording) for kernel in program.kernels.values()]
    assert len(kernels) > 250
    assert not [kernel.name for kernel in kernels if kernel.line_table_reason is not None]
    # What it keeps in its cache are binaries, but none with lines.
    again = captured(dg2, folder, tmp_path, "darktable-cltest", HOME=str(home))
    assert "came from binaries" not in again.err
    last = captured(dg2, folder, tmp_path, "darktable-cltest", HOME=str(home))
    assert f"{len(done.builds)} of {len(done.builds)} programs came from binaries" in last.err
    assert [build.binary for build in last.builds] == [build.binary for build in again.builds]


@pytest.fixture(scope="session")
def sanitized_layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = native_builds.built_parts("sanitized", COMPILER)
    folder = tmp_path_factory.mktemp("sanitized-recorder-layer")
    for name in (LAYER, LEVEL_ZERO_LAYER, BUILDER):
        shutil.copy2(built / "native" / name, folder)
    return build_preloaded(folder)


def nothing_is_found(commands: list[list[str]], work: Path, variables: dict[str, str]) -> None:
    """Run each command; the sanitizers write what they find into the folder ``work``."""
    for command in commands:
        done = subprocess.run(
            command, cwd=work, env=variables, capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert not findings(work), "\n\n".join(findings(work))


def test_sanitizers_find_nothing_in_what_is_read_back(dg2: Platform, tmp_path: Path, sanitized_layer: Path) -> None:
    app, spool = tmp_path / "memory", tmp_path / "spool"
    flags = ["-fsanitize=address,undefined", "-g", "-o", str(app), str(HERE / "opencl_memory.c"), "-lOpenCL"]
    subprocess.run(["gcc", *flags], check=True, timeout=60)
    spool.mkdir()
    layer = {"KERNLENS_CAPTURE": str(spool), "KERNLENS_CAPTURE_ZEROS": "1"}
    under = sanitized_platform(dg2, sanitized_layer, tmp_path)
    nothing_is_found([[str(app)]], tmp_path, led(sanitized_layer / LAYER, environment(under, **layer)))
    assert len(ended_builds(spool)) == 1


@pytest.mark.parametrize("platform", each_run("pocl", others=["dg2"]), indirect=True)
def test_sanitizers_find_nothing(platform: Platform, folder: Path, tmp_path: Path, sanitized_layer: Path) -> None:
    """AddressSanitizer and UndefinedBehaviorSanitizer over the recorder: all paths, a fork, a limit of file sizes."""
    app = tmp_path / "app"
    flags = ["-fsanitize=address,undefined", "-g", "-o", str(app), *APPLICATION]
    subprocess.run(["gcc", *flags], check=True, timeout=60)
    spool = tmp_path / "spool"
    spool.mkdir()
    (spool / "missing").write_bytes(bytes(65536))
    under = sanitized_platform(platform, sanitized_layer, tmp_path)
    variables = {"KERNLENS_CAPTURE": str(spool)}
    other = tmp_path / "other.cl"
    other.write_text("kernel void add(global int *a, int n) {}\nkernel void multiply(global int *a, int n) {}\n")
    replaced = [Replacement.of(program, str(other)) for program in ("0123456789", "no_such_kernel", "multiply")]
    Changes(lines=True, options="-DADDED", replacements=replaced).make(variables, Spool(spool))
    command_buffers = [f"command-buffer{more}" for more in ("", "-past-layers", "s-in-threads")]
    special = command_buffers if platform.name == "PoCL" else ["groups", "long-name"]
    runs = [[*ALL_PATHS, *special, "build-nothing", "limited", "wrong", "unlimited"], ["fork"], ["many", "500", "500"]]
    variables = led(sanitized_layer / LAYER, environment(under, **variables))
    nothing_is_found([[str(app), *words] for words in runs], tmp_path, variables)
    assert len(ended_builds(spool)) > 14
    assert len(list(spool.glob("*.replacement"))) > 8


@pytest.fixture(scope="module")
def sanitized_level_zero_app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    app = tmp_path_factory.mktemp("sanitized-level-zero") / "app"
    flags = ["-fsanitize=address,undefined", "-g", "-o", str(app), *LEVEL_ZERO_APPLICATION]
    subprocess.run(["gcc", *flags], check=True, timeout=60)
    return app


@pytest.mark.parametrize("change", ["none", "options", "replaced"])
def test_sanitizers_find_nothing_in_the_level_zero_recorder(
    change: str,
    dg2: Platform,
    sanitized_level_zero_app: Path,
    level_zero_folder: Path,
    tmp_path: Path,
    sanitized_layer: Path,
) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    (spool / "missing").write_bytes(bytes(65536))
    variables = {"ZE_ENABLE_ALT_DRIVERS": str(sanitized_layer / LEVEL_ZERO_LAYER), "KERNLENS_CAPTURE": str(spool)}
    under = sanitized_platform(dg2, sanitized_layer, tmp_path)
    # IGC frees objects as if they were of another size, in its linker.
    variables["ASAN_OPTIONS"] = under.environment["ASAN_OPTIONS"] + ":new_delete_type_mismatch=0"
    ways = [
        "spirv",
        "native",
        "static",
        "link",
        "link-without-log",
        "wrong",
        "failing",
        "constants",
        "launch",
        "memory",
        "threads",
    ]
    source, binary = tmp_path / "other.cl", tmp_path / "other.bin"
    source.write_text("kernel void constants(global int *a) {}\n")
    binary.write_bytes(b"\0garbage")
    files = {
        "0123456789": binary,
        str(level_zero_folder / "exporter.spv"): level_zero_folder / "other_exporter.spv",
        "importing": binary,
        "constants": source,
        "clear": level_zero_folder / "edited.spv",
        "doubles": binary,
    }
    replaced = [Replacement.of(program, str(path)) for program, path in files.items()]
    changes: dict[str, str] = {}
    Changes(replacements=replaced).make(changes, Spool(spool))
    if change == "options":
        variables["KERNLENS_CAPTURE_OPTIONS"] = "-gline-tables-only"
    elif change == "replaced":
        variables |= changes
    app = [str(sanitized_level_zero_app), str(level_zero_folder)]
    nothing_is_found([[*app, *ways, "fork-late"], [*app, "fork"]], tmp_path, environment(under, **variables))
    assert len(ended_builds(spool)) == 19 + 1
    notes = [read_replaced(path) for path in Spool(spool).files("replacement")]
    assert {note.program for note in notes} == (set(files) - {"0123456789"} if change == "replaced" else set())
    assert {note.error for note in notes if note.program == "clear"} <= {0}


def ended_builds(folder: Path) -> list[Entry]:
    """What a capture's folder has of builds that have ended."""
    return [entry for path in Spool(folder).files("builds") for entry in read_entries(path) if entry.has_ended]
