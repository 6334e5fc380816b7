"""Captures three unmodified applications on a machine with a GPU, and runs the snapshot layer's own checks there.

One is Python (pyopencl), one C++ with threads, one C that was linked against CUDA's own OpenCL loader, which takes no layers.
Builds and launches are counted independently, by a preloaded library; results are compared bit for bit; the cost is a
ratio over pairs of runs in turn. All that is needed travels in a folder:

    python -m tests.integration.capture.on_a_gpu prepare FOLDER --python 3.12      # with network, gcc and g++
    python3 tests/integration/capture/on_a_gpu.py run FOLDER --out OUT             # on the GPU's machine

The second needs Python with NumPy and pip alone. ``--vendor libpocl.so.2`` runs it on PoCL, on the processor.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "sources" / "loaders"
#: Python packages of kernlens and of the Python application; NumPy is there where people compute.
PACKAGES = (
    *("click", "orjson", "rich", "markdown-it-py", "mdurl", "pygments", "zstandard"),
    *("pyopencl", "pytools", "platformdirs", "typing-extensions", "siphash24"),
)
CUDA_LOADER, DEBIAN_LOADER = "nvidia-cuda-opencl", "ocl-icd-libopencl1"
#: Where NVIDIA's OpenCL driver lies, if the dynamic loader does not find it by its name.
NVIDIA = "libnvidia-opencl.so.1"
DRIVER_FOLDERS = ("/usr/local/nvidia/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/cuda/compat")
#: Checks of the layer that need what only compilers with many stages, or with IL, have.
NOT_FOR_ALL = {"il", "tries"}
TIME_LIMIT = 240


def prepare(folder: Path, python: str) -> None:
    """Fill the folder with all that ``run`` needs."""
    from tests.integration.layers.opencl_layer_fixtures import NATIVE, fill

    root = HERE.parents[2]
    wheels, programs = folder / "wheels", folder / "bin"
    for each in (wheels, programs, folder / "cuda", folder / "ocl-icd"):
        shutil.rmtree(each, ignore_errors=True)
        each.mkdir(parents=True)
    platforms = [f"--platform={name}_x86_64" for name in ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17")]
    platforms += ["--platform=manylinux2014_x86_64", "--platform=manylinux_2_34_x86_64"]
    version = [f"--python-version={python}", "--implementation=cp", "--only-binary=:all:", "--no-deps", "-q"]
    pip = [sys.executable, "-m", "pip"]
    subprocess.run([*pip, "download", *version, *platforms, "-d", wheels, *PACKAGES], check=True)
    subprocess.run([*pip, "wheel", "-q", "--no-deps", "-w", wheels, root], check=True)
    with tempfile.TemporaryDirectory() as name:
        outside = Path(name)
        subprocess.run([*pip, "download", "-q", "--no-deps", "-d", outside, CUDA_LOADER], check=True)
        subprocess.run(["apt-get", "-q", "download", DEBIAN_LOADER], cwd=outside, check=True, stdout=subprocess.DEVNULL)
        (wheel,), (package,) = outside.glob("*.whl"), outside.glob("*.deb")
        shutil.unpack_archive(wheel, outside / "wheel", "zip")
        subprocess.run(["dpkg", "-x", package, outside / "package"], check=True)
        _copy_loader(outside / "wheel", folder / "cuda")
        _copy_loader(outside / "package", folder / "ocl-icd")
        layer = fill(outside, NATIVE)
        for part in ("snapshot_test", "module.spv", "libigc.so.9", "libze_loader.so.1"):
            shutil.copy2(layer / part, programs / part)
    compile_applications(programs, folder / "cuda")
    shutil.copy2(__file__, folder / "on_a_gpu.py")
    shutil.copytree(SOURCES, folder / "sources" / "loaders", dirs_exist_ok=True)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{folder}: {size / 2**20:.1f} MiB")


def _copy_loader(source: Path, folder: Path) -> None:
    loader = next(path for path in source.rglob("libOpenCL.so.1*") if not path.is_symlink())
    shutil.copy(loader, folder / "libOpenCL.so.1")


def compile_applications(programs: Path, loader: Path) -> None:
    """Compile the applications, linked to the loader in a folder beside theirs, and the library that counts."""
    flags = ["-O1", "-Wall", "-Wextra", "-Werror"]
    linked = [f"-L{loader}", "-l:libOpenCL.so.1"]
    origin = f"$ORIGIN/../{loader.name}"
    c = ["gcc", *flags, "-std=gnu11"]
    ways: dict[str, list[str]] = {
        "linked": [],
        "linked_runpath": ["-Wl,--enable-new-dtags", f"-Wl,-rpath,{origin}"],
        "linked_rpath": ["-Wl,--disable-new-dtags", f"-Wl,-rpath,{origin}"],
    }
    for name, more in ways.items():
        source = str(SOURCES / "linked_application.c")
        subprocess.run([*c, "-o", str(programs / name), source, *linked, *more], check=True)
    threaded = ["-std=c++17", "-static-libstdc++", "-static-libgcc", "-pthread", "-o", str(programs / "threaded")]
    subprocess.run(["g++", *flags, *threaded, str(SOURCES / "threaded_application.cpp"), *linked], check=True)
    subprocess.run([*c, "-shared", "-fPIC", "-o", programs / "count.so", SOURCES / "call_counter.c"], check=True)


@dataclass
class Application:
    """An application, how it is started, and the variables that it is started with; ``builds`` and ``launches`` are those
    that its arguments ask for."""

    name: str
    words: list[str]
    builds: int
    launches: int
    variables: dict[str, str] = field(default_factory=dict)


def applications(folder: Path, scale: int) -> list[Application]:
    """Return the applications; ``scale`` is how often each kernel is launched."""
    programs = folder / "bin"
    cuda = {"LD_LIBRARY_PATH": f"{folder / 'cuda'}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":")}
    c, few = (["20", str(scale)], 20, 40 * scale), (["5", "20"], 5, 200)

    def linked(name: str, file: str, of: tuple[list[str], int, int], **variables: str) -> Application:
        return Application(name, [str(programs / file), *of[0]], of[1], of[2], variables)

    python = [sys.executable, str(SOURCES / "python_application.py"), "8", str(scale // 2)]
    threads = [str(programs / "threaded"), "8", "4", str(scale)]
    return [
        Application("Python: pyopencl", python, 8, 16 * (scale // 2)),
        Application("C++ with 8 threads", threads, 32, 32 * scale, cuda),
        linked("C, linked to CUDA's loader (RUNPATH)", "linked_runpath", c),
        linked("C, linked to CUDA's loader (RPATH)", "linked_rpath", few),
        linked("C, CUDA's loader by LD_LIBRARY_PATH", "linked", few, **cuda),
    ]


@dataclass
class Machine:
    """The environment of everything that runs here, and the folder of what it writes."""

    folder: Path
    out: Path
    work: Path
    environment: dict[str, str]

    def run(
        self, words: list[str], variables: dict[str, str] | None = None, limit: float = TIME_LIMIT
    ) -> tuple[subprocess.CompletedProcess[str], float]:
        """Run a command, and return what it printed, with the seconds that it took."""
        start = time.monotonic()
        done = subprocess.run(
            words,
            cwd=self.work,
            env={**self.environment, **(variables or {})},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
            check=False,
        )
        return done, time.monotonic() - start

    def kernlens(self, *words: str) -> list[str]:
        """Return the command that is kernlens."""
        return [sys.executable, "-c", "from kernlens.cli.main import main; main()", *words]


def set_up(folder: Path, out: Path, vendor: str) -> Machine:
    """Install kernlens and what it needs into a folder of its own, and name the driver to the loaders."""
    work = Path(tempfile.mkdtemp(prefix="on-a-gpu-"))
    site, vendors = work / "site", work / "vendors"
    vendors.mkdir()
    (vendors / "driver.icd").write_text(f"{vendor}\n")
    wheels = sorted(map(str, (folder / "wheels").glob("*.whl")))
    install = ["install", "-q", "--no-index", "--no-deps", "--no-compile", "--no-cache-dir", "--target", str(site)]
    subprocess.run([sys.executable, "-m", "pip", *install, *wheels], check=True)
    caches = {"CUDA_CACHE_PATH": str(work / "compute-cache"), "POCL_CACHE_DIR": str(work / "pocl-cache")}
    own = {"XDG_CACHE_HOME": str(work / "cache"), "PYTHONPATH": str(site), "OCL_ICD_VENDORS": f"{vendors}/"}
    choosing = re.compile("LD_PRELOAD|OPENCL_|OCL_ICD_")  # The named driver alone, and no layers.
    inherited = {name: value for name, value in os.environ.items() if not choosing.match(name)}
    return Machine(folder, out, work, {**inherited, **caches, **own})


def find_driver() -> str:
    """Return NVIDIA's OpenCL driver: its name if the dynamic loader finds it, else its path."""
    cached = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    if NVIDIA in cached:
        return NVIDIA
    paths = [path for place in DRIVER_FOLDERS for path in glob.glob(f"{place}/{NVIDIA}")]
    if not paths:
        raise SystemExit(f"there is no {NVIDIA} in {', '.join(DRIVER_FOLDERS)}; name the driver with --vendor")
    return paths[0]


def result_of(done: subprocess.CompletedProcess[str]) -> tuple[str, float]:
    """Return what an application computed, and its own seconds. Ends the program if it failed."""
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines() if line.startswith(("computed ", "seconds ")))
    if done.returncode != 0 or len(lines) != 2:
        raise SystemExit(f"it failed ({done.returncode}): {done.args}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return lines["computed"], float(lines["seconds"])


def counts_of(path: Path) -> dict[str, int]:
    """Return the counted calls of each kind."""
    lines = path.read_text().split() if path.exists() else []
    return {kind: lines.count(kind) for kind in ("build", "launch")}


def try_application(machine: Machine, app: Application, number: int, pairs: int) -> dict[str, Any]:
    """Capture an application: counted, compared, and in pairs with plain runs."""
    counter = str(machine.folder / "bin" / "count.so")
    recording, answer = (
        (machine.out if pairs else machine.work) / f"application_{number}.klens",
        machine.work / f"{number}.json",
    )
    capture = machine.kernlens("capture", "-o", str(recording), "--json-file", str(answer), "--")
    results: set[str] = set()
    counted: list[dict[str, int]] = []
    for words in (app.words, [*capture, *app.words]):
        calls = machine.work / f"calls-{number}-{len(counted)}"
        done, _ = machine.run(words, {**app.variables, "COUNTED": str(calls), "LD_PRELOAD": counter})
        results.add(result_of(done)[0])
        counted.append(counts_of(calls))
    noted = json.loads(answer.read_text())
    whole, inside = [], []
    for pair in range(pairs):
        seconds: dict[bool, tuple[float, float]] = {}
        for is_captured in (True, False) if pair % 2 else (False, True):
            done, wall = machine.run([*capture, *app.words] if is_captured else app.words, app.variables)
            computed, own = result_of(done)
            results.add(computed)
            seconds[is_captured] = (wall, own)
        whole.append((seconds[False][0], seconds[True][0]))
        inside.append((seconds[False][1], seconds[True][1]))
    recorded = {"build": noted["builds"], "launch": sum(kernel["launches"] for kernel in noted["kernels"])}
    asked = {"build": app.builds, "launch": app.launches}
    return {
        "application": app.name,
        "asked": asked,
        "counted_alone": counted[0],
        "counted_captured": counted[1],
        "recorded": recorded,
        "devices": sorted({kernel["device"] for kernel in noted["kernels"]}),
        "counts_agree": asked == counted[0] == counted[1] == recorded,
        "results": sorted(results),
        "bit_equal": len(results) == 1,
        "findings": noted["findings"],
        "whole": _costs(whole),
        "inside": _costs(inside),
    }


def _costs(pairs: list[tuple[float, float]]) -> dict[str, Any]:
    if not pairs:
        return {}
    ratios = [after / before for before, after in pairs]
    return {
        "pairs": pairs,
        "ratio": statistics.median(ratios),
        "lowest": min(ratios),
        "highest": max(ratios),
        "seconds_more": statistics.median(after - before for before, after in pairs),
        "seconds": statistics.median(before for before, _ in pairs),
    }


def try_snapshots(machine: Machine, loader: str) -> dict[str, Any]:
    """Run the snapshot layer's own checks, with the environment of ``kernlens layer``, on a loader of the folder."""
    library_path = {"LD_LIBRARY_PATH": str(machine.folder / loader)}
    done, _ = machine.run(machine.kernlens("layer", "--json"), library_path)
    if done.returncode != 0:
        return {"loader": loader, "error": done.stderr[-2000:]}
    variables = {**library_path, **json.loads(done.stdout)["environment"]}
    program = str(machine.folder / "bin" / "snapshot_test")
    names, _ = machine.run([program, "names"], library_path)
    module = str(machine.folder / "bin" / "module.spv")
    checks: dict[str, str] = {}
    for name in sorted({*names.stdout.split()} - NOT_FOR_ALL):
        try:
            done, _ = machine.run([program, "checks", module, name], variables, limit=100)
            last = (done.stdout.splitlines() or ["nothing"])[-1]
            checks[name] = last if done.returncode == 0 else f"{last}: {(done.stdout + done.stderr)[-600:]}"
        except subprocess.TimeoutExpired:
            checks[name] = "it did not end"
    passed = [name for name, answer in checks.items() if answer.endswith(" 0 failed")]
    table, _ = machine.run([program, "offered", module], variables)
    return {"loader": loader, "passed": len(passed), "of": len(checks), "checks": checks, "offered": table.stdout}


def try_launch_costs(machine: Machine, number: int) -> dict[str, list[str]]:
    """Return the microseconds of launches and of new kernels in Python: alone, with the layer, and captured."""
    words = [sys.executable, str(SOURCES / "launch_costs.py"), str(number)]
    layer, _ = machine.run(machine.kernlens("layer", "--json"))
    variables = json.loads(layer.stdout)["environment"] if layer.returncode == 0 else {}
    captured = [*machine.kernlens("capture", "-o", str(machine.work / "costs.klens"), "--"), *words]
    ways = {"alone": (words, {}), "layer": (words, variables), "captured": (captured, {})}
    costs: dict[str, list[str]] = {}
    for _ in range(2):
        for name, (command, more) in ways.items():
            done, _ = machine.run(command, more)
            costs.setdefault(name, []).append(" ".join(done.stdout.split()) or done.stderr[-300:])
    return costs


def markdown(document: dict[str, Any]) -> str:
    """Return the results as tables."""
    lines = [f"Device: {document['device']}", ""]
    lines += [
        "|Application|Builds counted / recorded|Launches|Results|Whole command, ratio|seconds more|Within, ratio|"
    ]
    lines += ["|-|-|-|-|-|-|-|"]
    for each in document["applications"]:
        if "error" in each:
            lines.append(f"|{each['application']}|{each['error'][:300]}||||||")
            continue
        alone, recorded = each["counted_captured"], each["recorded"]
        cells = [f"{alone[kind]:,} / {recorded[kind]:,}" for kind in ("build", "launch")]
        cells.append("bit-equal" if each["bit_equal"] else f"differ: {len(each['results'])}")
        whole, inside = each["whole"], each["inside"]
        if whole:
            cells.append(f"{whole['ratio']:.3f} ({whole['lowest']:.3f} to {whole['highest']:.3f})")
            cells.append(f"{whole['seconds_more']:.2f} of {whole['seconds']:.2f}")
            cells.append(f"{inside['ratio']:.3f} ({inside['lowest']:.3f} to {inside['highest']:.3f})")
        lines.append(f"|{each['application']}|{'|'.join(cells)}|")
    lines += [
        "",
        *(f"* {each['application']}: {text}" for each in document["applications"] for text in each.get("findings", [])),
    ]
    for each in document["snapshots"]:
        lines.append(
            f"* Snapshot layer on the loader {each['loader']}: {each.get('passed')} of {each.get('of')} checks"
        )
        lines += [
            f"    * {name}: {text}" for name, text in each.get("checks", {}).items() if not text.endswith(" 0 failed")
        ]
    lines += [
        f"* Microseconds in Python, {name}: {'; '.join(text)}"
        for name, text in document.get("launch_costs", {}).items()
    ]
    return "\n".join(lines) + "\n"


def run(folder: Path, out: Path, vendor: str, pairs: int, scale: int) -> int:
    """Run everything, write the results, and return the exit status: 1 if a count or a result is wrong."""
    out.mkdir(parents=True, exist_ok=True)
    machine = set_up(folder.resolve(), out.resolve(), vendor)
    doctor, _ = machine.run(machine.kernlens("doctor"))
    clinfo = (
        "import pyopencl as c; d = c.get_platforms()[0].get_devices()[0]; print(d.name, d.driver_version, d.version)"
    )
    device, _ = machine.run([sys.executable, "-c", clinfo])
    document: dict[str, Any] = {"device": device.stdout.strip() or device.stderr[-2000:], "vendor": vendor}
    document |= {"doctor": doctor.stdout, "python": sys.version, "applications": [], "snapshots": []}
    try:
        for number, app in enumerate(applications(machine.folder, scale), 1):
            try:
                result = try_application(machine, app, number, pairs if number <= 3 else 0)
            except (SystemExit, subprocess.TimeoutExpired, OSError, ValueError, KeyError) as error:
                result = {"application": app.name, "error": str(error)}
            document["applications"].append(result)
            print(
                json.dumps({key: value for key, value in result.items() if key not in ("whole", "inside")}), flush=True
            )
            _write(out, document)
        for loader in ("ocl-icd", "cuda"):
            document["snapshots"].append(try_snapshots(machine, loader))
            _write(out, document)
        document["launch_costs"] = try_launch_costs(machine, 3000)
        _write(out, document)
        if (cache := machine.work / "compute-cache").is_dir():
            shutil.make_archive(str(out.resolve() / "compute_cache"), "xztar", cache)
    finally:
        shutil.rmtree(machine.work, ignore_errors=True)
    print(markdown(document))
    is_right = all(each.get("counts_agree") and each.get("bit_equal") for each in document["applications"])
    return 0 if is_right and all(each.get("passed") == each.get("of") for each in document["snapshots"]) else 1


def _write(out: Path, document: dict[str, Any]) -> None:
    (out / "on_a_gpu.json").write_text(json.dumps(document, indent=1))
    (out / "on_a_gpu.md").write_text(markdown(document))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Capture on a machine with a GPU.")
    parser.add_argument("what", choices=["prepare", "run"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", default="3.12")
    parser.add_argument("--out", type=Path, default=Path("on_a_gpu"))
    parser.add_argument("--vendor", default="")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--scale", type=int, default=1500)
    words = parser.parse_args()
    if words.what == "run":
        sys.exit(run(words.folder, words.out, words.vendor or find_driver(), words.pairs, words.scale))
    prepare(words.folder.resolve(), words.python)


if __name__ == "__main__":
    main()
