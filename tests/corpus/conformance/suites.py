"""The conformance tests: where their sources are, and how they are built. Nothing of them is part of this project.

A folder holds the sources, each repository under its own name; what is missing is cloned there. What is built lies beside it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernlens.toolchain.toolchains import NEWEST, library_folders, toolchain
from tests.corpus.conformance.cut import CUTS, cut_program

#: A repository's folder -> where it is.
REPOSITORIES = {
    "OpenCL-CTS": "https://github.com/KhronosGroup/OpenCL-CTS",
    "OpenCL-Headers": "https://github.com/KhronosGroup/OpenCL-Headers",
    "SPIRV-Headers": "https://github.com/KhronosGroup/SPIRV-Headers",
    "level-zero": "https://github.com/oneapi-src/level-zero",
    "level-zero-tests": "https://github.com/oneapi-src/level-zero-tests",
    "compute-runtime": "https://github.com/intel/compute-runtime",
}
#: The suites of OpenCL-CTS -> the folders of their programs.
KHRONOS = {
    "compiler": "compiler",
    "api": "api",
    "basic": "basic",
    "events": "events",
    "multiples": "multiple_device_context",
    "spirv_new": "spirv_new",
    "vectors": "vectors",
}
BLACK_BOX = "zello"
SUITES = (*KHRONOS, "module", BLACK_BOX)
#: Debian's package of GoogleTest's sources, which level-zero-tests builds.
GOOGLETEST = "/usr/src/googletest"
_TESTS = "compute-runtime/level_zero/core/test/black_box_tests"


@dataclass(frozen=True)
class Suite:
    """A suite: the interface that its programs use, the kind of its programs, and these. What could not be built has no
    program: ``missing`` says why."""

    name: str
    interface: str
    kind: str
    programs: tuple[Path, ...]
    missing: tuple[str, ...] = ()


def prepare(name: str, folder: Path, is_cut: bool = False) -> Suite:
    """Build a suite from the sources in a folder; ``is_cut``: with fewer cases, if it is one that can be cut."""
    if name == BLACK_BOX:
        return _black_box(folder)
    if name == "module":
        return _level_zero(folder)
    return _khronos(name, folder, is_cut and name in CUTS)


def _sources(folder: Path, *names: str) -> None:
    for name in names:
        if not (folder / name).exists():
            _run(["git", "clone", "--quiet", "--depth", "1", REPOSITORIES[name], str(folder / name)], 1800)


def _run(words: Sequence[str], seconds: float, where: Path | None = None) -> None:
    done = subprocess.run(words, cwd=where, capture_output=True, text=True, timeout=seconds, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} failed:\n{(done.stdout + done.stderr)[-3000:]}")


def _cmake(source: Path, build: Path, targets: Iterable[str], *settings: str) -> None:
    """Build targets without optimization: what the tests compute is not in question."""
    flags = ("-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O0 -w", "-DCMAKE_C_FLAGS=-O0 -w")
    if not (build / "build.ninja").exists():
        _run(["cmake", "-G", "Ninja", "-S", str(source), "-B", str(build), *flags, *settings], 600)
    _run(["ninja", "-C", str(build), *targets], 7200)


def _khronos(name: str, folder: Path, is_cut: bool) -> Suite:
    _sources(folder, "OpenCL-CTS", "OpenCL-Headers", "SPIRV-Headers")
    build = folder / "build-OpenCL-CTS"
    _cmake(
        folder / "OpenCL-CTS",
        build,
        (f"test_{name}",),
        f"-DCL_INCLUDE_DIR={folder / 'OpenCL-Headers'}",
        f"-DSPIRV_INCLUDE_DIR={folder / 'SPIRV-Headers'}",
        "-DCL_LIB_DIR=/usr/lib/x86_64-linux-gnu",
        "-DOPENCL_LIBRARIES=OpenCL",
        "-DSPIRV_TOOLS_DIR=/usr/bin",
    )
    program = build / "test_conformance" / KHRONOS[name] / f"test_{name}"
    return Suite(name, "opencl", "khronos", (cut_program(name, program, build) if is_cut else program,))


def _loader() -> Path:
    """Return the Level Zero loader of the newest toolchain: the system's lacks functions that the tests call."""
    root = toolchain(NEWEST).root
    assert root is not None
    return next(path for each in library_folders(root) if (path := each / "libze_loader.so.1").exists())


def _headers(folder: Path) -> Path:
    """Return the folder of Level Zero's headers, as applications include them."""
    _sources(folder, "level-zero")
    headers = folder / "build-headers"
    headers.mkdir(exist_ok=True)
    link = headers / "level_zero"
    if not link.is_symlink():
        link.symlink_to(folder / "level-zero" / "include")
    return headers


def _level_zero(folder: Path) -> Suite:
    _sources(folder, "level-zero-tests")
    build = folder / "build-level-zero-tests"
    _cmake(
        folder / "level-zero-tests",
        build,
        ("test_module",),
        "-DGROUP=/conformance_tests/core",
        f"-DGTEST_ROOT={GOOGLETEST}",
        f"-DLevelZero_INCLUDE_DIR={_headers(folder)}",
        f"-DLevelZero_LIBRARY={_loader()}",
        "-DCMAKE_SKIP_RPATH=ON",
        "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--allow-shlib-undefined",
    )
    program = build / "conformance_tests" / "core" / "test_module" / "test_module"
    for module in (folder / "level-zero-tests/conformance_tests/core/test_module/kernels").glob("*.spv"):
        link = program.with_name(module.name)
        if not link.is_symlink():
            link.symlink_to(module)
    return Suite("module", "level-zero", "gtest", (program,))


def _black_box(folder: Path) -> Suite:
    """Compile the tests one by one: the driver's own build needs the whole driver."""
    _sources(folder, "compute-runtime")
    tests, build = folder / _TESTS, folder / "build-zello"
    build.mkdir(exist_ok=True)
    includes = [tests / "common", folder / "compute-runtime", folder / "compute-runtime/level_zero/include"]
    includes += [folder / "compute-runtime/shared/offline_compiler/source", _headers(folder)]
    compiler = ["g++", "-std=c++20", "-O0", "-w", *(f"-I{each}" for each in includes)]
    libraries = [str(_loader()), str(_loader().with_name("libocloc.so")), "-lOpenCL", "-lpthread"]
    library = build / "common.a"
    if not library.exists():
        for source in sorted((tests / "common").glob("*.cpp")):
            _run([*compiler, "-c", "-o", str(build / f"{source.stem}.o"), str(source)], 600)
        _run(["ar", "rc", str(library), *map(str, sorted(build.glob("*.o")))], 60)
    programs, missing = [], []
    for source in sorted(tests.glob("zello_*.cpp")):
        program = build / source.stem
        words = [*compiler, "-o", str(program), str(source), str(library), *libraries]
        words.append("-Wl,--allow-shlib-undefined")
        if not program.exists():
            done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
            if done.returncode:
                missing.append(f"{source.stem}: {next((x for x in done.stderr.splitlines() if 'error' in x), '')}")
                continue
        programs.append(program)
    return Suite(BLACK_BOX, "level-zero", "program", tuple(programs), tuple(missing))
