"""What surrounds a device binary while it is being opened: chosen device, options, SPIR-V, debug data, sources."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernlens.model.binary import EMPTY
from kernlens.model.device import Device
from kernlens.model.program import Source

if TYPE_CHECKING:
    from kernlens.model.stage import Snapshot


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Everything that a program's own bytes do not hold.

    ``device`` is what it was built for or what the user says, and only used where the bytes do not say.
    ``source_roots`` are folders to look for source files in, ``folder`` is where the opened file lies, ``sources`` are
    texts that came with the binary, ``find_snapshots`` reads those of its compile.
    """

    device: Device | None = None
    source_roots: tuple[str, ...] = ()
    folder: str | None = None
    toolchain: str | None = None
    build_options: str | None = None
    build_log: str | None = None
    debug: memoryview = field(default=EMPTY, repr=False)
    spirv: memoryview = field(default=EMPTY, repr=False)
    sources: tuple[Source, ...] = field(default=(), repr=False)
    find_snapshots: Callable[[], tuple[Snapshot, ...]] = field(default=tuple, repr=False)
