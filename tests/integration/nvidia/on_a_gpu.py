"""Shows on a real NVIDIA GPU that the code which kernlens shows is the code that runs: that of the driver's compute cache.

A program is built in a process of its own, alone and captured, with empty and with warm caches, and with lines. What the driver
keeps is found here independently of kernlens: the one file of the cache that contains the program's PTX, from the ELF magic to
its end. Where there is neither network nor compiler, all that is needed travels in a folder:

    python -m tests.integration.nvidia.on_a_gpu prepare FOLDER --python 3.12     # with network and gcc
    python3 FOLDER/on_a_gpu.py run FOLDER --out OUT                              # on the GPU's machine

The second needs Python with NumPy and pip alone, and the driver. It writes on_a_gpu_nvidia.json and the recordings into OUT.
With ``nvdisasm`` there, what kernlens prints of each kernel is compared with what that prints.
"""

from __future__ import annotations

import argparse
import ctypes
import glob
import hashlib
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PACKAGES = "click orjson rich markdown-it-py mdurl pygments zstandard pyopencl pytools platformdirs typing-extensions siphash24"
DRIVER = "libnvidia-opencl.so.1"
DRIVER_FOLDERS = ("/usr/local/nvidia/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/cuda/compat")
MAGIC = b"\x7fELF"
SOURCE = """
float weight(float x) { return native_exp(-x * x) + sqrt(fabs(x)); }
__kernel void blur(__global const float *in, __global float *out, int n)
{
    int i = get_global_id(0);
    float sum = 0;
    for (int k = -3; k <= 3; ++k)
        sum += in[clamp(i + k, 0, n - 1)] * weight(k * 0.5f);
    out[i] = sum;
}
__kernel void tiles(__global const float *a, __global float *c, int n)
{
    __local float tile[16][17];
    int x = get_global_id(0), y = get_global_id(1), i = get_local_id(0), j = get_local_id(1);
    tile[j][i] = a[y * n + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    c[x * n + y] = tile[j][i];
}
"""
APPLICATION = """
import hashlib, sys
import numpy as np
import pyopencl as cl
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
program = cl.Program(context, open(sys.argv[1]).read() + sys.argv[2]).build(cache_dir=False)
open(sys.argv[3], "wb").write(program.binaries[0])
n = 256
data = np.random.default_rng(7).random(n * n, dtype=np.float32)
given = cl.Buffer(context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=data)
result = cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes)
digest = hashlib.sha256()
for kernel, size, local in (("blur", (n * n,), None), ("tiles", (n, n), (16, 16))):
    for _ in range(50):
        last = np.int32(n * n if kernel == "blur" else n)
        getattr(program, kernel)(queue, size, local, given, result, last)
    answer = np.empty_like(data)
    cl.enqueue_copy(queue, answer, result)
    digest.update(answer.tobytes())
print("computed", digest.hexdigest())
"""


def prepare(folder: Path, python: str) -> None:
    """Fill the folder with all that ``run`` needs."""
    root = HERE.parents[2]
    shutil.rmtree(folder, ignore_errors=True)
    wheels = folder / "wheels"
    wheels.mkdir(parents=True)
    platforms = [f"--platform={name}_x86_64" for name in ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17")]
    platforms += ["--platform=manylinux2014_x86_64", "--platform=manylinux_2_34_x86_64"]
    version = [f"--python-version={python}", "--implementation=cp", "--only-binary=:all:", "--no-deps", "-q"]
    pip = [sys.executable, "-m", "pip"]
    subprocess.run([*pip, "download", *version, *platforms, "-d", wheels, *PACKAGES.split()], check=True)
    subprocess.run([*pip, "wheel", "-q", "--no-deps", "-w", wheels, root], check=True)
    shutil.copy2(__file__, folder / "on_a_gpu.py")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{folder}: {size / 2**20:.1f} MiB")


def find_driver() -> str:
    """Return NVIDIA's OpenCL driver: its name if the dynamic loader finds it, else its path."""
    if DRIVER in subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout:
        return DRIVER
    paths = [path for place in DRIVER_FOLDERS for path in glob.glob(f"{place}/{DRIVER}")]
    if not paths:
        raise SystemExit(f"there is no {DRIVER} in {', '.join(DRIVER_FOLDERS)}; name the driver with --vendor")
    return paths[0]


def cached_code(cache: Path, ptx: bytes) -> list[bytes]:
    """Return the different machine codes in a compute cache beside this PTX, told by their bytes alone."""
    text = ptx.rstrip(b"\0")
    contents = [path.read_bytes() for path in sorted(cache.rglob("*")) if path.is_file()]
    codes = [content[content.index(MAGIC) :] for content in contents if text in content and MAGIC in content]
    return [bytes(code) for code in dict.fromkeys(codes)]


class Machine:
    """The environment of everything that runs here, and the folders that it works in."""

    def __init__(self, folder: Path, out: Path, vendor: str) -> None:
        self.out = out
        self.work = Path(tempfile.mkdtemp(prefix="on-a-gpu-"))
        site, vendors = self.work / "site", self.work / "vendors"
        vendors.mkdir()
        (vendors / "driver.icd").write_text(f"{vendor}\n")
        (self.work / "program.cl").write_text(SOURCE)
        (self.work / "application.py").write_text(APPLICATION)
        wheels = sorted(map(str, (folder / "wheels").glob("*.whl")))
        install = ["install", "-q", "--no-index", "--no-deps", "--no-compile", "--no-cache-dir", "--target", str(site)]
        subprocess.run([sys.executable, "-m", "pip", *install, *wheels], check=True)
        self.cache = self.work / "compute-cache"
        self.cache.mkdir()
        own = {"PYTHONPATH": str(site), "OCL_ICD_VENDORS": f"{vendors}/", "CUDA_CACHE_PATH": str(self.cache)}
        own |= {"XDG_CACHE_HOME": str(self.work / "cache"), "PYOPENCL_NO_CACHE": "1", "HOME": str(self.work)}
        choosing = re.compile("LD_PRELOAD|OPENCL_.*|OCL_ICD_.*")  # The named driver alone, and no layers.
        inherited = {name: value for name, value in os.environ.items() if not choosing.fullmatch(name)}
        self.environment = {**inherited, **own}
        self.loader = next((site / "pyopencl").rglob("libOpenCL*.so*"), None)

    def run(self, words: list[str], variables: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        environment = {**self.environment, **(variables or {})}
        options: dict[str, Any] = {"capture_output": True, "text": True, "errors": "replace", "timeout": 240}
        return subprocess.run(words, cwd=self.work, env=environment, check=False, **options)

    def kernlens(self, *words: str) -> list[str]:
        """Return the command that is kernlens."""
        return [sys.executable, "-c", "from kernlens.cli.main import main; main()", *words]

    def application(self, text: str, ptx: str) -> list[str]:
        """Return the application; ``text`` is added to its source, and the program's binary is written to ``ptx``."""
        return [sys.executable, str(self.work / "application.py"), str(self.work / "program.cl"), text, ptx]


def computed(done: subprocess.CompletedProcess[str]) -> str:
    """Return what the application computed, or how it failed."""
    line = next((line for line in done.stdout.splitlines() if line.startswith("computed ")), "")
    return line or f"failed ({done.returncode}): {done.stdout[-1000:]} {done.stderr[-2000:]}"


READ = """
import json, sys, hashlib
from kernlens.loading import load
programs = []
for program in load(sys.argv[1]):
    sass = [each for each in program.build.snapshots if each.stage == "sass"]
    kernels = {}
    for name, kernel in program.kernels.items():
        try:
            instructions = kernel.instructions
            places = kernel.source_map.places if kernel.source_map else []
            rows = [[o, t, (p.line if p else None)] for o, t, p in
                    zip(instructions.offsets, instructions.texts, places or [None] * len(instructions))]
        except Exception as error:
            rows = repr(error)
        kernels[name] = {"code": bytes(kernel.code).hex(), "rows": rows, "reason": kernel.line_table_reason,
                         "stated": dict(kernel.resources.stated), "files": dict(kernel.resources.register_files)}
    programs.append({"name": program.name, "format": program.format, "device": str(program.device), "kernels": kernels,
                     "stages": sorted({each.stage for each in program.build.snapshots}),
                     "sass": sass[0].content.hex() if sass else None})
print(json.dumps(programs))
"""


def read_recording(machine: Machine, path: Path) -> Any:
    """Return what kernlens reads of a recording."""
    done = machine.run([sys.executable, "-c", READ, str(path)])
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-3000:])
    return json.loads(done.stdout)


def listed(code: bytes, folder: Path, flag: str) -> dict[str, list[tuple[int, str, int | None]]]:
    """Return what nvdisasm prints of each section: offset, text, line."""
    path = folder / "code.cubin"
    path.write_bytes(code)
    done = subprocess.run(["nvdisasm", "-c", flag, str(path)], capture_output=True, text=True, check=True)
    sections: dict[str, list[tuple[int, str, int | None]]] = {}
    rows: list[tuple[int, str, int | None]] = []
    line = None
    for text in done.stdout.splitlines():
        if match := re.match(r'\s*\.section\s+"?\.text\.([^",]+)', text):
            rows, line = sections.setdefault(match[1], []), None
        elif match := re.match(r'\s*//## File ".*?", line (\d+)', text):
            line = int(match[1])
        elif match := re.match(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*$", text):
            rows.append((int(match[1], 16), match[2], line))
    return sections


def compared(machine: Machine, program: Any, code: bytes) -> dict[str, Any]:
    """Compare a program of a recording with the cached code, and with nvdisasm where it is there."""
    answer: dict[str, Any] = {"format": program["format"], "device": program["device"], "stages": program["stages"]}
    answer["sass_is_cached_code"] = program["sass"] == code.hex()
    answer["code_lies_in_cached_code"] = {
        name: bytes.fromhex(kernel["code"]) in code for name, kernel in program["kernels"].items()
    }
    answer["reasons"] = {name: kernel["reason"] for name, kernel in program["kernels"].items()}
    answer["resources"] = {name: [kernel["stated"], kernel["files"]] for name, kernel in program["kernels"].items()}
    if shutil.which("nvdisasm") is None:
        return {**answer, "nvdisasm": "none"}
    oracle, count, differing = listed(code, machine.work, "-g"), 0, []
    for name, kernel in program["kernels"].items():
        if isinstance(kernel["rows"], str):
            return {**answer, "nvdisasm": kernel["rows"]}
        for mine, theirs in zip(kernel["rows"], oracle[name], strict=True):
            count += 1
            if tuple(mine) != theirs:
                differing.append([name, mine, theirs])
    return {**answer, "nvdisasm": {"instructions": count, "differing": differing[:5], "count": len(differing)}}


def try_capture(machine: Machine, name: str, words: list[str], variables: dict[str, str], plain: str) -> dict[str, Any]:
    """Capture the application, and compare what was recorded with the cache that the driver used."""
    recording, ptx = machine.out / f"{name}.klens", machine.work / f"{name}.ptx"
    text = "__kernel void more(__global int *p) { p[0] = 4; }" if name == "cold" else ""  # in no cache yet
    command = machine.kernlens("capture", "-o", str(recording), *words, "--", *machine.application(text, str(ptx)))
    done = machine.run(command, variables)
    answer: dict[str, Any] = {
        "computed": computed(done),
        "equals_plain": computed(done) == plain,
        "said": done.stderr[-1500:],
    }
    programs = read_recording(machine, recording)
    codes = cached_code(machine.cache, ptx.read_bytes())
    answer["codes_in_own_cache"] = [hashlib.sha256(code).hexdigest() for code in codes]
    answer["has_loc"] = b".loc" in ptx.read_bytes()
    if name == "disabled":  # The driver reads no cache then, and what it holds need not be what runs.
        answer["holds_no_code"] = not any(program["sass"] for program in programs)
    elif codes:
        answer["programs"] = [compared(machine, program, codes[0]) for program in programs]
    else:
        answer["programs"] = [
            compared(machine, program, bytes.fromhex(program["sass"])) for program in programs if program["sass"]
        ]
    return answer


def try_layer(machine: Machine) -> dict[str, Any]:
    """Ask the snapshot layer for each stage of a program, in a process of its own."""
    done = machine.run(machine.kernlens("layer", "--json"))
    if done.returncode != 0 or machine.loader is None:
        return {"error": done.stderr[-2000:]}
    variables = json.loads(done.stdout)["environment"]
    answer = machine.run([sys.executable, str(HERE / "on_a_gpu.py"), "layer", str(machine.loader)], variables)
    if answer.returncode != 0:
        return {"error": f"{answer.returncode}: {answer.stdout[-1000:]} {answer.stderr[-3000:]}"}
    stages = json.loads(answer.stdout)
    binary = bytes.fromhex(stages.pop("binary"))
    codes = cached_code(machine.cache, binary)
    contents = {stage: bytes.fromhex(content) if content else None for stage, content in stages["snapshots"].items()}
    return {
        "stages": stages["stages"],
        "sizes": {stage: len(content) if content else None for stage, content in contents.items()},
        "ptx_is_the_binary": contents.get("ptx") == binary.rstrip(b"\0"),
        "sass_is_the_cached_code": bool(codes) and contents.get("sass") == codes[0],
        "codes_in_cache": len(codes),
        "said": answer.stderr[-1500:],
    }


def ask_layer(loader: str) -> None:
    """Build the program with a request for each stage, and print the snapshots: plain OpenCL, through ctypes."""
    importlib.import_module("pyopencl")  # It loads this loader, with what that needs.
    cl = ctypes.CDLL(loader)
    pointer = ctypes.c_void_p
    for name in ("clCreateContext", "clCreateProgramWithSource", "clGetExtensionFunctionAddressForPlatform"):
        getattr(cl, name).restype = pointer
    platform, device = pointer(), pointer()
    assert cl.clGetPlatformIDs(1, ctypes.byref(platform), None) == 0
    assert cl.clGetDeviceIDs(platform, ctypes.c_uint64(0xFFFFFFFF), 1, ctypes.byref(device), None) == 0
    context = pointer(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, None))
    call = ctypes.CFUNCTYPE(None, ctypes.c_size_t, pointer, pointer, pointer)

    def function(name: str) -> Any:
        address = cl.clGetExtensionFunctionAddressForPlatform(platform, name.encode())
        assert address, name
        return ctypes.CFUNCTYPE(ctypes.c_int32, pointer, pointer, pointer, pointer)(address), address

    listing, _ = function("clRequestProgramSnapshotListCODEPLAY")
    request_address = cl.clGetExtensionFunctionAddressForPlatform(platform, b"clRequestProgramSnapshotCODEPLAY")
    request = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, pointer, ctypes.c_char_p, ctypes.c_uint32, call, pointer)(
        request_address
    )
    lines = [SOURCE.encode()]

    def program() -> Any:
        text = ctypes.c_char_p(lines[0])
        return pointer(cl.clCreateProgramWithSource(context, 1, ctypes.byref(text), None, None))

    first = program()
    count = ctypes.c_uint32()
    assert listing(first, device, None, ctypes.addressof(count)) == 0
    names = (ctypes.c_char_p * count.value)()
    assert listing(first, device, ctypes.addressof(names), ctypes.addressof(count)) == 0
    stages = [bytes(name or b"").decode() for name in names]
    snapshots: dict[str, str | None] = {}
    binary = b""
    for stage in stages:
        received: list[bytes] = []

        def take(size: int, data: int, label: int, mine: int, into: list[bytes] = received) -> None:
            into.append(ctypes.string_at(data, size))

        callback = call(take)
        built = program()
        assert request(built, device, stage.encode(), 0, callback, None) == 0, stage
        assert cl.clBuildProgram(built, 1, ctypes.byref(device), b"", None, None) == 0
        snapshots[stage] = received[0].hex() if received else None
        size = ctypes.c_size_t()
        assert cl.clGetProgramInfo(built, 0x1165, ctypes.c_size_t(8), ctypes.byref(size), None) == 0
        room = ctypes.create_string_buffer(size.value)
        place = pointer(ctypes.addressof(room))
        assert cl.clGetProgramInfo(built, 0x1166, ctypes.c_size_t(8), ctypes.byref(place), None) == 0
        binary = room.raw[: size.value]
    print(json.dumps({"stages": stages, "snapshots": snapshots, "binary": binary.hex()}))


def run(folder: Path, out: Path, vendor: str) -> int:
    """Run everything, and write the results; return 1 if something is not as it must be."""
    out.mkdir(parents=True, exist_ok=True)
    machine = Machine(folder.resolve(), out.resolve(), vendor)
    document: dict[str, Any] = {"vendor": vendor, "python": sys.version, "nvdisasm": shutil.which("nvdisasm")}
    try:
        document["doctor"] = machine.run(machine.kernlens("doctor")).stdout
        plain = computed(machine.run(machine.application("", str(machine.work / "plain.ptx"))))
        document["plain"] = plain
        cases: dict[str, tuple[list[str], dict[str, str]]] = {
            "warm": ([], {}),
            "cold": ([], {}),
            "lines": (["--lines"], {}),
            "fresh": (["--fresh-cache"], {}),
            "disabled": ([], {"CUDA_CACHE_DISABLE": "1"}),
        }
        for name, (words, variables) in cases.items():
            try:
                document[name] = try_capture(machine, name, words, variables, plain)
            except (RuntimeError, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
                document[name] = {"error": f"{type(error).__name__}: {error}"}
            (out / "on_a_gpu_nvidia.json").write_text(json.dumps(document, indent=1))
        try:
            document["layer"] = try_layer(machine)
        except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
            document["layer"] = {"error": f"{type(error).__name__}: {error}"}
        shutil.make_archive(str(out.resolve() / "compute_cache_nvidia"), "xztar", machine.work, "compute-cache")
    finally:
        (out / "on_a_gpu_nvidia.json").write_text(json.dumps(document, indent=1))
        shutil.rmtree(machine.work, ignore_errors=True)
    print(json.dumps({key: value for key, value in document.items() if key != "doctor"}, indent=1))
    shown = [program for name in cases for program in document[name].get("programs", [])]
    is_right = (
        plain.startswith("computed ")
        and document["disabled"].get("holds_no_code")
        and all(document[name].get("equals_plain") for name in cases)
        and len(shown) >= 4
        and all(each["sass_is_cached_code"] and all(each["code_lies_in_cached_code"].values()) for each in shown)
        and document["layer"].get("ptx_is_the_binary")
        and document["layer"].get("sass_is_the_cached_code")
    )
    print("all is as it must be" if is_right else "something is not as it must be")
    return 0 if is_right else 1


def main() -> None:
    """Read the command line."""
    if sys.argv[1:2] == ["layer"]:
        ask_layer(sys.argv[2])
        return
    parser = argparse.ArgumentParser(description="The machine code that NVIDIA's driver runs.")
    parser.add_argument("what", choices=["prepare", "run"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", default="3.12")
    parser.add_argument("--out", type=Path, default=Path("on_a_gpu"))
    parser.add_argument("--vendor", default="")
    words = parser.parse_args()
    if words.what == "prepare":
        prepare(words.folder.resolve(), words.python)
        return
    sys.exit(run(words.folder, words.out, words.vendor or find_driver()))


if __name__ == "__main__":
    main()
