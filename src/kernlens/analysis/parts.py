"""Takes a file apart: every container, section, kernel and source becomes a named part."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kernlens.model.binary import Container
from kernlens.model.program import Program

#: Longest component of a part's name, in characters; file systems allow 255 bytes.
NAME_LIMIT = 100

_ENDINGS = {
    "host-elf": ".elf",
    "ar": ".ar",
    "neo-elf": ".bin",
    "patch-tokens": ".ptbin",
    "debug-data": ".dbg",
    "zebin": ".zebin",
    "zebin-debug": ".elf",
    "kernel-debug-elf": ".elf",
    "spirv": ".spv",
    "llvm-bitcode": ".bc",
    "raw": ".gen",
}
_UNSAFE = re.compile(r"[^A-Za-z0-9._+@=,-]+")


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a file. ``path`` has safe components only: never empty, ``.``, ``..`` or with a separator; paths are
    unique within one call of ``parts``, also where letter case does not count."""

    path: tuple[str, ...]
    content: memoryview | bytes = field(repr=False)


def parts(containers: Iterable[Container], programs: Iterable[Program]) -> Iterator[Part]:
    """Yields containers with their sections below ``containers``, programs with kernels and sources below ``programs``."""
    names = _Names()
    for container in containers:
        yield from _container_parts(container, ("containers",), names)
    for program in programs:
        yield from _program_parts(program, names)


class _Names:
    """Makes safe, unique names out of those in a file."""

    def __init__(self) -> None:
        self._taken: set[tuple[str, ...]] = set()

    def make(self, folder: tuple[str, ...], name: str, ending: str = "") -> tuple[str, ...]:
        stem = _UNSAFE.sub("_", name).lstrip(".-")[:NAME_LIMIT] or "unnamed"
        if ending and stem.endswith(ending):
            stem = stem[: -len(ending)] or "unnamed"
        path, number = (*folder, stem + ending), 1
        while tuple(component.lower() for component in path) in self._taken:
            number += 1
            path = (*folder, f"{stem}-{number}{ending}")
        self._taken.add(tuple(component.lower() for component in path))
        return path


def _container_parts(container: Container, folder: tuple[str, ...], names: _Names) -> Iterator[Part]:
    ending = _ENDINGS.get(container.kind, ".bin")
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
    for kernel in program.kernels.values():
        yield Part(names.make((*folder, "kernels"), kernel.name, ".gen"), kernel.code)
    if program.spirv:
        yield Part(names.make(folder, "program", ".spv"), program.spirv)
    for name, text in (("build_options", program.build_options), ("build_log", program.build_log)):
        if text:
            yield Part(names.make(folder, name, ".txt"), text.encode("utf-8", "surrogateescape"))
    for source in program.sources:
        yield Part(names.make((*folder, "sources"), source.path), source.text.encode("utf-8", "surrogateescape"))
