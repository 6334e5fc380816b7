"""What Intel's GPU compiler (IGC) leaves in a dump folder, as snapshots.

File names, and which of several tries counts: see docs/stages.md. Every dump is a file of its own; IGC writes it as
the stage ends and reports no error when it cannot, so completeness is judged here.

The OpenCL layer reads such folders too, in C (``native/opencl_layer``): it runs in an application's process, which has
no Python, while an offline compile must work where there is no layer. tests/integration/test_dump_readers.py holds the
two together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernlens.formats.listings import gen_assembly
from kernlens.formats.listings import visa_assembly as visaasm_lines
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.stage import KERNEL, TEXT, Snapshot, Stage

#: The stage whose dump ends a phase of passes: the phase's passes stand before it.
PHASE_ENDS = {"unify": "llvm-unified", "opt": "llvm-optimized", "cg": "llvm-push-analysis"}
#: The phases that a try may begin with (IGC 1, IGC 2), and the one that it ends with.
_FIRST_PHASES = ("unify", "optpre")
_LAST_PHASE = "cg"
#: A dump folder whose file system has less room than this many bytes left has cut dumps off.
ROOM = 1 << 16
#: A file larger than this many bytes is no dump that can be shown.
FILE_LIMIT = 1 << 30

#: Listings that end with a line's end when they are complete (vISA and the source may not).
_WHOLE_LINES = frozenset({".ll", ".spvasm", ".visa.ll", ".asm", ".cos", ".zeinfo"})

#: Four moves of a constant: 16 bytes each, the constant the last 4. 0x61 is ``mov`` since Gen12, which IGC 2 begins with.
_HASH_MOVES = re.compile(rb"(\x61.{11}).{4}(?:\1.{4}){3}", re.DOTALL)

_HASH = r"OCL_asm[0-9a-f]+(?:_[0-9a-f]{16})*"
_KERNEL_FILE = re.compile(_HASH + r"(?:_(?P<tried>\d+))?(?:_simd(?P<simd>\d+))?_entry_(?P<entry>\d{4})(?P<ending>\..+)")
_PASS_FILE = re.compile(_HASH + r"(?:_\d+)?_(?P<number>\d{4})_(?P<phase>\w+?)_after_(?P<name>.+)\.ll")
_PROGRAM_FILE = re.compile(
    _HASH + r"(?:_(?P<before>\d+))?(?:_(?P<dump>[A-Za-z_]*[A-Za-z]))?(?:_(?P<after>\d+))?(?P<ending>\.\w+)"
)


@dataclass(frozen=True, slots=True)
class _File:
    """``tried`` is as IGC counts in file names, from 0."""

    path: Path
    ending: str
    tried: int
    modified: int
    entry: str = ""
    simd: int = 0


def read_dump(folder: Path, stages: Sequence[Stage], binary: bytes, started: int | None = None) -> tuple[Snapshot, ...]:
    """The snapshots in ``folder``, in the order of ``stages``, kernels in the program's order.

    ``binary`` is the program that came of the compile: of several tries at a kernel, the one whose machine code stands
    in it counts; of several tries at the program, each is an attempt, in order. ``started`` is when the compiler was
    started, in nanoseconds since the epoch.

    A dump that was cut off because the disk is full becomes a snapshot with its ``failure``.
    """
    names = sorted(os.listdir(folder))
    full = is_full(folder)
    kernels = _Kernels(_kernel_files(folder, names), binary)
    programs = _program_files(folder, names)
    passes = _passes(folder, names, started, full)
    found: list[Snapshot] = []
    for stage in stages:
        found += passes.pop(stage.name, [])
        for form in stage.forms:
            ending = stage.ending(form) or ""
            if stage.scope == KERNEL:
                for name, file in kernels.with_ending(ending):
                    found.append(_snapshot(stage, form, file, name, started, full))
            elif files := programs.get((stage.dump, ending)):
                found += [_snapshot(stage, form, files[tried], None, started, full) for tried in sorted(files)]
            elif full and (stage.dump or stage.name in _ALWAYS):
                found.append(_failed(stage, form, None, FULL))
    return tuple(found)


#: With those of LLVM IR the stages that every compile has: their absence from a full disk is a failure, not a property of
#: the program.
_ALWAYS = frozenset({"spirv", "program"})
FULL = "the disk of the dump folder is full; point TMPDIR at a roomier place"
_NO_LOOPS = "the compiler dumped nothing, as after a pass over loops of a program that has none"
_CUT = "the dump was cut off while it was written; is the disk of the dump folder full?"


def _snapshot(stage: Stage, form: str, file: _File, kernel: str | None, started: int | None, full: bool) -> Snapshot:
    try:
        content = _read(file.path)
    except OSError as error:
        return _failed(stage, form, kernel, f"its dump cannot be read: {error.strerror}", file.tried)
    if stage.name == "source":
        content = content.removesuffix(b"\0")
    if full:
        return _failed(stage, form, kernel, FULL, file.tried)
    if _is_cut(content, file.ending):
        return _failed(stage, form, kernel, _CUT, file.tried)
    seconds = None if started is None else max(file.modified - started, 0) / 1e9
    return Snapshot(
        stage.name, kernel, form, file.ending, lambda: content, len(content), seconds, attempt=file.tried + 1
    )


def _failed(stage: Stage, form: str, kernel: str | None, why: str, tried: int = 0) -> Snapshot:
    return Snapshot(stage.name, kernel, form, stage.ending(form) or "", bytes, failure=why, attempt=tried + 1)


def _is_cut(content: bytes, ending: str) -> bool:
    return not content or (ending in _WHOLE_LINES and not content.endswith(b"\n"))


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(FILE_LIMIT)


def is_full(folder: Path) -> bool:
    """Whether the folder's file system has no room for another dump."""
    import shutil

    return shutil.disk_usage(folder).free < ROOM


def _kernel_files(folder: Path, names: Iterable[str]) -> Iterator[_File]:
    for name in names:
        match = _KERNEL_FILE.fullmatch(name)
        if match is not None:
            path = folder / name
            tried, simd = int(match["tried"] or 0), int(match["simd"] or 0)
            yield _File(path, match["ending"], tried, path.stat().st_mtime_ns, match["entry"], simd)


class _Kernels:
    """The files of each kernel, of the try that made it into the program."""

    def __init__(self, files: Iterable[_File], binary: bytes) -> None:
        self._entries: dict[str, list[_File]] = {}
        for file in files:
            self._entries.setdefault(file.entry, []).append(file)
        self._counted = {entry: _counted(files_, binary) for entry, files_ in self._entries.items()}
        self._names = {entry: _kernel_name(files_) or f"entry {entry}" for entry, files_ in self._entries.items()}

    def with_ending(self, ending: str) -> Iterator[tuple[str, _File]]:
        """(kernel, file) of each kernel that has such a file, which is taken to be of the try that counts."""
        for entry in sorted(self._entries):
            name = self._names[entry]
            files = [file for file in self._entries[entry] if file.ending == ending]
            if name == PSEUDO_KERNEL or not files:
                continue
            tried, simd = self._counted[entry]
            # Some files are written by the last try alone, or once for all widths.
            files.sort(key=lambda file: (file.simd in (simd, 0), file.tried == tried, file.tried, file.modified))
            if files[-1].simd in (simd, 0):
                yield name, replace(files[-1], tried=tried)


def _counted(files: Sequence[_File], binary: bytes) -> tuple[int, int]:
    """(try, SIMD width) whose machine code stands in the program; else of the newest machine code there is."""
    codes = sorted(
        (file for file in files if file.ending == ".dat"), key=lambda file: (file.tried, file.modified), reverse=True
    )
    for file in codes:
        try:
            content = _read(file.path)
        except OSError:
            continue
        if stands_in(content, binary):
            return file.tried, file.simd
    newest = codes[0] if codes else max(files, key=lambda file: (file.simd > 0, file.tried, file.modified))
    return newest.tried, newest.simd


def stands_in(code: bytes, binary: bytes) -> bool:
    """Whether a kernel's machine code stands in a program's binary, byte by byte but for IGC 2's hash of its input.

    Behind each kernel's end of thread IGC 2 appends four moves of a 32-bit constant: the halves of a hash of what it
    compiled, 0, and the kernel's number. With debug information the working folder is part of its input, so that the
    driver's cache may answer with a binary whose hash is another one.
    """
    if not _HASH_MOVES.fullmatch(code[-64:]):
        return bool(code) and code in binary
    before, between, after = code[:-52], code[-48:-36], code[-32:]
    start = binary.find(before)
    while start >= 0:
        end = start + len(before)
        if binary.startswith(between, end + 4) and binary.startswith(after, end + 20):
            return True
        start = binary.find(before, start + 1)
    return False


def _kernel_name(files: Sequence[_File]) -> str | None:
    """The kernel's name stands in its listings; all tries of one number are of one kernel."""
    for ending, name_in in ((".asm", gen_assembly.kernel_name), (".visaasm", visaasm_lines.kernel_name)):
        for file in files:
            if file.ending == ending:
                with file.path.open("rb") as listing:
                    name = name_in(listing.read(4096).decode("utf-8", "replace"))
                if name:
                    return name
    return None


def _program_files(folder: Path, names: Iterable[str]) -> Mapping[tuple[str, str], Mapping[int, _File]]:
    """(``Stage.dump``, ending) -> try -> the program's file of that try."""
    found: dict[tuple[str, str], dict[int, _File]] = {}
    for name in names:
        match = _PROGRAM_FILE.fullmatch(name)
        if match is None:
            continue
        path = folder / name
        tried = int(match["before"] or match["after"] or 0)
        key = match["dump"] or "", match["ending"]
        found.setdefault(key, {})[tried] = _File(path, match["ending"], tried, path.stat().st_mtime_ns)
    return found


def _passes(folder: Path, names: Iterable[str], started: int | None, full: bool) -> dict[str, list[Snapshot]]:
    """The dumps after single passes, under the stage that they stand before.

    Passes are numbered through all tries: a try begins where a first phase follows the last one.
    """
    found: dict[str, list[Snapshot]] = {}
    matches = [match for match in map(_PASS_FILE.fullmatch, names) if match is not None]
    tried, previous = 0, ""
    for match in sorted(matches, key=lambda match: int(match["number"])):
        path = folder / match[0]
        phase = match["phase"].lower()
        if previous == _LAST_PHASE and phase in _FIRST_PHASES:
            tried += 1
        previous = phase
        end = next((stage for part, stage in PHASE_ENDS.items() if part in phase), "llvm-codegen")
        # As the ending of a file is none of a pass's name, a stage is made for each.
        stage = Stage(f"{match['number']}-{match['phase']}-{match['name']}", ".ll", None, TEXT, "program", "")
        file = _File(path, ".ll", tried, path.stat().st_mtime_ns)
        if not full and not path.stat().st_size:
            found.setdefault(end, []).append(_failed(stage, TEXT, None, _NO_LOOPS, tried))
        else:
            found.setdefault(end, []).append(_snapshot(stage, TEXT, file, None, started, full))
    return found
