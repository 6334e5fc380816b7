"""The OpenCL layer, by a C program that knows nothing of Python: opencl_layer/snapshot_test.c on every OpenCL compiler here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.integration.layers.opencl_layer_fixtures import (
    BINARY,
    ICD_FOLDER,
    IGC,
    SHORT_PARTS,
    SOURCES,
    STAGE_CHECKS,
    TEXT,
    Platform,
    checks_of,
    cpu_runtime,
    intel,
    passed,
    place,
    platform,
    work,
)
from tests.whole import before_release

__all__ = ["place", "platform", "work"]


@pytest.mark.parametrize(
    ("platform", "part"),
    [
        *(pytest.param("cpu", part, id=f"cpu-{part}") for part in (*SHORT_PARTS, "threads", *STAGE_CHECKS[:2])),
        *(pytest.param("bmg", part, id=f"bmg-{part}") for part in (*SHORT_PARTS, "threads")),
        pytest.param("cpu", STAGE_CHECKS[2], marks=before_release),
        *(pytest.param("bmg", part, marks=before_release) for part in STAGE_CHECKS),
    ],
    indirect=["platform"],
)
def test_every_check(platform: Platform, part: str, place: Path) -> None:
    """On PoCL and dg2 the same checks run with the sanitizers in the layer (test_native_sanitizers.py). Every stage of IGC is
    checked with builds of its own (test_opencl_layer_builds.py)."""
    folders = place / "folders"
    folders.mkdir()
    inside = platform.inside(place)
    names = checks_of(part, place)
    directory = {"KERNLENS_SNAPSHOT_DIR": str(inside / "folders")}
    result = platform.run(place, "checks", str(inside / "module.spv"), *names, **directory)  # type: ignore[arg-type]
    passed(result)
    # Why a build that was to fail yielded no snapshot.
    assert (": the build failed (" in result.stderr) == (part == SOURCES)
    folders.rmdir()  # it is empty: nothing is left behind
    assert not list(place.glob("OCL_asm*")), "the compiler's files in the current folder"


def test_nothing_without_the_layer(platform: Platform, place: Path) -> None:
    passed(platform.run(place, "plain", layer=False))


def test_binary_stays_the_same(platform: Platform, place: Path) -> None:
    """Without the layer, with it, and with a request for each stage."""
    options = "-g" if platform.folder == Path("/") else ""  # driver B's binaries with -g differ from build to build
    fresh = {"NEO_CACHE_PERSISTENT": "0"}

    def binary(name: str, *, stage: str = "", layer: bool = True) -> bytes:
        output = platform.inside(place) / name
        passed(platform.run(place, "binary", str(output), stage, options, layer=layer, **fresh))  # type: ignore[arg-type]
        return (place / name).read_bytes()

    plain = binary("plain", layer=False)
    assert binary("again", layer=False) == plain
    assert binary("layer") == plain
    stages = ("visa", "llvm-optimized", "visa-llvm-map", "gen-assembly", "resources", "program", "spirv")
    others = {"PoCL": ("llvm", "object"), "Intel's CPU runtime": ("llvm", "assembly", "object", "disassembly")}
    for stage in others.get(platform.name, stages):
        assert binary(stage, stage=stage) == plain, stage


def test_folder_that_cannot_be_written(platform: Platform, place: Path, tmp_path: Path) -> None:
    result = platform.run(place, "refused", platform.late, KERNLENS_SNAPSHOT_DIR="/proc/self")
    passed(result)
    assert f"no snapshot of stage '{platform.late}'" in result.stderr
    assert "no folder can be made" in result.stderr
    log = place / "reasons"
    passed(
        platform.run(
            place,
            "refused",
            platform.late,
            KERNLENS_SNAPSHOT_DIR="/proc/self",
            KERNLENS_SNAPSHOT_LOG=str(platform.inside(log)),
        )
    )
    assert "no folder can be made" in log.read_text()


def test_full_disk(platform: Platform, place: Path) -> None:
    """A file system with room for next to nothing, mounted where only the test program sees it."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs to be root")
    small = place / "small"
    small.mkdir(exist_ok=True)
    mount = ("unshare", "-m", "sh", "-c", f'mount -t tmpfs -o size=8k none {small} && exec "$0" "$@"')
    full = Platform(
        platform.name, platform.environment, platform.late, prefix=(*mount, *platform.prefix), folder=platform.folder
    )
    stages = (platform.late, "visa-llvm-map") if "driver" in platform.name else (platform.late,)
    if platform.name == "Intel's CPU runtime":
        stages = ("assembly",)  # its object file would fit
    for stage in stages:  # IGC 1 ends its process when it cannot write the second
        result = full.run(place, "refused", stage, KERNLENS_SNAPSHOT_DIR=str(platform.inside(small)))
        passed(result)
        assert f"no snapshot of stage '{stage}'" in result.stderr


_SPIRV = [
    ("spirv", TEXT, "-g", ".spvasm", ["spirv-as", "-o", "/dev/null"]),
    ("spirv", BINARY, "", ".spv", ["spirv-val"]),  # with -g, Intel's front ends make modules that it refuses
]
_LLVM = [(stage, TEXT, "-g", ".ll", ["llvm-as-15", "-o", "/dev/null"]) for stage in ("llvm-unified", "llvm-codegen")]
#: For each platform the stage, the format, the build options, the ending, and the stage's own tool. LLVM IR of IGC 2 is too
#: new for Debian 12's tools, and its iga64 does not know bmg.
READERS = {
    "pocl": [
        ("llvm", TEXT, "", ".ll", ["llvm-as-15", "-o", "/dev/null"]),
        ("llvm-parallel", BINARY, "", ".bc", ["llvm-dis-15", "-o", "/dev/null"]),
        ("shared-object", BINARY, "", ".so", ["readelf", "--all"]),
    ],
    "cpu": [("object", BINARY, "", ".o", ["objdump", "-d"])],
    "skl": [*_SPIRV, *_LLVM, ("gen-assembly", BINARY, "", ".dat", ["iga64", "-d", "-p=9"])],
    "dg2": [*_SPIRV, *_LLVM, ("gen-assembly", BINARY, "", ".dat", ["iga64", "-d", "-p=12p71"])],
    "bmg": _SPIRV,
}


@pytest.mark.parametrize(
    ("platform", "reader"),
    [
        pytest.param(name, reader, id=f"{name}-{reader[0]}{reader[3]}")
        for name, readers in READERS.items()
        for reader in readers
    ],
    indirect=["platform"],
)
def test_own_tools_read_the_snapshots(
    platform: Platform, place: Path, reader: tuple[str, int, str, str, list[str]]
) -> None:
    stage, form, options, ending, tool = reader
    output = place / f"snapshot{ending}"
    inside = str(platform.inside(output))
    result = platform.run(place, "save", stage, str(form), inside, options, NEO_CACHE_PERSISTENT="0")
    passed(result)
    assert result.stdout.splitlines()[0] == ending
    read = subprocess.run([*tool, str(output)], capture_output=True, text=True, timeout=60, check=False)
    assert read.returncode == 0, read.stderr


@pytest.mark.parametrize("platform", IGC, indirect=True)
def test_assembly_has_source_lines(platform: Platform, place: Path) -> None:
    output = place / "lines.asm"
    inside = str(platform.inside(output))
    passed(platform.run(place, "save", "gen-assembly", str(TEXT), inside, "-g", NEO_CACHE_PERSISTENT="0"))
    assert "// Line 5" in output.read_text()


def test_foreign_device(work: Path) -> None:
    """Two platforms in one process: a device of the other is refused, each stage list is its own compiler's."""
    both = Platform("both", {**intel("skl", "1x3x8").environment, "OCL_ICD_VENDORS": str(ICD_FOLDER)}, late="")
    passed(both.run(work, "checks", str(work / "module.spv"), "list", "foreign-device"))


def test_khronos_loader(work: Path, tmp_path: Path) -> None:
    """The loader that comes with Intel's CPU runtime."""
    platform = cpu_runtime(tmp_path)
    libraries = platform.environment["LD_LIBRARY_PATH"].split(":")[1]
    assert (Path(libraries) / "libOpenCL.so.1").exists()
    names = [name for part in SHORT_PARTS for name in checks_of(part, work)]
    passed(platform.run(work, "checks", str(work / "module.spv"), *names, LD_LIBRARY_PATH=libraries))
