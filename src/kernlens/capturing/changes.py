"""What a capture may change of what the application builds: options that are added, programs that others stand in for, and
caches that are empty. The recorders do it (``native/recording/replacements.c`` for both layers); the end says what came of
it."""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kernlens.capturing.counters import Identity
from kernlens.capturing.spool import OPTIONS, REPLACE, Replaced, Spool
from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError, NotFoundError, nearest
from kernlens.formats.spirv.spirv_module import read_spirv
from kernlens.model.build import LINE_OPTIONS
from kernlens.runtime.level_zero.result_codes import result_name
from kernlens.runtime.opencl.error_codes import ERROR_NAMES

_HASH = re.compile(r"[0-9a-f]{8,64}")
_NAME = re.compile(r"[A-Za-z_]\w*")
_SPIRV = b"\x03\x02\x23\x07"
#: Forms of what stands in: ``enum made_from`` of recording/kernel_names.h.
_SOURCE, _IL, _BINARY = 1, 2, 3
#: An error that is no driver's: CANNOT_STAND_IN of recording/replacements.h.
_CANNOT = 1

#: So many lines of a log are shown.
_QUOTED = 20

#: Variables that say where a driver, a compiler or a library keeps what was built, and the folder each gets. What keeps it
#: in the user's cache folder follows the first: NEO, PoCL, OpenCV, darktable, pyopencl, Mesa, hashcat.
_CACHES = {
    "XDG_CACHE_HOME": "user",
    "NEO_CACHE_DIR": "neo",
    "cl_cache_dir": "cl_cache",
    "POCL_CACHE_DIR": "pocl",
    "OPENCV_OPENCL_CACHE_DIR": "opencv",
    "SYCL_CACHE_DIR": "sycl",
    "CUDA_CACHE_PATH": "cuda",
    "MESA_SHADER_CACHE_DIR": "mesa",
}


@dataclass(frozen=True, slots=True)
class Replacement:
    """``content`` stands in for programs whose source, IL or binary has a SHA-256 that begins with ``hash``, or that define
    ``kernel``; the other one is empty. ``program`` and ``path`` are as the user wrote them, ``form`` says what a program is
    made from with it."""

    program: str
    path: str
    hash: str = ""
    kernel: str = ""
    form: int = _SOURCE
    content: bytes = field(default=b"", repr=False)

    def why_not(self, error: int) -> str:
        """Why it did not stand in, from what the recorder noted: OpenCL's errors are negative, Level Zero's are not."""
        if error == _CANNOT:
            if self.form == _SOURCE:
                return "it is source, and Level Zero makes modules of SPIR-V and binaries alone"
            return "it is a binary, and Level Zero links modules statically of SPIR-V alone"
        name = result_name(error) if error > 0 else ERROR_NAMES.get(error, error)
        return f"the driver refused it ({name})"

    @classmethod
    def of(cls, program: str, path: str) -> Replacement:
        """Return what has the file stand in for ``program``: a SHA-256 or its first 8 digits and more, a kernel's name, or a
        file that holds what the program is made from, as ``kernlens extract`` writes it.

        Raises NotFoundError if it is none of these, or a file cannot be read, FormatError if it is damaged SPIR-V.
        """
        content = _read(path)
        if not content:
            raise NotFoundError(f"{path} is empty, so it can stand in for nothing")
        form = _BINARY if b"\0" in content else _SOURCE
        if content.startswith(_SPIRV):
            _check_spirv(path, content)
            form = _IL
        if _HASH.fullmatch(program.lower()):
            return cls(program, path, hash=program.lower(), form=form, content=content)
        if _NAME.fullmatch(program):
            return cls(program, path, kernel=program, form=form, content=content)
        return cls(program, path, hash=hashlib.sha256(_read(program)).hexdigest(), form=form, content=content)


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise NotFoundError(f"cannot read {path}: {error.strerror}") from error


def _check_spirv(path: str, content: bytes) -> None:
    try:
        read_spirv(memoryview(content))
    except FormatError as error:  # Over such a module Intel's compiler ends the application's process.
        message = f"{path} cannot stand in for anything, as the module is damaged"
        raise FormatError(message, format="spirv", offset=error.offset) from error


@dataclass(frozen=True, slots=True)
class Changes:
    """What to change: whether line tables are asked for, the options that are added besides, what stands in for programs,
    and whether the application gets empty caches."""

    lines: bool = False
    options: str = ""
    replacements: Sequence[Replacement] = ()
    fresh_cache: bool = False

    @property
    def added(self) -> str:
        """The options that are added to builds."""
        return " ".join(filter(None, [LINE_OPTIONS[0] if self.lines else "", self.options.strip()]))

    def make(self, environment: dict[str, str], spool: Spool) -> None:
        """Have the recorder make them, through its variables and files in the capture's folder."""
        added = self.added
        for name in (OPTIONS, REPLACE):
            environment.pop(name, None)
        if added:
            environment[OPTIONS] = added
        if self.replacements:
            (spool.folder / "replacements").write_bytes(_packed(self.replacements))
            environment[REPLACE] = str(spool.folder / "replacements")
        if self.fresh_cache:
            for name, folder in _CACHES.items():
                path = spool.folder / "caches" / folder
                path.mkdir(parents=True)
                environment[name] = str(path)

    def results(
        self,
        replaced: Iterable[Replaced],
        kernels: Iterable[str],
        built_with_options: int,
        failures: Mapping[Identity, str],
    ) -> list[str]:
        """Sentences on what came of them, some with lines of the driver's log behind them; ``kernels`` are the names that were
        built, ``built_with_options`` counts builds that got the added options, ``failures`` are the logs of programs whose
        build failed."""
        events = list(replaced)
        told = []
        for replacement in self.replacements:
            made = [event for event in events if event.program == replacement.program]
            taken = sum(event.error == 0 for event in made)
            if taken:
                times = "" if taken == 1 else f" {taken} times"
                told.append(f"{replacement.path} stood in{times} for {replacement.program}")
            for log in dict.fromkeys(failures[event.identity] for event in made if event.identity in failures):
                told.append(f"{replacement.path} does not build, and the application was told so{_quoted(log)}")
            for error, log in dict.fromkeys((event.error, event.log) for event in made if event.error):
                told.append(
                    f"{replacement.path} did not stand in for {replacement.program}, as {replacement.why_not(error)}; the"
                    f" application got its own program{_quoted(log)}"
                )
            if not made:
                told.append(f"nothing was replaced: {self._why(replacement, sorted(set(kernels)))}")
        if self.options and not built_with_options:
            told.append(f"the options {self.options} were added to nothing: no program was built from source or IL")
        return told

    @staticmethod
    def _why(replacement: Replacement, kernels: list[str]) -> str:
        if replacement.hash:
            return f"no program is made from {replacement.program}"
        near = nearest(replacement.kernel, kernels) or kernels[:8]
        there = f"; there are {', '.join(near)}" if near else ""
        return f"no program that the application made has a kernel {replacement.kernel}{there}"


def _quoted(log: str) -> str:
    """The end of a sentence that shows the driver's log."""
    lines = [line for line in log.splitlines() if line.strip()]
    if not lines:
        return ""
    more = [f"({len(lines) - _QUOTED} more lines)"] if len(lines) > _QUOTED else []
    return "".join(["; the driver's log:", *(f"\n  {line}" for line in [*lines[:_QUOTED], *more])])


def _packed(replacements: Sequence[Replacement]) -> bytes:
    """As recording/replacements.h reads them."""

    def block(content: bytes) -> bytes:
        return struct.pack("<Q", len(content)) + content

    packed = struct.pack("<Q", len(replacements))
    for each in replacements:
        texts = (each.program, each.hash, each.kernel)
        packed += b"".join(block(text.encode() + b"\0") for text in texts)
        packed += struct.pack("<Q", each.form) + block(each.content)
    return packed


def used(replaced: Iterable[Replaced], program: Identity | None, content: bytes | None = None) -> dict[str, object]:
    """What a recording notes of a build whose program something stood in for; with ``content``, of the input of a static link
    that consists of it."""
    by = None if content is None else hashlib.sha256(content).hexdigest()
    for event in replaced:
        if not event.error and event.identity == program and by in (None, event.by):
            return {"replaced": {"program": event.program, "sha256": event.hash}}
    return {}
