"""The contents of a path: a binary, a recording, a folder."""

from __future__ import annotations

import mmap
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import NoReturn

from kernlens import log
from kernlens.errors import KernlensError, NotFoundError, UnsupportedError
from kernlens.isa.devices import device as find_device
from kernlens.isa.devices import known_device
from kernlens.loading.binary_programs import raw_program
from kernlens.loading.context import Context
from kernlens.loading.growing import Growing
from kernlens.loading.identify import (
    PTX,
    READABLE,
    foreign,
    identify,
    kind_of,
    no_instructions,
    unknown_input,
)
from kernlens.loading.unpack import Unpacker
from kernlens.model.allowance import Allowance
from kernlens.model.binary import EMPTY, Container
from kernlens.model.build import SOURCE_SUFFIX, Build, Source
from kernlens.model.containers import CONTAINERS, Holds
from kernlens.model.failed_builds import FailedBuilds, no_kernels
from kernlens.model.program import Program
from kernlens.toolchain.sources.source_reading import open_beside, open_regular

_NAMED = 8  # Kernels that a sentence names.


class Contents:
    """The contents of a path: its containers, outermost first, and the programs in them. Those of a recording are
    unpacked one after the other when they are asked for.
    """

    #: All builds that the recordings hold, those that failed too.
    recorded: Sequence[Build] = ()
    #: The files of a folder that turned out to be unreadable, each with the reason.
    damaged: Mapping[str, KernlensError] = MappingProxyType({})

    def __init__(
        self, path: str, containers: Sequence[Container], programs: Sequence[Program], recorded: Sequence[Build] = ()
    ) -> None:
        self.path = path
        self.containers = containers
        self.programs = programs
        self.recorded = recorded

    def failed_builds(self, device: str | None = None, toolchain: str | None = None) -> FailedBuilds:
        """Return the builds that failed, as recordings hold them, among all builds; those for a device and by a toolchain
        alone if these are named."""
        builds = [each for each in self.recorded if is_build_for(each, device) and each.is_by(toolchain)]
        failed = tuple(build for build in builds if build.has_failed)
        return FailedBuilds(failed, sum(build.ok for build in builds) + len(failed), self.path)

    def files(self) -> Iterator[Contents]:
        """Yield the contents of each file; of what is no folder, this alone."""
        yield self

    def check(self) -> None:
        """Raise KernlensError, with all their names, if files of the folder turned out to be damaged."""

    def machine_code(self) -> tuple[Program, ...]:
        """Return the programs that hold machine code. Raises UnsupportedError, with what to do, if none does, and what
        builds failed."""
        with_code = tuple(program for program in self.programs if program.kernels)
        if with_code:
            return with_code
        try:
            self._say_why_none()
        except (NotFoundError, UnsupportedError) as error:
            failed = self.failed_builds()
            if not failed:
                raise
            if not self.programs:
                raise NotFoundError(no_kernels(self.path, failed)) from None
            raise type(error)(f"{error}; {failed.sentence}") from None

    def counted_code(self) -> tuple[Program, ...]:
        """Return what ``machine_code`` does, and the programs whose kernels an interpreter counted and nobody compiled."""
        if not any(build.behaviours for build in self.recorded):
            return self.machine_code()
        from kernlens.loading.uncompiled import uncompiled

        counted = tuple(uncompiled(self.programs))
        return (*(each for each in self.programs if each.kernels), *counted) if counted else self.machine_code()

    def _say_why_none(self) -> NoReturn:
        """Raise UnsupportedError if what is there explains why there is no machine code, else NotFoundError."""
        if any(program.format == PTX for program in self.programs):
            raise UnsupportedError(
                f"{self.path} is PTX, which a driver compiles to machine code when it loads it: open the cubin that ptxas makes"
                " of it, or the entry of the driver's compute cache (~/.nv/ComputeCache), which kernlens capture records too"
            )
        if any(program.build.behaviours for program in self.programs):
            how = f"see the counts of their source lines with kernlens annotate {self.path} --top 10 --sort moved"
            raise UnsupportedError(f"{self.path} has what kernels did on data, but no machine code; {how}")
        if any(program.build.snapshots and not program.spirv for program in self.programs):
            raise UnsupportedError(
                f"{self.path} contains the stages of a compile but no machine code of a GPU that kernlens reads; look at them"
                f" with kernlens stages {self.path}, or compile the source for a GPU"
            )
        self._say_kernelless()
        from kernlens.formats.spirv.opencl_fitness import why_unfit

        if modules := sum(bool(program.spirv) for program in self.programs):
            only = next(program.spirv for program in self.programs if program.spirv)
            if modules == 1 and (why := why_unfit(only)):
                raise UnsupportedError(f"{self.path} holds no machine code, and none can be made of it: {why}")
            # Of several in a file, compile takes those that are chosen; of a folder, it takes a file.
            choice = " --kernel K" if modules > 1 and not isinstance(self, Folder) else ""
            path = next(each.path for each in self.files() if any(program.spirv for program in each.programs))
            raise UnsupportedError(
                f"{self.path} contains SPIR-V but no machine code; compile it: kernlens compile {path}{choice} --device D"
            )
        self._say_unreadable()
        if any(program.format == "llvm-bitcode" for program in self.programs):
            raise UnsupportedError(
                f"{self.path} is a library of LLVM bitcode, which clLinkProgram wrote (-create-library), and has no machine"
                f" code; link it into a program, and open that; kernlens symbols {self.path} lists what it offers"
            )
        for container in self.containers:
            if what := foreign(container.content, container.kind):
                raise UnsupportedError(f"{self.path} is {what}; {READABLE}")
        raise NotFoundError(f"{self.path} contains no kernels; kernlens inspect {self.path} shows what it contains")

    def _say_kernelless(self) -> None:
        """Raise UnsupportedError for compiled programs without kernels: with what they have instead."""
        compiled = [program for program in self.programs if program.format in ("zebin", "patch-tokens")]
        if not compiled:
            return
        lost = [name for program in compiled for name in program.lost_kernels]
        if lost:
            more = f" and {len(lost) - _NAMED:,} more" if len(lost) > _NAMED else ""
            raise UnsupportedError(
                f"{self.path} has no machine code, but its SPIR-V holds {', '.join(lost[:_NAMED])}{more}; build it: kernlens"
                f" compile {self.path} --device D"
            )
        if any(symbol.kind == "export" for program in compiled for symbol in program.symbols):
            raise UnsupportedError(
                f"{self.path} is compiled but contains no kernel; kernlens symbols {self.path} lists the functions and"
                " variables that it offers to other modules"
            )
        raise UnsupportedError(
            f"{self.path} is compiled but contains no kernel, and offers no function or variable to other modules: its source"
            " has none, or the compiler dropped them (-library-compilation keeps functions)"
        )

    def some_programs(self) -> Sequence[Program]:
        """Return the programs. Raises UnsupportedError if there are none since what is there cannot be read."""
        if not self.programs:
            self._say_unreadable()
        return self.programs

    def _say_unreadable(self) -> None:
        waiting = list(self.containers)
        while waiting:
            container = waiting.pop(0)
            if container.unreadable is not None:
                raise UnsupportedError(f"{container.name} in {self.path} cannot be read: {container.unreadable}")
            if CONTAINERS[container.kind].holds is Holds.PARTS:
                waiting += container.children


def is_build_for(build: Build, device: str | None) -> bool:
    """Return whether a build is for the device of that name, or alias; None: any."""
    if device is None or device == build.device:
        return True
    known = known_device(device)
    return known is not None and known_device(build.device) == known


def load(
    path: str | os.PathLike[str], *, device: str | None = None, source_roots: Sequence[str] = ()
) -> Sequence[Program]:
    """Return the programs in any file, recording or folder; those of a recording are unpacked when they are asked for.

    ``device`` chooses the programs for that device, and names that of content that does not say it (raw instructions);
    ``source_roots`` are folders to look for source files in. Raises KernlensError: FormatError for damaged content,
    NotFoundError for an unknown device, and one that no program is for; of a folder no file may be damaged.
    """
    contents = open_file(path, device=device, source_roots=source_roots)
    programs = contents.some_programs()
    contents.check()
    if device is None:
        return programs
    target, known = find_device(device), dict.fromkeys(str(program.device) for program in programs)
    if chosen := [program for program in programs if program.is_for(target)]:
        return chosen
    raise NotFoundError(f"no program in {contents.path} is for {target}, but for {', '.join([*known][:_NAMED])}")


def open_file(
    path: str | os.PathLike[str],
    *,
    device: str | None = None,
    source_roots: Sequence[str] = (),
    source: str | None = None,
    held: bool = False,
) -> Contents:
    """Open a path like ``load``, with the containers. The file is mapped, not read: it must not be written to while it is
    in use, unless ``held``, with which it is read now, and a recording copied. ``source`` is the file that the program
    was compiled from, for line tables that do not name it."""
    name = os.fspath(path)
    context = Context(
        device=find_device(device) if device is not None else None,
        source_roots=tuple(source_roots),
        folder=os.path.dirname(name) or ".",
        own_source=Source("", bytes(_map(source)).decode("utf-8", "replace"), "disk") if source else None,
        is_held=held,
    )
    if os.path.isdir(name):
        return Folder(name, context)
    content = _map(name, context.is_held)
    log.debug("loading", "%s, %d bytes, is taken for: %s", name, len(content), identify(content))
    if identify(content) == "recording":
        return _open_recording(name, context)
    return open_bytes(content, name, context)


def open_bytes(content: memoryview, name: str, context: Context) -> Contents:
    """Return the contents of bytes that are at hand; ``name`` is what to call them, a path as a rule."""
    context = replace(context, allowance=Allowance(len(content)))
    stem = os.path.splitext(os.path.basename(name))[0] or name
    if identify(content) is None:
        if context.device is None:
            raise unknown_input(name, content)
        if error := no_instructions(name, content):
            raise error
        raw = Container("raw", os.path.basename(name), 0, content)
        return Contents(name, (raw,), (raw_program(stem, content, context.device, context),))
    unpacker = Unpacker()
    if os.path.isfile(f"{os.path.splitext(name)[0]}.ttir"):
        from kernlens.loading.triton_cache import with_triton_stages

        context = with_triton_stages(name, context)
    container = unpacker.unpack(content, stem, 0, context)
    return Contents(name, (container,), tuple(unpacker.programs))


def open_build(build: Build) -> tuple[Program, ...]:
    """Return the programs in a build's binary, or that of its SPIR-V where the binary is not one of Intel's GPU compilers."""
    unpacker = Unpacker()
    allowance = Allowance(len(build.binary))
    context = Context(build, known_device(build.device), folder=os.path.dirname(build.path) or ".", allowance=allowance)
    unpacker.unpack_build(build.name, context)
    return tuple(unpacker.programs)


def _map(path: str, is_held: bool = False, folder: str | None = None) -> memoryview:
    """Return the content of a file that the user has named, or (``folder``) has named with the others of a folder."""
    try:
        with open_regular(path) if folder is None else open_beside(path, folder) as file:
            if not os.fstat(file.fileno()).st_size:
                return EMPTY
            if is_held:
                return memoryview(file.read())
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        raise KernlensError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error


class Folder(Contents):
    """Everything below a folder that begins like something known; the rest is passed over. ``files`` opens one after
    the other, and nothing here keeps what it has yielded: a folder may hold hundreds. Asked for ``containers`` or
    ``programs``, it reads all files, as far as a damage would show that spoils the answer about others."""

    def __init__(self, path: str, context: Context) -> None:
        from kernlens.loading.folder_files import known_files

        self.path = path
        #: The files that begin like something known, with their sizes in bytes.
        self.sizes = dict(known_files(path))
        self._context = context
        self._damaged: dict[str, KernlensError] = {}
        self.damaged = self._damaged
        if next(self.files(), None) is None:
            self.check()
            from kernlens.toolchain.folders import paths_below

            if any(name.endswith(SOURCE_SUFFIX) for name in paths_below(path)):
                raise KernlensError(
                    f"the folder {path} contains sources only; name these sources, or make a recording of them:"
                    f" kernlens compile {path}/*.cl --device D -o FILE.klens"
                )
            raise KernlensError(
                f"the folder {path} contains no GPU binary, SPIR-V or recording; kernlens compile makes a recording of sources"
            )

    @cached_property
    def containers(self) -> Sequence[Container]:  # type: ignore[override]
        return tuple(container for contents in self._whole for container in contents.containers)

    @cached_property
    def programs(self) -> Sequence[Program]:  # type: ignore[override]
        return tuple(program for contents in self._whole for program in contents.programs)

    @cached_property
    def recorded(self) -> Sequence[Build]:  # type: ignore[override]
        return tuple(build for path in self.sizes for build in self._builds_in(path))

    def _builds_in(self, path: str) -> Sequence[Build]:
        from kernlens.recording.reader import Recording

        try:
            return Recording(path).builds() if kind_of(path, folder=self.path)[0] == "recording" else ()
        except KernlensError as error:
            self.note_damage(path, error)
            return ()

    @cached_property
    def _whole(self) -> list[Contents]:
        return [contents for contents in self.files() if self.is_good(contents)]

    def files(self, paths: Iterable[str] | None = None) -> Iterator[Contents]:
        """Yield the contents of each file in the folder's order, or of these; the damaged are noted and left out."""
        for path in self.sizes if paths is None else paths:
            try:
                contents = _open_inside(path, self.path, replace(self._context, folder=os.path.dirname(path)))
            except KernlensError as error:
                self.note_damage(path, error)
                continue
            yield contents

    def is_good(self, contents: Contents) -> bool:
        """Return whether all of a file can be read, its instructions left out; note the damage if not."""
        try:
            for program in contents.programs:
                _ = program.symbols
                for kernel in program.kernels.values():
                    _ = kernel.code, kernel.resources, kernel.line_table
        except KernlensError as error:
            self.note_damage(contents.path, error)
            return False
        return True

    def note_damage(self, path: str, error: KernlensError) -> None:
        """Remember that a file of the folder cannot be read, for ``check`` to tell."""
        if path not in self.damaged:
            log.debug("loading", "%s is damaged: %s", path, error)
            self._damaged[path] = error

    def check(self) -> None:
        if self.damaged:
            paths_of: dict[str, list[str]] = {}
            for path in self.sizes:
                if path in self.damaged:
                    paths_of.setdefault(str(self.damaged[path]), []).append(path)
            reasons = "; ".join(f"{', '.join(paths)}: {reason}" for reason, paths in paths_of.items())
            count = "1 file" if len(self.damaged) == 1 else f"{len(self.damaged)} files"
            raise KernlensError(f"{count} of the folder {self.path} cannot be read: {reasons}")


def _open_inside(path: str, folder: str, context: Context) -> Contents:
    """Return the contents of a file in a folder; the programs of a recording are all unpacked."""
    content = _map(path, context.is_held, folder)
    if identify(content) != "recording":
        return open_bytes(content, path, context)
    contents = _open_recording(path, context)
    return Contents(path, tuple(contents.containers), tuple(contents.programs), contents.recorded)


def _open_recording(path: str, context: Context) -> Contents:
    from kernlens.recording.reader import Recording

    recording = Recording(path, is_held=context.is_held)
    return open_builds(path, recording.builds(), replace(context, allowance=recording.allowance))


def open_builds(path: str, recorded: Sequence[Build], context: Context) -> Contents:
    """Return the contents of builds, as a recording of them has them, without those that failed; ``path`` is what to call
    them."""
    builds = [build for build in recorded if build.ok]
    counts = Counter(build.name for build in builds)
    targets = Counter((build.name, build.device) for build in builds)
    unpacker, context = Unpacker(), replace(context, recorded=builds)
    containers: list[Container] = []

    def unpacked() -> Iterator[None]:
        for build in builds:
            name = build.name if counts[build.name] == 1 else f"{build.name}:{build.device}"
            if targets[build.name, build.device] > 1 and build.toolchain:
                name += f":{build.toolchain.name}"
            inside = replace(context, build=build, device=known_device(build.device) or context.device)
            containers.extend(unpacker.unpack_build(name, inside))
            yield

    steps = unpacked()
    return Contents(path, Growing(containers, steps), Growing(unpacker.programs, steps), recorded)
