"""Writes stall samples by the printing rules of unitrace. Not from real hardware: no Intel GPU to sample was at hand.

The rules are those of ``ComputeMetricsSampled`` in intel/pti-gpu, tools/unitrace/src/levelzero/ze_metrics.h (June 2026), with
its quirk: the last count is padded to the width of the third column from the right. ``DumpKernelProfiles`` in
ze_collector.h puts demangled names into quotes, which it does not escape.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

#: The metrics of the group EuStallSampling behind the address, as unitrace's README and analyser name them.
METRICS = (
    *("Active[Events]", "ControlStall[Events]", "PipeStall[Events]", "SendStall[Events]", "DistStall[Events]"),
    *("SbidStall[Events]", "SyncStall[Events]", "InstrFetchStall[Events]", "OtherStall[Events]"),
)
#: Those of Xe2 and later: compute-runtime has one more, level_zero/core/source/gfx_core_helpers.
METRICS_OF_XE2 = (METRICS[0], "PSDepStall[Events]", *METRICS[1:])
REASONS = tuple(metric.split("[")[0] for metric in METRICS)
_ADDRESS = "IP[Address]"

#: A kernel's name, an offset, and the counts.
Row = tuple[str, int, Sequence[int]]


@dataclass
class Device:
    """A device with its rows; ``number`` stands in the banner of the legacy form."""

    number: int
    rows: list[Row] = field(default_factory=list)


def stall_samples(rows: Iterable[Row], metrics: Sequence[str] = METRICS) -> str:
    """Return what unitrace writes for one device into a folder of results, ``metrics_DEVICE.csv``."""
    return _table(list(rows), metrics, banner="")


def legacy_stall_samples(devices: Iterable[Device], metrics: Sequence[str] = METRICS) -> str:
    """Return what ``unitrace --stall-sampling -o FILE.csv`` writes for all devices; one without samples has no table."""
    return "".join(
        _table(device.rows, metrics, banner=f"\n=== Device #{device.number} Metrics ===\n\n")
        for device in devices
        if device.rows
    )


def counts(**by_reason: int) -> tuple[int, ...]:
    """Return the counts of a row, by the names of reasons; those that are not named are 0."""
    assert by_reason.keys() <= set(REASONS), f"unknown among {sorted(by_reason)}"
    return tuple(by_reason.get(reason, 0) for reason in REASONS)


def _table(rows: Sequence[Row], metrics: Sequence[str], *, banner: str) -> str:
    quoted = [f'"{name}"' for name, _, _ in rows]
    name_width = max(map(len, (name.encode() for name in quoted)), default=0)
    address_width = max(len("0x00000000"), len(_ADDRESS))
    widths = [name_width, address_width, *map(len, metrics)]
    table = [banner + " " * max(name_width + 1 - len("Kernel\0"), 0) + "Kernel, "]
    table.append(
        " " * max(address_width - len(_ADDRESS), 0) + _ADDRESS + "".join(f", {each}" for each in metrics) + "\n"
    )
    for name, (_, offset, numbers) in zip(quoted, rows, strict=True):
        assert len(numbers) == len(metrics)
        *first, last = map(str, numbers)
        table.append(" " * max(name_width - len(name.encode()), 0) + name + ", ")
        table.append(f"{offset:x}".rjust(address_width) + ", ")
        table += [text.rjust(width) + ", " for text, width in zip(first, widths[2:], strict=False)]
        table.append(last.rjust(widths[len(metrics) - 1]) + "\n")
    return "".join(table)
