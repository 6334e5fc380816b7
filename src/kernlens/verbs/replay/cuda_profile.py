"""A kept launch of OpenCL under Nsight Compute, which sees no OpenCL: its machine code, or a copy made of its PTX, runs through
CUDA, once by itself, and if that leaves what the application's launch left, once more under the profiler."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernlens.dataclass import dataclass, replace
from kernlens.errors import FormatError, OutputError, ToolError, UnsupportedError
from kernlens.formats.ptx.cuda_form import CudaForm, LaunchValues, cuda_form, required_local_size
from kernlens.formats.ptx.ptx_text import PtxModule, is_ptx, read_ptx
from kernlens.formats.samples.nsight_compute import read_source_page
from kernlens.model.build import HeldParts
from kernlens.model.kept_launch import LOCAL, VALUE, KeptLaunch
from kernlens.model.stage import BINARY, TEXT
from kernlens.model.stages import NVIDIA, held
from kernlens.recording.writer import RecordingWriter
from kernlens.runtime.driver_environment import DriverEnvironment
from kernlens.runtime.isolation import CUDA, OPENCL, IsolatedDriver
from kernlens.runtime.temporary import TemporaryFolder
from kernlens.toolchain.confinement import confined_driver
from kernlens.toolchain.ncu_report import NCU, REPORT, ncu_words, source_page
from kernlens.verbs.replay.kept import RecordedLaunch
from kernlens.verbs.replay.own_code import OWN, copy_words, has_lines, own_code
from kernlens.verbs.replay.profiling import refuse_traps, run_under
from kernlens.verbs.replay.replayed import Compared, Profile

_LINES, _LOCATION = "-nv-line-info", ".loc"
_OWN_CODE = "OpenCL's own code of the program"
#: What the driver calls a source that is no file.
_OWN_SOURCE = "<kernel>"
#: Bytes of a parameter that is no value.
_POINTER = 8
#: Work-items of a group where the driver chose.
_MOST_CHOSEN = 256


@dataclass(frozen=True, slots=True)
class CudaReplay:
    """A launch on NVIDIA's platform that was compared: ``driver`` and ``folder`` are those of that run, ``job`` what was asked
    of the driver, ``compared`` compares files of results, ``output`` is the path of what is written, without endings."""

    recorded: RecordedLaunch
    device: str
    driver: IsolatedDriver
    folder: Path
    job: Mapping[str, Any]
    compared: Callable[[Mapping[int, str]], tuple[Compared, ...]]
    output: str

    def profile(self) -> Profile:
        """Run the last build of the job through CUDA, and then under the profiler: OpenCL's own machine code if that leaves
        the same there, else the copy. Raises UnsupportedError if CUDA cannot run it, ToolError if it or the profiler fails."""
        launch = self.recorded.launch
        module = self._ptx()
        values, notes = values_of(launch, module)
        if _LOCATION not in module.text:
            notes = (*notes, "the binary has no lines: capture with --lines")
        form = form_of(launch, module, values)
        copy = self._cuda_job(values, form)
        own = own_code(self.recorded.build) if len(self.job["programs"]) == 1 else None
        jobs = [copy]
        if own is not None and not form.is_needed and has_lines(own) >= (_LOCATION in module.text):
            jobs.insert(0, copy | {"program": bytes(own.elf.data)})
        environment = DriverEnvironment("the GPU", folder=self.folder)
        with IsolatedDriver(confined_driver(environment, of_cuda=True), time_limit=self.driver.time_limit) as driver:
            self.driver.close()
            job, compared, problem = self._through_cuda(driver, jobs)
            if not compared:
                raise UnsupportedError("nothing of the launch can be compared, so that it is not profiled")
            if any(each.difference for each in compared):
                return Profile(NCU, "", compared, (*notes, "through CUDA the results differ: it was not profiled"))
            with TemporaryFolder("kernlens-", None) as sources:
                self._write_sources(Path(sources))
                answer, done = run_under(ncu_words(self.output, sources), driver, self.folder, CUDA, "launch", **job)
            compared = self.compared(dict(answer["results"]))
        output = "".join(
            f"{line}\n" for line in done.log.splitlines() if line.strip() and not line.startswith("==PROF==")
        )
        if not Path(f"{self.output}{REPORT}").exists():
            raise ToolError(f"{NCU} profiled nothing: {output.strip()}", command=NCU, log=done.log)
        content, code = source_page(f"{self.output}{REPORT}"), answer["code"]
        told = copy_words(launch.kernel, own, code) if job is copy else OWN
        notes = (*notes, told, *problem, *_without_samples(content))
        return Profile(NCU, output, compared, notes, self._written(job["program"], module, code, content))

    def _through_cuda(
        self, driver: IsolatedDriver, jobs: Sequence[Mapping[str, Any]]
    ) -> tuple[Mapping[str, Any], tuple[Compared, ...], list[str]]:
        """Return the first job that leaves through CUDA what it should, or else the last, what was compared, and sentences on
        the job before."""
        problems = []
        for job in jobs:
            is_last = job is jobs[-1]
            try:
                answer = driver.request(CUDA, "launch", input=self.recorded.title, **job)
            except ToolError as error:  # OpenCL's driver may set up more than CUDA's for its code.
                if is_last:
                    raise
                problems.append(f"{_OWN_CODE} does not run through CUDA: {error}")
                driver.close()
                continue
            finally:
                refuse_traps(driver)
            compared = self.compared(dict(answer["results"]))
            if is_last or (compared and not any(each.difference for each in compared)):
                break
            problems.append(f"{_OWN_CODE} leaves other results through CUDA")
        return job, compared, problems

    def _write_sources(self, folder: Path) -> None:
        """Write the sources under the names that the driver gives them, for the profiler's own pages. The launch cannot write
        there."""
        for number, source in enumerate(self.recorded.build.sources):
            name = source.path.rpartition("/")[2] if number else _OWN_SOURCE
            if name not in ("", ".", ".."):
                (folder / name).write_text(source.text, "utf-8", errors="replace")

    def _ptx(self) -> PtxModule:
        """Return the PTX of the program, with lines where it is built."""
        program, position = self.job["programs"][-1], self.job["position"]
        binary = program["binary"]
        if not binary:
            program = {**program, "options": f"{program['options']} {_LINES}".strip()}
            binary = self.driver.request(
                OPENCL, "program_binary", input=self.recorded.title, position=position, program=program
            )
            refuse_traps(self.driver)
        if not is_ptx(binary):
            raise UnsupportedError(f"the program of {self.recorded.title} is no PTX, which a launch through CUDA needs")
        return read_ptx(memoryview(binary))

    def _cuda_job(self, values: LaunchValues, form: CudaForm) -> dict[str, Any]:
        groups = [size // local for size, local in zip(values.global_size, values.local_size, strict=True)]
        sizes = [number for part in (groups, values.local_size) for number in (*part, *[1] * (3 - len(part)))]
        launch = self.job["launch"]
        return {
            **{
                "device": self.device,
                "program": form.text.encode(),
                "kernel": launch["kernel"],
                "sizes": sizes,
                "shared": form.shared,
            },
            **{"arguments": launch["arguments"], "parameters": form.parameters, "memory": launch["memory"]},
            **{"constants": list(form.constants.items()), "folder": str(self.folder)},
        }

    def _written(self, program: bytes, module: PtxModule, code: bytes, content: bytes) -> tuple[str, ...]:
        """Write the source page, and a recording with the code that it is of."""
        report, page, recording = (f"{self.output}{ending}" for ending in (REPORT, ".csv", ".klens"))
        build, ptx = self.recorded.build, module.text.encode() if program == code else program
        snapshots = (held(NVIDIA.stage("ptx"), ptx, TEXT), held(NVIDIA.stage("sass"), code, BINARY))
        parts = HeldParts(sources=build.sources, binary=ptx, snapshots=snapshots)
        try:
            Path(page).write_bytes(content)
        except OSError as error:
            raise OutputError(f"cannot write {page}: {error.strerror or error}") from error
        with RecordingWriter(recording, overwrite=True, is_whole=True) as writer:
            writer.add(replace(build, parts=parts, inputs=(), constants={}, kernels=()))
        return report, page, recording


def _without_samples(page: bytes) -> list[str]:
    """Return the sentence on a source page of which no samples can be shown."""
    try:
        if read_source_page(page).total:
            return []
    except FormatError as error:
        return [f"the source page cannot be read ({error}): look at the report with ncu"]
    return ["the launch was too short for a sample: the page has its other counts"]


def output_path(launch: KeptLaunch) -> str:
    """Return the path of what is written of a launch, without endings, where the user names none."""
    return f"{re.sub(r'[^A-Za-z0-9_]', '_', launch.kernel)[:100]}-{launch.number}"


def values_of(launch: KeptLaunch, module: PtxModule) -> tuple[LaunchValues, tuple[str, ...]]:
    """Return the values of a launch, and a sentence on a local size that had to be chosen. Raises
    UnsupportedError for sizes that CUDA cannot launch."""
    notes: tuple[str, ...] = ()
    local = launch.local_size
    if local is None and all(launch.global_size):
        required = required_local_size(module, launch.kernel)
        local = _chosen(launch.global_size) if required is None else required[: len(launch.global_size)]
        words = "x".join(map(str, local))
        notes = (f"the driver chose the local size and does not tell which: through CUDA it is {words}",)
    if local is None or any(each < 1 or size % each for size, each in zip(launch.global_size, local, strict=True)):
        raise UnsupportedError("the global size is no multiple of the local size, which CUDA cannot launch")
    buffers = {
        number: argument.size or launch.memory[argument.memory].size - argument.offset
        for number, argument in enumerate(launch.arguments)
        if argument.memory is not None
    }
    locals_ = {number: argument.size for number, argument in enumerate(launch.arguments) if argument.kind == LOCAL}
    offset = launch.global_offset or (0,) * len(launch.global_size)
    return LaunchValues(launch.global_size, local, offset, locals_, buffers), notes


def _chosen(global_size: tuple[int, ...]) -> tuple[int, ...]:
    """Return a local size that divides a global size: as wide as it can be in the first dimension."""
    left, local = _MOST_CHOSEN, []
    for size in global_size:
        width = next(width for width in range(min(left, size), 0, -1) if size % width == 0)
        local.append(width)
        left //= width
    return tuple(local)


def form_of(launch: KeptLaunch, module: PtxModule, values: LaunchValues) -> CudaForm:
    """Return the form for CUDA of a launch's kernel. Raises UnsupportedError if CUDA cannot run it."""
    try:
        form = cuda_form(module, launch.kernel, values)
    except UnsupportedError as error:
        raise UnsupportedError(f"{launch.kernel} cannot be launched through CUDA: {error}") from error
    if form.parameters != tuple(len(each.content) if each.kind == VALUE else _POINTER for each in launch.arguments):
        raise UnsupportedError(f"the arguments of the launch are not those of {launch.kernel} in the PTX")
    return form
