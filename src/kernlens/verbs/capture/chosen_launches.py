"""The launches that a capture keeps, as users ask for them and as the recorder reads that
(``native/opencl_layer/kept/chosen.c``)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kernlens.errors import KernlensError

#: The variables with which the recorder keeps launches, and how many bytes of memory in all.
LAUNCH, LAUNCH_BYTES = "KERNLENS_CAPTURE_LAUNCH", "KERNLENS_CAPTURE_LAUNCH_BYTES"
#: Bytes that a process keeps, if nobody says otherwise.
MOST_BYTES = 1_000_000_000
SLOWEST = "slowest"
_FORMS = "KERNEL, KERNEL:N, KERNEL:first, KERNEL:slowest or KERNEL:every=K"
_NUMBER = re.compile(r"[1-9]\d{0,17}")


def recorders_lines(asked: Iterable[str]) -> str:
    """Return what the recorder reads, of choices such as ``blur``, ``blur:3``, ``blur:slowest`` or ``*:every=100``. Raises
    KernlensError for one that is none."""
    return "\n".join(map(_line, asked))


def is_slowest(asked: Iterable[str]) -> bool:
    """Return whether a choice needs the device's time of launches."""
    return any(each.endswith(f":{SLOWEST}") for each in asked)


def _line(asked: str) -> str:
    kernel, colon, which = asked.rpartition(":")
    if not colon:
        kernel, which = asked, "first"
    every, _, number = which.rpartition("=")
    if not kernel or not kernel.isprintable():
        raise KernlensError(f"{asked!r} names no kernel; a launch is {_FORMS}")
    if which == SLOWEST:
        return f"{kernel}:{which}"
    if which == "first":
        return f"{kernel}:at=1"
    if every == "every" and _NUMBER.fullmatch(number):
        return f"{kernel}:every={number}"
    if not every and _NUMBER.fullmatch(which):
        return f"{kernel}:at={which}"
    raise KernlensError(f"{asked!r} says no launch; a launch is {_FORMS}, counted from 1")
