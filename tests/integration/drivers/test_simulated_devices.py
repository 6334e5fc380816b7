"""Real drivers simulate each device that we say they do, and write nothing to disk."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from kernlens.runtime.file_limit import FILE_SIZE_LIMIT
from kernlens.toolchain.process import run
from kernlens.toolchain.simulation import simulated_devices, simulated_environment
from kernlens.toolchain.toolchains import Toolchain
from tests.integration.toolchain.toolchain_fixtures import newest, system

__all__ = ["newest", "system"]

#: The IP version (CL_DEVICE_IP_VERSION_INTEL) of each product: only this tells that the driver took the one we asked
#: for. Gen9 to Xe-HPC of NEO 22.43 have the older packing (architecture << 16 | release << 8 | revision).
OLDER = {"skl": 0x90000, "icllp": 0xB0000, "tgllp": 0xC0000, "dg2": 0xC0701, "pvc": 0xC0801}
#: Architecture and release, packed as in GMD_ID.
NEWER = {
    "tgllp": (12, 0),
    "dg2": (12, 55),
    "mtl": (12, 70),
    "pvc": (12, 60),
    "bmg": (20, 1),
    "lnl": (20, 4),
    "ptl": (30, 0),
}


def ip_version(device: str, chosen: Toolchain, folder: Path) -> int:
    """What clinfo, which builds a program for its report, says of the simulated device."""
    environment = {**os.environ, **chosen.environment(), **simulated_environment(device, chosen)}
    command = chosen.command("clinfo", "--raw")
    done = run(command, timeout=60, cwd=folder, env=environment, file_size_limit=FILE_SIZE_LIMIT)
    assert done.ok, done.log
    # Asked of a kernel that clinfo has built: the compiler works too.
    assert re.search(r"INTEL/0\] +CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE +\d+", done.stdout), done.log
    match = re.search(r"INTEL/0\] +CL_DEVICE_IP_VERSION_INTEL +(0x[0-9a-f]+)", done.stdout)
    assert match, done.log
    return int(match[1], 16)


def test_every_device_of_the_system_driver_is_tested(system: Toolchain) -> None:
    assert set(simulated_devices(system)) == set(OLDER)


def test_every_device_of_the_newest_driver_is_tested(newest: Toolchain) -> None:
    assert set(simulated_devices(newest)) == set(NEWER)


@pytest.mark.parametrize("device", OLDER)
def test_system_driver(device: str, system: Toolchain, tmp_path: Path) -> None:
    assert ip_version(device, system, tmp_path) == OLDER[device]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("device", NEWER)
def test_newest_driver(device: str, newest: Toolchain, tmp_path: Path) -> None:
    packed = ip_version(device, newest, tmp_path)
    assert (packed >> 22 & 0x3FF, packed >> 14 & 0xFF) == NEWER[device]
    assert list(tmp_path.iterdir()) == []


def test_an_application_of_this_machine_on_the_newest_driver(newest: Toolchain, tmp_path: Path) -> None:
    """The machine's own Python, built for an older C library, in one process with the newest driver."""
    program = (
        "import ctypes; ze = ctypes.CDLL('libze_loader.so.1'); number = ctypes.c_uint32();"
        "print(ze.zeInit(0), ze.zeDriverGet(ctypes.byref(number), None), number.value)"
    )
    environment = {**os.environ, **newest.environment(), **simulated_environment("lnl", newest)}
    done = run(newest.command(Path(sys.executable), "-c", program), timeout=60, cwd=tmp_path, env=environment)
    assert done.stdout == "0 0 1\n", done.log
    assert list(tmp_path.iterdir()) == []


#: Waits for a kernel and reads a buffer back.
WAITING = """\
import numpy, pyopencl
platform = next(platform for platform in pyopencl.get_platforms() if "Intel" in platform.name)
context = pyopencl.Context(platform.get_devices()[:1])
queue = pyopencl.CommandQueue(context)
program = pyopencl.Program(context, "kernel void f(global int *p) { p[get_global_id(0)] = 1; }").build(cache_dir=False)
values = numpy.zeros(64, numpy.int32)
buffer = pyopencl.Buffer(context, pyopencl.mem_flags.COPY_HOST_PTR, hostbuf=values)
for _ in range(3):
    program.f(queue, (64,), None, buffer).wait()
pyopencl.enqueue_copy(queue, values, buffer)
queue.finish()
print("done")
"""


@pytest.mark.parametrize(
    ("name", "device"), [("system", "pvc"), ("system", "dg2"), ("newest", "pvc"), ("newest", "bmg")]
)
def test_enqueued_work_ends(name: str, device: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Without EnableTimestampWaitForQueues=0 the first wait never returns on pvc and bmg."""
    chosen: Toolchain = request.getfixturevalue(name)
    environment = {**os.environ, **chosen.environment(), **simulated_environment(device, chosen)}
    command = chosen.command(Path(sys.executable), "-c", WAITING)
    done = run(command, timeout=120, cwd=tmp_path, env=environment, file_size_limit=FILE_SIZE_LIMIT)
    assert done.stdout == "done\n", done.log
