"""Captures of programs whose OpenCL loader is CUDA's own, which knows no layers, in every way that a program comes to it."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.capture.capture_fixtures import MAIN
from tests.integration.capture.on_a_gpu import SOURCES, compile_applications
from tests.integration.layers.opencl_layer_fixtures import ICD_FOLDER, SIMULATED
from tests.whole import each_run

PROGRAMS, LAUNCHES = 2, 5
#: The environment of a program in the tests' own: PoCL alone, whose folder CUDA's loader takes with a slash at its end.
CHOOSING = ("OPENCL_LAYERS", "LD_LIBRARY_PATH", "LD_PRELOAD", "OCL_ICD_VENDORS", "OCL_ICD_FILENAMES")


@dataclass(frozen=True)
class Place:
    """Programs, CUDA's loader, and what runs them on PoCL."""

    folder: Path
    environment: dict[str, str]

    @property
    def cuda(self) -> Path:
        return self.folder / "cuda"

    def program(self, name: str) -> str:
        return str(self.folder / "bin" / name)

    def alone(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=self.folder,
            env={**self.environment, **more},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


@pytest.fixture(scope="module")
def cuda_loader() -> Path:
    try:
        files = importlib.metadata.files("nvidia-cuda-opencl") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("CUDA's OpenCL loader: pip install nvidia-cuda-opencl")
    return next(Path(str(file.locate())) for file in files if file.name == "libOpenCL.so.1")


@pytest.fixture(scope="module")
def place(cuda_loader: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("loaders")
    for name in ("bin", "cuda", "vendors", "pocl"):
        (folder / name).mkdir()
    shutil.copy(cuda_loader, folder / "cuda")
    shutil.copy(ICD_FOLDER / "pocl.icd", folder / "vendors")
    compile_applications(folder / "bin", folder / "cuda")
    absolute = f'-DOPENED_LOADER="{folder}/cuda/libOpenCL.so.1"'
    source = str(SOURCES / "linked_application.c")
    subprocess.run(["gcc", "-O1", absolute, "-o", str(folder / "bin" / "absolute"), source], check=True, timeout=60)
    own = {
        "OCL_ICD_VENDORS": f"{folder}/vendors/",
        "POCL_CACHE_DIR": str(folder / "pocl"),
        "XDG_CACHE_HOME": str(folder),
    }
    return Place(folder, {name: value for name, value in os.environ.items() if name not in CHOOSING} | own)


def script(place: Place, name: str, text: str) -> str:
    path = place.folder / "bin" / name
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def commands(place: Place, way: str) -> tuple[list[str], dict[str, str], int]:
    """Return a command line, its variables, and how many programs it starts that build."""
    sizes = [str(PROGRAMS), str(LAUNCHES)]
    by_path = {"LD_LIBRARY_PATH": str(place.cuda)}
    match way:
        case "LD_LIBRARY_PATH":
            return [place.program("linked"), *sizes], by_path, 1
        case "RUNPATH":
            return [place.program("linked_runpath"), *sizes], {}, 1
        case "RPATH":
            return [place.program("linked_rpath"), *sizes], {}, 1
        case "env":
            return ["env", "MORE=1", place.program("linked_runpath"), *sizes], {}, 1
        case "threads":
            return [place.program("threaded"), "1", *sizes], by_path, 1
        case "Python":
            return [sys.executable, str(SOURCES / "python_application.py"), *sizes], by_path, 1
        case "script":
            numbers = " ".join(sizes)
            text = f'#!/bin/sh\ncd "$(dirname "$0")"\n./linked_runpath {numbers} &\n./linked_rpath {numbers}\nwait\n'
            return [script(place, "both", text)], {}, 2
    raise AssertionError(way)


@pytest.mark.parametrize(
    "way", each_run("LD_LIBRARY_PATH", "RUNPATH", "threads", "Python", "script", others=["RPATH", "env"])
)
def test_all_is_recorded(way: str, place: Place, tmp_path: Path) -> None:
    """Builds and launches are those that a preloaded library counts, and the results those without a capture."""
    words, variables, programs = commands(place, way)
    counter = {"LD_PRELOAD": place.program("count.so")}
    computed: list[list[str]] = []
    counted: list[list[str]] = []
    answer, recording = tmp_path / "answer.json", tmp_path / "x.klens"
    captured = [*MAIN, "capture", "-o", str(recording), "--json-file", str(answer), "--"]
    for command in (words, [*captured, *words]):
        calls = tmp_path / f"calls{len(counted)}"
        done = place.alone(*command, **variables, **counter, COUNTED=str(calls))
        assert done.returncode == 0, done.stderr
        computed.append(re.findall(r"computed (\w+)", done.stdout))
        counted.append(sorted(calls.read_text().split()))
    noted = json.loads(answer.read_text())
    kernels = 1 if way == "threads" else 2
    assert (
        counted[0]
        == counted[1]
        == sorted([*["build"] * PROGRAMS * programs, *["launch"] * PROGRAMS * LAUNCHES * kernels * programs])
    )
    assert noted["builds"] == PROGRAMS * programs
    assert sum(kernel["launches"] for kernel in noted["kernels"]) == PROGRAMS * LAUNCHES * kernels * programs
    assert sorted(computed[0]) == sorted(computed[1])
    assert len(computed[0]) == programs


#: Builds a program with the loader that its argument names, which no file does.
OPENING = """
import ctypes, os, sys, time
cl = ctypes.CDLL(sys.argv[1])
cl.clCreateContext.restype = cl.clCreateProgramWithSource.restype = ctypes.c_void_p
platform, device, error = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
cl.clGetPlatformIDs(1, ctypes.byref(platform), None)
cl.clGetDeviceIDs(platform, ctypes.c_ulong(0xFFFFFFFF), 1, ctypes.byref(device), None)
context = ctypes.c_void_p(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(error)))
text = ctypes.c_char_p(b"kernel void one(global int *a) { a[get_global_id(0)] = 1; }")
program = ctypes.c_void_p(cl.clCreateProgramWithSource(context, 1, ctypes.byref(text), None, ctypes.byref(error)))
assert cl.clBuildProgram(program, 1, ctypes.byref(device), None, None, None) == 0
time.sleep(0.5)
"""


def opened(place: Place, tmp_path: Path, loader: str, **variables: str) -> str:
    (tmp_path / "opening.py").write_text(OPENING)
    words = [
        *MAIN,
        "capture",
        "-o",
        str(tmp_path / "x.klens"),
        "--",
        sys.executable,
        str(tmp_path / "opening.py"),
        loader,
    ]
    return place.alone(*words, **variables).stderr


def test_a_loader_that_is_opened_by_its_path(place: Place, tmp_path: Path) -> None:
    command = [*MAIN, "capture", "-o", str(tmp_path / "x.klens"), "--"]
    done = place.alone(*command, place.program("absolute"), "2", "20")
    assert "2 builds, 4 kernels and 80 launches recorded" in done.stderr
    loader = tmp_path / "libOpenCL.so.1"
    shutil.copy(place.cuda / "libOpenCL.so.1", loader)
    assert "1 build, 1 kernel" in opened(place, tmp_path, str(loader))


def test_simulated_devices(place: Place, tmp_path: Path) -> None:
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    shutil.copy(ICD_FOLDER / "intel.icd", vendors)
    variables = {"LD_LIBRARY_PATH": str(place.cuda), "OCL_ICD_VENDORS": f"{vendors}/", **SIMULATED}
    words = [*MAIN, "capture", "--simulate", "dg2", "--toolchain", "system", "-o", str(tmp_path / "x.klens"), "--"]
    done = place.alone(*words, place.program("linked"), "2", "3", **variables)
    assert "2 builds, 4 kernels and 12 launches recorded" in done.stderr, done.stderr
    assert re.search(r"step_on +program-1 +dg2 +(?:-\S+ +)*3 +[1-9]", done.stderr)


def test_the_snapshot_layer(place: Place) -> None:
    """``kernlens layer`` leads CUDA's loader to the layer, and elsewhere again."""
    variables = {"LD_LIBRARY_PATH": str(place.cuda)}
    shell = 'eval "$("$@" layer)"; eval "$("$@" layer)"; clinfo --raw; '
    shell += 'eval "$("$@" layer --unset)"; echo "then $OCL_ICD_VENDORS ${KERNLENS_OCL_ICD_VENDORS-none}"'
    done = place.alone("sh", "-c", shell, "sh", *MAIN, **variables)
    assert "cl_codeplay_program_snapshot" in done.stdout
    assert f"then {place.folder}/vendors/ none" in done.stdout
