"""The clock of NVIDIA's GPUs while kernels are timed, and why it was lowered, as nvidia-smi tells it.

Source: ``nvidia-smi --help-query-gpu``. The reasons are those of NVML (``nvmlClocksEventReasons``).
"""

from __future__ import annotations

import shutil

from kernlens import log
from kernlens.errors import KernlensError
from kernlens.toolchain.process import run

_SECONDS = 10.0
_QUERY = "--query-gpu=name,clocks.sm,clocks.max.sm,clocks_throttle_reasons.active"
#: Bits of the reasons that lower a clock while there is work; idle, and clocks that an application set, are none.
_REASONS = {
    0x4: "a limit of power", 0x8: "the hardware slowed down", 0x20: "its temperature", 0x40: "the hardware's temperature",
    0x80: "the power supply",
}  # fmt: skip


def clock_words(platform: str, device: str) -> str | None:
    """Return the clock of the GPU of this name, as a sentence; None for a platform that is not NVIDIA's, and if nvidia-smi is
    not there or does not tell."""
    program = shutil.which("nvidia-smi") if "NVIDIA" in platform else None
    if program is None:
        return None
    try:
        done = run([program, _QUERY, "--format=csv,noheader,nounits"], timeout=_SECONDS)
    except KernlensError as error:
        log.debug("toolchain", "nvidia-smi: %s", error)
        return None
    rows = [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines()]
    for name, clock, most, reasons in (row for row in rows if len(row) == 4):
        if name == device:
            return f"after the runs the GPU's clock is {clock} of {most} MHz{_lowered(reasons)}"
    return None


def _lowered(reasons: str) -> str:
    try:
        bits = int(reasons, 16)
    except ValueError:
        return ", and nvidia-smi does not say whether it was lowered"
    words = [word for bit, word in _REASONS.items() if bits & bit]
    return f", lowered by {' and '.join(words)}" if words else ", and nothing lowered it"
