"""The known devices, and how each can be had here: the verb ``devices``."""

from __future__ import annotations

from typing import Any

from kernlens.errors import NotFoundError
from kernlens.isa.decoders import is_decoded
from kernlens.isa.devices import all_devices, device
from kernlens.toolchain.device_compilers import devices_of
from kernlens.toolchain.registered import register_llvm_roots, register_roots
from kernlens.toolchain.simulation import simulated_devices
from kernlens.toolchain.toolchains import find_toolchains


def known_devices() -> list[dict[str, Any]]:
    """Return the documents of all known devices (docs/json.md)."""
    register_roots()
    register_llvm_roots()
    compiled: dict[str, list[str]] = {}
    simulated: dict[str, list[str]] = {}
    for toolchain in find_toolchains():
        compiles = devices_of(toolchain)
        for toolchains_of, names in ((compiled, compiles), (simulated, simulated_devices(toolchain))):
            for name in names:
                try:
                    known = device(name).name
                except NotFoundError:
                    # A family of devices (gen9, xe), or a device newer than the table.
                    continue
                if toolchain.name not in toolchains_of.setdefault(known, []):
                    toolchains_of[known].append(toolchain.name)
    return [
        {
            "name": device.name,
            "title": device.title,
            "ip": str(device.ip) if device.ip else None,
            "aliases": list(device.aliases),
            "compiled_by": compiled.get(device.name, []),
            "simulated_by": simulated.get(device.name, []),
            "decoded": is_decoded(device),
        }
        for device in all_devices()
    ]
