"""The SYCL runtime's own choices against those that are predicted, on simulated devices.

    python -m tests.corpus.sycl_choice --environment FOLDER [--device dg2,pvc]

FOLDER is a virtual environment with the PyPI package intel-sycl-rt (its headers and libsycl.so); g++ and gcc make a host, and
libraries with images that the host loads, of which the runtime says what it does: an image's options by UR's trace, or why it
refuses a kernel. Nothing but the runtime decides: no device code is compiled for SYCL.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from kernlens import compile as compile_sources
from kernlens.isa.intel.sycl_support import sycl_device_named
from kernlens.loading import load
from kernlens.verbs.compile_library import compile_modules
from kernlens.verbs.sycl_choices import sycl_choices
from tests.writers.sycl_hosts import MISC, REQUIREMENTS, Value, WrittenImage, assembly, numbers

DEVICES = ("tgllp", "dg2", "mtl", "pvc", "bmg", "lnl", "ptl")
KERNEL = "chosen"
SOURCE = f"kernel void {KERNEL}() {{}}\n"
HOST = Path(__file__).parent / "sycl_host.cpp"
PVC_MODE = "-ftarget-register-alloc-mode=pvc:-ze-intel-enable-auto-large-GRF-mode"


def image(
    content: bytes, target: str = "spir64", options: str = "", requires: Mapping[str, Value] | None = None, **misc: int
) -> WrittenImage:
    """An image with the one kernel; names of its properties have - for _."""
    properties: dict[str, Mapping[str, Value]] = {MISC: {name.replace("_", "-"): misc[name] for name in misc}}
    return WrittenImage(content, (KERNEL,), target, options, properties=properties | {REQUIREMENTS: requires or {}})


def cases(spirv: bytes, native: Mapping[str, bytes]) -> dict[str, list[WrittenImage]]:
    """The libraries by name."""
    gen = "spir64_gen"
    levels = {f"optLevel {level}": [image(spirv, optLevel=level)] for level in (0, 1, 2, 3, 5)}
    sizes = {f"GRF size {size}": [image(spirv, sycl_grf_size=size)] for size in (0, 128, 256)}
    targets = {"dg2": "acm_g10", "pvc": "pvc", "bmg": "bmg_g21"}
    ahead = {
        device: image(native[device], gen, f"-{device}", {"compile_target": f"intel_gpu_{name}".encode()})
        for device, name in targets.items()
    }
    return {
        **levels,
        **sizes,
        "register mode": [image(spirv, sycl_register_alloc_mode=2)],
        "register mode of pvc": [image(spirv, options=f"-a {PVC_MODE} -x", optLevel=3)],
        "compile fast": [image(spirv, options="-ftarget-compile-fast -a")],
        "precise": [image(spirv, options="-foffload-fp32-prec-div -foffload-fp32-prec-sqrt")],
        "fp64": [image(spirv, requires={"aspects": numbers(6)})],
        "atomics and matrix": [image(spirv, requires={"aspects": numbers(27, 53)})],
        "sub-groups of 8": [image(spirv, requires={"reqd_sub_group_size": 8})],
        "sub-groups of 64": [image(spirv, requires={"reqd_sub_group_size": 64})],
        "large groups": [image(spirv, requires={"reqd_work_group_size_uint64_t": numbers(2048, size=8)})],
        "only x86": [image(spirv, "spir64_x86_64")],
        "x86 and SPIR-V": [image(b"x", "spir64_x86_64"), image(spirv, options="-second")],
        "native and SPIR-V": [image(native["pvc"], gen, "-first"), image(spirv, options="-second")],
        "SPIR-V and native": [image(spirv, options="-first"), image(native["pvc"], gen, "-second")],
        "two of SPIR-V": [image(spirv, options="-first"), image(spirv, options="-second")],
        "two native": [image(native["pvc"], gen, "-first"), image(native["dg2"], gen, "-second")],
        "one refused": [image(spirv, options="-a"), image(spirv, options="-b", requires={"aspects": numbers(6)})],
        "another architecture": [ahead["pvc"], image(spirv, options="-second")],
        "an alias": [image(spirv, gen, "-a", {"compile_target": b"intel_gpu_dg2_g10"}), image(spirv, options="-b")],
        "three architectures": list(ahead.values()),
    }


def observed(host: Path, library: Path, device: str) -> tuple[list[str] | None, str]:
    """Return the words of the options that the runtime built the image with, None if it built none, and all that was said."""
    environment = dict(os.environ, SYCL_UR_TRACE="2", UR_LOADER_USE_LEVEL_ZERO_V2="0", SYCL_CACHE_PERSISTENT="0")
    command = [sys.executable, "-m", "kernlens", "run", "--simulate", device, "--toolchain", "newest", "--"]
    done = subprocess.run(
        [*command, host, library],
        env=environment | {"ONEAPI_DEVICE_SELECTOR": "level_zero:*"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    text = done.stdout + done.stderr
    built = re.search(r"urProgramBuild\w*\(.*?pOptions = \S+ \((.*?)\)", text)
    return (built[1].split() if built and "LAUNCHED" in text else None), text


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environment", required=True, type=Path)
    parser.add_argument("--device", default=",".join(DEVICES))
    chosen = parser.parse_args(arguments)
    differences = compared = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        host = _host(folder, chosen.environment)
        for device in chosen.device.split(","):
            assert sycl_device_named(device) is not None
            for title, images in cases(*_contents(folder)).items():
                library = _library(folder, images)
                options, text = observed(host, library, device)
                (choice,) = sycl_choices(load(library), device)
                expected = None if choice.reason else choice.options.split()
                compared += 1
                if options != expected:
                    differences += 1
                    print(
                        f"{device}, {title}: the runtime {options}, predicted {expected} {choice.reason}\n{text[-300:]}"
                    )
    print(f"{compared} choices compared, {differences} differences")
    return bool(differences)


def _host(folder: Path, environment: Path) -> Path:
    host = folder / "host"
    include, libraries = environment / "include", environment.resolve() / "lib"
    words = f"-std=c++17 -O0 -w -I {include} -L {libraries} -Wl,-rpath,{libraries} -o {host}".split()
    subprocess.run(["g++", *words, str(HOST), "-lsycl", "-ldl"], check=True)
    return host


def _contents(folder: Path) -> tuple[bytes, dict[str, bytes]]:
    """Return the kernel's SPIR-V, and its zebin by device."""
    source = folder / f"{KERNEL}.cl"
    source.write_text(SOURCE)
    (module,) = compile_modules([str(source)], [], "", "", str(folder), 60)
    programs = compile_sources(module.path, ["dg2", "pvc", "bmg"], toolchain="newest")
    native = {program.device.name: bytes(program.binary) for program in programs if program.device}
    return Path(module.path).read_bytes(), native


def _library(folder: Path, images: Sequence[WrittenImage]) -> Path:
    source, library = folder / "images.s", folder / "images.so"
    source.write_text(assembly(images))
    subprocess.run(["gcc", "-shared", "-o", library, source], check=True)
    return library


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
