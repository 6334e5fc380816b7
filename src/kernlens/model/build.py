"""A build: one run of a compiler, and what it yielded.

Compilers, live drivers, second builds and recordings give Builds; recordings and loading take them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from kernlens.dataclass import dataclass, field, replace
from kernlens.model.compiler import Compiler
from kernlens.model.compiler_options import LINE_TABLES

if TYPE_CHECKING:
    from kernlens.model.behaviour import Behaviour
    from kernlens.model.device_time import DeviceTime
    from kernlens.model.kept_launch import KeptLaunch
    from kernlens.model.kernel import ReportedKernel
    from kernlens.model.stage import Snapshot

#: The outcomes of a build. A dynamic link that connected programs is ``linked``; what was compiled and linked in one call is
#: ``consumed`` by that link. Both went well, and have no binary of their own.
BUILT, LINKED, CONSUMED, REFUSED = OUTCOMES = ("built", "linked", "consumed", "refused")
#: How the names of OpenCL C sources end.
SOURCE_SUFFIX = ".cl"
#: The beginnings of the reasons for which a build that went well has no binary.
LINKED_AT_ONCE, CONNECTED, BUILT_IN, NOT_GIVEN, NOT_ASKED = (
    "it was compiled and linked in one call",
    "a dynamic link makes no binary",
    "the program consists of kernels that the device has built in",
    "the driver gave no binary",
    "kernlens asked for no binary",
)


@cache
def _named() -> re.Pattern[str]:
    # What kernlens adds to the options of a source (toolchain/sources/includes.py), and compilers write into their binaries.
    return re.compile(r'(?:^|\s)-s (?P<path>"[^"]*"|\S+)(?: -I (?P<folder>"[^"]*"|\S+))?$')


def outcome_told(reason: str) -> str:
    """Return the outcome of a build that went well and has no binary for this reason; "" if it is none of these."""
    outcomes = {LINKED_AT_ONCE: CONSUMED, CONNECTED: LINKED, BUILT_IN: BUILT, NOT_GIVEN: BUILT, NOT_ASKED: BUILT}
    return next((outcome for start, outcome in outcomes.items() if reason.startswith(start)), "")


@dataclass(frozen=True, slots=True)
class Source:
    """A source file's text. ``path`` is as the line table or the compiler names it; ``origin`` says where it was found:
    ``spirv``, ``recording``, ``disk``, ``program`` (CL_PROGRAM_SOURCE) or ``binary``. ``unread`` says why a file that is
    there was not read, and what would allow it; its text is empty then."""

    path: str
    text: str = field(repr=False)
    origin: str = "disk"
    unread: str = ""


@dataclass(frozen=True, slots=True)
class BuildToolchain:
    """The toolchain of a build: its name, and the versions of Intel's driver and compiler; "" where not known. Of another
    compiler ``igc_version`` has the name too (``clang 15.0.6``)."""

    name: str
    neo_version: str = ""
    igc_version: str = ""

    @property
    def compiler(self) -> Compiler:
        """Its compiler; one without a version if it is not Intel's for GPUs."""
        numbers = re.match(r"\d+(?:\.\d+)*", self.igc_version)
        return Compiler(tuple(map(int, numbers[0].split("."))) if numbers else (), self.name)

    @property
    def title(self) -> str:
        """Its versions for a person: ``NEO 22.43.24595 / IGC 1.0.12504``; without versions, the toolchain's name."""
        if self.igc_version[:1].isalpha():
            return self.igc_version
        if not self.neo_version and not self.igc_version:
            return self.name
        return f"NEO {self.neo_version or 'unknown'} / IGC {self.igc_version or 'unknown'}"


class BuildParts(Protocol):
    """The large parts of a build; reading one may cost time, and happens when it is asked for.

    ``log`` is all that the compiler said, ``binary`` the device binary in its container, ``debug`` the debug data that
    older toolchains write beside it, ``spirv`` the module that the binary was made from. A part that is missing is empty.
    ``sources`` are the texts at hand, the main source first; ``source_paths`` also names those that were left out.
    ``snapshots`` are the program at the stages of its compile, in pipeline order. ``launch_shared`` has the bytes of local
    memory that launches ask for, by kernel, where what lay beside the binary said them; ``behaviours`` are the launches of
    each kernel that an interpreter ran; ``kept_launches`` are those that an application made, kept whole;
    ``device_times`` are the device's times of its launches, by kernel, where a capture asked for them.
    """

    @property
    def log(self) -> str: ...
    @property
    def binary(self) -> bytes: ...
    @property
    def debug(self) -> bytes: ...
    @property
    def spirv(self) -> bytes: ...
    @property
    def sources(self) -> tuple[Source, ...]: ...
    @property
    def source_paths(self) -> tuple[str, ...]: ...
    @property
    def snapshots(self) -> tuple[Snapshot, ...]: ...
    @property
    def launch_shared(self) -> Mapping[str, int]: ...
    @property
    def behaviours(self) -> Mapping[str, Sequence[Behaviour]]: ...
    @property
    def kept_launches(self) -> Sequence[KeptLaunch]: ...
    @property
    def device_times(self) -> Mapping[str, DeviceTime]: ...


@dataclass(frozen=True, slots=True)
class HeldParts:
    """The parts of a build that are in memory."""

    log: str = field(default="", repr=False)
    binary: bytes = field(default=b"", repr=False)
    debug: bytes = field(default=b"", repr=False)
    spirv: bytes = field(default=b"", repr=False)
    sources: tuple[Source, ...] = ()
    snapshots: tuple[Snapshot, ...] = ()
    launch_shared: Mapping[str, int] = field(default_factory=dict)
    behaviours: Mapping[str, Sequence[Behaviour]] = field(default_factory=dict)
    kept_launches: tuple[KeptLaunch, ...] = ()
    device_times: Mapping[str, DeviceTime] = field(default_factory=dict)

    @property
    def source_paths(self) -> tuple[str, ...]:
        """The paths of all sources."""
        return tuple(source.path for source in self.sources)


@dataclass(frozen=True)
class Build:
    """One run of a compiler for one device.

    ``name`` is the program's, ``device`` the device as the compiler or the driver names it, ``options`` the build options
    (None: not known), ``command`` the line that runs the build again by hand. ``ok`` is whether there is a binary; if
    not, ``reason`` is one sentence on why. ``seconds`` is what the build took.

    ``path`` is the source file as the caller named it, "" if there was none. ``created`` is when the build was recorded
    (ISO 8601, UTC), "" if it was not. ``device_ip`` is the device's IP version (``12.55.8``) where a driver says it, and
    ``kernels`` what that driver reports of each kernel. ``missing`` says of a part that is not there, by its name, why.
    ``inputs`` are the builds that it was linked from, as far as they are known. ``constants`` are the values that it gave
    specialization constants of its SPIR-V, as bits by number. ``folder`` is the temporary folder that a compiler worked in, ""
    if it was the caller's: line tables name files in it, which are called by their names below it. ``without_binary`` is the
    outcome of a build that went well and has no binary of its own (``LINKED``, ``CONSUMED``; ``BUILT``: of kernels that the
    device has built in), "" of others.
    """

    name: str
    device: str = ""
    toolchain: BuildToolchain | None = None
    options: str | None = ""
    command: str = ""
    ok: bool = True
    reason: str | None = None
    seconds: float = 0.0
    path: str = ""
    created: str = ""
    device_ip: str | None = None
    kernels: tuple[ReportedKernel, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    parts: BuildParts = field(default=HeldParts(), repr=False)
    inputs: tuple[Build, ...] = field(default=(), repr=False)
    constants: Mapping[int, int] = field(default_factory=dict)
    folder: str = ""
    without_binary: str = ""

    @property
    def outcome(self) -> str:
        """The outcome, one of ``OUTCOMES``."""
        return self.without_binary or (BUILT if self.ok else REFUSED)

    @property
    def has_failed(self) -> bool:
        """True if there is no binary though there should be one."""
        return self.outcome == REFUSED

    @property
    def title(self) -> str:
        """The name of a build for a person: that of its source with the program's, if the two are not one name."""
        source = self.source
        stem = source.rpartition("/")[2].rpartition(".")[0]
        return source if self.name in ("", source, stem) else f"{self.name} ({source})"

    def is_by(self, toolchain: str | None) -> bool:
        """Return whether it was done by the toolchain of this name or title; None: any."""
        own = self.toolchain
        return toolchain is None or (own is not None and toolchain in (own.name, own.title))

    @property
    def all_inputs(self) -> tuple[Build, ...]:
        """The builds that it was linked from, and those that these were linked from, each once."""
        inputs: dict[int, Build] = {}
        waiting = list(self.inputs)
        while waiting:
            build = waiting.pop()
            if id(build) not in inputs:
                inputs[id(build)] = build
                waiting += build.inputs
        return tuple(inputs.values())

    @property
    def linked_sources(self) -> tuple[Source, ...]:
        """The sources of all that it was linked from; of several without a name none: a line table cannot tell them apart."""
        sources = {(source.path, source.text): source for build in self.all_inputs for source in build.sources}
        is_one = sum(not path for path, _ in sources) == 1
        return tuple(source for source in sources.values() if source.path or is_one)

    @property
    def source(self) -> str:
        """The name of what was compiled, for a person: the source file's path, or the program's name."""
        return self.path or next(filter(None, self.parts.source_paths), self.name)

    @property
    def own_options(self) -> str | None:
        """The build options as given, without those that name the source and its folder to the compiler; None if not known."""
        named = _named().search(self.options or "")
        if named is None or self.options is None:
            return self.options
        path, folder = ((named[each] or "").strip('"') for each in ("path", "folder"))
        own = path.rpartition("/")[0] or "/"
        # On a cluster the folder is relative to the working folder.
        is_added = folder in ("", own) or (folder[:1] != "/" and own.endswith(f"/{folder.lstrip('./')}"))
        return self.options[: named.start()].rstrip() if is_added else self.options

    @property
    def stated_options(self) -> str | None:
        """``own_options`` without the one that kernlens adds for line tables: they tell variants of a source apart."""
        if self.own_options is None:
            return None
        return " ".join(word for word in self.own_options.split(" ") if word != LINE_TABLES).strip()

    @property
    def toolchain_title(self) -> str | None:
        """The versions of driver and compiler for a person; None if they are not known."""
        return self.toolchain.title if self.toolchain else None

    @property
    def launch_shared(self) -> Mapping[str, int]:
        """The bytes of local memory that launches of its kernels ask for, as far as they are known."""
        return self.parts.launch_shared

    @property
    def behaviours(self) -> Mapping[str, Sequence[Behaviour]]:
        """The launches of its kernels that an interpreter ran, by kernel."""
        return self.parts.behaviours

    @property
    def kept_launches(self) -> Sequence[KeptLaunch]:
        """The launches that an application made and a capture kept whole."""
        return self.parts.kept_launches

    @property
    def device_times(self) -> Mapping[str, DeviceTime]:
        """The device's times of the launches that an application made, by kernel."""
        return self.parts.device_times

    def with_parts(self, **parts: Any) -> Build:
        """Return the same build with these parts, and the others as they are, all in memory."""
        held = {part.name: getattr(self.parts, part.name) for part in fields(HeldParts) if part.name not in parts}
        return replace(self, parts=HeldParts(**held, **parts))

    @property
    def failure(self) -> str:
        """The reason why there is no binary, in one sentence that names source and device; empty if there is one."""
        if self.ok:
            return ""
        named = f"{self.source} does not compile for {self.device}"
        reason = self.reason or "the compiler says no more"
        # It may call the source otherwise: by a path from another folder.
        return reason if f" does not compile for {self.device}: " in reason else f"{named}: {reason}"

    @property
    def made_by(self) -> str:
        """The toolchain and the options that tell it from other builds of its source: ``toolchain system, options -DN=3``;
        empty if neither is known. The option that is added for line tables is left out."""
        options = [f"options {self.stated_options}"] if self.stated_options else []
        toolchain = [f"toolchain {self.toolchain.name}"] if self.toolchain else []
        return ", ".join([*toolchain, *options])

    @property
    def told_failure(self) -> str:
        """The failure, with the toolchain and the options; empty if there is none."""
        refusal = f" does not compile for {self.device}: "
        by = f" ({self.made_by})" if self.made_by else ""
        return self.failure.replace(refusal, f"{refusal[:-2]}{by}: ", 1)

    @property
    def log(self) -> str:
        """All that the compiler said."""
        return self.parts.log

    @property
    def binary(self) -> bytes:
        """The device binary in its container; empty if there is none."""
        return self.parts.binary

    @property
    def debug(self) -> bytes:
        """Debug data beside the binary; empty if there is none."""
        return self.parts.debug

    @property
    def spirv(self) -> bytes:
        """The SPIR-V module that the binary was made from; empty if it is not known."""
        return self.parts.spirv

    @property
    def sources(self) -> tuple[Source, ...]:
        """The source texts at hand, the main source first."""
        return self.parts.sources

    @property
    def snapshots(self) -> tuple[Snapshot, ...]:
        """The program at the stages of its compile, in pipeline order; empty if they were not kept."""
        return self.parts.snapshots
