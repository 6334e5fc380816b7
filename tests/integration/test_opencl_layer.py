"""The OpenCL layer, by a C program that knows nothing of Python: opencl_layer/snapshot_test.c on every OpenCL compiler here."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import kernlens
from kernlens.toolchain.simulation import simulated_environment
from kernlens.toolchain.toolchains import of_root

HERE = Path(__file__).parent / "opencl_layer"
NATIVE = Path(kernlens.__file__).parent / "native"
HEADERS = Path(kernlens.__file__).parent / "include"
LAYER = "libkernlens_opencl_layer.so"
BUILDER = "kernlens_snapshot_build"
ICD_FOLDER = Path("/etc/OpenCL/vendors")
TIME_LIMIT = 900
BINARY, TEXT = 1, 2  # cl_codeplay_program_binary_format

#: Driver A without a GPU: no .aub files, the compiler is real.
SIMULATED = {"NEOReadDebugKeys": "1", "SetCommandStreamReceiver": "1", "AUBDumpSubCaptureMode": "2"}
#: Driver B's null device.
NULL_DEVICE = {
    "NEOReadDebugKeys": "1",
    "UseAubStream": "0",
    "SetCommandStreamReceiver": "5",
    "UseExternalAllocatorForSshAndDsh": "0",
    "UseBindlessMode": "0",
}


@dataclass(frozen=True)
class Platform:
    """How to run a program so that its first device is the wanted one. ``late`` names a stage that the compiler keeps
    during the application's own build or, if that cannot be, during a second one."""

    name: str
    environment: dict[str, str]
    late: str
    prefix: tuple[str, ...] = ()
    folder: Path = Path("/")

    def run(self, work: Path, *arguments: str, layer: bool = True, **more: str) -> subprocess.CompletedProcess[str]:
        """Runs the test program, which lies with the layer in ``work``."""
        inside = self.inside(work)
        environment = {**os.environ, **self.environment, **more}
        for name in ("OPENCL_LAYERS", "LD_PRELOAD"):
            if name not in more:
                environment.pop(name, None)
        if layer:
            environment["OPENCL_LAYERS"] = f"{inside}/{LAYER}"
        command = [*self.prefix, f"{inside}/snapshot_test", *arguments]
        return subprocess.run(
            command, cwd=work, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT, check=False
        )

    def inside(self, work: Path) -> Path:
        """The path of a folder as the program sees it."""
        return Path("/") / work.relative_to(self.folder)


def intel(product: str, slices: str) -> Platform:
    return Platform(
        f"driver A, {product}",
        {
            **SIMULATED,
            "OCL_ICD_VENDORS": str(ICD_FOLDER / "intel.icd"),
            "ProductFamilyOverride": product,
            "HardwareInfoOverride": slices,
        },
        late="gen-assembly",
    )


def cpu_runtime(folder: Path) -> Platform:
    """Intel's OpenCL runtime for CPUs, from the wheels in this environment."""
    try:
        files = importlib.metadata.files("intel-opencl-rt") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("Intel's CPU runtime: pip install intel-opencl-rt intel-cmplr-lib-rt")
    library = next(Path(str(file.locate())).resolve() for file in files if file.name == "libintelocl.so")
    (folder / "cpu.icd").write_text(f"{library}\n")
    return Platform(
        "Intel's CPU runtime",
        {
            "OCL_ICD_VENDORS": str(folder),
            # Debian's loader; the wheel's own is tried by a test of its own.
            "LD_LIBRARY_PATH": f"/usr/lib/x86_64-linux-gnu:{library.parent}",
        },
        late="object",
    )


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The layer, the test program and a SPIR-V module of its source."""
    if not (NATIVE / LAYER).exists():
        pytest.fail(f"{NATIVE / LAYER} is not built: install the package where the OpenCL headers are")
    folder = tmp_path_factory.mktemp("opencl-layer")
    flags = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-I{HEADERS}"]
    sources = sorted(str(path) for path in HERE.glob("*.c"))
    subprocess.run(
        ["gcc", *flags, "-o", str(folder / "snapshot_test"), *sources, "-lOpenCL", "-lpthread"], check=True, timeout=120
    )
    for name in ("libigc.so.9", "libze_loader.so.1"):
        subprocess.run(["gcc", "-shared", "-x", "c", "-o", folder / name, "/dev/null"], check=True, timeout=60)
    for name in (LAYER, BUILDER):
        shutil.copy2(NATIVE / name, folder / name)
    (folder / "module.cl").write_text(SOURCE)
    subprocess.run(
        ["ocloc", "compile", "-q", "-file", "module.cl", "-device", "skl", "-output", "module"],
        cwd=folder,
        check=True,
        timeout=120,
        capture_output=True,
    )
    (module,) = folder.glob("module*.spv")
    module.rename(folder / "module.spv")
    return folder


#: As in support.c: two kernels, "vadd" and "vmul".
SOURCE = """\
float scaled(float x, int n) { for (int i = 0; i < n; i++) x = x * x + 1.0f; return x; }
kernel void vadd(global float *a, global const float *b, int n)
{ int i = get_global_id(0); a[i] = scaled(b[i], n); }
kernel void vmul(global float *a, global const float *b)
{ int i = get_global_id(0); a[i] *= b[i]; }
"""


@pytest.fixture(scope="module", params=["pocl", "cpu", "skl", "dg2", "bmg"])
def platform(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Platform:
    if request.param == "pocl":
        icd = ICD_FOLDER / "pocl.icd"
        cache = tmp_path_factory.mktemp("pocl-cache")
        # One cache for all runs: without it, two builds differ in the names of PoCL's temporary files.
        return Platform("PoCL", {"OCL_ICD_VENDORS": str(icd), "POCL_CACHE_DIR": str(cache)}, late="object")
    if request.param == "cpu":
        return cpu_runtime(tmp_path_factory.mktemp("icd"))
    if request.param == "bmg":
        root: Path = request.getfixturevalue("newest_root")
        return newest(root)
    return intel(request.param, {"skl": "1x3x8", "dg2": "8x4x16"}[request.param])


def newest(root: Path) -> Platform:
    """Driver B in its root, with a /proc of its own; needs to be root."""
    if os.geteuid() != 0:
        pytest.skip("the newest driver's root is entered with chroot, which needs to be root")
    enter = (
        "unshare",
        "-m",
        "sh",
        "-c",
        # Nothing made device nodes in a root: its packages are only unpacked.
        'mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && '
        'exec chroot "$0" sh -c \'cd "$(dirname "$0")" && exec "$0" "$@"\' "$@"',
        str(root),
    )
    return Platform(
        "driver B, bmg",
        {**NULL_DEVICE, "ProductFamilyOverride": "bmg", "HardwareInfoOverride": "5x4x8", "TMPDIR": "/tmp"},
        late="gen-assembly",
        prefix=enter,
        folder=root,
    )


@pytest.fixture(scope="module")
def place(platform: Platform, work: Path) -> Iterator[Path]:
    """The test program's folder, copied to where the platform can see it."""
    if platform.folder == Path("/"):
        yield work
        return
    folder = platform.folder / "tmp" / f"kernlens-layer-{os.getpid()}"
    shutil.copytree(work, folder, dirs_exist_ok=True)
    yield folder
    shutil.rmtree(folder)


def passed(result: subprocess.CompletedProcess[str]) -> None:
    assert result.returncode == 0, result.stdout + result.stderr
    assert " 0 failed" in result.stdout


def test_every_check(platform: Platform, place: Path) -> None:
    folders = place / "folders"
    folders.mkdir()
    inside = platform.inside(place)
    result = platform.run(place, "checks", str(inside / "module.spv"), KERNLENS_SNAPSHOT_DIR=str(inside / "folders"))
    passed(result)
    assert ": the build failed (" in result.stderr  # why a build that was to fail yielded no snapshot
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
        passed(platform.run(place, "binary", str(output), stage, options, layer=layer, **fresh))
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


def test_second_build_that_takes_too_long(platform: Platform, place: Path) -> None:
    """A process that never answers is ended, and the build succeeds."""
    stuck = place / "stuck"
    stuck.mkdir(exist_ok=True)
    shutil.copy2(place / LAYER, stuck / LAYER)
    (stuck / BUILDER).write_text("#!/bin/sh\nsleep 600 >/dev/null 2>&1\n")
    (stuck / BUILDER).chmod(0o755)
    result = platform.run(
        place,
        "refused",
        platform.late,
        layer=False,
        OPENCL_LAYERS=f"{platform.inside(stuck)}/{LAYER}",
        KERNLENS_SNAPSHOT_TIMEOUT="1",
        KERNLENS_SNAPSHOT_OWN_BUILD="0",
    )
    passed(result)
    assert "more than 1 seconds" in result.stderr


#: A user's own dumps, of either compiler; none is made in these tests.
USERS_DUMPS = {
    "IGC_DumpToCustomDir": "/nonexistent/of-the-user",
    "CL_CONFIG_DUMP_FILE_NAME_PREFIX": "/nonexistent/of-the-user",
}


def without_builder(place: Path) -> Path:
    """A folder with the layer alone: what comes then comes from the application's own build."""
    alone = place / "alone"
    alone.mkdir(exist_ok=True)
    shutil.copy2(place / LAYER, alone / LAYER)
    return alone / LAYER


def test_own_build_keeps_its_stages(platform: Platform, place: Path) -> None:
    """With IGC all, one after the other in one process and in each form. The CPU runtime's assembly changes the binary."""
    if platform.name == "PoCL":
        pytest.skip("only for IGC and the CPU runtime")
    layer = str(platform.inside(without_builder(place)))
    before = set(place.iterdir())
    alone = {"layer": False, "OPENCL_LAYERS": layer, "NEO_CACHE_PERSISTENT": "0"}
    if "driver" in platform.name:
        passed(platform.run(place, "stages", **alone))
    for stage in () if "driver" in platform.name else ("object", "disassembly"):
        passed(platform.run(place, "binary", "/dev/null", stage, **alone))
    assert set(place.iterdir()) == before, "the compiler's files in the current folder"


def test_forked_children_build(platform: Platform, place: Path) -> None:
    """A child inherits locks and IGC's settings in the middle of a build of another thread."""
    if "driver" not in platform.name:
        pytest.skip("only for driver: other compilers hang in forked children by themselves")
    passed(platform.run(place, "fork", NEO_CACHE_PERSISTENT="0"))


def test_own_build_refused(platform: Platform, place: Path) -> None:
    """KERNLENS_SNAPSHOT_OWN_BUILD=0, a user who has dumps made for himself, a second IGC, and a user of Level Zero whose
    compiles the layer does not see: nothing is left but the second build."""
    layer = str(platform.inside(without_builder(place)))
    reasons = [{"KERNLENS_SNAPSHOT_OWN_BUILD": "0"}, USERS_DUMPS]
    if "driver" in platform.name:
        for name in ("libigc.so.9", "libze_loader.so.1"):  # libraries of these names with nothing in them
            reasons.append({"LD_PRELOAD": str(platform.inside(place / name))})
    for variable in reasons:
        result = platform.run(place, "refused", platform.late, layer=False, OPENCL_LAYERS=layer, **variable)
        passed(result)
        assert BUILDER in result.stderr


#: The stage's own tool, the format and the build options; LLVM IR of IGC 2 is too new for Debian 12's tools.
READERS = [
    ("driver", "spirv", TEXT, "-g", ".spvasm", ["spirv-as", "-o", "/dev/null"]),
    ("driver", "spirv", BINARY, "", ".spv", ["spirv-val"]),  # with -g, Intel's front ends make modules that it refuses
    ("driver", "gen-assembly", BINARY, "", ".dat", ["iga64", "-d"]),
    ("driver A", "llvm-unified", TEXT, "-g", ".ll", ["llvm-as-15", "-o", "/dev/null"]),
    ("driver A", "llvm-codegen", TEXT, "-g", ".ll", ["llvm-as-15", "-o", "/dev/null"]),
    ("PoCL", "llvm", TEXT, "", ".ll", ["llvm-as-15", "-o", "/dev/null"]),
    ("PoCL", "llvm-parallel", BINARY, "", ".bc", ["llvm-dis-15", "-o", "/dev/null"]),
    ("PoCL", "shared-object", BINARY, "", ".so", ["readelf", "--all"]),
    ("CPU", "object", BINARY, "", ".o", ["objdump", "-d"]),
]


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: f"{reader[0]}-{reader[1]}{reader[4]}")
def test_own_tools_read_the_snapshots(
    platform: Platform, place: Path, reader: tuple[str, str, int, str, str, list[str]]
) -> None:
    compiler, stage, form, options, ending, tool = reader
    if compiler not in platform.name:
        pytest.skip(f"only for {compiler}")
    output = place / f"snapshot{ending}"
    inside = str(platform.inside(output))
    result = platform.run(place, "save", stage, str(form), inside, options, NEO_CACHE_PERSISTENT="0")
    passed(result)
    assert result.stdout.splitlines()[0] == ending
    if tool[0] == "iga64":
        tool = [*tool, f"-p={ {'skl': '9', 'dg2': '12p71', 'bmg': '2'}[platform.name.split()[-1]] }"]
        if platform.name.endswith("bmg"):
            pytest.skip("Debian 12's iga64 does not know bmg")
    read = subprocess.run([*tool, str(output)], capture_output=True, text=True, timeout=60, check=False)
    assert read.returncode == 0, read.stderr


def test_assembly_has_source_lines(platform: Platform, place: Path) -> None:
    if "driver" not in platform.name:
        pytest.skip("only for IGC")
    output = place / "lines.asm"
    inside = str(platform.inside(output))
    passed(platform.run(place, "save", "gen-assembly", str(TEXT), inside, "-g", NEO_CACHE_PERSISTENT="0"))
    assert "// Line 5" in output.read_text()


def test_second_build_in_another_root(work: Path, newest_root: Path, tmp_path: Path) -> None:
    """A program that runs by a root's own loader, as kernlens run does: what it starts must run so too."""
    chosen = of_root("newest", newest_root)
    command = chosen.command(work / "snapshot_test", "save", "visa", str(TEXT), str(tmp_path / "visa"), "")
    environment = {**os.environ, **chosen.environment(), **simulated_environment("bmg", chosen)}
    environment |= {"OPENCL_LAYERS": str(work / LAYER), "KERNLENS_SNAPSHOT_OWN_BUILD": "0"}
    passed(
        subprocess.run(
            command, env=environment, cwd=work, capture_output=True, text=True, timeout=TIME_LIMIT, check=False
        )
    )
    assert ".kernel" in (tmp_path / "visa").read_text()


def test_foreign_device(work: Path) -> None:
    """Two platforms in one process: a device of the other is refused, each stage list is its own compiler's."""
    both = Platform("both", {**intel("skl", "1x3x8").environment, "OCL_ICD_VENDORS": str(ICD_FOLDER)}, late="")
    passed(both.run(work, "checks", str(work / "module.spv")))


def test_khronos_loader(work: Path, tmp_path: Path) -> None:
    """The loader that comes with Intel's CPU runtime."""
    platform = cpu_runtime(tmp_path)
    libraries = platform.environment["LD_LIBRARY_PATH"].split(":")[1]
    assert (Path(libraries) / "libOpenCL.so.1").exists()
    passed(platform.run(work, "checks", str(work / "module.spv"), LD_LIBRARY_PATH=libraries))


def test_no_leak(work: Path, tmp_path: Path) -> None:
    """PoCL under valgrind: no error and no lost memory has the layer in its stack."""
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    log = tmp_path / "valgrind.log"
    platform = Platform(
        "PoCL",
        {"OCL_ICD_VENDORS": str(ICD_FOLDER / "pocl.icd"), "POCL_CACHE_DIR": str(tmp_path)},
        late="llvm",
        prefix=("valgrind", "--leak-check=full", "--num-callers=40", f"--log-file={log}"),
    )
    passed(platform.run(work, "binary", str(tmp_path / "binary"), "llvm"))
    blocks = log.read_text().split("\n==")
    assert "ERROR SUMMARY" in log.read_text()
    paragraphs = "\n".join(line.split("==", 1)[-1] for line in blocks).split("\n \n")
    ours = [text for text in paragraphs if LAYER in text or "request_snapshot" in text or "capture_" in text]
    assert not ours, "\n\n".join(ours)
