"""The circumstances that a binary is opened with: the build that it comes from, and what the user says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from kernlens.dataclass import dataclass, field, replace
from kernlens.model.allowance import Allowance
from kernlens.model.binary import EMPTY
from kernlens.model.build import Build, BuildParts, Source

if TYPE_CHECKING:
    from kernlens.model.behaviour import Behaviour
    from kernlens.model.device import Device
    from kernlens.model.device_time import DeviceTime
    from kernlens.model.kept_launch import KeptLaunch
    from kernlens.model.stage import Snapshot
    from kernlens.model.sycl_image import SyclImage


class ContainerParts:
    """The parts of a build of which a container holds some itself; the others are those of the build around it."""

    def __init__(
        self,
        outer: BuildParts,
        debug: memoryview,
        spirv: memoryview,
        source: str | None,
        find_snapshots: Callable[[], tuple[Snapshot, ...]] | None,
    ) -> None:
        self._outer = outer
        self._find_snapshots = find_snapshots
        self._debug = debug
        self._spirv = spirv
        self._source = source

    @property
    def log(self) -> str:
        return self._outer.log

    @property
    def binary(self) -> bytes:
        return self._outer.binary

    @cached_property
    def debug(self) -> bytes:
        return _bytes(self._debug) or self._outer.debug

    @cached_property
    def spirv(self) -> bytes:
        return _bytes(self._spirv) or self._outer.spirv

    @property
    def sources(self) -> tuple[Source, ...]:
        return (*self._outer.sources, *self._own_source)

    @property
    def source_paths(self) -> tuple[str, ...]:
        return (*self._outer.source_paths, *(source.path for source in self._own_source))

    @property
    def launch_shared(self) -> Mapping[str, int]:
        return self._outer.launch_shared

    @property
    def behaviours(self) -> Mapping[str, Sequence[Behaviour]]:
        return self._outer.behaviours

    @property
    def device_times(self) -> Mapping[str, DeviceTime]:
        return self._outer.device_times

    @property
    def kept_launches(self) -> Sequence[KeptLaunch]:
        return self._outer.kept_launches

    @cached_property
    def snapshots(self) -> tuple[Snapshot, ...]:
        """The stages that the build kept; those that the container holds where it kept none."""
        outer = self._outer.snapshots
        return outer if outer or self._find_snapshots is None else self._find_snapshots()

    @property
    def _own_source(self) -> tuple[Source, ...]:
        return () if self._source is None else (Source("", self._source, "binary"),)


def _bytes(view: memoryview) -> bytes:
    """Return the view's bytes, without a copy where it is a view of just these: unpacked images are there once only."""
    whole = view.obj
    return whole if isinstance(whole, bytes) and len(whole) == view.nbytes else bytes(view)


#: A capture puts this before the options that it adds (``native/opencl_layer/recorder/added_options.c``).
_CAPTURE_MARK = "-DKERNLENS_ADDED "


@dataclass(frozen=True, slots=True)
class Context:
    """The context of bytes: ``build`` is what is known of the build beside them.

    ``device`` is what the program was built for or what the user says, and only used where the bytes do not say.
    ``source_roots`` are folders to look for source files in, ``folder`` is where the opened file lies, ``own_source`` is
    the text that the user gives for line tables that name no file. ``allowance`` is that of the whole input. ``is_held`` says
    that files are read, not mapped, as they may change while they are in use. ``image`` is what a host's descriptor says of the
    device image around. ``recorded`` are the builds of the recording that the build is in.
    """

    build: Build = field(default=Build("", options=None))
    device: Device | None = None
    source_roots: tuple[str, ...] = ()
    folder: str | None = None
    own_source: Source | None = None
    allowance: Allowance = field(default_factory=Allowance)
    is_held: bool = False
    image: SyclImage | None = None
    recorded: Sequence[Build] = ()

    def holding(
        self,
        *,
        options: str | None = None,
        debug: memoryview = EMPTY,
        spirv: memoryview = EMPTY,
        source: str | None = None,
        find_snapshots: Callable[[], tuple[Snapshot, ...]] | None = None,
    ) -> Context:
        """Return the context within a container that holds these parts of the build itself."""
        if not (options or debug or spirv or source or find_snapshots):
            return self
        build = self.build
        parts = ContainerParts(build.parts, debug, spirv, source, find_snapshots)
        options = options.replace(_CAPTURE_MARK, "") if options else build.options
        return replace(self, build=replace(build, options=options, parts=parts))

    @property
    def sources(self) -> tuple[Source, ...]:
        """The texts that came with the binary, or with what it was linked from, the user's first."""
        build = self.build
        return (*((self.own_source,) if self.own_source else ()), *(build.sources or build.linked_sources))
