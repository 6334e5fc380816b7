"""What the examples share: their arguments, and programs of the running process to look at."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import kernlens
from kernlens.level_zero import DriverEnvironment, simulated_driver
from kernlens.opencl import simulated_environment

SOURCE = Path(__file__).with_name("scale.cl")


def arguments(description: str | None) -> argparse.Namespace:
    """The example's arguments.

    A driver reads its variables when it is loaded, so a simulated device is set up here, before anything opens it.
    """
    parsed = _parser(description).parse_args()
    if parsed.simulate:
        os.environ.update(simulated_environment(parsed.simulate))
    return parsed


def isolated_arguments(description: str | None) -> tuple[argparse.Namespace, DriverEnvironment]:
    """The example's arguments, and the environment of the driver that they choose."""
    parser = _parser(description)
    parser.add_argument(
        "--toolchain",
        default="",
        help="whose driver and compiler (see kernlens toolchain list); kernlens's default if not given",
    )
    parser.add_argument("--device", default="dg2", help="the real device's name, without --simulate")
    parsed = parser.parse_args()
    if parsed.simulate:
        return parsed, simulated_driver(parsed.simulate, parsed.toolchain)
    return parsed, DriverEnvironment(parsed.device)


def _parser(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", default=str(SOURCE), help="OpenCL C source, or the file to read")
    parser.add_argument("--kernel", default="scale", help="which kernel (default: scale)")
    parser.add_argument("--output", help="the file to write, or how the names of several begin")
    simulated = None if has_intel_gpu() else "dg2"
    parser.add_argument(
        "--simulate",
        metavar="DEVICE",
        default=simulated,
        help="a device that this machine does not have, such as dg2, which is the default without one of Intel's GPUs",
    )
    return parser


def has_intel_gpu() -> bool:
    """Whether this machine has a GPU of Intel's, as Linux lists them."""
    vendors = Path("/sys/class/drm").glob("renderD*/device/vendor")
    return any(vendor.read_text().strip() == "0x8086" for vendor in vendors)


def file_to_read(path: str) -> str:
    """The file to read: the path itself, or, of a source, a recording that a compile of it leaves in the working folder."""
    if not path.endswith(".cl"):
        return path
    recording = Path(path).with_suffix(".klens").name
    kernlens.compile(path, "dg2", recording=recording)
    return recording


def opencl_program(path: str, options: str = "-gline-tables-only") -> Any:
    """An OpenCL program as an application has it: built from source, through pyopencl, for Intel's devices."""
    import pyopencl

    platform = next(found for found in pyopencl.get_platforms() if "Intel" in found.name)
    context = pyopencl.Context(platform.get_devices())
    return pyopencl.Program(context, Path(path).read_text()).build(options=options, cache_dir=False)  # type: ignore[arg-type]


def spirv_of(text: str, folder: Path) -> bytes:
    """OpenCL C as SPIR-V with its exports and imports, through clang and llvm-spirv."""
    source, bitcode, spirv = folder / "module.cl", folder / "module.bc", folder / "module.spv"
    source.write_text(text)
    clang, translator = next(
        (
            pair
            for version in range(15, 20)
            if all(map(shutil.which, pair := (f"clang-{version}", f"llvm-spirv-{version}")))
        ),
        ("", ""),
    )
    if not clang:
        raise SystemExit("this example needs clang and llvm-spirv; kernlens doctor names their packages")
    front_end = [clang, "-cc1", "-triple", "spir64-unknown-unknown", "-cl-std=CL2.0", "-finclude-default-header"]
    subprocess.run([*front_end, "-emit-llvm-bc", str(source), "-o", str(bitcode)], check=True)
    subprocess.run([translator, str(bitcode), "-o", str(spirv)], check=True)
    return spirv.read_bytes()
