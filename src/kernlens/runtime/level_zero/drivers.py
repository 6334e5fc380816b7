"""The drivers, their devices, and contexts."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_void_p
from functools import cached_property

from kernlens.dataclass import dataclass, field
from kernlens.errors import NotFoundError
from kernlens.model.device import IpVersion
from kernlens.model.level_zero_results import SUCCESS
from kernlens.runtime.level_zero import ze_structures as ze
from kernlens.runtime.level_zero.handle_owner import HandleOwner
from kernlens.runtime.level_zero.loader import Loader, open_loader

DEVICE_TYPES = {1: "gpu", 2: "cpu", 3: "fpga", 4: "mca", 5: "vpu"}


@dataclass(frozen=True)
class Driver:
    """An installed driver."""

    handle: int
    loader: Loader = field(repr=False)

    @cached_property
    def version(self) -> int:
        """The driver's version number, which only ever grows (Intel's: 8 bits major, 8 minor, 16 build)."""
        properties = ze.make(ze.ze_driver_properties_t)
        self.loader.call("zeDriverGetProperties", self.handle, byref(properties))
        return int(properties.driverVersion)

    @cached_property
    def extensions(self) -> dict[str, int]:
        """The name and version of each extension that the driver reports."""
        entries = self.loader.items(
            "zeDriverGetExtensionProperties", self.handle, kind=ze.ze_driver_extension_properties_t
        )
        return {entry.name.decode("utf-8", "replace"): int(entry.version) for entry in entries}

    def extension_function(self, name: str) -> int | None:
        """Return the address of extension function ``name``; None if the driver has none of that name."""
        address = c_void_p(0)
        code = self.loader.result("zeDriverGetExtensionFunctionAddress", self.handle, name.encode(), byref(address))
        return address.value if code == SUCCESS and address.value else None

    def last_error(self) -> str:
        """Return the driver's description of the calling thread's last error; empty if it has none."""
        if not self.loader.has("zeDriverGetLastErrorDescription"):
            return ""
        text = ctypes.c_char_p(None)
        code = self.loader.result("zeDriverGetLastErrorDescription", self.handle, byref(text))
        return (text.value or b"").decode("utf-8", "replace") if code == SUCCESS else ""

    @cached_property
    def devices(self) -> tuple[LiveDevice, ...]:
        """The driver's devices, sub-devices excluded."""
        handles = self.loader.items("zeDeviceGet", self.handle, kind=c_void_p)
        return tuple(_device(self, handle) for handle in handles if handle)


@dataclass(frozen=True)
class LiveDevice:
    """A device as its driver describes it.

    ``name`` is what the driver calls it, ``pci_id`` the PCI device number, ``type`` ``gpu`` and so on. ``ip`` is None if
    the driver does not report it. ``slices``, ``subslices`` per slice and ``eus`` per subslice count execution units.
    """

    handle: int
    driver: Driver = field(repr=False)
    name: str
    type: str
    vendor_id: int
    pci_id: int
    ip: IpVersion | None
    slices: int
    subslices: int
    eus: int
    threads_per_eu: int

    def __str__(self) -> str:
        return self.name


def _device(driver: Driver, handle: int) -> LiveDevice:
    ip = ze.make(ze.ze_device_ip_version_ext_t)
    properties = ze.make(ze.ze_device_properties_t, pNext=ctypes.addressof(ip))
    driver.loader.call("zeDeviceGetProperties", handle, byref(properties))
    return LiveDevice(
        handle=handle,
        driver=driver,
        name=properties.name.decode("utf-8", "replace"),
        type=DEVICE_TYPES.get(properties.type, str(properties.type)),
        vendor_id=properties.vendorId,
        pci_id=properties.deviceId,
        # A driver without the extension does not write to the structure.
        ip=IpVersion.unpack(ip.ipVersion) if ip.ipVersion else None,
        slices=properties.numSlices,
        subslices=properties.numSubslicesPerSlice,
        eus=properties.numEUsPerSubslice,
        threads_per_eu=properties.numThreadsPerEU,
    )


class Context(HandleOwner):
    """A driver's context, in which modules are made."""

    kind = "context"

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        handle = c_void_p(0)
        description = ze.make(ze.ze_context_desc_t)
        driver.loader.call("zeContextCreate", driver.handle, byref(description), byref(handle))
        super().__init__(driver.loader, handle.value or 0, "zeContextDestroy")


def drivers() -> tuple[Driver, ...]:
    """Return the drivers that the loader finds. Raises ToolError if there is no loader or no driver that works."""
    loader = open_loader()
    return tuple(Driver(handle, loader) for handle in loader.items("zeDriverGet", kind=c_void_p) if handle)


def first_device() -> LiveDevice:
    """Return the first device of the first driver that has one. Raises NotFoundError if none has."""
    for driver in drivers():
        for device in driver.devices:
            return device
    raise NotFoundError("no Level Zero driver has a device here: simulate one (see `kernlens devices`)")
