"""Simulated devices: Intel's real driver and compiler build for a device that this machine lacks.

Environment variables switch on the simulation mode of the driver (NEO). It reads them once, when its library is loaded,
so a process keeps the device that was chosen before its start. The driver really builds programs; enqueued kernels
complete without being computed.

Variable names and meanings: ``shared/source/debug_settings/debug_variables_base.inl`` of intel/compute-runtime. The
values below were tested on NEO 22.43 and 26.27; other releases are taken to behave like the nearer of the two.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from kernlens import log
from kernlens.errors import NotFoundError, UnsupportedError
from kernlens.isa.devices import name_among
from kernlens.runtime.driver_environment import DriverEnvironment
from kernlens.toolchain.ocloc import GET_NEWEST, is_newer
from kernlens.toolchain.packages import how_to_get
from kernlens.toolchain.registered import NEWEST
from kernlens.toolchain.shown_files import SIMULATING
from kernlens.toolchain.toolchains import DEFAULT, Toolchain, find_toolchains, library_folders, toolchain

#: The warning to users of a simulated device.
EXPLANATION = (
    "The device is simulated: programs are built by the real driver, but nothing is computed. Kernels that the"
    " application enqueues complete without effect, buffers hold no results, and an application that checks its own"
    " results will complain."
)
#: The first driver year with the null device (receiver 5).
NULL_DEVICE_YEAR = 24


#: A product in the driver's spelling -> the size that makes it work (slices x subslices x EUs). Without a size, kernels cannot
#: be created on products whose size the driver reads from the hardware.
_OLDER = {"skl": "1x3x8", "icllp": "1x8x8", "tgllp": "1x6x16", "dg2": "8x4x16", "pvc": "2x4x8"}
_NEWER = {
    "tgllp": "1x6x16", "dg2": "8x4x16", "mtl": "2x4x16", "pvc": "2x4x8", "bmg": "5x4x8", "lnl": "2x4x8", "ptl": "3x4x8",
}  # fmt: skip

# Without the second, the first wait for enqueued work never returns on pvc and bmg.
_COMMON = {"NEOReadDebugKeys": "1", "EnableTimestampWaitForQueues": "0"}
# Receiver 1 writes the command stream to a file (.aub). Sub-capture mode 2 starts that file only on request, which never
# comes; the file's name is a precaution.
_OLDER_RECEIVER = {"SetCommandStreamReceiver": "1", "AUBDumpSubCaptureMode": "2", "AUBDumpCaptureFileName": "/dev/null"}
# Receiver 5 is a null device: it writes nothing. Debian's build has no aub_stream library: without UseAubStream=0 the
# driver dereferences null. The other two keep it from heaps that only that library provides.
_NEWER_RECEIVER = {
    "SetCommandStreamReceiver": "5", "UseAubStream": "0", "UseExternalAllocatorForSshAndDsh": "0", "UseBindlessMode": "0",
}  # fmt: skip


def simulated_devices(chosen: Toolchain) -> tuple[str, ...]:
    """Return the devices that the toolchain's driver is known to simulate; none if its version is unknown."""
    return tuple(_devices(chosen))


def simulated_environment(device: str, chosen: Toolchain | None = None) -> dict[str, str]:
    """Return the variables that make the toolchain's driver simulate ``device``, to be added to an environment.

    No file is written (.aub). The driver must be the chosen toolchain's (None: the default one's): see ``Toolchain.command``
    and ``Toolchain.environment``.

    Raises NotFoundError, with the devices that it can simulate, if the driver does not simulate ``device``: it would
    silently take another one. Raises UnsupportedError if the driver's version is unknown.
    """
    chosen = chosen or toolchain()
    devices = _devices(chosen)
    if not devices:
        others = [other.name for other in find_toolchains() if device in simulated_devices(other)]
        advice = f"add --toolchain {others[0]}" if others else f"to get one: {how_to_get('ocloc')}"
        raise UnsupportedError(
            f"the toolchain {chosen.name} has no driver whose version is known, so it simulates no device; {advice}"
        )
    if device not in devices:
        raise NotFoundError(_not_simulated(device, chosen, tuple(devices)))
    receiver = _NEWER_RECEIVER if _is_newer(chosen) else _OLDER_RECEIVER
    environment = {**_COMMON, **receiver, "ProductFamilyOverride": device, "HardwareInfoOverride": devices[device]}
    log.debug("toolchain", "the driver of %s simulates %s with %s", chosen, device, environment)
    return environment


def _not_simulated(device: str, chosen: Toolchain, devices: tuple[str, ...]) -> str:
    message = f"the driver of toolchain {chosen.name} ({chosen.title}) does not simulate {device!r}"
    toolchains = find_toolchains()
    others = [other.name for other in toolchains if name_among(device, simulated_devices(other))]
    if others:
        return f"{message}, but that of {others[0]} does: add --toolchain {others[0]}"
    if is_newer(device, devices) and NEWEST not in {other.name for other in toolchains}:
        return f"{message}, which is newer; {GET_NEWEST}"
    return f"{message}; it simulates: {', '.join(devices)}"


def _is_newer(chosen: Toolchain) -> bool:
    return chosen.release is not None and chosen.release[0] >= NULL_DEVICE_YEAR


def _devices(chosen: Toolchain) -> Mapping[str, str]:
    if chosen.release is None:
        return {}
    return _NEWER if _is_newer(chosen) else _OLDER


def _level_zero_driver(chosen: Toolchain) -> dict[str, str]:
    """Return the variable that leads the Level Zero loader to a root's driver: by itself the loader looks for drivers in
    the system's folders alone, which have none on Debian 13."""
    for folder in library_folders(chosen.root) if chosen.root is not None else ():
        driver = folder / "libze_intel_gpu.so.1"
        if driver.is_file():
            return {"ZE_ENABLE_ALT_DRIVERS": str(driver)}
    return {}


def is_of_simulator(platform: str, variables: Iterable[str]) -> bool:
    """Return whether the devices of an OpenCL platform are simulated in a process with these variables."""
    return "Intel" in platform and not SIMULATING.isdisjoint(variables)


def simulated_driver(device: str, toolchain_name: str = DEFAULT) -> DriverEnvironment:
    """Return the environment in which the toolchain's driver simulates ``device``: it builds programs and computes nothing.

    Raises NotFoundError for a device that the driver does not simulate, and for a toolchain that does not exist.
    """
    chosen = toolchain(toolchain_name)
    variables = {**chosen.environment(), **_level_zero_driver(chosen), **simulated_environment(device, chosen)}
    return DriverEnvironment(device, variables, tuple(chosen.command(Path(sys.executable))))
