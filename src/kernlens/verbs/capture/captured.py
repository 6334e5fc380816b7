"""The result of a capture: the kernels that an application built, and how much was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from kernlens import log
from kernlens.dataclass import dataclass, field
from kernlens.errors import KernlensError
from kernlens.loading import open_build
from kernlens.model.build import Build
from kernlens.model.device_time import DeviceTime
from kernlens.model.figures import FIGURES, OF_RUNS, figures_of, own_figures
from kernlens.model.kernel import Kernel
from kernlens.recording.reader import Recording
from kernlens.verbs.capture.spooled import Counter


class RecordedKernels:
    """The kernels of a finished recording. A program is opened when one of its kernels is first asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._programs: dict[int, dict[str, Kernel]] = {}

    @cached_property
    def _builds(self) -> list[Build]:
        return Recording(self._path).builds()

    def get(self, number: int, name: str) -> Kernel:
        """Return the kernel of that name of the recording's program with that number."""
        if number not in self._programs:
            programs = open_build(self._builds[number - 1])
            self._programs[number] = {name: kernel for each in programs for name, kernel in each.kernels.items()}
        return self._programs[number][name]


@dataclass()
class CapturedKernel:
    """A kernel that the application built or created.

    ``build`` is the build's name in the recording, "" if that is not known, ``number`` its number there, 0 if kernlens cannot
    read its code. ``same_code`` is whether the code is the same without options that were added, None if none were or it is
    not known; ``from_source`` whether the application gave the compiler source, which is what -gline-tables-only acts on;
    ``options`` are the application's build options. ``time`` is None where the device told none.
    """

    name: str
    build: str
    device: str
    number: int = 0
    created: int = 0
    launches: int = 0
    shapes: dict[tuple[tuple[int, ...], tuple[int, ...] | None], int] = field(default_factory=dict)
    same_code: bool | None = None
    from_source: bool = False
    options: str = ""
    time: DeviceTime | None = None
    recorded: RecordedKernels | None = field(default=None, repr=False, compare=False)

    @cached_property
    def kernel(self) -> Kernel | None:
        """The kernel in the recording, read on first use; None if kernlens cannot read its code."""
        try:
            return self.recorded.get(self.number, self.name) if self.recorded is not None and self.number else None
        except KernlensError as error:
            log.debug("verbs", "%s of the recording cannot be read: %s", self.name, error)
            return None

    @cached_property
    def figures(self) -> dict[str, int | None]:
        """The figures of its machine code by their keys, None where they are not known; empty if it cannot be read."""
        try:
            own = () if self.kernel is None else own_figures(self.kernel)
            figures = (*FIGURES, *(figure for figure in own if figure not in OF_RUNS))  # ``time`` has those.
            return {} if self.kernel is None else figures_of(self.kernel, figures)
        except KernlensError as error:
            log.debug("verbs", "the figures of %s cannot be read: %s", self.name, error)
            return {}

    @property
    def known_launches(self) -> int | None:
        """The number of its launches; None for code that PoCL compiled for one size of work-group (``blur@64x1x1``), whose
        launches are counted as those of its kernel."""
        return None if "@" in self.name and not self.created + self.launches else self.launches

    @property
    def line_table(self) -> bool | None:
        """True if it has a line table; None if kernlens cannot read the code."""
        return None if self.kernel is None else self.kernel.line_table_reason is None

    @property
    def document(self) -> dict[str, Any]:
        """The kernel and its launches, as documents have them."""
        shapes = [{"global": size, "local": local, "launches": count} for (size, local), count in self.shapes.items()]
        document = {"name": self.name, "program": self.build, "device": self.device, "created": self.created}
        time = self.time.document if self.time is not None else None
        return {**document, "launches": self.launches, "shapes": shapes, "time": time}

    def add(self, counter: Counter) -> None:
        """Add what a process counted."""
        self.created += counter.created
        self.launches += counter.launches
        for shape in counter.shapes:
            sizes = shape.global_size, shape.local_size
            self.shapes[sizes] = self.shapes.get(sizes, 0) + shape.launches


@dataclass(slots=True)
class Captured:
    """The result of a capture: numbers of builds and of those that failed, the kernels, most launched first, and what is
    missing, with the reason. ``from_binary`` counts programs that came from binaries, ``own_binaries`` those of them whose
    binaries the application had built in the same run. ``was_entered`` is whether any process loaded the layer,
    ``nested`` are the recordings of captures within this one, ``findings`` are sentences on the second builds and
    replacements, ``unmatched`` those on replacements that stood in for nothing, by the program. ``last_calls`` are the
    functions of the driver that processes were in when they ended, by the process's number. ``whole_launches`` are the
    kernels and numbers of those that were kept, with memory of ``kept_bytes``."""

    was_entered: bool
    nested: Sequence[str] = ()
    builds: int = 0
    failed: int = 0
    from_binary: int = 0
    own_binaries: int = 0
    kernels: list[CapturedKernel] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    unmatched: dict[str, str] = field(default_factory=dict)
    last_calls: dict[int, list[str]] = field(default_factory=dict)
    whole_launches: list[tuple[str, int]] = field(default_factory=list)
    kept_bytes: int = 0
