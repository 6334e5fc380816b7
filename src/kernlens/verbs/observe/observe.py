"""``kernlens.observe``: a kernel run in an interpreter on data that is described, and what it did, line by line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from math import prod
from pathlib import Path

from kernlens.dataclass import replace
from kernlens.errors import KernlensError, NotFoundError, ToolError, UnsupportedError
from kernlens.formats.observation import read_observations
from kernlens.formats.oclgrind_message import FATAL
from kernlens.isa.devices import device as device_named
from kernlens.isa.observed_machines import machine_of
from kernlens.model.behaviour import Behaviour, ObservedMachine
from kernlens.model.build import Build
from kernlens.model.program import Program
from kernlens.report.behaviour_words import group_sentences
from kernlens.toolchain.oclgrind import SOURCE_NAMES, Oclgrind, machine_words, oclgrind, plugin
from kernlens.toolchain.process import Completed, temporary_folder
from kernlens.toolchain.sources.includes import existing_source, join_options
from kernlens.toolchain.sources.source_reading import read_beside
from kernlens.verbs.observe.interpreted_code import InterpretedProgram, prepare
from kernlens.verbs.observe.launch_arguments import LaunchArgument, launch_arguments

#: Seconds that a kernel may run.
SECONDS = 20.0
#: Bytes of local memory that a kernel may use: no GPU's work-group has more.
_LOCAL_MEMORY = 256 << 10
_WIDEST = 64
#: The plugin's orders of work-groups; by None they are sampled if not all have the time.
_ORDERS: dict[int | str | None, int] = {"first": 0, None: 1, "sample": 2}
Progress = Callable[[int, int], None]


def observe(
    source: str | os.PathLike[str],
    *,
    kernel: str | None = None,
    size: Sequence[int],
    group: Sequence[int],
    arguments: Sequence[str],
    device: str | None = None,
    sub_group: int | None = None,
    toolchain: str = "",
    options: str | Sequence[str] = "",
    seconds: float = SECONDS,
    groups: int | str | None = None,
    uninitialized: bool = False,
    recording: str | os.PathLike[str] | None = None,
    on_progress: Progress | None = None,
) -> Behaviour:
    """Return what one launch of a kernel does, counted in an interpreter (Oclgrind) on the data that ``arguments`` describe:
    ``random:float:4096``, ``ramp:int:4096``, ``zeros:float:4096``, a file of raw bytes or ``.npy``, ``local:BYTES``, a value.

    ``size`` and ``group`` are the global and the local size. ``device`` decides how wide a sub-group is and how memory is
    moved; for Intel's the kernel is compiled. ``sub_group`` is a width instead. ``toolchain`` names the one with Oclgrind.
    After ``seconds`` the work-groups that ended are the answer: a sample of all if not all have the time. ``groups`` is how
    many to sample, ``"sample"`` for as many as have the time, ``"first"`` for the first ones. ``uninitialized`` also looks for
    values that were never set. ``recording`` is a file to save the program that is compiled for the device in, with what the
    kernel did.

    Raises KernlensError: NotFoundError for a kernel that is not there, UnsupportedError where Oclgrind is not installed,
    ToolError where it fails.
    """
    path = existing_source(source)
    sizes, local = _sizes(size, group)
    words = join_options(options)
    interpreter = oclgrind(toolchain)
    plugin()
    with temporary_folder() as folder:
        program = prepare(interpreter, str(path), words, str(folder))
    name = program.kernel(kernel)
    described = launch_arguments(name, program.kernels[name], arguments)
    compiled = Compiled(path, device, words)
    machine = machine_for(compiled, name, sub_group)
    if recording is not None:
        compiled.check(name)
    settings = {"OCLGRIND_UNINITIALIZED": "1"} if uninitialized else {}
    launch = interpreter, program, name, sizes, local, described, machine, seconds, settings, str(path)
    launched = _Launch(*launch, group_words(groups))
    try:
        observed = launched.run(on_progress)
    except ToolError as error:
        if recording is not None:
            faults = error.faults if isinstance(error, NothingCountedError) else ()
            refused = Behaviour.not_counted(name, str(error), sizes, local, device)
            compiled.save(recording, replace(refused, faults=faults))
        raise
    observed = replace(observed, machine=machine, source=str(path), device=device)
    observed = without_lockstep(replace(observed, notes=(*observed.notes, *group_sentences(observed))))
    if recording is not None:
        compiled.save(recording, observed)
    return observed


def group_words(groups: int | str | None) -> str:
    """Return the words that tell the plugin which work-groups run. Raises KernlensError for another choice."""
    if groups is None or groups in _ORDERS:
        return f"order={_ORDERS[groups]}"
    if not isinstance(groups, int) or groups < 1:
        raise KernlensError(f"groups is a number of work-groups, 'sample' or 'first', not {groups!r}")
    return f"order={_ORDERS['sample']} groups={groups}"


def _sizes(size: Sequence[int], group: Sequence[int]) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Return both sizes with three dimensions. Raises KernlensError for sizes that do not fit together."""
    if len(size) != len(group) or not 1 <= len(size) <= 3:
        raise KernlensError("the size and the group's size have the same number of dimensions, 1 to 3")
    if any(each < 1 for each in (*size, *group)) or any(all_ % part for all_, part in zip(size, group, strict=True)):
        raise KernlensError(f"work-groups of {_told(group)} do not divide {_told(size)} work-items")
    (x, y, z, *_), (a, b, c, *_) = (*size, 1, 1), (*group, 1, 1)
    return (x, y, z), (a, b, c)


def _told(sizes: Sequence[int]) -> str:
    return " x ".join(f"{each:,}" for each in sizes)


def plugin_settings(machine: ObservedMachine, words: str, seconds: float, group: int, answer: str) -> dict[str, str]:
    """Return the variables by which the interpreter counts one launch into a file, and ends when the time is over."""
    observe = f"{machine_words(machine)} {words} seconds={max(1, round(seconds))} ends=1 file={answer}"
    return {
        "OCLGRIND_PLUGINS": str(plugin()),
        "OCLGRIND_LOCAL_MEM_SIZE": str(_LOCAL_MEMORY),
        "OCLGRIND_MAX_WGSIZE": str(max(1024, group)),
        "KERNLENS_OBSERVE": observe,
    }


class Compiled:
    """The source, compiled for the device when that is needed."""

    def __init__(self, path: Path, device: str | None, options: str, name: str = "") -> None:
        self.path, self.device, self._options, self._name = path, device, options, name

    @cached_property
    def programs(self) -> Sequence[Program]:
        """The programs for the device. Raises ToolError if the source does not compile for it."""
        from kernlens.verbs.compile import compile

        if self.device is None:
            raise UnsupportedError("a recording holds the program of a device; name it with --device")
        return compile(self.path, self.device, options=self._options)

    def check(self, kernel: str) -> None:
        """Raise NotFoundError if the compiled program does not have the kernel."""
        if not any(kernel in program.kernels for program in self.programs):
            raise NotFoundError(f"the program that is compiled for {self.device} has no kernel {kernel}")

    def save(self, recording: str | os.PathLike[str], observed: Behaviour) -> None:
        """Write the programs, and what the kernel did. Raises OutputError if that is not possible."""
        from kernlens.recording.writer import RecordingWriter

        with RecordingWriter(os.fspath(recording), command_line=sys.argv, overwrite=True, is_whole=True) as writer:
            for program in self.programs:
                number = writer.add(self._named(program.build))
                if observed.kernel in program.kernels:
                    writer.add_behaviour(number, observed)

    def _named(self, build: Build) -> Build:
        """Return a build as it is saved: the files of a program with another ``name`` are called by theirs below the folder."""
        if not self._name:
            return build
        folder = f"{self.path.parent}/"
        sources = [replace(each, path=each.path.removeprefix(folder)) for each in build.sources]
        own = replace(build, name=self._name, path=self.path.name, folder=str(self.path.parent))
        return own.with_parts(sources=sources)


def machine_for(compiled: Compiled, kernel: str, sub_group: int | None) -> ObservedMachine:
    """Return what requests are counted for. Raises UnsupportedError if the width of sub-groups is not known."""
    device = compiled.device
    machine = machine_of(device_named(device)) if device is not None else ObservedMachine()
    if sub_group is not None:
        machine = replace(machine, width=sub_group)
    elif not machine.width:
        widths = [each.kernels[kernel].resources.simd for each in compiled.programs if kernel in each.kernels]
        width = next(iter(widths), None)
        if width is None:
            raise UnsupportedError(
                f"the compiler does not say how wide {kernel} is on {device}; state it with --sub-group"
            )
        machine = replace(machine, width=width)
    if not 1 <= machine.width <= _WIDEST:
        raise KernlensError(f"a sub-group has 1 to {_WIDEST} work-items, not {machine.width}")
    return machine


class NothingCountedError(ToolError):
    """A launch of which nothing was counted, with the faults that were seen all the same."""

    def __init__(self, message: str, observed: Behaviour, log: str = "") -> None:
        self.faults = tuple(each for each in observed.faults if each.kind != FATAL)
        super().__init__(message, log=log)


class _Launch:
    """One run of the interpreter."""

    def __init__(
        self,
        interpreter: Oclgrind,
        program: InterpretedProgram,
        kernel: str,
        sizes: Sequence[int],
        local: Sequence[int],
        arguments: Sequence[LaunchArgument],
        machine: ObservedMachine,
        seconds: float,
        settings: dict[str, str],
        source: str,
        groups: str,
    ) -> None:
        self._interpreter, self._program, self._kernel = interpreter, program, kernel
        self._sizes, self._local, self._arguments = sizes, local, arguments
        self._machine, self._seconds, self._settings, self._source = machine, seconds, settings, source
        self._groups = groups

    def run(self, on_progress: Progress | None) -> Behaviour:
        """Return what was counted. Raises ToolError where the interpreter failed, and if no work-group ended in time."""
        with self._interpreter.confined(self._seconds) as folder:
            answer = os.path.join(folder, "observation")
            completed = self._interpreter.launch(self._job(folder, answer), self._seconds, on_progress)
            content = read_beside(answer, folder) if os.path.isfile(answer) else b""
        return counted(content, self._source, self._kernel, self._seconds, completed)

    def _job(self, folder: str, answer: str) -> str:
        """Write the job of the host and its files; return its path."""
        settings = plugin_settings(self._machine, f"{self._groups} tells=1", self._seconds, prod(self._local), answer)
        settings |= self._settings
        program = os.path.join(folder, "kernel.bc")
        Path(program).write_bytes(self._program.bitcode)
        lines = [f"set {name} {value}" for name, value in settings.items()]
        lines += [f"program {program}", f"kernel {self._kernel}"]
        lines += [
            f"{word} {' '.join(map(str, sizes))}" for word, sizes in (("global", self._sizes), ("local", self._local))
        ]
        for number, each in enumerate(self._arguments):
            if each.kind == "buffer":
                file = os.path.join(folder, f"argument{number}")
                Path(file).write_bytes(each.content)
                lines.append(f"buffer {each.size} {file}")
            else:
                lines.append(f"value {each.content.hex()}" if each.kind == "value" else f"memory {each.size}")
        job = os.path.join(folder, "job")
        Path(job).write_text("".join(f"{line}\n" for line in lines))
        return job


def counted(content: bytes, source: str, kernel: str, seconds: float, completed: Completed | None = None) -> Behaviour:
    """Return what the plugin counted of a launch, of which it wrote ``content``. Raises ToolError if that is nothing;
    ``completed`` is the process that ended."""
    sections = read_observations(content, dict.fromkeys(SOURCE_NAMES, source))
    log = completed.log if completed is not None else ""
    if not sections:
        told = completed.stderr.strip()[:200] if completed is not None else ""
        raise ToolError(f"Oclgrind wrote no counts of {kernel}: {told or 'it says nothing'}", log=log)
    observed = sections[-1]
    if (fatal := next((each.sentence for each in observed.faults if each.kind == FATAL), None)) is not None:
        raise NothingCountedError(
            f"Oclgrind cannot run {kernel}: {fatal.rstrip('.')}; nothing was counted", observed, log
        )
    if not observed.groups_done:
        raise NothingCountedError(
            f"not one work-group of {kernel} ended within {seconds:g} s, so nothing was counted; allow more with --seconds,"
            " or describe smaller work-groups. If they wait for each other, they may need their order: --groups first",
            observed,
        )
    chosen = observed.groups if observed.ran is None else observed.ran.chosen
    if observed.groups_done < chosen and not observed.is_out_of_time:
        raise NothingCountedError(
            f"Oclgrind stopped after {observed.groups_done:,} of {observed.groups:,} work-groups of {kernel};"
            " nothing was counted",
            observed,
            log,
        )
    return observed


def without_lockstep(observed: Behaviour) -> Behaviour:
    """Return the behaviour without counts if the kernel relies on work-items that run in lockstep: each of its races is."""
    races = [each for each in observed.faults if each.kind == "race"]
    if not races or not all(each.is_lockstep for each in races):
        return observed
    place = f" at line {races[0].places[0].line}" if races[0].places else ""
    note = (
        f"{observed.kernel} relies on lockstep: work-items of one sub-group share local memory{place} without a barrier. A GPU"
        " may run them in step, the interpreter does not, so nothing is counted; with a barrier there it would be"
    )
    return observed.without_counts(note)
