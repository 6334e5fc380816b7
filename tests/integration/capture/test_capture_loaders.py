"""Captures of programs whose OpenCL loader takes no layers: CUDA's own, in every way that a program comes to it."""

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

from kernlens.toolchain.library_search import LibrarySearch, read_linked
from kernlens.verbs.capture.capture import capture
from tests.integration.capture.capture_fixtures import MAIN
from tests.integration.capture.on_a_gpu import SOURCES, compile_applications
from tests.integration.layers.opencl_layer_fixtures import ICD_FOLDER, LAYER, NATIVE, SIMULATED

PROGRAMS, LAUNCHES = 2, 5
SYSTEM_LOADER = Path("/usr/lib/x86_64-linux-gnu/libOpenCL.so.1")
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


@pytest.mark.parametrize("way", ["LD_LIBRARY_PATH", "RUNPATH", "RPATH", "env", "threads", "Python", "script"])
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
    if way != "Python":  # pyopencl brings a loader that takes layers; the other one is what Python alone would get.
        assert noted["findings"][0].startswith("the OpenCL loader ")
        assert "takes no layers, so kernlens put /" in noted["findings"][0]


def test_an_absolute_path_cannot_be_led_elsewhere(place: Place, tmp_path: Path) -> None:
    """What it loaded was seen while it ran, and is said, with the next step."""
    command = [*MAIN, "capture", "-o", str(tmp_path / "x.klens"), "--"]
    done = place.alone(*command, place.program("absolute"), "2", "20")
    assert done.returncode == 0
    assert not (tmp_path / "x.klens").exists()
    loader = f"{place.cuda}/libOpenCL.so.1"
    assert f"has the absolute path of {loader}, and nothing can be put in front of that" in done.stderr
    assert "have it open libOpenCL.so.1 without a path" in done.stderr


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


def test_a_path_that_is_seen_only_when_it_runs(place: Place, tmp_path: Path) -> None:
    """Preloading does not help, which is said; what is advised then does."""
    loader = tmp_path / "libOpenCL.so.1"
    shutil.copy(place.cuda / "libOpenCL.so.1", loader)
    words = opened(place, tmp_path, str(loader))
    assert f"a process loaded {loader}, an OpenCL loader that takes no layers" in words
    assert "it was opened by its path, or through a search path of its own" in words
    (preload,) = re.findall(r"LD_PRELOAD=(\S+) kernlens capture \.\.\.", words)
    words = opened(place, tmp_path, str(loader), LD_PRELOAD=preload)
    assert f"and {loader}, which takes none, and built nothing through the former" in words
    (link,) = re.findall(r"\(a link to (\S+)\)", words)
    loader.unlink()
    loader.symlink_to(link)
    assert "1 build, 1 kernel" in opened(place, tmp_path, str(loader))


def test_what_pyopencl_keeps_kernlens_from(place: Place, tmp_path: Path) -> None:
    """The application has pyopencl and opens CUDA's loader: with another order of pyopencl's drivers nothing is put in front
    of that, and the variable that is named lets it be recorded."""
    pytest.importorskip("pyopencl")
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    for name in ("pocl.icd", "intel.icd"):
        shutil.copy(ICD_FOLDER / name, vendors)
    variables = {"LD_LIBRARY_PATH": str(place.cuda), "OCL_ICD_VENDORS": f"{vendors}/", **SIMULATED}
    words = opened(place, tmp_path, "libOpenCL.so.1", **variables)
    (repair,) = re.findall(r"to record this one: (\S+) kernlens capture \.\.\.", words)
    name, _, value = repair.partition("=")
    assert "1 build, 1 kernel" in opened(place, tmp_path, "libOpenCL.so.1", **variables, **{name: value})


def test_a_loader_that_is_seen_only_when_it_runs(place: Place, tmp_path: Path) -> None:
    """No file tells what this shell starts."""
    line = f'x=$(printf %s runpath); "{place.folder}/bin/linked_$x" 2 20; sleep 0.2'
    done = place.alone(*MAIN, "capture", "-o", str(tmp_path / "x.klens"), "--", "sh", "-c", line)
    assert not (tmp_path / "x.klens").exists()
    assert f"a process loaded {place.cuda}/libOpenCL.so.1, an OpenCL loader that takes no layers" in done.stderr
    (preload,) = re.findall(r"LD_PRELOAD=(\S+) kernlens capture \.\.\.", done.stderr)
    again = [*MAIN, "capture", "-o", str(tmp_path / "x.klens"), "--", "sh", "-c", line]
    done = place.alone(*again, LD_PRELOAD=preload)
    assert "2 builds, 4 kernels and 80 launches recorded" in done.stderr


def test_simulated_devices(place: Place, tmp_path: Path) -> None:
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    shutil.copy(ICD_FOLDER / "intel.icd", vendors)
    variables = {"LD_LIBRARY_PATH": str(place.cuda), "OCL_ICD_VENDORS": f"{vendors}/", **SIMULATED}
    words = [*MAIN, "capture", "--simulate", "dg2", "--toolchain", "system", "-o", str(tmp_path / "x.klens"), "--"]
    done = place.alone(*words, place.program("linked"), "2", "3", **variables)
    assert "2 builds, 4 kernels and 12 launches recorded" in done.stderr, done.stderr
    assert re.search(r"step_on +program-1 +dg2 +3 +[1-9]", done.stderr)


def test_the_snapshot_layer(place: Place) -> None:
    """``kernlens layer`` puts the loader in front, twice over the same, and takes it away again."""
    variables = {"LD_LIBRARY_PATH": str(place.cuda)}
    shell = 'eval "$("$@" layer)"; eval "$("$@" layer)"; clinfo --raw; echo "path $LD_LIBRARY_PATH"; '
    shell += 'eval "$("$@" layer --unset)"; echo "then $LD_LIBRARY_PATH ${OCL_ICD_PLATFORM_SORT-none}"'
    done = place.alone("sh", "-c", shell, "sh", *MAIN, **variables)
    assert "cl_codeplay_program_snapshot" in done.stdout
    assert re.search(rf"^path {place.folder}/kernlens/opencl-loader/\w+:{place.cuda}$", done.stdout, re.MULTILINE)
    assert f"then {place.cuda} none" in done.stdout
    assert done.stderr.count("takes no layers") == 1
    run = place.alone(
        *MAIN, "run", "--simulate", "dg2", "--toolchain", "system", "--", "clinfo", "--raw",
        **variables, OPENCL_LAYERS=str(NATIVE / LAYER),
    )  # fmt: skip
    assert "takes no layers, so kernlens put" in run.stderr


def test_doctor_knows_the_loader(place: Place) -> None:
    done = place.alone(*MAIN, "doctor", "--json", LD_LIBRARY_PATH=str(place.cuda))
    (row,) = (check for check in json.loads(done.stdout)["checks"] if check["name"] == "OpenCL loader with layers")
    assert row["works"]
    assert row["found"].startswith(
        f"{place.cuda}/libOpenCL.so.1, which programs get by default, takes none: kernlens puts /"
    )


def test_a_python_package_with_an_old_loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    loader = Path("venv/lib/python3.11/site-packages/some.libs/libOpenCL-1234.so.1.0.0")
    loader.parent.mkdir(parents=True)
    python = Path("venv/bin/python")
    python.parent.mkdir()
    shutil.copy(os.path.realpath(sys.executable), python)
    subprocess.run(["gcc", "-shared", "-x", "c", "-o", loader, "/dev/null"], check=True, timeout=60)
    test = "import os, sys; sys.exit('libOpenCL.so.1' not in os.environ.get('LD_PRELOAD', ''))"
    assert capture([python, "-c", test]).exit_status == 0
    loader.write_bytes(b"OPENCL_LAYERS")
    assert capture([python, "-c", test]).exit_status == 1


@pytest.mark.parametrize("name", ["linked", "linked_runpath", "linked_rpath", "threaded"])
@pytest.mark.parametrize("path", ["", "front", "cuda", "front:cuda"])
def test_the_search_is_that_of_the_dynamic_loader(name: str, path: str, place: Place) -> None:
    """ld.so says which libraries it would load (LD_TRACE_LOADED_OBJECTS)."""
    front = place.folder / "front"
    front.mkdir(exist_ok=True)
    shutil.copy(SYSTEM_LOADER, front / "libOpenCL.so.1")
    variables = {"LD_LIBRARY_PATH": ":".join(str(place.folder / each) for each in path.split(":"))} if path else {}
    traced = place.alone(place.program(name), LD_TRACE_LOADED_OBJECTS="1", **variables).stdout
    theirs = dict(re.findall(r"^\s+(\S+) => (\S+)", traced, re.MULTILINE))
    program = read_linked(place.program(name))
    assert program is not None
    ours = {library: found_at[0] for library, _, found_at in LibrarySearch(variables).libraries(program) if found_at}
    assert set(theirs) <= set(ours)
    assert {library: os.path.realpath(file) for library, file in theirs.items()} == {
        library: os.path.realpath(ours[library]) for library in theirs
    }
    assert "libOpenCL.so.1" in theirs
