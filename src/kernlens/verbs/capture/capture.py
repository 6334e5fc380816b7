"""``kernlens.capture``: the programs and launches of an unmodified application, in one recording."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernlens.dataclass import dataclass, field, in_short
from kernlens.dataclass import replace as replaced
from kernlens.errors import KernlensError, OutputError, UnsupportedError
from kernlens.isa.devices import name_among
from kernlens.loading import load, open_file
from kernlens.model.failed_builds import FailedBuilds
from kernlens.model.fault import Fault
from kernlens.model.program import Program
from kernlens.runtime.file_limit import FILE_SIZE_LIMIT, limit_file_size
from kernlens.toolchain.loaders.application import (
    Application,
    environment_for,
    find_application,
    initial_environment,
    restore_signals,
)
from kernlens.toolchain.loaders.native_layers import OPENCL_LAYER, needed_layer
from kernlens.toolchain.loaders.vendor_file import change, leads_to_layer, led_to_layer
from kernlens.toolchain.oclgrind import oclgrind
from kernlens.toolchain.simulation import simulated_devices
from kernlens.toolchain.toolchains import DEFAULT, SYSTEM
from kernlens.toolchain.toolchains import toolchain as find_toolchain
from kernlens.verbs.capture.asked import Asked
from kernlens.verbs.capture.captured import CapturedKernel
from kernlens.verbs.capture.changes import Changes
from kernlens.verbs.capture.chosen_launches import LAUNCH, LAUNCH_BYTES, MOST_BYTES, is_slowest, recorders_lines, unkept
from kernlens.verbs.capture.ending import endings
from kernlens.verbs.capture.level_zero_layer import turn_on_level_zero
from kernlens.verbs.capture.loader_watch import LoaderWatch
from kernlens.verbs.capture.merging import Merging, Progress
from kernlens.verbs.capture.nothing_built import why_nothing
from kernlens.verbs.capture.observed_programs import ObservedPrograms
from kernlens.verbs.capture.observing import SECONDS, DeviceCode, Observing, observed
from kernlens.verbs.capture.replacing import Replacement
from kernlens.verbs.capture.second_builds import SecondBuildPlan
from kernlens.verbs.capture.spool import FOLDER, SNAPSHOTS, TIME, ZEROS, Spool

if TYPE_CHECKING:
    from kernlens.recording.writer import RecordingWriter
    from kernlens.toolchain.toolchains import Toolchain
    from kernlens.verbs.capture.running import Ended


@dataclass(frozen=True, slots=True)
class Capture:
    """The result of a capture. ``recording`` is None if nothing was built. ``exit_status`` is the application's, negative for
    the signal that ended it, None of a recovered capture. ``kernels`` are those that it built, most launched first; ``lines``
    is whether line tables were asked for, ``empty_caches`` whether it had empty caches. ``builds`` counts what it built,
    ``failed`` those that failed, ``from_binary`` programs that it made from binaries, ``own_binaries`` those of them whose
    binaries it had built in the same run. ``missing`` says what is not in the recording, ``reason`` why nothing is;
    ``findings`` are sentences on what else is to be known of it; ``unmatched`` has those on programs of ``replace`` that
    nothing stood in for, by the program. ``faults`` are those that an interpreter
    saw, each with its kernel; ``is_counted`` is whether it counted a launch. ``kept_launches`` are whole in the recording, with
    memory of ``kept_bytes``."""

    recording: Path | None
    exit_status: int | None
    kernels: tuple[CapturedKernel, ...]
    builds: int
    failed: int
    from_binary: int
    missing: tuple[str, ...]
    findings: tuple[str, ...] = ()
    unmatched: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    lines: bool = False
    empty_caches: bool = False
    own_binaries: int = 0
    faults: tuple[tuple[str, Fault], ...] = ()
    is_counted: bool = False
    kept_launches: int = 0
    kept_bytes: int = 0

    def __repr__(self) -> str:
        words = f"{self.builds:,} builds, {self.failed:,} failed, {len(self.kernels):,} kernels"
        return in_short(f"<Capture {str(self.recording)!r}: {words if self.recording else self.reason}>")

    @property
    def programs(self) -> Sequence[Program]:
        """The programs of the recording, opened anew each time; empty if nothing was built."""
        return load(self.recording) if self.recording is not None else ()

    @property
    def failed_builds(self) -> FailedBuilds:
        """The builds that failed, as the recording has them, opened anew each time."""
        return FailedBuilds() if self.recording is None else open_file(self.recording).failed_builds()


def capture(
    command_line: Sequence[str | os.PathLike[str]],
    recording: str | os.PathLike[str] | None = None,
    *,
    simulate: str | None = None,
    toolchain: str = DEFAULT,
    lines: bool = False,
    stages: bool = False,
    build_options: str = "",
    replace: Mapping[str, str | os.PathLike[str] | Program] | None = None,
    fresh_cache: bool = False,
    on_start: Callable[[], None] | None = None,
    on_progress: Progress | None = None,
    unconfined: bool = False,
    observe: bool = False,
    device: str | None = None,
    seconds: float = SECONDS,
    time: bool = False,
    launches: Sequence[str] = (),
    launch_bytes: int = MOST_BYTES,
) -> Capture:
    """Run an application, and record what it builds with OpenCL or Level Zero, and how often it launches which kernel.

    ``recording`` is the file to write, ``APP.klens`` if not given; a recording of that name is replaced once something was
    built. ``simulate`` names a device that the toolchain's driver simulates. ``lines`` adds -gline-tables-only to what
    Intel's compiler for GPUs builds, -nv-line-info with NVIDIA's driver and -g on PoCL, ``build_options`` are added to all
    builds from source or IL; once the application has ended, these are built again without, to tell whether the machine code
    is the same. ``stages`` keeps the compile stages, from second builds too. ``replace`` has a file of source, SPIR-V or
    binary, or a Program, for each program to be replaced: by a kernel's name, by the SHA-256 of what the application makes it
    from, or by a file that holds that. ``fresh_cache`` gives the application empty caches; so do ``lines``, ``build_options``
    and ``replace``, as what is built with these must not be what the application's next run finds. What is built again can
    read the toolchain, the application's working folder and those of its ``-I`` alone, unless it is ``unconfined``. On a
    simulated device the application may write no file of more than 1 GiB. With ``observe`` it runs on Oclgrind in
    ``toolchain``: the recording has what each kernel did within ``seconds``, counted for ``device`` and beside the code that is
    compiled for it. With ``time`` the device times launches. ``launches`` are kept whole, as ``--launch`` names them, with at
    most ``launch_bytes`` of memory in each process. ``on_start`` is called before the application is started,
    ``on_progress`` with the number of builds that are in the recording, and of all, once it has ended.

    Raises NotFoundError or ToolError if the application cannot be started, NotFoundError if a file of ``replace`` cannot be
    read, FormatError if it is damaged SPIR-V, UnsupportedError for a program with other rights than this process's and on an
    installation without the OpenCL layer, OutputError if the recording cannot be written: what was captured then stays in the
    folder that the error names, for ``recover``.
    """
    replacements = [Replacement.of(*both) for both in (replace or {}).items()]
    words = tuple(os.fspath(word) for word in command_line)
    observing = Observing(device, float(seconds), toolchain) if observe else None
    recorders_lines(launches)  # What names no launch is told of before anything runs.
    time = time or is_slowest(launches)
    chosen, simulated = _chosen(toolchain, simulate, observing, is_timed=time)
    changes = Changes(lines, build_options, replacements, fresh_cache or observe)
    asked = Asked(words, simulated, chosen.name, stages, changes, observing, time, tuple(launches), launch_bytes)
    application = find_application(words, simulated, chosen)
    plan = replaced(asked.second_build_plan(dict(application.environment)), unconfined=unconfined)
    _check_rights(application.program)
    path = Path(recording or f"{Path(words[0]).name}.klens")
    return _capture(application, asked, plan, chosen, path, on_start, on_progress)


def _capture(
    application: Application,
    asked: Asked,
    plan: SecondBuildPlan,
    chosen: Toolchain,
    path: Path,
    on_start: Callable[[], None] | None,
    on_progress: Progress | None,
) -> Capture:
    """Run the application with what was asked for, and write the recording."""
    layer = needed_layer(OPENCL_LAYER)
    with _writer(path, asked.words) as writer, contextlib.closing(_spool(Spool.make, path, asked)) as spool:
        started = observed(asked.observing, application.environment, spool, unconfined=plan.unconfined)
        with _goes_unless_entered(spool), started as code:
            _turn_on(application, layer, spool, chosen, asked)
            application.environment.update({} if asked.device is None else {ZEROS: "1"})
            watch = LoaderWatch(chosen if chosen.root is not None else None)
            ended = _run(application, asked.device is not None, watch, on_start)
        with _stays(spool):
            return _finish(spool, writer, ended, asked, plan, watch, code, on_progress=on_progress)


def recover(
    folder: str | os.PathLike[str],
    recording: str | os.PathLike[str] | None = None,
    *,
    stages: bool = False,
    unconfined: bool = False,
    on_progress: Progress | None = None,
) -> Capture:
    """Make the recording of a capture that was killed, from the folder that it left: every build that had finished, with what
    the capture was asked for; with the compile stages too if ``stages`` says so.

    Second builds have this process's environment, and the simulated device if there was one; ``unconfined`` is
    ``capture``'s. ``recording`` is the file
    to write, if not the one that it was to be. The folder is removed. Raises NotFoundError if it is no folder of a capture,
    OutputError if the recording cannot be written.
    """
    with contextlib.closing(Spool.open(Path(folder))) as spool:
        asked = Asked.read_from(spool)
        asked = replaced(asked, stages=stages or asked.stages)
        findings = []
        try:
            plan = asked.second_build_plan(environment_for(asked.device, find_toolchain(asked.toolchain)))
            plan = replaced(plan, unconfined=unconfined)
        except KernlensError as error:
            plan = SecondBuildPlan(os.environ)
            findings = [f"nothing is built again, for stages or to compare: {error}"]
        path = Path(recording) if recording is not None else spool.recording
        code = DeviceCode(asked.observing.device if asked.observing else None, spool, unconfined=unconfined)
        with _stays(spool), _writer(path, asked.words) as writer:
            return _finish(spool, writer, None, asked, plan, LoaderWatch(), code, findings, on_progress)


def attach(recording: str | os.PathLike[str], *, lines: bool = False) -> tuple[Path, dict[str, str | None]]:
    """Make the folder that programs which are started elsewhere write to, and return it with the variables (None: to be unset)
    that have them do so, and with ``lines`` give them empty caches.

    ``recover`` makes the recording once they have ended. Several calls for one recording give one folder. Raises OutputError
    if it cannot be made, or belongs to another capture, UnsupportedError on an installation without the OpenCL layer.
    """
    layer = needed_layer(OPENCL_LAYER)
    asked = Asked(changes=Changes(lines))
    spool = _spool(Spool.join, Path(recording), asked)
    before = initial_environment()
    application = Application("", "", (), dict(before))
    _turn_on(application, layer, spool, find_toolchain(), asked)
    after = application.environment
    changed = {name: after.get(name) for name in {**before, **after} if before.get(name) != after.get(name)}
    return spool.folder, changed


def _chosen(
    name: str, simulate: str | None, observing: Observing | None, *, is_timed: bool
) -> tuple[Toolchain, str | None]:
    """Return the toolchain whose driver builds, and its name of the device to simulate. Without one the application keeps the
    drivers that it has."""
    if is_timed and (observing is not None or simulate is not None):
        raise KernlensError("neither a simulated device nor an interpreter has a time; time launches on a real device")
    if observing is not None:
        if simulate is not None:
            raise KernlensError("a simulated device runs no kernel that could be observed; observe without simulate")
        return oclgrind(observing.toolchain).toolchain, None
    chosen = find_toolchain(name or (DEFAULT if simulate else SYSTEM))
    return chosen, None if simulate is None else name_among(simulate, simulated_devices(chosen)) or simulate


def _spool(make: Callable[[Path], Spool], recording: Path, asked: Asked) -> Spool:
    spool = make(recording)
    try:
        asked.keep(spool)
    except OSError as error:
        spool.remove()
        raise OutputError(f"cannot write to {spool.folder}: {error.strerror}; name another place with -o") from error
    return spool


def _writer(path: Path, words: Sequence[str]) -> RecordingWriter:
    from kernlens.recording.writer import RecordingWriter

    # Before the application starts: what cannot be written is told at once, and two captures do not take one file.
    folder = path.absolute().parent
    if folder.is_dir() and not os.access(folder, os.W_OK):
        raise OutputError(
            f"the recording {path} cannot be written: {folder} is not writable; name another place with -o"
        )
    # What the application's processes wrote is whole in their folder until the recording is.
    return RecordingWriter(path, command_line=words, overwrite=True, is_whole=True)


def _check_rights(program: str) -> None:
    """Raise UnsupportedError for a program that gets rights which its caller lacks: loaders then read no variables."""
    status = os.stat(program)
    changes = (status.st_mode & 0o4000 and status.st_uid != os.geteuid()) or (
        status.st_mode & 0o2000 and status.st_gid != os.getegid()
    )
    has_capabilities = os.geteuid() != 0 and "security.capability" in os.listxattr(program)
    if changes or has_capabilities:
        raise UnsupportedError(
            f"{program} has setuid, setgid or file capabilities, so OpenCL loaders ignore the vendors in"
            " its environment; capture a copy without them, or run kernlens with these rights"
        )


def _turn_on(application: Application, layer: Path, spool: Spool, chosen: Toolchain, asked: Asked) -> None:
    """Have the application's processes record what they build, with the changes that were asked for."""
    environment = application.environment
    if not leads_to_layer(environment):
        environment[SNAPSHOTS] = "0"  # The application is to find the extensions that it finds without.
    try:
        change(environment, led_to_layer(environment, layer, spool.folder))
    except OSError as error:
        raise OutputError(f"the vendor's file for OpenCL loaders cannot be written: {error}") from error
    spool.tell_outer(environment)
    environment[FOLDER] = str(spool.folder)
    turn_on_level_zero(environment, chosen)
    asked.changes.make(environment, spool)
    for name in (TIME, LAUNCH, LAUNCH_BYTES):
        environment.pop(name, None)
    if asked.time:
        environment[TIME] = "1"
    if asked.launches:
        environment |= {LAUNCH: recorders_lines(asked.launches), LAUNCH_BYTES: str(asked.launch_bytes)}


def _run(
    application: Application,
    is_simulated: bool,
    watch: LoaderWatch,
    on_start: Callable[[], None] | None,
) -> Ended:
    """Run the application to its end."""
    from kernlens.verbs.capture.running import run

    if on_start is not None:
        on_start()

    def prepare_child() -> None:
        if is_simulated:
            limit_file_size(FILE_SIZE_LIMIT)
        restore_signals()

    return run(application, prepare_child, watch.look)


@contextlib.contextmanager
def _goes_unless_entered(spool: Spool) -> Iterator[None]:
    """Let the folder stay if the application cannot be started or run to its end, unless nothing was recorded."""
    try:
        yield
    except BaseException:
        if not spool.was_entered:
            spool.remove()
        raise


@contextlib.contextmanager
def _stays(spool: Spool) -> Iterator[None]:
    """Add to an error that keeps the recording from being written where the folder is that holds its contents."""
    try:
        yield
    except (OutputError, OSError) as error:
        raise OutputError(
            f"{error}; what was captured stays in {spool.folder}: kernlens capture --recover {spool.folder} -o OTHER.klens"
        ) from error


def _finish(
    spool: Spool,
    writer: RecordingWriter,
    ended: Ended | None,
    asked: Asked,
    plan: SecondBuildPlan,
    watch: LoaderWatch,
    code: DeviceCode,
    findings: Sequence[str] = (),
    on_progress: Progress | None = None,
) -> Capture:
    seen = ObservedPrograms(spool, asked.observing, code) if asked.observing is not None else None
    captured = Merging(spool, writer, plan, asked.changes, asked.device, seen).run(on_progress)
    writer.close()
    spool.remove()
    launched = {kernel.name: kernel.known_launches or 0 for kernel in captured.kernels}
    status, process = (None, None) if ended is None else (ended.status, ended.process)
    return Capture(
        recording=writer.path if captured.builds else None,
        exit_status=status,
        kernels=tuple(captured.kernels),
        builds=captured.builds,
        failed=captured.failed,
        from_binary=captured.from_binary,
        own_binaries=captured.own_binaries,
        faults=() if seen is None else tuple(seen.faults),
        is_counted=seen is not None and seen.is_counted,
        kept_launches=len(captured.whole_launches),
        kept_bytes=captured.kept_bytes,
        missing=tuple(captured.missing),
        findings=(
            *endings(status, process, captured.last_calls),
            *findings,
            *watch.findings(captured),
            *captured.findings,
            *(unkept(asked.launches, captured.whole_launches, launched) if asked.launches else ()),
        ),
        unmatched=captured.unmatched,
        reason="" if captured.builds else why_nothing(captured, asked.words, watch, asked.observing),
        lines=asked.changes.lines,
        empty_caches=asked.changes.empties_caches,
    )
