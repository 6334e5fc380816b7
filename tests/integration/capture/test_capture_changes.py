"""``kernlens capture`` with what it may change or add: stages, options, programs that others stand in for, empty caches."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import kernlens
from kernlens.model.build import Build
from kernlens.recording.reader import Recording
from kernlens.toolchain.toolchains import Toolchain
from tests.integration.capture.capture_fixtures import alone, captured, dg2, folder, platform
from tests.integration.capture.level_zero_capture_fixtures import SOURCES
from tests.integration.drivers.live_fixtures import compile_spirv
from tests.integration.layers.opencl_layer_fixtures import Platform, cpu_runtime, pocl
from tests.integration.toolchain.toolchain_fixtures import newest
from tests.tree import ROOT

__all__ = ["dg2", "folder", "newest", "platform"]

#: The environment of the tests, without a simulated device.
BARE = Platform("none", {}, late="")
NATIVE = ROOT / "native"
#: What the application builds as "source", but for the sum.
EDITED = """\
kernel void add(global int *a, int n) { a[get_global_id(0)] += n + 100; }
kernel void multiply(global int *a, int n) { a[get_global_id(0)] *= n; }
"""
#: The sums that "source" prints where it is computed: five launches, of 32 and 64 work-items.
ADDED, EDITED_ADDED = "add 2688", "add 25088"


def recorded(recording: Path) -> list[Build]:
    with Recording(recording) as opened:
        builds = opened.builds()
        for build in builds:
            _ = build.binary, build.spirv, build.sources, [snapshot.content for snapshot in build.snapshots]
        return builds


def test_stages_are_those_of_the_applications_builds(dg2: Platform, folder: Path, tmp_path: Path) -> None:
    words = ("source", "link", "wrong", "binary")
    done = captured(dg2, folder, tmp_path, str(folder / "app"), *words, options=("--stages", "--lines"))
    builds = recorded(done.recording)
    assert done.counted["build"] == 4, "what is built again is no build of the application's"
    stages = [{snapshot.stage for snapshot in build.snapshots} for build in builds]
    everything = {
        "llvm-unified",
        "llvm-codegen",
        "visa",
        "visa-llvm-map",
        "gen-assembly",
        "debug",
        "resources",
        "program",
    }
    assert [everything <= names for names in stages] == [True, False, False, True, False, True, False]
    assert [bool(names) for names in stages] == [True, False, False, True, True, True, False]
    for program in (program for program in kernlens.load(done.recording) if program.kernels):
        code = {each.kernel: each.content for each in program.build.snapshots if each.ending == ".dat"}
        assert not code or all(code[name] == bytes(kernel.code) for name, kernel in program.kernels.items())
    assert "no stages of program-7: the program was created from a binary" in done.err
    assert "with the added options the machine code of all 5 kernels is the same as without" in done.err


def test_specialization_constants_count_in_second_builds(dg2: Platform, folder: Path, tmp_path: Path) -> None:
    compile_spirv(SOURCES["constants"], tmp_path / "constants.cl")
    module = {"MODULE": str(tmp_path / "constants.spv")}
    done = captured(dg2, folder, tmp_path, str(folder / "app"), "constants", options=("--stages", "--lines"), **module)
    assert "constants 0 0 0\n" in done.out
    assert [call["constants"] for call in done.noted["builds"]] == [{"1": "0x7", "0": "0xfffffffe"}]
    assert "the machine code of the kernel constants is the same as without" in done.err
    (build,) = recorded(done.recording)
    (optimized,) = (each for each in build.snapshots if each.stage == "llvm-optimized")
    assert re.search(r"store i32 -2\b", optimized.content.decode())


def test_stages_on_the_newest_driver(folder: Path, tmp_path: Path, newest: Toolchain) -> None:
    """Second builds too use that driver, which stands in a root of its own."""
    options = ("--simulate", "bmg", "--toolchain", newest.name, "--stages", "--lines")
    done = captured(BARE, folder, tmp_path, str(folder / "app"), "source", "link", options=options)
    builds = recorded(done.recording)
    assert [len({snapshot.stage for snapshot in build.snapshots}) > 8 for build in builds] == [True, False, False, True]
    assert "with the added options the machine code of all 3 kernels is the same as without" in done.err


def test_nothing_changes_on_intels_cpu_runtime(folder: Path, tmp_path: Path) -> None:
    """It computes: results are those without a capture, and stay so with stages."""
    words = (str(folder / "app"), "source", "link", "wrong", "notified", "threads", "binary", "5")
    under = cpu_runtime(tmp_path)
    without = alone(under, tmp_path, *words)
    for options in ((), ("--stages",)):
        work = tmp_path / f"with{'-'.join(options)}"
        work.mkdir()
        done = captured(under, folder, work, *words, options=options)
        assert (done.status, done.out) == (without.returncode, without.stdout)
        assert ADDED in done.out
        assert len(done.builds) == done.counted["build"] + done.counted["compile"] + done.counted["link"]
    stages = {snapshot.stage for snapshot in recorded(done.recording)[0].snapshots}
    assert {"source", "llvm", "program"} <= stages


def test_stages_of_pocl(folder: Path, tmp_path: Path) -> None:
    done = captured(pocl(tmp_path / "cache"), folder, tmp_path, str(folder / "app"), "source", options=("--stages",))
    assert ADDED in done.out
    (build,) = recorded(done.recording)
    assert {"source", "llvm", "llvm-parallel", "shared-object"} <= {snapshot.stage for snapshot in build.snapshots}


def test_added_options_and_whether_they_change_the_code(dg2: Platform, folder: Path, tmp_path: Path) -> None:
    answer = tmp_path / "answer.json"
    options = ("--build-options", "-cl-opt-disable -DEXTRA", "--json-file", str(answer))
    done = captured(dg2, folder, tmp_path, str(folder / "app"), "source", "link", options=options)
    assert [build.options for build in done.builds] == [
        "-cl-fast-relaxed-math -cl-opt-disable -DEXTRA",
        "-DFIRST=1 -cl-opt-disable -DEXTRA",
        "-DSECOND=2 -cl-opt-disable -DEXTRA",
        "-cl-fast-relaxed-math -cl-opt-disable -DEXTRA",
    ]
    assert "kernels is another: add" in done.err
    document = json.loads(answer.read_text())
    assert [kernel["same_code"] for kernel in document["kernels"] if kernel["program"] == "program-1"] == [False, False]


def test_options_for_machine_code_act_where_programs_are_linked(dg2: Platform, folder: Path, tmp_path: Path) -> None:
    options = ("--build-options", "-cl-intel-256-GRF-per-thread", "--lines")
    done = captured(dg2, folder, tmp_path, str(folder / "app"), "link", options=options)
    added = "-gline-tables-only -cl-intel-256-GRF-per-thread"
    linked = "-cl-fast-relaxed-math -cl-intel-256-GRF-per-thread"
    assert [build.options for build in done.builds] == [f"-DFIRST=1 {added}", f"-DSECOND=2 {added}", linked]
    (program,) = (program for program in kernlens.load(done.recording) if program.kernels)
    assert program.kernels["linked"].resources.grf_count == 256


def test_options_on_pocl(folder: Path, tmp_path: Path) -> None:
    under = pocl(tmp_path / "cache")
    options = ("--lines", "--build-options", "-DEXTRA")
    done = captured(under, folder, tmp_path, str(folder / "app"), "source", options=options)
    assert [build.options for build in done.builds] == ["-cl-fast-relaxed-math -g -DEXTRA"], "PoCL 6 knows no other"
    assert ADDED in done.out
    assert "with the added options the machine code" in done.err


@pytest.fixture
def edited(tmp_path: Path) -> Path:
    path = tmp_path / "edited.cl"
    path.write_text(EDITED)
    return path


def test_a_source_stands_in(folder: Path, tmp_path: Path, edited: Path) -> None:
    """By the kernel's name, by hash, and by a file that holds what the application builds."""
    under, app = pocl(tmp_path / "cache"), str(folder / "app")
    done = captured(under, folder, tmp_path, app, "source")
    (build,) = done.builds
    original = tmp_path / "original.cl"
    original.write_text(build.sources[0].text)
    digest = hashlib.sha256(original.read_bytes()).hexdigest()
    assert [call["sha256"] for call in done.noted["builds"]] == [digest]
    for program in ("add", digest, digest[:8].upper(), str(original)):
        again = captured(under, folder, tmp_path, app, "source", options=("--replace", f"{program}={edited}"))
        assert EDITED_ADDED in again.out, program
        assert f"{edited} stood in for {program}" in again.err
        assert again.builds[0].sources[0].text == EDITED
        assert [call["replaced"] for call in again.noted["builds"]] == [
            {"program": program, "sha256": digest},
        ]


def test_a_binary_and_spirv_stand_in(dg2: Platform, folder: Path, tmp_path: Path, edited: Path) -> None:
    app, under = str(folder / "app"), pocl(tmp_path / "cache")
    first = captured(under, folder, tmp_path, app, "source", options=("--replace", f"add={edited}"))
    binary = tmp_path / "edited.bin"
    binary.write_bytes(first.builds[0].binary)
    done = captured(under, folder, tmp_path, app, "source", options=("--replace", f"add={binary}"))
    assert EDITED_ADDED in done.out
    assert "came from binaries" not in done.err, "the application made it from source"
    assert f"{binary} stood in for add" in done.err, "and the driver took its machine code as it is"
    (program,) = kernlens.compile(edited, "dg2", lines=False)
    spirv = tmp_path / "edited.spv"
    spirv.write_bytes(program.build.spirv)
    done = captured(dg2, folder, tmp_path, app, "source", "binary", options=("--replace", f"multiply={spirv}"))
    assert f"{spirv} stood in 3 times for multiply" in done.err, "and for the binary of one of them"
    assert [build.spirv for build in done.builds] == [spirv.read_bytes()] * 3
    loaded = [bytes(each.kernels["add"].code) for each in kernlens.load(done.recording)]
    assert loaded == [bytes(program.kernels["add"].code)] * 3


def test_what_does_not_stand_in(folder: Path, tmp_path: Path, edited: Path) -> None:
    """The application gets its own program, and the end says why."""
    under, app = pocl(tmp_path / "cache"), str(folder / "app")
    garbage = tmp_path / "garbage.bin"
    garbage.write_bytes(b"\0garbage")
    options = ("--replace", f"ad={edited}", "--replace", f"0123456789={edited}", "--replace", f"multiply={garbage}")
    done = captured(under, folder, tmp_path, app, "source", options=options)
    assert ADDED in done.out
    assert (
        f"{edited} stood in for nothing: no program that the application made has a kernel ad; there are add"
        in done.err
    )
    last = f"{edited} stood in for nothing: no program is made from 0123456789; there are [0-9a-f]{{12}}"
    assert re.fullmatch(f"kernlens: {last}", done.err.splitlines()[-1])
    assert done.status == 2, "the application ended with 0"
    assert f"{garbage} did not stand in for multiply, as the driver refused it (CL_INVALID_BINARY)" in done.err
    edited.write_text(EDITED.replace("n + 100", "no_such_name"))
    done = captured(under, folder, tmp_path, app, "source", options=("--replace", f"add={edited}"))
    assert f"{edited} stood in for add" in done.err
    assert f"{edited} does not build, and the application was told so; the driver's log:" in done.err
    assert re.search(r"^  .*no_such_name", done.err, re.MULTILINE)
    done = captured(under, folder, tmp_path, "true", options=("--replace", f"add={edited}"))
    assert f"{edited} stood in for nothing: the application built no program" in done.err
    assert done.status == 2
    done = captured(under, folder, tmp_path, "false", options=("--replace", f"add={edited}"))
    assert done.status == 1, "the application's own"
    done = captured(under, folder, tmp_path, app, "source", options=("--replace", "add=no-such-file.cl"))
    assert (done.status, done.out) == (2, "")
    assert "no-such-file.cl" in done.err
    done = captured(under, folder, tmp_path, app, "source", options=("--replace", "add"))
    assert (done.status, "is not of the form PROGRAM=FILE" in done.err) == (2, True)


def test_fresh_caches(folder: Path, tmp_path: Path) -> None:
    under = pocl(tmp_path / "cache")
    alone(under, tmp_path, str(folder / "app"), "source")
    folders = 'echo "$XDG_CACHE_HOME $POCL_CACHE_DIR"; ls -A "$XDG_CACHE_HOME"; ls -A "$POCL_CACHE_DIR"'
    show = f'{folders}; "$@"; ls -A "$POCL_CACHE_DIR"'
    words = ("sh", "-c", show, "sh", str(folder / "app"), "source")
    done = captured(under, folder, tmp_path, *words, options=("--fresh-cache",))
    first, *lines = done.out.splitlines()
    caches = first.split()
    assert len(set(caches)) == 2
    assert lines[0] == "build 0", "they are there, and empty"
    assert lines[-1] != ADDED, "the driver used its own"
    assert not [path for path in caches if Path(path).exists()]


def test_both_documents_are_one(dg2: Platform, folder: Path, tmp_path: Path) -> None:
    answer = tmp_path / "x.json"
    options = ("--lines", "--json-file", str(answer), "--json")
    done = captured(dg2, folder, tmp_path, str(folder / "app"), "source", "7", options=options)
    assert done.status == 7
    document = json.loads(answer.read_text())
    assert json.loads(done.out.splitlines()[-1]) == document, "behind all that the application printed"
    assert (document["builds"], document["exit_status"], document["recording"]) == (1, 7, str(done.recording))
    assert [(kernel["name"], kernel["launches"], kernel["line_table"]) for kernel in document["kernels"]] == [
        ("add", 5, True),
        ("multiply", 0, True),
    ]
    elsewhere = ("--json-file", str(tmp_path / "no" / "x.json"))
    done = captured(dg2, folder, tmp_path, str(folder / "app"), "source", "7", options=elsewhere)
    assert done.status == 7, "what cannot be written is told"
    assert "no/x.json" in done.err


CHECK = """\
#include "base/files.h"
#include "base/sha256.h"
#include "recording/kernel_names.h"
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words)
{
    size_t size;
    char *bytes = file_read(words[2], &size), hash[SHA256_TEXT];
    struct view view = {(unsigned char *)bytes, size};
    sha256_text(&view, hash);
    printf("%s", hash);
    for (int index = 3; index < count; ++index)
        printf(" %d", defines_kernel((enum made_from)atoi(words[1]), &view, words[index]));
    free(bytes);
}
"""


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[str, list[bool]]]:
    """Runs the recorder's functions, with sanitizers: the hash of bytes, and which kernels they define."""
    folder = tmp_path_factory.mktemp("check")
    (folder / "check.c").write_text(CHECK)
    sources = [NATIVE / name for name in ("base/sha256.c", "base/files.c", "recording/kernel_names.c")]
    others = [NATIVE / "base" / f"{name}.c" for name in ("bytes", "elf_sections")]
    flags = ["-std=gnu11", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover", f"-I{NATIVE}"]
    command = ["gcc", *flags, "-o", str(folder / "check"), str(folder / "check.c"), *map(str, [*sources, *others])]
    subprocess.run(command, check=True, timeout=120)

    def run(form: int, content: bytes, *names: str) -> tuple[str, list[bool]]:
        (folder / "content").write_bytes(content)
        words = [str(folder / "check"), str(form), str(folder / "content"), *names]
        digest, *result = subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout.split()
        return digest, [word == "1" for word in result]

    return run


def test_hashes_are_those_of_hashlib(check: Callable[..., tuple[str, list[bool]]]) -> None:
    for size in (*range(0, 130, 3), 55, 56, 63, 64, 65, 119, 120, 1000):
        content = bytes(number * 7 % 251 for number in range(size))
        assert check(1, content)[0] == hashlib.sha256(content).hexdigest()


def test_kernels_in_source(check: Callable[..., tuple[str, list[bool]]]) -> None:
    source = b"""\
/* kernel void no(int a); */ // kernel void no(int a)
static const char text[] = "kernel void no(\\"int a)";
__attribute__((reqd_work_group_size(8, 1, 1))) kernel __attribute__((vec_type_hint(float)))
void first(global int *a) { a[0] = no(1); }
__kernel
void second (__global const int * restrict a, int kernelish) {}
void after(int kernel_no) { no(kernel_no); }
#define KERNEL kernel void
KERNEL third(global int *a) {}
"""
    names = ("first", "second", "third", "no", "after", "firs", "kernelish", "void")
    assert check(1, source, *names)[1] == [True, True, True, False, False, False, False, False]
    for cut in range(len(source)):
        check(1, source[:cut], "third") if cut % 29 == 0 else None


def test_kernels_in_spirv_and_binaries(
    check: Callable[..., tuple[str, list[bool]]], edited: Path, newest: Toolchain
) -> None:
    edited.write_text(
        EDITED + "int helper(int x) { return x; }\nkernel void calls(global int *a) { a[0] = helper(a[1]); }\n"
    )
    names = ("add", "multiply", "calls", "helper", "ad", "dd", "a")
    expected = [True, True, True, False, False, False, False]
    (older,) = kernlens.compile(edited, "dg2")
    (newer,) = kernlens.compile(edited, "bmg", toolchain=newest.name)
    for build in (older.build, newer.build):
        assert check(2, build.spirv, *names)[1] == expected
        assert check(3, build.binary, *names)[1] == expected
        for part, content in ((2, build.spirv), (3, build.binary)):
            for cut in range(20, len(content), len(content) // 30):
                check(part, content[:cut], "calls")
