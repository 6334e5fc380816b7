"""A kept launch in the interpreter: what its kernel does on the launch's data, line by line, and whether it leaves what the
application's launch left."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path

from kernlens.dataclass import dataclass, replace
from kernlens.errors import UnsupportedError
from kernlens.model.behaviour import Behaviour
from kernlens.report.behaviour_words import group_sentences
from kernlens.runtime.driver_environment import DriverEnvironment
from kernlens.runtime.isolation import DriverDiedError
from kernlens.toolchain.oclgrind import GRACE, oclgrind, plugin
from kernlens.toolchain.shown_files import parts_of_root
from kernlens.toolchain.sources.source_reading import read_beside
from kernlens.verbs.observe.interpreted_code import prepare
from kernlens.verbs.observe.observe import (
    SECONDS,
    Compiled,
    counted,
    group_words,
    machine_for,
    plugin_settings,
    without_lockstep,
)
from kernlens.verbs.replay.elements import Tolerance
from kernlens.verbs.replay.kept import RecordedLaunch, chosen, open_recording, recorded_launches
from kernlens.verbs.replay.program_of_launch import OtherBuild, Program, programs_of
from kernlens.verbs.replay.replay import Settings, replaying
from kernlens.verbs.replay.replayed import Replayed

_STATED = "reqd_work_group_size"
_STAND_IN, _MODULE, _ANSWER = "program.cl", "program.spv", "observation"
#: Work-items of a work-group, at most, if the application left their number to the driver.
_MOST_ITEMS = 64


@dataclass(frozen=True, slots=True)
class ObservedReplay:
    """A kept launch that was counted: its ``behaviour``, and its results, ``replayed``, None where not all of it ran, so that
    nothing can be compared. ``title`` names the launch, ``program`` its program; ``texts`` has the lines of its sources by
    their paths."""

    title: str
    program: str
    behaviour: Behaviour
    replayed: Replayed | None
    texts: Mapping[str, Sequence[str]]


def observe_launch(
    recording: str | os.PathLike[str],
    *,
    kernel: str | None = None,
    program: str | None = None,
    launch: int | None = None,
    device: str | None = None,
    sub_group: int | None = None,
    toolchain: str = "",
    seconds: float = SECONDS,
    groups: int | str | None = None,
    uninitialized: bool = False,
    tolerance: Tolerance | None = None,
    output: str | os.PathLike[str] | None = None,
    unconfined: bool = False,
    source: str | None = None,
    options: str | None = None,
) -> ObservedReplay:
    """Run a launch that a recording keeps in an interpreter (Oclgrind) and return what it does on its data, as ``observe``
    does, and whether it leaves what the application's launch left.

    ``kernel``, ``program`` and ``launch`` choose it as ``replay`` does; the others are those of ``observe``. ``output`` is a
    file to save the program that is compiled for ``device`` in, with what the kernel did. ``source`` is a file to run in place
    of the recorded program, ``options`` are build options in place of the recorded ones.

    Raises KernlensError: NotFoundError for what is not there, UnsupportedError for what Oclgrind cannot run, ToolError where it
    fails.
    """
    with open_recording(recording) as opened:
        launches = list(recorded_launches(opened, program))
        recorded = _with_groups(chosen(launches, os.fspath(recording), kernel, launch)[0])
        looks = {"OCLGRIND_UNINITIALIZED": "1"} if uninitialized else {}
        other = OtherBuild(source, options)
        words = group_words(groups)
        interpreted = _Interpreted(recorded, other, device, sub_group, toolchain, seconds, words, looks, output)
        settings = Settings(
            tolerance=tolerance or Tolerance(),
            runs=0,
            timeout=seconds + GRACE,
            unconfined=unconfined,
            environment=interpreted.environment,
            program=interpreted.program,
            shown=interpreted.shown,
        )
        with replaying(settings, []) as run:
            replayed: Replayed | None = None
            try:
                replayed = run(recorded, settings)
            except DriverDiedError:
                if not interpreted.has_answered():
                    raise
            return interpreted.answer(replayed)


def _with_groups(recorded: RecordedLaunch) -> RecordedLaunch:
    """Return the launch with the size of its work-groups, which the application may have left to the driver: Oclgrind's would
    have one work-item. A kernel that states its size gets that from Oclgrind."""
    launch = recorded.launch
    if launch.local_size is not None or any(_STATED in each.text for each in recorded.build.sources):
        return recorded
    first, *others = launch.global_size
    size = max(each for each in range(1, _MOST_ITEMS + 1) if first % each == 0)
    note = f"the application left the size of work-groups to its driver; in the interpreter they have {size} work-items"
    sized = replace(launch, local_size=(size, *(1 for _ in others)), notes=(*launch.notes, note))
    return replace(recorded, launch=sized)


class _Interpreted:
    """A launch's program in the interpreter."""

    def __init__(
        self,
        recorded: RecordedLaunch,
        other: OtherBuild,
        device: str | None,
        sub_group: int | None,
        toolchain: str,
        seconds: float,
        groups: str,
        looks: dict[str, str],
        output: str | os.PathLike[str] | None,
    ) -> None:
        self._recorded, self._other, self._device, self._sub_group = recorded, other, device, sub_group
        self._seconds, self._groups, self._looks, self._output = seconds, groups, looks, output
        self._interpreter = oclgrind(toolchain)
        root = self._interpreter.toolchain.root
        self.shown = (*(parts_of_root(str(root)) if root else ()), str(plugin().parent), *other.folders)
        self._folder: Path | None = None
        if output is not None and device is None:
            raise UnsupportedError("a recording holds the program of a device; name it with --device")

    def environment(self, folder: Path) -> DriverEnvironment:
        """Build the program in the folder, and return the interpreter as a driver."""
        self._folder = folder
        name, options = self._written(folder)
        launch = self._recorded.launch
        prepared = prepare(self._interpreter, str(folder / name), options, str(folder))
        kernel = prepared.kernel(launch.kernel)
        self._bitcode, self._name = prepared.bitcode, name
        self._compiled = Compiled(folder / name, self._device, options, self._recorded.build.name)
        self._machine = machine_for(self._compiled, kernel, self._sub_group)
        if self._output is not None:
            self._compiled.check(kernel)
        group = prod(launch.local_size or ())
        own = plugin_settings(self._machine, self._groups, self._seconds, group, str(folder / _ANSWER))
        variables = {**self._interpreter.variables(), **own, **self._looks, "OCLGRIND_LOG": os.devnull}
        return DriverEnvironment("Oclgrind", variables=variables, folder=folder)

    def program(self, folder: Path) -> Program:
        """Return the program for the driver."""
        del folder
        return {
            "name": self._name, "options": "", "text": None, "spirv": b"", "binary": self._bitcode, "parts": [],
            "constants": [],
        }  # fmt: skip

    def _written(self, folder: Path) -> tuple[str, str]:
        """Write the program's text or module; return its name and the build options."""
        build = self._recorded.build
        program = programs_of(build, self._other or None, str(folder), is_binary=False)[1][-1]
        if program["parts"]:
            raise UnsupportedError(
                f"{build.title} was linked from several programs, which the interpreter does not link"
            )
        if program["text"] is None and not program["spirv"]:
            raise UnsupportedError(
                f"the recording holds only the binary of {build.title}, which Oclgrind cannot run; capture --fresh-cache"
                " records what programs are built from"
            )
        path = self._other.source or (build.sources[0].path if build.sources else "")
        source = Path(path.replace("\\", "/")).name
        name = _MODULE if program["text"] is None else source or _STAND_IN
        content = program["spirv"] if program["text"] is None else program["text"].encode("utf-8", "replace")
        self._lines = (program["text"] or "").splitlines()
        (folder / name).write_bytes(content)
        return name, program["options"]

    def _content(self) -> bytes:
        assert self._folder is not None
        path = self._folder / _ANSWER
        return read_beside(str(path), str(self._folder)) if path.is_file() else b""

    def has_answered(self) -> bool:
        """Return whether the interpreter wrote counts before it ended."""
        return bool(self._content())

    def answer(self, replayed: Replayed | None) -> ObservedReplay:
        """Return what was counted, and save it. Raises ToolError if that is nothing."""
        kernel = self._recorded.launch.kernel
        observed = counted(self._content(), self._name, kernel, self._seconds)
        observed = replace(observed, machine=self._machine, source=self._name, device=self._device)
        notes = (*self._recorded.launch.notes, *observed.notes, *group_sentences(observed))
        observed = without_lockstep(replace(observed, notes=notes))
        if self._output is not None:
            self._compiled.save(self._output, observed)
        is_whole = observed.groups_done == observed.groups and observed.is_counted
        build, other = self._recorded.build, self._other
        headers = () if other.source else build.sources[1:]
        texts = {**{each.path: each.text.splitlines() for each in headers}, self._name: self._lines}
        title = other.title or build.title
        return ObservedReplay(self._recorded.title, title, observed, replayed if is_whole else None, texts)
