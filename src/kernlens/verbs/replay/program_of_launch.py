"""The program of a kept launch, as a driver builds it again: from source, SPIR-V or binary, and another build beside it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernlens.dataclass import dataclass, replace
from kernlens.errors import UnsupportedError
from kernlens.formats.spirv.specialization import specialized
from kernlens.model.build import Build, Source
from kernlens.toolchain.sources.directives import inclusions, joined_lines
from kernlens.toolchain.sources.includes import existing_source, include_folders, join_options, split_options
from kernlens.toolchain.sources.recorded_sources import written_sources
from kernlens.toolchain.sources.source_reading import is_wide, read_named

#: Options of Level Zero that OpenCL has under another name; it has no others that begin as they do.
_OF_OPENCL = {
    "-ze-opt-disable": "-cl-opt-disable",
    "-ze-opt-large-register-file": "-cl-intel-256-GRF-per-thread",
    "-ze-opt-greater-than-4GB-buffer-required": "-cl-intel-greater-than-4GB-buffer-required",
    "-ze-intel-greater-than-4GB-buffer-required": "-cl-intel-greater-than-4GB-buffer-required",
    "-ze-intel-enable-auto-large-GRF-mode": "-cl-intel-enable-auto-large-GRF-mode",
}
#: A program as the child takes it.
Program = dict[str, Any]


@dataclass(frozen=True, slots=True)
class OtherBuild:
    """Another build of the program: a ``source`` file, or a ``text`` in place of the recorded source's, ``options`` in place of
    the recorded ones, a ``binary`` file."""

    source: str | None = None
    options: str | None = None
    binary: str | None = None
    text: str | None = None

    def __bool__(self) -> bool:
        return any(each is not None for each in (self.source, self.options, self.binary, self.text))

    @property
    def title(self) -> str:
        """The build for a person."""
        words = [
            self.binary or self.source or "",
            f"options {self.options or 'none'}" if self.options is not None else "",
        ]
        return ", ".join(filter(None, words))

    @property
    def folders(self) -> list[str]:
        """The folders whose files it may include."""
        beside = [] if self.source is None else [os.path.dirname(os.path.abspath(self.source))]
        named = [os.path.abspath(each) for each in include_folders(self.options or "")]
        return [os.path.realpath(each) for each in (*named, *beside) if os.path.isdir(each) and not is_wide(each)]


def programs_of(
    build: Build, other: OtherBuild | None, folder: str, *, is_binary: bool
) -> tuple[Sequence[str], Sequence[Program]]:
    """Return the titles and the programs that run: the recorded one, and the other. Raises UnsupportedError if the recording
    does not hold what is needed, NotFoundError if a file is not there."""
    recorded = _recorded(build, build.options or "", folder, is_binary=is_binary)
    if other is None:
        return ["recorded"], [recorded]
    options = build.options or "" if other.options is None else other.options
    if other.binary is not None:
        program = _program(build.name, options, binary=read_named(other.binary))
    elif other.source is not None:
        words = [*split_options(options), *(word for each in other.folders for word in ("-I", each))]
        text = read_named(existing_source(other.source)).decode("utf-8", "replace")
        program = _program(Path(other.source).name, join_options(words), text=text)
    else:
        program = _recorded(
            build if other.text is None else _with_text(build, other.text), options, folder, is_binary=False
        )
        if program["binary"]:
            raise UnsupportedError(
                f"the recording holds only the binary of {build.name}, which no build options change; capture --fresh-cache"
                " records what programs are built from"
            )
    return ["recorded", other.title], [recorded, program]


def _with_text(build: Build, text: str) -> Build:
    first, *others = build.sources
    return build.with_parts(sources=[replace(first, text=text), *others])


def texts_of(program: Program, build: Build) -> list[str]:
    """Return the source texts of a program that ran, with what it includes; none if it was made of SPIR-V or a binary."""
    texts = [each["text"] for each in (program, *program["parts"]) if each["text"]]
    return [*texts, *(source.text for source in build.sources[1:])] if texts else []


def includes_more(build: Build) -> bool:
    """Return whether the source includes files that the recording does not hold."""
    held = [source.path for source in build.sources[1:]]
    named = {name for source in build.sources for name, _ in inclusions(joined_lines(source.text))}
    return any(not any(path == name or path.endswith(f"/{name}") for path in held) for name in named)


def _recorded(build: Build, options: str, folder: str, *, is_binary: bool) -> Program:
    if is_binary:
        if not build.binary:
            raise UnsupportedError(f"the recording holds no binary of {build.name}")
        return _program(build.name, options, binary=build.binary)
    if build.inputs:
        parts = [_part(each, folder) for each in build.inputs]
        if all(part is not None for part in parts):
            return _program(build.name, options, parts=parts)
    text, words, module = _text_or_module(build, options, folder)
    if text is None and not module:
        if not build.binary:
            raise UnsupportedError(f"the recording holds neither source, SPIR-V nor binary of {build.name}")
        return _program(build.name, options, binary=build.binary)
    return _program(build.name, words, text=text, spirv=module)


def _part(build: Build, folder: str) -> Program | None:
    """Return an input of a link; None if nothing that can be compiled is known of it."""
    text, words, module = _text_or_module(build, build.options or "", folder)
    if text is None and not module:
        return None
    return {"text": text, "spirv": module, "options": words, "constants": [], "headers": []}


def _text_or_module(build: Build, options: str, folder: str) -> tuple[str | None, str, bytes]:
    sources: Sequence[Source] = build.sources
    if len(sources) > 1:
        path, words = written_sources(sources, options, Path(folder))
        return sources[0].text, join_options([*split_options(words), "-I", str(path.parent)]), b""
    if sources:
        return sources[0].text, options, b""
    spirv = build.spirv
    if "-ze-" in options:
        translated = [_OF_OPENCL.get(word, word) for word in split_options(options)]
        options = join_options([word for word in translated if not word.startswith("-ze-")])
    return None, options, specialized(memoryview(spirv), build.constants) if spirv and build.constants else spirv


def _program(name: str, options: str, **what: Any) -> Program:
    return {
        "name": name,
        "options": options,
        "text": None,
        "spirv": b"",
        "binary": b"",
        "parts": [],
        "constants": [],
        **what,
    }
