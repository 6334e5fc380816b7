"""Devices by any of their names, and by what a binary says of its target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache

from kernlens.errors import NotFoundError, UnsupportedError, nearest
from kernlens.isa.intel import device_table
from kernlens.model.device import Device, DeviceId, IntelNumbers, IpVersion


def _ip(text: str) -> IpVersion:
    architecture, release, revision = text.split(".")
    return IpVersion(int(architecture), int(release), int(revision))


#: Stands for every device, where devices are named: all that a file holds, or that a toolchain compiles for.
ALL = "all"
#: Every known device, oldest first.
DEVICES: tuple[Device, ...] = tuple(
    Device(name, title, "Intel", "gen", IntelNumbers(platform, family, core, _ip(ip)), aliases)
    for name, title, ip, platform, family, core, aliases in device_table.DEVICES
)


def all_devices() -> tuple[Device, ...]:
    """Return the devices of all vendors, vendor by vendor."""
    from kernlens.isa.amd.gpu_devices import AMD_DEVICES

    return *DEVICES, *AMD_DEVICES


def numbers_of(device: Device) -> IntelNumbers:
    """Return the numbers of a device of Intel's. Raises UnsupportedError if it is of another vendor."""
    if device.intel is None:
        raise UnsupportedError(f"{device} is no device of Intel's")
    return device.intel


def _with_ip(device: Device, ip: IpVersion) -> Device:
    return replace(device, intel=replace(numbers_of(device), ip=ip))


@cache
def _by_name() -> dict[str, Device]:
    from kernlens.isa.amd.gpu_devices import AMD_DEVICES

    devices = {device.name: device for device in DEVICES}
    names = {alias: device for device in DEVICES for alias in device.aliases} | devices
    for stepping, base, ip in device_table.STEPPINGS:
        names[stepping] = replace(_with_ip(devices[base], _ip(ip)), name=stepping, aliases=())
    names |= {product: devices[name] for product, name in device_table.PRODUCTS.items()}
    return names | {name: device for device in AMD_DEVICES for name in (device.name, *device.aliases)}


def device(name: str) -> Device:
    """Return the device called ``name``: a name or alias of ocloc's (``dg2``, ``acm-g10``, ``bmg-g21``), an early
    stepping (``pvc-xt-b0``), a product (``b580``), an IP version (``12.55.8``, or packed as one decimal number), a
    PCI device id (``0x56a0``), or an architecture of NVIDIA's (``sm_90``), also one that is in no table (``sm_60``): files
    hold code for many.

    Raises NotFoundError, with the nearest names, if there is none.
    """
    known = known_device(name)
    if known is None:
        raise NotFoundError(f"there is no device {name!r}; {_nearest(_normal(name))}")
    return known


def known_device(name: str) -> Device | None:
    """Return the device called ``name``, as ``device`` does; None if there is none."""
    normal = _normal(name)
    if normal in _by_name():
        return _by_name()[normal]
    if normal.startswith("0x"):
        return _by_pci_id(normal)
    if normal.replace(".", "").isdecimal():
        return _by_ip_text(normal)
    from kernlens.isa.nvidia.sass_devices import named_architecture
    from kernlens.isa.x86.devices import X86_64

    return X86_64 if normal == X86_64.name else named_architecture(normal)


def _normal(name: str) -> str:
    return name.strip().lower().replace("_", "-")


def name_among(name: str, names: Sequence[str]) -> str | None:
    """Return that of ``names``, a compiler's or driver's for its devices, which means the device called ``name``; the
    device's own name if there are several. Returns None if there is none."""
    if name in names:
        return name
    meant_device = known_device(name)
    if meant_device is None:
        return None
    meant = [each for each in names if _by_name().get(each.replace("_", "-")) == meant_device]
    return meant_device.name if meant_device.name in meant else next(iter(meant), None)


def one_of_each(names: Sequence[str]) -> list[str]:
    """Return one of the names for each device that they mean, its own name if that is among them; unknown ones too."""
    chosen: dict[Device | str, str] = {}
    for name in names:
        known: Device | str = _by_name().get(name.replace("_", "-"), name)
        if known not in chosen or (isinstance(known, Device) and name == known.name):
            chosen[known] = name
    return list(chosen.values())


@lru_cache(maxsize=256)
def identify(device_id: DeviceId) -> Device | None:
    """Return the device that a header or a note means: by product family, the IP version choosing within it; else by IP
    version; else by render core, of which the first device stands for all. Returns None if the file says nothing or the
    device is unknown.

    An IP version in the file is kept even if it is that of an unlisted stepping.
    """
    candidates = [
        candidate for candidate in DEVICES if numbers_of(candidate).product_family == device_id.product_family
    ]
    if device_id.ip is not None:
        match = _by_ip(device_id.ip, candidates or DEVICES)
        if match is not None:
            return match
    if not candidates:
        candidates = [candidate for candidate in DEVICES if numbers_of(candidate).render_core == device_id.render_core]
    return candidates[0] if candidates else None


def stated_device(stated: DeviceId, known: Device | None) -> Device | None:
    """Return the device that a binary states; if it leaves several open, the one of them that it is ``known`` to be built
    for."""
    codes = identify(stated)
    vague = stated.product_family is None and stated.ip is None
    if codes is None or (vague and known is not None and render_core(known) == render_core(codes)):
        return known
    return codes


def render_core(device: Device | None) -> int | None:
    """Return the number of the device's render core; None where the device is not known, and of other vendors'."""
    return device.intel.render_core if device is not None and device.intel is not None else None


def _by_ip(ip: IpVersion, devices: tuple[Device, ...] | list[Device] = DEVICES) -> Device | None:
    for candidate in devices:
        if candidate.ip == ip:
            return candidate
    for candidate in devices:
        if candidate.ip is not None and (candidate.ip.architecture, candidate.ip.release) == (
            ip.architecture,
            ip.release,
        ):
            return _with_ip(candidate, ip)
    return None


def _by_ip_text(text: str) -> Device | None:
    numbers = [int(part) for part in text.split(".") if part]
    if len(numbers) == 1 and numbers[0] < 1 << 32:
        return _by_ip(IpVersion.unpack(numbers[0]))
    if len(numbers) == 3:
        return _by_ip(IpVersion(*numbers))
    return None


def _by_pci_id(text: str) -> Device | None:
    try:
        number = int(text, 16)
    except ValueError:
        return None
    from kernlens.isa.intel.pci_ids import PCI_IDS

    return next((_by_name()[name] for name, numbers in PCI_IDS.items() if number in numbers), None)


def _nearest(name: str) -> str:
    near = nearest(name, _by_name())
    if near:
        return f"did you mean {', '.join(near)}?"
    return f"known are {', '.join(known.name for known in DEVICES)}"


def register_bytes(device: Device) -> int | None:
    """Return the size of a general register of the device; None of other vendors'."""
    if device.intel is None:
        return None
    return 64 if device.intel.iga_platform >= device_table.XE_HPC else 32


def has_nop_behind(device: Device | None) -> bool:
    """Return whether compilers may put a ``nop`` behind the end of a thread: on Xe some versions do, before and behind none."""
    if device is None or device.intel is None:
        return True
    return device_table.XE_LP <= device.intel.iga_platform < device_table.XE2
