"""``kernlens devices``: every known device, and how it can be had here."""

from __future__ import annotations

from kernlens.cli import option
from kernlens.cli.output import print_json, print_lines
from kernlens.report.table import table


@option.verb(option.Answer, "kernlens devices")
def command(asked: option.Answer) -> None:
    """List the devices of Intel and AMD: names, IP version, which toolchains compile for it, how to simulate it.

    Any sm_N of NVIDIA is known too.
    """
    from kernlens.verbs.devices import known_devices

    rows = known_devices()
    if asked.as_json:
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
