"""The parts of a file: every container, section, kernel and source, by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError
from kernlens.model.binary import Container
from kernlens.model.build import Build
from kernlens.model.containers import CONTAINERS
from kernlens.model.failed_builds import failure_words
from kernlens.model.program import Program

#: Longest component of a part's name, in characters; file systems allow 255 bytes.
NAME_LIMIT = 100

#: Bytes that the parts of any file may have together, and how many times larger than the file they may be beyond: what
#: honest containers hold is nested four deep.
FREE = 256 << 20
RATIO = 32

_UNSAFE = re.compile(r"[^A-Za-z0-9._+@=,-]+")


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a file. ``path`` has safe components only: never empty, ``.``, ``..`` or with a separator; paths are
    unique within one call of ``parts``, also where letter case does not count."""

    path: tuple[str, ...]
    content: memoryview | bytes = field(repr=False)


def parts(containers: Iterable[Container], programs: Iterable[Program], failed: Iterable[Build] = ()) -> Iterator[Part]:
    """Yield containers with their sections below ``containers``, programs with kernels and sources below ``programs``, and
    what is known of builds that failed below ``failed_builds``.
    Raises FormatError if the parts of a file are many times larger than it, because they share its bytes."""
    names = _Names()
    room = FREE
    for container in containers:
        room += RATIO * container.size
        for part in _container_parts(container, ("containers",), names):
            room -= len(part.content)
            yield _fitting(part, room)
    for program in programs:
        for part in _program_parts(program, names):
            room -= len(part.content)
            yield _fitting(part, room)
    for build in failed:
        yield from _failed_parts(build, names)


def _fitting(part: Part, room: int) -> Part:
    """Return the part. Raises FormatError if there is no room for it: parts may share bytes of the file."""
    if room < 0:
        raise FormatError(
            f"its parts overlap: together they are more than {RATIO} times larger than the file",
            format="file",
            section="/".join(part.path),
        )
    return part


class _Names:
    """A maker of safe, unique names out of those in a file."""

    def __init__(self) -> None:
        self._taken: set[tuple[str, ...]] = set()
        #: Name that is taken -> the number that was tried last: thousands may want the same name.
        self._numbers: dict[tuple[str, ...], int] = {}

    def make(self, folder: tuple[str, ...], name: str, ending: str = "") -> tuple[str, ...]:
        stem = _UNSAFE.sub("_", name).lstrip(".-")[:NAME_LIMIT] or "unnamed"
        if ending and stem.endswith(ending):
            stem = stem[: -len(ending)] or "unnamed"
        path = (*folder, stem + ending)
        plain = key = tuple(component.lower() for component in path)
        number = self._numbers.get(plain, 1)
        while key in self._taken:
            number += 1
            path = (*folder, f"{stem}-{number}{ending}")
            key = (*plain[:-1], path[-1].lower())
        self._numbers[plain] = number
        self._taken.add(key)
        return path


def _container_parts(container: Container, folder: tuple[str, ...], names: _Names) -> Iterator[Part]:
    ending = CONTAINERS[container.kind].suffix
    yield Part(names.make(folder, container.name or container.kind, ending), container.content)
    if not container.sections and not container.children:
        return
    inside = names.make(folder, f"{container.name or container.kind}.parts")
    for section in container.sections:
        if section.size:
            yield Part(names.make(inside, section.name or f"section-{section.index}"), section.data)
    for child in container.children:
        yield from _container_parts(child, inside, names)


def _program_parts(program: Program, names: _Names) -> Iterator[Part]:
    folder = names.make(("programs",), program.name)
    ending = ".gen" if program.device is None or program.device.ip is not None else ".code"
    for kernel in program.kernels.values():
        yield Part(names.make((*folder, "kernels"), kernel.name, ending), kernel.code)
    if program.spirv:
        yield Part(names.make(folder, "program", ".spv"), program.spirv)
    yield from _texts(program.build, folder, names)
    texts = {"", *(source.text for source in program.sources)}
    # Those that no line table names came with the build all the same.
    for source in (*program.sources, *(source for source in program.build.sources if source.text not in texts)):
        name = source.path or "program.cl"
        yield Part(names.make((*folder, "sources"), name), source.text.encode("utf-8", "surrogateescape"))


def _failed_parts(build: Build, names: _Names) -> Iterator[Part]:
    """Yield the sources, SPIR-V, options and log of a build without a binary, and the reason."""
    toolchain = f".{build.toolchain.name}" if build.toolchain else ""
    folder = names.make(("failed_builds",), f"{build.name}.{build.device}{toolchain}")
    yield Part(names.make(folder, "reason", ".txt"), f"{failure_words(build)}\n".encode("utf-8", "surrogateescape"))
    yield from _texts(build, folder, names)
    if build.spirv:
        yield Part(names.make(folder, "program", ".spv"), build.spirv)
    for source in build.sources:
        name = source.path or "program.cl"
        yield Part(names.make((*folder, "sources"), name), source.text.encode("utf-8", "surrogateescape"))


def _texts(build: Build, folder: tuple[str, ...], names: _Names) -> Iterator[Part]:
    for name, text in (("build_options", build.options), ("build_log", build.log)):
        if text:
            yield Part(names.make(folder, name, ".txt"), text.encode("utf-8", "surrogateescape"))
