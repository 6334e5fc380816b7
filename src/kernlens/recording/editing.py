"""Recordings made of recordings: merged, pruned, without source text.

Each is written anew beside its place and gets its name when it is whole: what was left out takes no room in it, and
stands nowhere in it, and whatever ends the work before leaves the recording that was there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from pathlib import Path

from kernlens.dataclass import dataclass, replace
from kernlens.errors import NotFoundError
from kernlens.model.build import Build
from kernlens.recording.capture_notes import CAPTURE, CaptureNotes
from kernlens.recording.inventory import KINDS, StoredProgram, stored_programs
from kernlens.recording.launch_rows import packed_behaviours, packed_launches
from kernlens.recording.reader import Recording
from kernlens.recording.redaction import Redaction
from kernlens.recording.schema import BEHAVIOUR, LAUNCH
from kernlens.recording.writer import RecordingWriter

#: What tells programs apart, for those who open a recording.
_Target = tuple[str, str, object]


@dataclass(frozen=True, slots=True)
class Written:
    """The result: numbers of programs in the recording, of those left out, and the sizes of the files in bytes."""

    path: str
    programs: int
    left_out: int
    size_before: int
    size: int


def merge(paths: Sequence[str | Path], output: str | Path, *, command_line: Sequence[str] = ()) -> Written:
    """Write the programs of all recordings into one; ``output`` may be one of them, and is replaced if it exists. A
    program that several hold is there once, under its first name. Programs of different recordings that have the same
    name, device and toolchain are told apart by a number behind the name. What was noted of captures is added up, and so is
    what was observed of kernels; launches that were kept are all there, equal ones once.
    Raises FormatError if one is damaged, OutputError if the file cannot be written."""
    return _write(paths, output, command_line, is_merge=True)


def prune(
    path: str | Path,
    output: str | Path | None = None,
    *,
    keep: Callable[[Build], bool] = lambda build: True,
    drop: Collection[str] = (),
) -> Written:
    """Write the programs that ``keep`` chooses, without the kinds of parts that ``drop`` names (``inventory.KINDS``).
    ``output`` None: in place. Raises NotFoundError if no program is chosen, FormatError if what is kept is damaged,
    OutputError if the file cannot be written."""
    return _write([path], output or path, None, keep=keep, drop=drop)


def redact_source(path: str | Path, output: str | Path | None = None) -> Written:
    """Write the recording without source text (docs/recording.md says what stays); ``output`` None: in place. Raises
    FormatError if the recording is damaged, OutputError if the file cannot be written."""
    return _write([path], output or path, None, redaction=Redaction())


def _write(
    paths: Sequence[str | Path],
    output: str | Path,
    command_line: Sequence[str] | None,
    *,
    keep: Callable[[Build], bool] = lambda build: True,
    drop: Collection[str] = (),
    redaction: Redaction | None = None,
    is_merge: bool = False,
) -> Written:
    # A link stays one, and what it leads to is replaced.
    target = Path(os.path.realpath(output))
    with ExitStack() as closing:
        # The output is locked first: what another process is still writing is not read.
        writer = closing.enter_context(
            RecordingWriter(
                target,
                command_line=command_line or (),
                redact_source=redaction is not None,
                redaction=redaction,
                overwrite=True,
                is_whole=True,
            )
        )
        recordings = [closing.enter_context(Recording(path)) for path in paths]
        programs = [stored_programs(recording) for recording in recordings]
        if redaction is not None:
            for program in programs[0]:
                redaction.learn_of(replace(program.build, parts=recordings[0].unread(program.number)))
        size_before = sum(Path(path).stat().st_size for path in paths)
        written = _Programs(writer, drop, is_redacted=redaction is not None)
        for recording, held in zip(recordings, programs, strict=True):
            written.add(recording, [program for program in held if keep(program.build)], is_once=is_merge)
        if not written.count:
            raise NotFoundError(f"no program of {paths[0]} is chosen; kernlens recording list shows what there is")
        _note(writer, recordings, written.notes, is_merge)
    count = sum(map(len, programs))
    return Written(str(output), written.count, count - written.count, size_before, target.stat().st_size)


class _Programs:
    """The programs of a recording that is being written, and what was noted of their capture."""

    def __init__(self, writer: RecordingWriter, drop: Collection[str], *, is_redacted: bool) -> None:
        self._writer = writer
        self._is_redacted = is_redacted
        self._without = {KINDS[kind] for kind in drop}
        #: The number and the name of each program, by its identity; where there is one recording, by its number there.
        self._known: dict[bytes | int, tuple[int, str]] = {}
        self._taken: set[_Target] = set()
        self.notes = CaptureNotes()
        self.count = 0

    def add(self, recording: Recording, programs: Sequence[StoredProgram], *, is_once: bool) -> None:
        """Add programs of a recording, with ``is_once`` those that there are not yet."""
        new: list[StoredProgram] = []
        again: list[StoredProgram] = []
        waiting: set[bytes] = set()
        for program in programs:
            identity = program.identity()
            is_new = not is_once or (identity not in self._known and identity not in waiting)
            (new if is_new else again).append(program)
            waiting.add(identity)
        renamed = self._renamed([program.build for program in new])
        for program in new:
            name = renamed[program.build.name]
            build = replace(program.build, name=name)
            if self._is_redacted:
                number = self._writer.add(replace(build, parts=recording.unread(program.number, self._without)))
            else:
                number = self._writer.add_packed(build, *recording.packed(program.number, self._without))
                self._add_behaviours(number, recording, program.number)
            added = number, name
            self._known[program.number if not is_once else program.identity()] = added
        for program in again:
            self._add_behaviours(self._known[program.identity()][0], recording, program.number)
        self._taken |= {_target(program.build, renamed[program.build.name]) for program in new}
        self.count += len(new)
        known = [(program, self._known[program.identity() if is_once else program.number]) for program in programs]
        self.notes.add(
            recording.metadata,
            {program.number: number for program, (number, _) in known},
            {(program.build.name, program.build.device): name for program, (_, name) in known},
        )

    def _add_behaviours(self, number: int, recording: Recording, program: int) -> None:
        """Add what was observed of a program's kernels, and the launches that were kept, to those of the program of this number
        in the new recording."""
        if BEHAVIOUR not in self._without:
            self._writer.add_packed_behaviours(number, packed_behaviours(recording, program))
        for launch in packed_launches(recording, program) if LAUNCH not in self._without else ():
            self._writer.add_packed_launch(number, launch)

    def _renamed(self, builds: Sequence[Build]) -> dict[str, str]:
        """Return the names that builds of one recording get: those that another recording's have, too, get a number."""
        of_name: dict[str, list[Build]] = {}
        for build in builds:
            of_name.setdefault(build.name, []).append(build)
        renamed = {}
        for name, alike in of_name.items():
            renamed[name], count = name, 1
            while any(_target(build, renamed[name]) in self._taken for build in alike):
                count += 1
                renamed[name] = f"{name}#{count}"
        return renamed


def _target(build: Build, name: str) -> _Target:
    return name, build.device, build.toolchain


def _note(writer: RecordingWriter, recordings: Sequence[Recording], notes: CaptureNotes, is_merge: bool) -> None:
    """Note in the new recording what the recordings noted that it was made from."""
    if is_merge:
        metadata = [{key: value for key, value in each.metadata.items() if key != CAPTURE} for each in recordings]
        writer.note("merged", json.dumps(metadata))
    else:
        for key, value in recordings[0].metadata.items():
            if key not in ("redacted", CAPTURE):
                writer.note(key, value)
    if any(recording.redacted for recording in recordings):
        writer.note("redacted", "source")
    text = notes.text()
    if text is not None:
        writer.note(CAPTURE, text)
