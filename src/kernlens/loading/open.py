"""Open a path: a binary, a recording, a folder."""

from __future__ import annotations

import mmap
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from kernlens.errors import KernlensError, NotFoundError, UnsupportedError, nearest
from kernlens.loading.assemble import raw_program
from kernlens.loading.context import Surroundings
from kernlens.loading.identify import identify, unknown_input
from kernlens.loading.unpack import Unpacker
from kernlens.model.binary import EMPTY, Container
from kernlens.model.device import Device
from kernlens.model.program import Program, Source


@dataclass(frozen=True, slots=True)
class Contents:
    """What a path holds: its containers, outermost first, and the programs in them."""

    path: str
    containers: tuple[Container, ...]
    programs: tuple[Program, ...]

    def machine_code(self) -> tuple[Program, ...]:
        """The programs that hold machine code. Raises UnsupportedError, with what to do, if none does."""
        found = tuple(program for program in self.programs if program.kernels)
        if found:
            return found
        if any(program.snapshots for program in self.programs):
            raise UnsupportedError(
                f"{self.path} holds the stages of a compile but no machine code of an Intel GPU; look at them with"
                f" kernlens stages {self.path}, or compile the source for a GPU"
            )
        if any(program.spirv for program in self.programs):
            raise UnsupportedError(
                f"{self.path} holds SPIR-V but no machine code; compile it: kernlens compile {self.path} --device D"
            )
        raise NotFoundError(f"{self.path} holds no kernels; kernlens inspect {self.path} shows what it holds")


def load(path: str | os.PathLike[str], *, device: str | None = None, source_roots: Sequence[str] = ()) -> list[Program]:
    """The programs in any file, recording or folder.

    ``device`` names the device of content that does not say it (raw instructions); ``source_roots`` are folders to look
    for source files in. Raises KernlensError: FormatError for damaged content, NotFoundError for an unknown device.
    """
    return list(open_file(path, device=device, source_roots=source_roots).programs)


def open_file(
    path: str | os.PathLike[str],
    *,
    device: str | None = None,
    source_roots: Sequence[str] = (),
    source: str | None = None,
) -> Contents:
    """Like ``load``, with the containers. The file is mapped, not read: it must not shrink while it is in use.

    ``source`` is the file that the program was compiled from, for line tables that do not name it.
    """
    name = os.fspath(path)
    around = Surroundings(
        device=_device(device),
        source_roots=tuple(source_roots),
        folder=os.path.dirname(name) or ".",
        sources=(_nameless(source),) if source else (),
    )
    if os.path.isdir(name):
        return _open_folder(name, around)
    content = _map(name)
    if identify(content) == "recording":
        return _open_recording(name, around)
    return open_bytes(content, name, around)


def open_bytes(content: memoryview, name: str, around: Surroundings) -> Contents:
    """The contents of bytes that are at hand; ``name`` is what to call them, a path as a rule."""
    stem = os.path.splitext(os.path.basename(name))[0] or name
    if identify(content) is None:
        if around.device is None or not len(content):
            raise unknown_input(name, content)
        raw = Container("raw", os.path.basename(name), 0, content)
        return Contents(name, (raw,), (raw_program(stem, content, around.device, around),))
    unpacker = Unpacker()
    container = unpacker.unpack(content, stem, 0, around)
    return Contents(name, (container,), tuple(unpacker.programs))


def _nameless(path: str) -> Source:
    return Source("", bytes(_map(path)).decode("utf-8", "replace"), "disk")


def _device(name: str | None) -> Device | None:
    from kernlens.isa.devices import device

    return device(name) if name is not None else None


def _known_device(name: str) -> Device | None:
    """The device of that name; None for one that this version does not know, which is no fault of the recording."""
    try:
        return _device(name)
    except NotFoundError:
        return None


def _map(path: str) -> memoryview:
    try:
        with open(path, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return EMPTY
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {path}{_near(path)}") from None
    except (OSError, ValueError) as error:
        raise KernlensError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error


def _near(path: str) -> str:
    folder, name = os.path.split(path)
    try:
        near = nearest(name, os.listdir(folder or "."))
    except OSError:
        return ""
    return f"; there is {', '.join(near)}" if near else ""


def _open_folder(path: str, around: Surroundings) -> Contents:
    """Everything below a folder that begins like something known; the rest is passed over."""
    containers: list[Container] = []
    programs: list[Program] = []
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            inside = os.path.join(folder, name)
            if not os.path.isfile(inside):
                continue
            content = _map(inside)
            kind = identify(content) if len(content) >= 20 else None
            if kind is None or kind == "host-elf":
                continue
            if kind == "recording":
                found = _open_recording(inside, replace(around, folder=folder))
            else:
                found = open_bytes(content, inside, replace(around, folder=folder))
            containers += found.containers
            programs += found.programs
    if not containers:
        raise KernlensError(f"the folder {path} holds no GPU binary, SPIR-V or recording")
    return Contents(path, tuple(containers), tuple(programs))


def _open_recording(path: str, around: Surroundings) -> Contents:
    from kernlens.recording.reader import Recording
    from kernlens.recording.recorded_snapshots import snapshots_in

    unpacker = Unpacker()
    containers = []
    with Recording(path) as recording:
        recorded_programs = [program for program in recording.programs() if program.ok]
        builds = Counter(program.name for program in recorded_programs)
        for recorded in recorded_programs:
            name = recorded.name if builds[recorded.name] == 1 else f"{recorded.name}:{recorded.device}"
            inside = replace(
                around,
                device=_known_device(recorded.device) or around.device,
                toolchain=recorded.toolchain.title if recorded.toolchain else None,
                build_options=recorded.options,
                build_log=recorded.log,
                debug=memoryview(recorded.debug or b""),
                spirv=memoryview(recorded.spirv or b""),
                sources=(*around.sources, *(Source(source, text, "recording") for source, text in recorded.sources)),
                find_snapshots=partial(snapshots_in, path, recorded.number),
            )
            content, known = recorded.binary or recorded.spirv, len(unpacker.programs)
            if content:
                containers.append(unpacker.unpack(memoryview(content), name, 0, inside))
            if recorded.snapshots and len(unpacker.programs) == known:
                # A program of another vendor's compiler is recorded for its snapshots alone.
                unpacker.add_stages(name, inside)
    return Contents(path, tuple(containers), tuple(unpacker.programs))
