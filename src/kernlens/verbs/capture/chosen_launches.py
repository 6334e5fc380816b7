"""The launches that a capture keeps, as users ask for them and as the recorder reads that
(``native/recording/chosen_launches.c``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kernlens.analysis.kernel_names import is_named
from kernlens.errors import KernlensError, likeliest
from kernlens.report.describe import plural

#: The variables with which the recorder keeps launches, and how many bytes of memory in all.
LAUNCH, LAUNCH_BYTES = "KERNLENS_CAPTURE_LAUNCH", "KERNLENS_CAPTURE_LAUNCH_BYTES"
#: Bytes that a process keeps, if nobody says otherwise.
MOST_BYTES = 1_000_000_000
SLOWEST = "slowest"
_FORMS = "KERNEL, KERNEL:N, KERNEL:first, KERNEL:slowest or KERNEL:every=K"
#: Names of kernels in a sentence, at most.
_NAMES = 8
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


def unkept(asked: Iterable[str], whole: Sequence[tuple[str, int]], launched: Mapping[str, int]) -> Iterator[str]:
    """Yield a sentence on each choice of which no launch was kept. ``whole`` are kernels and numbers of launches, ``launched``
    says how often the application launched each kernel."""
    if not whole:
        names = sorted(name for name, count in launched.items() if count)
        more = f" and {len(names) - _NAMES:,} more" if len(names) > _NAMES else ""
        words = f"it launched {', '.join(names[:_NAMES])}{more}" if names else "no launch was seen"
        yield f"no launch was kept: the application made none that --launch names and that could be kept; {words}"
        return
    for each in asked:
        kernel, _, which = _line(each).rpartition(":")
        number = int(which[3:]) if which.startswith("at=") else None
        if any(is_named(kernel, name) and number in (None, own) for name, own in whole):
            continue
        counts = {name: count for name, count in launched.items() if count and is_named(kernel, name)}
        if counts:
            words = ", ".join(
                f"{name} was launched {plural(count, 'time')}" for name, count in list(counts.items())[:_NAMES]
            )
        else:
            near = likeliest(kernel, [name for name, count in launched.items() if count])
            meant = f"; did you mean {' or '.join(near)}?" if near else ""
            words = f"the application launched no such kernel{meant}"
        yield f"no launch was kept for --launch {each}: {words}"
