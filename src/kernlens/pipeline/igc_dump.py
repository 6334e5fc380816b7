"""The dump folder of Intel's GPU compiler (IGC), read as snapshots.

docs/stages.md lists the files' names and says which of several attempts counts. IGC writes each dump into a separate file
as the stage ends and reports no error if it cannot, so this module judges whether a dump is complete.

The OpenCL layer reads such folders too, in C (``native/opencl_layer``): it runs in an application's process, which has
no Python, while an offline compile must work without the layer. tests/integration/stages/test_dump_readers.py compares the two.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from kernlens.dataclass import dataclass, replace
from kernlens.errors import KernlensError
from kernlens.formats.listings import gen_assembly
from kernlens.formats.listings import visa_assembly as visaasm_lines
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.stage import KERNEL, TEXT, Snapshot
from kernlens.model.stages import CompilerKind, Stage
from kernlens.toolchain.sources.source_reading import open_beside, read_beside

#: A phase of passes -> the stage whose dump ends it; the phase's passes come before that stage.
PHASE_ENDS = {"unify": "llvm-unified", "opt": "llvm-optimized", "cg": "llvm-push-analysis"}
#: The phases that an attempt may begin with (IGC 1, IGC 2), and the one that it ends with.
_FIRST_PHASES = ("unify", "optpre")
_LAST_PHASE = "cg"
#: A file system with less free space than this, in bytes, has cut dumps off.
ROOM = 1 << 16
#: A larger dump is not read.
FILE_LIMIT = 1 << 30

#: Endings of listings whose last line is terminated when they are complete (vISA's and the source's may not be).
_WHOLE_LINES = frozenset({".ll", ".spvasm", ".visa.ll", ".asm", ".cos", ".zeinfo"})

#: Four moves of a constant: 16 bytes each, the constant the last 4. 0x61 is ``mov`` since Gen12, which IGC 2 begins with.
_HASH_MOVES = re.compile(rb"(\x61.{11}).{4}(?:\1.{4}){3}", re.DOTALL)

_HASH = r"(?:OCL|VC)_asm[0-9a-f]+(?:_[0-9a-f]{16})*"
#: A file of the vector compiler (ESIMD): the program's begin alike, a kernel's have its name.
_VECTOR = "VC_asm"
_VECTOR_KERNEL_FILE = re.compile(_VECTOR + r"[0-9a-f]+_(?P<kernel>.+)(?P<ending>\.(?:asm|cos|dat|elf|visaasm))")
_KERNEL_FILE = re.compile(
    _HASH
    + r"(?:_(?P<attempt>\d+))?(?:_simd(?P<simd>\d+))?_entry_(?P<entry>\d{4})(?:_f(?P<function>\d+))?(?P<ending>\..+)"
)
_PASS_FILE = re.compile(_HASH + r"(?:_\d+)?_(?P<number>\d{4})_(?P<phase>(?:(?!_after_)\w)+)_after_(?P<name>.+)\.ll")
_PROGRAM_FILE = re.compile(
    _HASH + r"(?:_(?P<before>\d+))?(?:_(?P<dump>[A-Za-z_]*[A-Za-z]))?(?:_(?P<after>\d+))?(?P<ending>\.\w+)"
)


@dataclass(frozen=True, slots=True)
class _File:
    """A dump file. ``attempt`` counts from 1 (IGC counts from 0 in file names), ``modified`` is in nanoseconds.
    ``functions`` are the files of the functions that the kernel calls, where each has one of its own (``_f0``)."""

    path: Path
    ending: str
    attempt: int
    modified: int
    entry: str = ""
    simd: int = 0
    functions: tuple[Path, ...] = ()


def read_dump(
    folder: Path, compiler: CompilerKind, binary: bytes, start_time: int | None = None
) -> tuple[Snapshot, ...]:
    """Return the snapshots in ``folder``, in the order of the compiler's stages, kernels in the program's order.

    ``binary`` is the compiled program: of several attempts at a kernel (and SIMD widths), the one whose machine code it
    holds counts; of the whole program, every attempt gives a snapshot, in order. ``start_time`` is when the compiler was
    started, in nanoseconds since the epoch.

    A dump that was cut off because the disk is full becomes a snapshot with a ``failure``.
    """
    names = sorted(os.listdir(folder))
    full = is_full(folder)
    kernels = _Kernels(_kernel_files(folder, names), binary)
    programs = _program_files(folder, names)
    passes = _passes(folder, names, start_time, full)
    snapshots: list[Snapshot] = []
    for stage in compiler.stages:
        snapshots += passes.pop(stage.name, [])
        for form in stage.forms:
            ending = stage.ending(form) or ""
            if stage.scope == KERNEL:
                for name, file in kernels.with_ending(ending):
                    snapshots.append(_snapshot(stage, form, file, name, start_time, full))
            elif files := programs.get((stage.dump, ending)):
                snapshots += [
                    _snapshot(stage, form, files[attempt], None, start_time, full) for attempt in sorted(files)
                ]
            elif full and (stage.dump or stage.name in _ALWAYS):
                snapshots.append(_failed(stage, form, None, FULL))
    return tuple(snapshots)


#: Every compile has these stages and those of LLVM IR: where the disk is full, a missing one is a failure, not a property of
#: the program.
_ALWAYS = frozenset({"spirv", "program"})
FULL = "the disk of the dump folder is full; point TMPDIR at a roomier place"
_NO_LOOPS = "the compiler dumped nothing, as after a pass over loops of a program that has none"
_CUT = "the dump was cut off while it was written; is the disk of the dump folder full?"


def _snapshot(stage: Stage, form: str, file: _File, kernel: str | None, start_time: int | None, full: bool) -> Snapshot:
    try:
        content = b"".join(_read(path) for path in (file.path, *file.functions))
    except KernlensError as error:
        return _failed(stage, form, kernel, f"its dump cannot be read: {error}", file.attempt)
    if stage.name == "source":
        content = content.removesuffix(b"\0")
    if full:
        return _failed(stage, form, kernel, FULL, file.attempt)
    if not content or (file.ending in _WHOLE_LINES and not content.endswith(b"\n")):
        return _failed(stage, form, kernel, _CUT, file.attempt)
    seconds = None if start_time is None else max(file.modified - start_time, 0) / 1e9
    return Snapshot(stage.name, kernel, form, file.ending, lambda: content, len(content), seconds, attempt=file.attempt)


def _failed(stage: Stage, form: str, kernel: str | None, why: str, attempt: int = 1) -> Snapshot:
    return Snapshot(stage.name, kernel, form, stage.ending(form) or "", bytes, failure=why, attempt=attempt)


def _read(path: Path) -> bytes:
    return read_beside(path, path.parent, FILE_LIMIT)


def is_full(folder: Path) -> bool:
    """Return whether the folder's file system has no room for another dump."""
    import shutil

    return shutil.disk_usage(folder).free < ROOM


def is_vector_dump(folder: Path) -> bool:
    """Return whether the vector compiler left the dump: it has stages of its own."""
    return any(name.startswith(_VECTOR) for name in os.listdir(folder))


def _kernel_files(folder: Path, names: Sequence[str]) -> Iterator[_File]:
    for vector in filter(None, map(_VECTOR_KERNEL_FILE.fullmatch, names)):
        path = folder / vector[0]
        yield _File(path, vector["ending"], 1, path.stat().st_mtime_ns, vector["kernel"])
    matches = [match for name in names if (match := _KERNEL_FILE.fullmatch(name)) is not None]
    functions: dict[str, list[tuple[int, Path]]] = {}
    for match in matches:
        if match["function"] is not None:
            kernel_file = match[0].replace(f"_f{match['function']}.", ".")
            functions.setdefault(kernel_file, []).append((int(match["function"]), folder / match[0]))
    for match in matches:
        if match["function"] is None:
            path = folder / match[0]
            attempt, simd = int(match["attempt"] or 0) + 1, int(match["simd"] or 0)
            called = tuple(path for _, path in sorted(functions.get(match[0], ())))
            yield _File(path, match["ending"], attempt, path.stat().st_mtime_ns, match["entry"], simd, called)


class _Kernels:
    """The files of each kernel, of the attempt whose code the program holds."""

    def __init__(self, files: Iterable[_File], binary: bytes) -> None:
        self._entries: dict[str, list[_File]] = {}
        for file in files:
            self._entries.setdefault(file.entry, []).append(file)
        self._counted = {entry: _counted(files_, binary) for entry, files_ in self._entries.items()}
        self._names = {
            entry: _kernel_name(files_) or (f"entry {entry}" if entry.isdecimal() else entry)
            for entry, files_ in self._entries.items()
        }

    def with_ending(self, ending: str) -> Iterator[tuple[str, _File]]:
        """Yield (kernel, file) for each kernel with such a file, which is taken to be of the attempt that counts."""
        for entry in sorted(self._entries):
            name = self._names[entry]
            files = [file for file in self._entries[entry] if file.ending == ending]
            if name == PSEUDO_KERNEL or not files:
                continue
            attempt, simd = self._counted[entry]
            # IGC writes some files in the last attempt alone, or once for all widths.
            files.sort(key=lambda file: (file.simd in (simd, 0), file.attempt == attempt, file.attempt, file.modified))
            if files[-1].simd in (simd, 0):
                yield name, replace(files[-1], attempt=attempt)


def _counted(files: Sequence[_File], binary: bytes) -> tuple[int, int]:
    """Return the (attempt, SIMD width) whose machine code the program holds, else that of the newest machine code."""
    codes = sorted(
        (file for file in files if file.ending == ".dat"), key=lambda file: (file.attempt, file.modified), reverse=True
    )
    for file in codes:
        try:
            content = _read(file.path)
        except OSError:
            continue
        if stands_in(content, binary):
            return file.attempt, file.simd
    newest = codes[0] if codes else max(files, key=lambda file: (file.simd > 0, file.attempt, file.modified))
    return newest.attempt, newest.simd


def stands_in(code: bytes, binary: bytes) -> bool:
    """Return whether a program's binary holds a kernel's machine code, byte for byte except IGC 2's hash of its input.
    After each kernel's end of thread, and so before the functions that it calls, IGC 2 appends four moves of a 32-bit
    constant: the halves of a hash of what it compiled, 0, and the kernel's number. With debug information the input
    includes the working folder, so the driver's cache may answer with a binary that has another hash."""
    halves = [moves.start() + offset for moves in _HASH_MOVES.finditer(code) for offset in (12, 28)]
    starts = [0, *(half + 4 for half in halves)]
    first, *others = (code[start:end] for start, end in zip(starts, [*halves, len(code)], strict=True))
    start = binary.find(first) if code else -1
    while start >= 0:
        end = start + len(first)
        for piece in others:
            if not binary.startswith(piece, end + 4):
                break
            end += 4 + len(piece)
        else:
            return True
        start = binary.find(first, start + 1)
    return False


def _kernel_name(files: Sequence[_File]) -> str | None:
    """Read the kernel's name from its listings; the files of one entry number are all of one kernel."""
    for ending, name_in in ((".asm", gen_assembly.kernel_name), (".visaasm", visaasm_lines.kernel_name)):
        for file in files:
            if file.ending == ending:
                with open_beside(file.path, file.path.parent) as listing:
                    name = name_in(listing.read(4096).decode("utf-8", "replace"))
                if name:
                    return name
    return None


def _program_files(folder: Path, names: Iterable[str]) -> Mapping[tuple[str, str], Mapping[int, _File]]:
    """Return (``Stage.dump``, ending) -> attempt -> the program's file of that attempt."""
    files: dict[tuple[str, str], dict[int, _File]] = {}
    for name in names:
        match = _PROGRAM_FILE.fullmatch(name)
        if match is None:
            continue
        path = folder / name
        attempt = int(match["before"] or match["after"] or 0) + 1
        key = match["dump"] or "", match["ending"]
        files.setdefault(key, {})[attempt] = _File(path, match["ending"], attempt, path.stat().st_mtime_ns)
    return files


def _passes(folder: Path, names: Iterable[str], start_time: int | None, full: bool) -> dict[str, list[Snapshot]]:
    """Return the dumps after single passes, by the stage that they come before. The numbers of passes go on through all
    attempts: an attempt begins where a first phase follows the last one."""
    snapshots: dict[str, list[Snapshot]] = {}
    matches = [match for match in map(_PASS_FILE.fullmatch, names) if match is not None]
    attempt, previous = 1, ""
    for match in sorted(matches, key=lambda match: int(match["number"])):
        path = folder / match[0]
        phase = match["phase"].lower()
        if previous == _LAST_PHASE and phase in _FIRST_PHASES:
            attempt += 1
        previous = phase
        end = next((stage for part, stage in PHASE_ENDS.items() if part in phase), "llvm-codegen")
        # No list of stages has the passes, so each gets a Stage here.
        stage = Stage(f"{match['number']}-{match['phase']}-{match['name']}", text=".ll")
        file = _File(path, ".ll", attempt, path.stat().st_mtime_ns)
        if not full and not path.stat().st_size:
            snapshots.setdefault(end, []).append(_failed(stage, TEXT, None, _NO_LOOPS, attempt))
        else:
            snapshots.setdefault(end, []).append(_snapshot(stage, TEXT, file, None, start_time, full))
    return snapshots


#: Where IGC 2 writes the times of its passes: a line of headings, the first three about the whole compile, and one of
#: nanoseconds for each program.
_PASS_TIMES_FILE = "TimeStatPerPass_Shaders.csv"
_FIRST_PASS = 3


def pass_time_lines(folder: Path) -> Iterator[str]:
    """Yield for each pass its phase and name, as the dump after it is called, and the seconds that all its runs took;
    nothing if the compiler did not write them."""
    path = folder / _PASS_TIMES_FILE
    if not path.is_file():
        return
    heading, *rows = [
        line.split(",") for line in _read(path).decode("utf-8", "replace").split("\n") if line.strip()
    ] or [[]]
    for column, name in enumerate(heading[_FIRST_PASS:], _FIRST_PASS):
        phase, _, words = name.partition("_")
        nanoseconds = [int(row[column]) for row in rows if column < len(row) and row[column].isdecimal()]
        if words and nanoseconds:
            yield f"{phase}-{re.sub('[^0-9A-Za-z]', '', words)},{sum(nanoseconds) / 1e9:.9f}"
