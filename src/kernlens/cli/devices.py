"""``kernlens devices``: every known device, and how it can be had here."""

from __future__ import annotations

from typing import Any

from kernlens.cli.options import json_option, verb
from kernlens.cli.output import print_json, print_lines
from kernlens.errors import NotFoundError
from kernlens.report.table import table


@verb("kernlens devices")
@json_option()
def command(as_json: bool) -> None:
    """List every known device: names, IP version, which toolchains compile for it, how to simulate it."""
    rows = _rows()
    if as_json:
        print_json({"schema": 1, "devices": rows})
        return
    print_lines(
        table(
            ("device", "IP version", "product", "compiled by", "simulated by", "decoded", "other names"),
            [
                (
                    row["name"],
                    row["ip"] or "",
                    row["title"],
                    ", ".join(row["compiled_by"]),
                    ", ".join(row["simulated_by"]),
                    "yes" if row["decoded"] else "no",
                    ", ".join(row["aliases"]),
                )
                for row in rows
            ],
        )
    )
    print_lines(["", "A simulated device builds programs and runs nothing: kernels complete without being executed."])


def _rows() -> list[dict[str, Any]]:
    from kernlens.isa.devices import DEVICES, device
    from kernlens.isa.iga_library import installed
    from kernlens.toolchain.ocloc import devices_of
    from kernlens.toolchain.registered import register_roots
    from kernlens.toolchain.simulation import simulated_devices
    from kernlens.toolchain.toolchains import find_toolchains

    register_roots()
    decoded = {platform for library in installed() for platform in library.platforms}
    compiled: dict[str, list[str]] = {}
    simulated: dict[str, list[str]] = {}
    for toolchain in find_toolchains():
        compiles = devices_of(toolchain) if toolchain.ocloc else ()
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
            "decoded": device.iga_platform in decoded,
        }
        for device in DEVICES
    ]
