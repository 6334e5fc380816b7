"""A kept launch, run again in a confined child process, compared with what it left, and timed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernlens.dataclass import dataclass, replace
from kernlens.errors import NotFoundError, ToolError, UnsupportedError
from kernlens.model.build import Build
from kernlens.model.kept_launch import IMAGE, KeptLaunch
from kernlens.recording.reader import Recording
from kernlens.runtime.driver_environment import DriverEnvironment
from kernlens.runtime.isolation import OPENCL, IsolatedDriver
from kernlens.runtime.opencl.error_codes import BUILD_PROGRAM_FAILURE, OpenCLError
from kernlens.runtime.opencl.program_queries import CUDA_PLATFORM
from kernlens.toolchain.confinement import confined_driver
from kernlens.toolchain.foreign_text import foreign_text
from kernlens.toolchain.ncu_report import NCU, ncu_folders
from kernlens.toolchain.nvidia_clocks import clock_words
from kernlens.toolchain.process import temporary_folder
from kernlens.toolchain.shown_files import SIMULATING
from kernlens.toolchain.simulation import is_of_simulator, simulated_driver
from kernlens.toolchain.sources.source_reading import read_beside
from kernlens.verbs.replay.cuda_profile import CudaReplay, output_path
from kernlens.verbs.replay.elements import Element, Tolerance, difference
from kernlens.verbs.replay.kept import RecordedLaunch, chosen, open_recording, recorded_launches
from kernlens.verbs.replay.memory_names import MemoryName, memory_names
from kernlens.verbs.replay.profiling import profiler_words, refuse_traps, run_under
from kernlens.verbs.replay.program_of_launch import OtherBuild, includes_more, programs_of, texts_of
from kernlens.verbs.replay.program_of_launch import Program as ProgramOfLaunch
from kernlens.verbs.replay.replayed import Compared, Profile, Replayed, ReplayedBuild
from kernlens.verbs.replay.timing import ratio_of, times_of

#: Runs that are timed, runs before them, and seconds that one launch may take with all its runs.
RUNS, WARM_UPS, TIME_LIMIT = 20, 2, 300.0


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a replay: ``device`` is PLATFORM:DEVICE (each a part of a name, or a number), ``simulate`` a device that
    is simulated; ``other`` another build of the program; ``binary`` uses the recorded binary; ``unconfined`` takes the risk;
    ``profile`` is a profiler's command, or ``ncu``, and ``output`` the path of what that one writes, without endings.

    ``environment`` and ``program`` give another driver than this machine's, and the program for it; both get the folder that
    the driver can write to. ``shown`` are files that it needs."""

    device: str | None = None
    simulate: str | None = None
    toolchain: str = ""
    runs: int = RUNS
    tolerance: Tolerance = Tolerance()
    other: OtherBuild | None = None
    binary: bool = False
    timeout: float = TIME_LIMIT
    unconfined: bool = False
    profile: str | None = None
    output: str | None = None
    environment: Callable[[Path], DriverEnvironment] | None = None
    program: Callable[[Path], ProgramOfLaunch] | None = None
    shown: tuple[str, ...] = ()


def replay(
    recording: str | os.PathLike[str],
    *,
    kernel: str | None = None,
    program: str | None = None,
    launch: int | None = None,
    all_launches: bool = False,
    device: str | None = None,
    simulate: str | None = None,
    toolchain: str = "",
    runs: int = RUNS,
    tolerance: Tolerance | None = None,
    source: str | None = None,
    build_options: str | None = None,
    replace: str | None = None,
    binary: bool = False,
    timeout: float = TIME_LIMIT,
    unconfined: bool = False,
    profile: str | None = None,
    output: str | None = None,
    on_answer: Callable[[Replayed], None] | None = None,
) -> list[Replayed]:
    """Run a launch that a recording keeps, and compare what it leaves with what the application's left.

    ``kernel`` chooses the kernel, ``program`` its program, ``launch`` the number of its launch (None: the first);
    ``all_launches`` runs all, up to the first that differs. ``device`` is PLATFORM:DEVICE, ``simulate`` a device on which
    Intel's driver builds and nothing is computed. ``source`` (a file), ``build_options`` and ``replace`` (a binary) are another
    build, which runs in turn with the recorded one. ``binary`` runs the recorded binary where the program's source or SPIR-V
    would be built. ``profile`` is a profiler's command (``perf stat``): a launch whose results are equal runs once more under
    it, with the other build if there is one. ``ncu`` profiles it through CUDA, and writes ``output``.csv, .klens and .ncu-rep
    (None: the kernel's name and the launch's number). ``on_answer`` gets each answer as it comes: a later launch may end the
    driver.

    Raises KernlensError: NotFoundError for what is not there, UnsupportedError where the machine cannot confine the child,
    OpenCLError where the program does not build here, DriverDiedError where the driver or the kernel ended the child.
    """
    answers, other = [], OtherBuild(source, build_options, replace) or None
    settings = Settings(
        *(
            device,
            simulate,
            toolchain,
            runs,
            tolerance or Tolerance(),
            other,
            binary,
            timeout,
            unconfined,
            profile,
            output,
        )
    )
    if profile is not None:
        profiler_words(profile)
    with open_recording(recording) as opened:
        for answer in _replayed(_selected(opened, kernel, program, launch, all_launches=all_launches), settings):
            answers.append(answer)
            if on_answer is not None:
                on_answer(answer)
    return answers


def _selected(
    recording: Recording, kernel: str | None, program: str | None, launch: int | None, *, all_launches: bool
) -> Sequence[RecordedLaunch]:
    """Return the launches that are to run. Raises NotFoundError if there is none."""
    launches, path = list(recorded_launches(recording, program)), str(recording.path)
    if all_launches and kernel is None:
        return launches or chosen(launches, path, None, None)
    selected = chosen(launches, path, kernel, launch)
    return selected if all_launches else selected[:1]


def _replayed(launches: Sequence[RecordedLaunch], settings: Settings) -> Iterator[Replayed]:
    """Yield the replays of launches, up to the first that differs."""
    with replaying(settings, [] if settings.other is None else [settings.other]) as run:
        for each in launches:
            answer = run(each, settings)
            yield answer
            if not answer.is_equal:
                return


def device_for(build: Build, *, unconfined: bool = False) -> str:
    """Return the name of the device that launches of a program run on here. Raises NotFoundError if there is none."""
    settings = Settings(unconfined=unconfined)
    with foreign_text(unconfined=unconfined), _driver(settings) as (driver, _):
        devices = driver.devices(OPENCL)
        return str(devices[_position(devices, settings, build)]["name"])


@contextmanager
def replaying(
    settings: Settings, others: Sequence[OtherBuild], on_start: Callable[[Callable[[], None]], None] | None = None
) -> Iterator[Callable[[RecordedLaunch, Settings], Replayed]]:
    """Give what replays a launch, with settings that may name one of ``others`` beside it, on the device of ``settings``. If
    the kernel or the driver ends the child, the next launch gets another one. ``on_start`` gets, before anything runs, what
    ends all from another thread."""
    shown = [*settings.shown, *dict.fromkeys(folder for other in others for folder in other.folders)]
    if settings.profile == NCU:
        shown += ncu_folders()
    with foreign_text(shown, unconfined=settings.unconfined), _driver(settings) as (driver, folder):
        if on_start is not None:
            on_start(driver.kill)
        devices = driver.devices(OPENCL)

        def run(recorded: RecordedLaunch, own: Settings) -> Replayed:
            position = _position(devices, settings, recorded.build)
            return _Replay(recorded, own, devices[position], position).run(driver, folder)

        yield run


@contextmanager
def _driver(settings: Settings) -> Iterator[tuple[IsolatedDriver, Path]]:
    """Give the child that runs launches, and the folder that it can write to."""
    with temporary_folder() as folder:
        environment = DriverEnvironment("the device", folder=Path(folder))
        if settings.environment is not None:
            environment = settings.environment(Path(folder))
        elif settings.simulate is not None:
            environment = simulated_driver(settings.simulate, settings.toolchain or "system")
        with IsolatedDriver(confined_driver(environment), time_limit=settings.timeout) as driver:
            yield driver, Path(folder)


def _position(devices: Sequence[Mapping[str, str]], settings: Settings, recorded: Build) -> int:
    """Return the place of the chosen device, or of the recorded one, or the first. Raises NotFoundError if there is none."""
    names = [f"{each['platform']}:{each['name']}" for each in devices]
    if not names:
        raise NotFoundError("no OpenCL device is installed here, so nothing can be replayed; see kernlens doctor")
    if settings.simulate is not None:
        return next((place for place, each in enumerate(devices) if is_of_simulator(each["platform"], SIMULATING)), 0)
    if settings.device is None:
        return next((place for place, each in enumerate(devices) if _is_recorded(each, recorded)), 0)
    platform, _, name = settings.device.partition(":")
    platforms = list(dict.fromkeys(each["platform"] for each in devices))
    alike = [
        place
        for place, each in enumerate(devices)
        if (
            int(platform) == platforms.index(each["platform"])
            if re.fullmatch("[0-9]{1,4}", platform)
            else platform.lower() in each["platform"].lower()
        )
    ]
    if re.fullmatch("[0-9]{1,4}", name) and int(name) < len(alike):
        return alike[int(name)]
    matching = [place for place in alike if name.lower() in devices[place]["name"].lower()]
    if not matching:
        raise NotFoundError(f"no OpenCL device is called {settings.device}; there are: {', '.join(names)}")
    return matching[0]


def _is_recorded(device: Mapping[str, str], build: Build) -> bool:
    """Return whether this is the device that a build was recorded on: by its name, or as a capture names the driver."""
    driver = build.toolchain.name if build.toolchain is not None else ""
    return device["name"] == build.device or driver == f"opencl driver {device['driver_version']}"


class _Replay:
    """One launch that is replayed."""

    def __init__(self, recorded: RecordedLaunch, settings: Settings, device: Mapping[str, str], position: int) -> None:
        self._recorded, self._settings, self._device, self._position = recorded, settings, device, position
        self._launch = recorded.launch

    def run(self, driver: IsolatedDriver, folder: Path) -> Replayed:
        """Run it, and return what came of it."""
        if self._settings.profile == NCU and self._device["platform"] != CUDA_PLATFORM:
            raise NotFoundError(
                f"Nsight Compute profiles NVIDIA's GPUs, and the launch runs on {self._device['name']}"
                f" ({self._device['platform']}): choose a GPU with --device NVIDIA:, or another profiler"
            )
        try:
            return self._run(driver, folder, is_binary=self._settings.binary)
        except OpenCLError as error:
            build = self._recorded.build
            if error.call == "clCreateProgramWithIL":
                raise UnsupportedError(
                    f"{self._device['name']} ({self._device['platform']}) takes no SPIR-V, and the recording has no"
                    f" source of {build.name}; Intel's GPU driver takes it ({error})"
                ) from error
            has_binary = build.binary and not self._settings.binary and _is_recorded(self._device, build)
            if error.code == BUILD_PROGRAM_FAILURE and not has_binary and includes_more(build):
                more = "the source includes files that the recording does not hold: on the machine that has them,"
                error.args = (
                    f"{error}; {more} and if you trust the recording, --unconfined lets the driver read them",
                )
                raise
            if error.code != BUILD_PROGRAM_FAILURE or not has_binary:
                raise
            answer = self._run(driver, folder, is_binary=True)
            note = f"the recorded binary ran, as the source does not build here: {error}"
            return replace(answer, notes=(*answer.notes, note))

    def _run(self, driver: IsolatedDriver, folder: Path, *, is_binary: bool) -> Replayed:
        settings = self._settings
        titles: Sequence[str] = ["recorded"]
        programs: Sequence[ProgramOfLaunch] = [] if settings.program is None else [settings.program(folder)]
        if settings.program is None:
            titles, programs = programs_of(self._recorded.build, settings.other, str(folder), is_binary=is_binary)
        is_other = settings.program is None and not is_binary
        if programs[0]["binary"] and is_other and not _is_recorded(self._device, self._recorded.build):
            raise UnsupportedError(
                f"the recording holds only the binary of {self._recorded.build.title}, for {self._recorded.build.device}, which"
                f" {self._device['name']} cannot run; capture --fresh-cache records what programs are built from"
            )
        is_empty = settings.simulate is not None or is_of_simulator(self._device["platform"], os.environ)
        job = {
            "position": self._position,
            "launch": self._described(folder),
            "programs": programs,
            "folder": str(folder),
            "runs": 0 if is_empty else settings.runs,
            "warm_ups": 1 if is_empty or not settings.runs else WARM_UPS,
        }
        answer = driver.request(OPENCL, "replay", input=self._recorded.title, **job)
        refuse_traps(driver)
        build = self._recorded.build
        recorded_on = "" if _is_recorded(self._device, build) else build.device or "an unknown device"
        names = memory_names(self._launch, answer["signature"], build.sources[0].text if build.sources else "")
        builds = [
            ReplayedBuild(
                title,
                program["options"],
                () if is_empty else tuple(self._compared(names, dict(results), str(folder))),
                None if is_empty else times_of(times),
                log,
            )
            for title, program, results, times, log in zip(
                titles, programs, answer["results"], answer["times"], answer["logs"], strict=True
            )
        ]
        for number, program in enumerate(programs):
            if recorded_on or number:  # The same build on the same device has no reason in the arithmetic.
                builds[number] = builds[number].with_accuracy(texts_of(program, build), self._launch.kernel)
        replayed = Replayed(
            *(self._launch.kernel, self._launch.number, self._launch.process, build.title, self._device["platform"]),
            *(self._device["name"], recorded_on, self._launch.global_size, self._launch.local_size),
            builds=tuple(builds),
            ratio=ratio_of(*answer["times"]) if len(builds) > 1 else None,
            not_compared=tuple(_not_compared(self._launch, names)),
            notes=(*self._launch.notes, *answer["notes"], *self._accepted(), *self._clocks(builds)),
            is_simulated=is_empty,
            is_cpu=answer["is_cpu"],
        )
        if settings.profile is None or not replayed.is_equal or is_empty:
            return replayed
        return replace(replayed, profile=self._profiled(settings.profile, driver, folder, job, names))

    def _profiled(
        self, command: str, driver: IsolatedDriver, folder: Path, job: dict[str, Any], names: Sequence[MemoryName]
    ) -> Profile:
        """Run the last build again under a profiler."""
        if command == NCU:
            path = self._settings.output or output_path(self._launch)

            def compared_files(results: Mapping[int, str]) -> tuple[Compared, ...]:
                return tuple(self._compared(names, results, str(folder)))

            return CudaReplay(self._recorded, self._device["name"], driver, folder, job, compared_files, path).profile()
        programs = job["programs"][-1:]
        answer, done = run_under(
            profiler_words(command), driver, folder, OPENCL, "replay", **job | {"programs": programs}
        )
        compared = self._compared(names, dict(answer["results"][0]), str(folder))
        return Profile(command, done.log, tuple(compared))

    def _accepted(self) -> list[str]:
        words = self._settings.tolerance.words
        return [f"equal are floating-point numbers that differ by at most {words} too"] if words else []

    def _clocks(self, builds: Sequence[ReplayedBuild]) -> list[str]:
        is_timed = any(build.times is not None for build in builds)
        words = clock_words(self._device["platform"], self._device["name"]) if is_timed else None
        return [] if words is None else [words]

    def _described(self, folder: Path) -> dict[str, Any]:
        """Return the launch as plain data; what its memory had before is in files of the folder."""
        launch, memory = self._launch, []
        for number, each in enumerate(launch.memory):
            path = None
            if each.before is not None and each.size:
                path = folder / f"before.{number}"
                path.write_bytes(each.before())
            stated = {name: getattr(each, name) for name in ("kind", "size", "flags", "address", "image")}
            is_compared = each.after is not None and not _is_view(launch, number)
            memory.append({**stated, "before": path and str(path), "is_compared": is_compared})
        names = ("kernel", "global_size", "local_size", "global_offset", "arguments", "indirect")
        return {**{name: getattr(launch, name) for name in names}, "memory": memory}

    def _compared(self, names: Sequence[MemoryName], results: Mapping[int, str], folder: str) -> Iterator[Compared]:
        for number, path in sorted(results.items()):
            after = self._launch.memory[number].after
            assert after is not None
            recorded = after()
            result = read_beside(os.path.join(folder, os.path.basename(path)), folder, len(recorded) + 1)
            if len(result) != len(recorded):
                raise ToolError(
                    f"the driver's process wrote {len(result)} bytes of {names[number].title}, not {len(recorded)}"
                )
            element: Element = names[number].element
            differing = difference(recorded, result, element, self._settings.tolerance)
            yield Compared(names[number].title, len(recorded) // element.size, element.name, differing)


def _is_view(launch: KeptLaunch, number: int) -> bool:
    """Return whether memory is an image that is made of other memory, whose content it has."""
    image = launch.memory[number].image
    return image is not None and image.buffer is not None


def _not_compared(launch: KeptLaunch, names: Sequence[MemoryName]) -> Iterator[str]:
    """Yield of each memory that is not compared why."""
    for number, each in enumerate(launch.memory):
        title = names[number].title
        if _is_view(launch, number):
            continue
        if each.after is None:
            why = each.why or ("a kernel cannot write it" if each.before is not None else "no contents were kept")
            yield f"{title} ({why})"
        elif each.before is None:
            yield f"what {title} had before was not kept: it began with zeros"
        if names[number].element.is_padded and each.kind != IMAGE:
            yield f"each fourth element of {title} (padding)"
