"""The verdict on an input: nothing but a KernlensError may come out, within the limits."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kernlens.errors import KernlensError
from tests.limits import address_space, processor_time

#: Seconds of processor time that one input may take, and bytes that it may add to the process.
SECONDS, MEMORY = 1.0, 300 << 20

_ROOT = str(Path(__file__).parents[2])


@dataclass(frozen=True)
class Fault:
    """The fault of an input, which none may have. ``name`` tells kinds apart: the exception and the place in the code."""

    name: str
    story: str
    is_of_time: bool = False


def fault_of(run: Callable[[bytes], None], data: bytes, seconds: float = SECONDS) -> Fault | None:
    """Give one input to a target. Returns None if it was taken as it should be, read or refused."""
    try:
        with address_space(MEMORY), processor_time(seconds), contextlib.suppress(KernlensError):
            run(data)
    except Exception as error:
        is_of_time = isinstance(error, AssertionError) and "of processor time" in str(error)
        return Fault(_name(error), "".join(traceback.format_exception(error)), is_of_time)
    return None


def _name(error: Exception) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(_ROOT)]
    inside = [frame for frame in frames if "/src/kernlens/" in frame.filename] or frames
    if not inside:
        return type(error).__name__
    return f"{type(error).__name__}-{Path(inside[-1].filename).stem}-{inside[-1].name}"
