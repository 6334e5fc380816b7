"""The OpenCL compilers here, and the C program (opencl_layer/snapshot_test.c) that tries the OpenCL layer on them."""

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
from kernlens.model.stages import CPU_RUNTIME, FROM_CACHE, IGC_1, IGC_2, NVIDIA, OTHER, POCL, Stage
from tests.made_once import once
from tests.whole import each_run

HERE = Path(__file__).parent / "opencl_layer"
NATIVE = Path(kernlens.__file__).parent / "native"
HEADERS = Path(kernlens.__file__).parent / "include"
LAYER = "libkernlens_opencl_layer.so"
LEVEL_ZERO_LAYER = "libkernlens_level_zero_layer.so"
BUILDER = "kernlens_second_build"
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
    """The way to run a program so that its first device is the wanted one. ``late`` names a stage that the compiler
    keeps during the application's own build or, if that cannot be, during a second one."""

    name: str
    environment: dict[str, str]
    late: str
    prefix: tuple[str, ...] = ()
    folder: Path = Path("/")

    def run(
        self, work: Path, *arguments: str, layer: bool | str = True, time_limit: int = TIME_LIMIT, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Run the test program, which lies in ``work``, with the layer that lies there or at a path as the program sees it."""
        inside = self.inside(work)
        environment = {**os.environ, **self.environment, **more}
        for name in ("OPENCL_LAYERS", "LD_PRELOAD"):
            if name not in self.environment and name not in more:
                environment.pop(name, None)
        if layer:
            environment = led(layer if isinstance(layer, str) else f"{inside}/{LAYER}", environment)
        command = [*self.prefix, f"{inside}/snapshot_test", *arguments]
        return subprocess.run(
            command, cwd=work, env=environment, capture_output=True, text=True, timeout=time_limit, check=False
        )

    def inside(self, work: Path) -> Path:
        """Return the path of a folder as the program sees it."""
        return Path("/") / work.relative_to(self.folder)


def led(layer: str | Path, environment: dict[str, str]) -> dict[str, str]:
    """Return the environment in which a loader takes the layer for the only driver, which opens the others: ocl-icd
    by the first variable, Khronos's by the second."""
    vendors = environment.get("OCL_ICD_VENDORS")
    own = {"KERNLENS_OCL_ICD_VENDORS": vendors} if vendors is not None else {}
    return {**environment, **own, "OCL_ICD_VENDORS": str(layer), "OCL_ICD_FILENAMES": str(layer)}


def pocl(cache: Path) -> Platform:
    environment = {"OCL_ICD_VENDORS": str(ICD_FOLDER / "pocl.icd"), "POCL_CACHE_DIR": str(cache)}
    return Platform("PoCL", environment, late="object")


#: HardwareInfoOverride of the devices that are simulated with driver A.
SLICES = {"skl": "1x3x8", "dg2": "8x4x16"}


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
    """Return Intel's OpenCL runtime for CPUs, from the wheels in this environment."""
    try:
        files = importlib.metadata.files("intel-opencl-rt") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("Intel's CPU runtime: pip install intel-opencl-rt intel-cmplr-lib-rt")
    library = next(Path(str(file.locate())).resolve() for file in files if file.name == "libintelocl.so")
    (folder / "cpu.icd").write_text(f"{library}\n")
    # Debian's loader alone, not its folder: a libtbb that is there would be taken before the wheel's own.
    loader = folder / "loader" / "libOpenCL.so.1"
    loader.parent.mkdir(exist_ok=True)
    loader.unlink(missing_ok=True)
    loader.symlink_to("/usr/lib/x86_64-linux-gnu/libOpenCL.so.1")
    return Platform(
        "Intel's CPU runtime",
        {
            "OCL_ICD_VENDORS": str(folder),
            # The wheel's own loader is tried by a test of its own.
            "LD_LIBRARY_PATH": f"{loader.parent}:{library.parent}",
        },
        late="object",
    )


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the layer, the test program and a SPIR-V module of its source."""
    if not (NATIVE / LAYER).exists():
        pytest.fail(f"{NATIVE / LAYER} is not built: install the package where the OpenCL headers are")
    filled = once(tmp_path_factory, "opencl-layer", lambda folder: fill(folder, NATIVE))
    # Tests write into their copy, and remove what is in it.
    return shutil.copytree(filled, tmp_path_factory.mktemp("opencl-layer"), dirs_exist_ok=True)


def expected_stages() -> str:
    """Return what opencl_layer/support.c expects of each compiler's stages, as C."""
    tables = {
        "IGC": (IGC_1, IGC_2),
        "POCL": (POCL, POCL),
        "CPU": (CPU_RUNTIME, CPU_RUNTIME),
        "NVIDIA": (NVIDIA, NVIDIA),
        "OTHER": (OTHER, OTHER),
    }
    return "".join(
        f"static const struct expected_stage {name}[] = {{\n"
        + "".join(
            f"    {{{_expected(*pair)}}},\n"
            for pair in zip(older.stages, newer.stages, strict=True)
            if older is not OTHER or pair[0].name != "spirv"  # The program of the checks is one from source.
        )
        + "};\n"
        for name, (older, newer) in tables.items()
    )


def _expected(older: Stage, newer: Stage) -> str:
    """Return the members of one ``struct expected_stage``; the newer version of a compiler may write other files."""
    assert older.name == newer.name
    other = newer.ending(newer.default) if newer.forms != older.forms else None
    endings = (older.ending(older.form("text")), older.ending(older.form("binary")), other)
    words = [f'"{word}"' if word else "NULL" for word in (older.name, *endings)]
    is_open = older.scope != newer.scope or older.origin == FROM_CACHE  # What a link makes need not be in the cache.
    kernels = -1 if is_open else 2 if older.scope == "kernel" else 1
    snapshots = 0 if older.name == "debug" else kernels  # there is none without debug data
    return ", ".join([*words, "true" if older.default == "text" else "false", str(snapshots)])


def fill(folder: Path, native: Path, compiler: tuple[str, ...] = ("gcc",)) -> Path:
    """Build the test program in ``folder`` and copy the layer from ``native`` beside it."""
    flags = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-I{HEADERS}"]
    (folder / "expected_stages.h").write_text(expected_stages())
    sources = [f"-I{folder}", *sorted(str(path) for path in HERE.glob("*.c"))]
    libraries = ["-lOpenCL", "-lpthread"]
    subprocess.run(
        [*compiler, *flags, "-o", str(folder / "snapshot_test"), *sources, *libraries], check=True, timeout=300
    )
    for name in ("libigc.so.9", "libze_loader.so.1"):
        subprocess.run(["gcc", "-shared", "-x", "c", "-o", folder / name, "/dev/null"], check=True, timeout=60)
    for name in (LAYER, LEVEL_ZERO_LAYER, BUILDER):
        shutil.copy2(native / name, folder / name)
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


#: The platforms of Intel's GPU compiler, and all: a test for some of them is parametrized with their names (indirect).
IGC = ("skl", "dg2", "bmg")
ALL = ("pocl", "cpu", *IGC)
#: skl and dg2 have the same driver.
EACH_RUN = ("pocl", "cpu", "dg2", "bmg")


@pytest.fixture(scope="module", params=each_run(*EACH_RUN, others=ALL))
def platform(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Platform:
    if request.param == "pocl":
        # One cache for all runs: without it, two builds differ in the names of PoCL's temporary files.
        return pocl(tmp_path_factory.mktemp("pocl-cache"))
    if request.param == "cpu":
        return cpu_runtime(tmp_path_factory.mktemp("icd"))
    if request.param == "bmg":
        root: Path = request.getfixturevalue("newest_root")
        return newest(root)
    return intel(request.param, SLICES[request.param])


def newest(root: Path) -> Platform:
    """Return driver B in its root, with a /proc of its own; needs to be root."""
    if os.geteuid() != 0:
        pytest.skip("the newest driver's root is entered with chroot, which needs to be root")
    enter = (
        "unshare",
        "-m",
        "sh",
        "-c",
        # Nothing made device nodes in a root: its packages are only unpacked. It may have no shell.
        'mkdir -p "$0/proc" "$0/dev" && mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && '
        'exec unshare --root="$0" --wd="$(dirname "$1")" "$@"',
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
    """Yield the test program's folder, copied to where the platform can see it."""
    if platform.folder == Path("/"):
        yield work
        return
    folder = platform.folder / "tmp" / f"kernlens-layer-{os.getpid()}"
    shutil.copytree(work, folder, dirs_exist_ok=True)
    yield folder
    shutil.rmtree(folder)


#: The checks that build once for every stage, and all that take as long as the others together.
STAGE_CHECKS = ("binary-stages", "text-stages", "default-stages")
LONG_CHECKS = ("threads", *STAGE_CHECKS)
#: The checks of programs that are made of modules, binaries and other programs.
MODULE_CHECKS = ("compile-and-link", "il", "binary-program")
#: The parts of the checks that are not long, which take about as long as each other.
SOURCES, MODULES = SHORT_PARTS = ("sources", "modules")


def checks_of(part: str, work: Path) -> list[str]:
    """The names of checks that are a part of all: one of ``LONG_CHECKS``, or of ``SHORT_PARTS``."""
    if part not in SHORT_PARTS:
        return [part]
    names = subprocess.check_output([work / "snapshot_test", "names"], text=True).split()
    assert {*LONG_CHECKS, *MODULE_CHECKS} < set(names)
    return [name for name in names if name not in LONG_CHECKS and (name in MODULE_CHECKS) == (part == MODULES)]


def passed(result: subprocess.CompletedProcess[str]) -> None:
    assert result.returncode == 0, result.stdout + result.stderr
    assert " 0 failed" in result.stdout
