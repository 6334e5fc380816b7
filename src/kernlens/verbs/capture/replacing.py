"""Replacements of the application's programs, and what came of them.

The recorders put them in place (``native/recording/replacements.c`` for both layers) and note what the driver said. A
driver that took a binary need not have taken its machine code, so that is compared with what was built.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from collections.abc import Iterable, Mapping, Sequence

from kernlens.dataclass import dataclass, field, replace
from kernlens.errors import FormatError, KernlensError, NotFoundError, nearest
from kernlens.formats.intermediate_code import without_intermediate_code
from kernlens.formats.spirv.spirv_module import read_spirv
from kernlens.loading import open_build
from kernlens.model.build import Build, HeldParts
from kernlens.model.program import Program
from kernlens.runtime.level_zero.result_codes import result_name
from kernlens.runtime.opencl.error_codes import ERROR_NAMES
from kernlens.toolchain.sources.source_reading import open_regular
from kernlens.verbs.capture.spool import Replaced
from kernlens.verbs.capture.spooled import Identity

_HASH = re.compile(r"[0-9a-f]{8,64}")
_NAME = re.compile(r"[A-Za-z_]\w*")
_SPIRV = b"\x03\x02\x23\x07"
#: Forms of what stands in: ``enum made_from`` of recording/kernel_names.h.
_SOURCE, _IL, _BINARY = 1, 2, 3
#: Errors that are no driver's: CANNOT_STAND_IN and ANOTHER_STANDS_IN of recording/replacements.h.
_CANNOT, _ANOTHER = 1, 2
#: So many lines of a log are shown, and so many kernels named.
_QUOTED, _NAMED = 20, 5
#: So many digits of a SHA-256 tell programs apart.
_DIGITS = 12
_NUMBER = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class Replacement:
    """A replacement: ``content`` stands in for programs whose source, IL or binary has a SHA-256 that begins with
    ``hash``, or that define ``kernel``; the other one is empty. ``program`` and ``path`` are as the user wrote them,
    ``form`` says what a program is made from with it."""

    program: str
    path: str
    hash: str = ""
    kernel: str = ""
    form: int = _SOURCE
    content: bytes = field(default=b"", repr=False)

    @property
    def digest(self) -> str:
        """The SHA-256 of the replacement, by which the recorder notes it."""
        return hashlib.sha256(self.content).hexdigest()

    def why_not(self, error: int) -> str:
        """Return why it did not stand in, from the recorder's note: OpenCL's errors are negative, Level Zero's are not."""
        if error == _CANNOT:
            if self.form == _SOURCE:
                return "it is source, and Level Zero makes modules of SPIR-V and binaries alone"
            return "it is a binary, and Level Zero links modules statically of SPIR-V alone"
        if error == _ANOTHER:
            return "another file, which is named before it, is for the same program"
        name = result_name(error) if error > 0 else ERROR_NAMES.get(error, error)
        alone = ", which takes binaries for its own device and version alone" if self.form == _BINARY else ""
        return f"the driver refused it ({name}){alone}"

    @classmethod
    def of(cls, program: str, stand_in: str | os.PathLike[str] | Program) -> Replacement:
        """Return the replacement of ``program`` by a file, or by a Program's binary. ``program`` is a SHA-256 or its first 8
        digits and more, a kernel's name, or a file that holds what the program is made from, as ``kernlens extract``
        writes it. A binary is put in without the SPIR-V that it holds: a driver whose device it is not for would compile
        that instead, and not refuse it.

        Raises NotFoundError if it is none of these, or a file cannot be read, FormatError if it is damaged SPIR-V.
        """
        if isinstance(stand_in, Program):
            path, content = stand_in.name, stand_in.build.binary or bytes(stand_in.binary)
        else:
            path = os.fspath(stand_in)
            content = _read(path)
        if not content:
            raise NotFoundError(f"{path} is empty, so it cannot replace a program")
        form = _BINARY if b"\0" in content else _SOURCE
        if content.startswith(_SPIRV):
            _check_spirv(path, content)
            form = _IL
        elif form == _BINARY:
            content = _machine_code(content)
        if _HASH.fullmatch(program.lower()):
            return cls(program, path, hash=program.lower(), form=form, content=content)
        if _NAME.fullmatch(program):
            return cls(program, path, kernel=program, form=form, content=content)
        return cls(program, path, hash=hashlib.sha256(_read(program)).hexdigest(), form=form, content=content)


def _read(path: str) -> bytes:
    with open_regular(path) as file:
        return file.read()


def _machine_code(content: bytes) -> bytes:
    try:
        return without_intermediate_code(content)
    except FormatError:  # Whether such a binary is one, the driver says.
        return content


def _check_spirv(path: str, content: bytes) -> None:
    try:
        read_spirv(memoryview(content))
    except FormatError as error:  # Over such a module Intel's compiler ends the application's process.
        message = f"{path} cannot stand in for anything, as the module is damaged"
        raise FormatError(message, format="spirv", offset=error.offset) from error


class StoodIn:
    """The outcome of replacements: ``events`` are the recorder's notes on them."""

    def __init__(self, replacements: Sequence[Replacement], events: Iterable[Replaced]) -> None:
        self._replacements = replacements
        self._events = list(events)
        #: By the SHA-256 of a binary, the kernels that were built with other machine code, with what is different.
        self._other: dict[str, dict[str, str]] = {}
        #: By the SHA-256 of a binary, why it is not known whether they were.
        self._unknown: dict[str, str] = {}

    def used(self, program: Identity | None, content: bytes | None = None) -> dict[str, object]:
        """Return what a recording notes of a replaced program; with ``content``, of that input of a static link."""
        by = None if content is None else hashlib.sha256(content).hexdigest()
        for event in self._events:
            if not event.error and event.identity == program and by in (None, event.by):
                return {"replaced": {"program": event.program, "sha256": event.hash}}
        return {}

    def compare(self, build: Build, program: Identity | None) -> None:
        """Compare a build's machine code with that of the binary that stood in for its program, if one did."""
        if not build.ok or not self._replacements:
            return
        contents = {each.digest: each.content for each in self._replacements if each.form == _BINARY and each.content}
        for event in self._events:
            if event.error or event.identity != program or event.by not in contents:
                continue
            try:
                built = codes(build)
                held = codes(replace(build, parts=HeldParts(binary=contents[event.by])))
            except KernlensError as error:
                self._unknown[event.by] = str(error)
                continue
            if not built or not held:
                self._unknown[event.by] = "kernlens does not read it"
            elif other := _differences(built, held):
                self._other.setdefault(event.by, {}).update(other)

    def sentences(self, failures: Mapping[Identity, str]) -> list[str]:
        """Return sentences on what came of each replacement that stood in, some with lines of the driver's log; ``failures``
        are the logs of programs that failed to build."""
        told = []
        for replacement in self._replacements:
            path, program = replacement.path, replacement.program
            events = [event for event in self._events if event.program == program]
            taken = [event for event in events if not event.error]
            if taken:
                told.append(self._taken(replacement, taken))
            if taken and (unknown := self._unknown.get(taken[0].by)):
                told.append(f"whether the driver took the machine code of {path} as it is, is not known: {unknown}")
            for log in dict.fromkeys(failures[event.identity] for event in events if event.identity in failures):
                told.append(f"{path} does not build, and the application was told so{_quoted(log)}")
            for error, log in dict.fromkeys((event.error, event.log) for event in events if event.error):
                told.append(
                    f"{path} did not stand in for {program}, as {replacement.why_not(error)}"
                    f"{'' if error == _ANOTHER else '; the application got its own program'}{_quoted(log)}"
                )
        return told

    def unmatched(self, builds: int, kernels: Iterable[str], hashes: Iterable[str]) -> dict[str, str]:
        """Return the programs of the replacements that stood in for nothing, each with a sentence that says what there is:
        the number of ``builds``, the ``kernels`` that were built, and the ``hashes`` of what programs were made from."""
        used = {event.program for event in self._events}
        known = builds, sorted(set(kernels)), sorted(set(hashes))
        return {
            each.program: f"{each.path} stood in for nothing: {_why(each, *known)}"
            for each in self._replacements
            if each.program not in used
        }

    def _taken(self, replacement: Replacement, taken: Sequence[Replaced]) -> str:
        times = "" if len(taken) == 1 else f" {len(taken)} times"
        other = self._other.get(taken[0].by)
        if not other:
            return f"{replacement.path} stood in{times} for {replacement.program}"
        names = listed([f"{name} ({what})" for name, what in other.items()])
        return (
            f"{replacement.path} was put in{times} for {replacement.program}, but the machine code that the application got is"
            f" not the file's: {names}"
        )


def listed(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def codes(build: Build) -> dict[str, bytes]:
    """Return the machine code of a build's kernels by name; of a binary for several devices, of those for the build's."""
    programs = [program for program in open_build(build) if program.kernels]
    own = [program for program in programs if program.device is not None and program.device.name == build.device]
    return {name: bytes(kernel.code) for program in own or programs for name, kernel in program.kernels.items()}


def _differences(built: Mapping[str, bytes], held: Mapping[str, bytes]) -> dict[str, str]:
    """Return the kernels whose code differs from the file's, with the sizes of both."""
    from kernlens.pipeline.igc_dump import stands_in

    differences = {}
    for name, code in built.items():
        theirs = held.get(name)
        if theirs is None:
            differences[name] = "not in the file"
        elif len(theirs) != len(code):
            differences[name] = f"{len(code):,} bytes, in the file {len(theirs):,}"
        elif not stands_in(code, theirs):
            differences[name] = f"{len(code):,} bytes, others than in the file"
    return differences


def _why(replacement: Replacement, builds: int, kernels: list[str], hashes: list[str]) -> str:
    if not builds:
        return "the application built no program"
    if replacement.hash:
        there = f"; there are {listed([known[:_DIGITS] for known in hashes])}" if hashes else ""
        return f"no program is made from {replacement.program}{there}"
    near = nearest(replacement.kernel, kernels) or kernels[:8]
    there = f"; there are {', '.join(near)}" if near else ""
    return f"no program that the application made has a kernel {replacement.kernel}{there}"


def _quoted(log: str) -> str:
    """Return the end of a sentence that shows the driver's log."""
    lines = [line for line in log.splitlines() if line.strip()]
    if not lines:
        return ""
    more = [f"({len(lines) - _QUOTED} more lines)"] if len(lines) > _QUOTED else []
    return "".join(["; the driver's log:", *(f"\n  {line}" for line in [*lines[:_QUOTED], *more])])


def packed(replacements: Sequence[Replacement]) -> bytes:
    """Return the replacements as recording/replacements.h reads them."""

    def block(content: bytes) -> bytes:
        return _NUMBER.pack(len(content)) + content

    content = _NUMBER.pack(len(replacements))
    for each in replacements:
        texts = (each.program, each.hash, each.kernel)
        content += b"".join(block(text.encode() + b"\0") for text in texts)
        content += _NUMBER.pack(each.form) + block(each.content)
    return content


def unpacked(content: bytes, replacements: Sequence[Replacement]) -> list[Replacement]:
    """Return the replacements with the contents that ``packed`` wrote; without, where they cannot be read."""
    offset = _NUMBER.size

    def number() -> int:
        nonlocal offset
        offset += _NUMBER.size
        return int(_NUMBER.unpack_from(content, offset - _NUMBER.size)[0])

    def block() -> bytes:
        nonlocal offset
        size = number()
        offset += size
        return content[offset - size : offset]

    whole = []
    try:
        for each in replacements:
            texts = [block(), block(), block()]
            _, held = number(), block()
            own = [f"{text}\0".encode() for text in (each.program, each.hash, each.kernel)]
            whole.append(replace(each, content=held if texts == own else b""))
    except (struct.error, OverflowError):
        return list(replacements)
    return whole
