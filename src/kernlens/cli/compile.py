"""``kernlens compile``: sources for devices, side by side, saved as a recording."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernlens.analysis.cxx_names import kernel_title
from kernlens.cli import option
from kernlens.cli.option_rules import Rule
from kernlens.cli.output import Progress, is_terminal, print_json, print_lines, print_message
from kernlens.cli.sources import tell
from kernlens.dataclass import dataclass
from kernlens.errors import OutputError
from kernlens.loading.identify import kind_of
from kernlens.model.figures import FIGURES, figures_of, notes_on_unknown, own_figures, shown_figures
from kernlens.report.launch_words import refusal_lines
from kernlens.report.style import style
from kernlens.report.table import table
from kernlens.report.width import Name
from kernlens.verbs.build_messages import log_document, log_lines, warning_lines
from kernlens.verbs.compile_failures import failure_lines

if TYPE_CHECKING:
    from kernlens.model.build import Build
    from kernlens.model.kernel import Kernel
    from kernlens.report.table import Cell
    from kernlens.verbs.compile_images import Compilable

    Builds = list[tuple[Build, list[Kernel]]]


_RULES = (Rule("--library", excludes=("--kernel", "--spec-constant"), why="compiles whole sources"),)


@dataclass(frozen=True)
class Asked:
    """The words of the command."""

    sources: tuple[str, ...] = option.paths()
    devices: list[str] = option.devices("Target devices, separated by commas; all: every device of the toolchain.")
    kernels: tuple[str, ...] = option.kernels(
        "Compile only SPIR-V modules with this kernel (in libraries and recordings)"
    )
    spec_constants: tuple[tuple[int, str], ...] = option.spec_constants()
    options: option.BuildOptions = option.together(option.BuildOptions)
    toolchains: list[str] = option.toolchains(
        "Toolchains to use, separated by commas (kernlens toolchain list shows them)."
    )
    output: str | None = option.file(
        "Recording to write (default: FIRST-SOURCE.klens); with --library, the output folder.", "-o", "--output"
    )
    parallel: option.Parallel = option.together(option.Parallel)
    library: bool = option.flag("Compile modules that export functions and variables, for kernlens link.", "--library")
    redact: str | None = option.value(
        "Do not save source text in the recording.", "--redact", type=option.Choice(["source"])
    )
    has_logs: bool = option.flag(
        "Print the compiler's whole logs, by kernel and line, and the seconds of each compile.", "--log"
    )
    cache: option.Cached = option.together(option.Cached)
    unconfined: bool = option.unconfined()
    full: None = option.full()
    as_json: bool = option.json()

    @property
    def recording(self) -> Path:
        """The recording to write."""
        return Path(self.output or Path(os.path.abspath(self.sources[0])).with_suffix(".klens").name)


@option.verb(Asked, "kernlens compile blur.cl sharpen.cl --device skl,dg2,pvc -o blur.klens", rules=_RULES)
def command(asked: Asked) -> None:
    """Compile OpenCL C or SPIR-V for one or more devices, print metrics per kernel and device, and save a recording.

    SOURCES may also be folders of sources (*.cl), and SYCL executables and libraries, recordings and device binaries:
    kernlens compiles the SPIR-V modules in them that contain a kernel selected with --kernel. It overwrites an
    existing recording of the output's name. With --library, it compiles each OpenCL C source to SOURCE.spv and, for
    each device, to SOURCE.DEVICE.bin. The binaries export every function and variable that is not
    static. What the SPIR-V exports depends on --build-options of kernlens link.
    """
    if asked.library:
        _print_library(asked)
        return
    recording, has_logs = asked.recording, asked.has_logs
    _check_kept(recording, asked.sources)
    builds = _built(asked)
    failed = [compiled for compiled, _ in builds if not compiled.ok]
    if asked.as_json:
        print_json(_document(recording, builds, has_logs=has_logs))
    else:
        _print(recording, builds, has_logs=has_logs)
    if not has_logs:
        print_message(*warning_lines(compiled for compiled, _ in builds), *failure_lines(failed))
    _print_unrecorded([compiled for compiled, _ in builds])
    _print_kernelless([compiled for compiled, kernels in builds if compiled.ok and not kernels])
    if len(failed) == len(builds):
        state = f"{recording} stays as it was" if recording.exists() else "no recording was written"
        tell(f"nothing compiled, so {state}")
    sys.exit(3 if failed else 0)


def _built(asked: Asked) -> Builds:
    """Compile all, and return the builds with their kernels, in the order of the sources."""
    from kernlens.verbs.compile import build, compiled_kernels, plan
    from kernlens.verbs.targets import target_of

    devices = asked.devices or [target_of(asked.sources[0], None, tell)]
    with _compilable(asked) as chosen:
        planned = plan(
            chosen.files, devices, asked.toolchains, options=asked.options.words, timeout=asked.parallel.timeout,
            settings=chosen.settings,
        )  # fmt: skip
        for note in (*chosen.recorded_notes(), *chosen.notes(planned.jobs)):
            tell(note)
        for name, toolchain in planned.left_out:
            tell(f"the toolchain {toolchain} does not compile for {name}, which is left out there")
        with Progress("compiling", quiet=asked.as_json) as progress:
            compiling = build(
                [chosen.job(job, unconfined=asked.unconfined) for job in planned.jobs],
                recording=asked.recording,
                redact_source=asked.redact == "source",
                workers=asked.parallel.jobs,
                on_progress=lambda done, total, newest: progress.show(
                    done, total, f"{chosen.titled(newest).name} for {newest.device}"
                ),
                command_line=sys.argv,
                titled=chosen.titled,
                cache=asked.cache.opened(),
            )
            with closing(compiling):  # The recording is finished when a signal comes between two builds too.
                numbered = {index: (compiled, compiled_kernels(compiled)) for index, compiled in compiling}
            return [numbered[index] for index in sorted(numbered)]


def _print_library(asked: Asked) -> None:
    """Compile modules that export their functions, and print where they are."""
    from kernlens.verbs.compile_library import compile_modules

    toolchains, timeout = ",".join(asked.toolchains), asked.parallel.timeout
    modules = compile_modules(asked.sources, asked.devices, asked.options.words, toolchains, asked.output, timeout)
    if asked.as_json:
        print_json({"schema": 1, "modules": [module._asdict() for module in modules]})
    else:
        print_lines(f"{module.source} -> {module.path}" for module in modules)


def _check_kept(recording: Path, sources: Sequence[str]) -> None:
    """Raise OutputError for a recording that is to be written over while it is compiled again: it may have more than that."""
    if not recording.is_file() or kind_of(str(recording))[0] != "recording":
        return
    if any(os.path.exists(each) and recording.samefile(each) for each in sources):
        raise OutputError(
            f"{recording} would be overwritten by what is compiled from it; name another recording with -o"
        )


@contextmanager
def _compilable(asked: Asked) -> Iterator[Compilable]:
    """Yield what ``compilable`` does. Raises UsageError for a choice that does not fit the files."""
    from kernlens.verbs.compile_images import ChoiceError, compilable

    try:
        with compilable(list(dict.fromkeys(asked.sources)), asked.kernels, dict(asked.spec_constants)) as chosen:
            yield chosen
    except ChoiceError as error:
        raise click.UsageError(str(error)) from error


def _print(recording: Path, builds: Builds, *, has_logs: bool) -> None:
    from kernlens.report.describe import plural

    # They differ from run to run, so what is compared and kept has none.
    has_seconds = has_logs or is_terminal()
    names = {compiled.toolchain.name for compiled, _ in builds if compiled.toolchain}
    rows = [
        # One toolchain needs no column of its own.
        (
            [
                Name(kernel_title(str(row["name"]))),
                row["device"],
                *([compiled.toolchain.name] if len(names) > 1 and compiled.toolchain else []),
            ],
            row | {"seconds": round(compiled.seconds, 2)},
        )
        for compiled, kernels in builds
        for row in _rows(compiled, kernels)
    ]
    if rows:
        rows.sort(key=lambda row: tuple(map(str, row[0])))
        titles = ["kernel", "device", *(["toolchain"] if len(names) > 1 else [])]
        figures = shown_figures((kernel for _, kernels in builds for kernel in kernels), FIGURES)
        cells = [
            [*labels, *(row.get(figure.key) for figure in figures), *([row["seconds"]] if has_seconds else [])]
            for labels, row in rows
        ]
        headings = [figure.heading for figure in figures]
        print_lines(table([*titles, *headings, *(["compile seconds"] if has_seconds else [])], cells))
        print_lines(style(f"  {note}", dim=True) for note in notes_on_unknown(row for _, row in rows))
        print_lines(style(f"  {line}", fg="yellow") for line in _refusals(builds))
    if has_logs:
        print_lines(line for compiled, _ in builds for line in ["", *log_lines(compiled)])
        print_lines([""])
    count = sum(len(kernels) for _, kernels in builds)
    programs = sum(compiled.ok for compiled, _ in builds)
    if programs == 0:
        return
    failed = f" and {plural(len(builds) - programs, 'failed build')}" if programs < len(builds) else ""
    print_lines([f"{plural(programs, 'program')}, {plural(count, 'kernel')}{failed} recorded in {recording}"])


def _refusals(builds: Builds) -> Iterator[str]:
    """Yield the kernels that compile and that the driver refuses."""
    is_of_several = len({compiled.toolchain.name for compiled, _ in builds if compiled.toolchain}) > 1
    for compiled, kernels in builds:
        by = f" by {compiled.toolchain.name}" if is_of_several and compiled.toolchain else ""
        for line in refusal_lines({kernel_title(kernel.name): kernel for kernel in kernels}):
            yield f"{compiled.name} for {compiled.device}{by}: {line}"


def _rows(compiled: Build, kernels: list[Kernel]) -> list[dict[str, Cell]]:
    """Return each kernel's name, device and figures, by their keys in JSON."""
    return [
        {"name": kernel.name, "device": compiled.device, **figures_of(kernel, (*FIGURES, *own_figures(kernel)))}
        for kernel in kernels
    ]


def _document(recording: Path, builds: Builds, *, has_logs: bool) -> dict[str, Any]:
    from kernlens.report.program_document import toolchain_keys

    return {
        "schema": 1,
        "recording": str(recording) if any(compiled.ok for compiled, _ in builds) else None,
        "programs": [
            {
                "name": compiled.name,
                "source": compiled.source,
                "device": compiled.device,
                **toolchain_keys(compiled),
                "ok": compiled.ok,
                "reason": compiled.reason,
                "seconds": round(compiled.seconds, 3),
                "kernels": _rows(compiled, kernels),
                **(log_document(compiled) if has_logs else {}),
            }
            for compiled, kernels in builds
        ],
    }


def _print_unrecorded(builds: Sequence[Build]) -> None:
    """Say which included files are not in the recording, and why."""
    unread = {each.path: each.unread for build in builds for each in build.parts.sources if each.unread}
    for path, reason in unread.items():
        tell(f"{path} is included and not recorded: {reason}")


def _print_kernelless(builds: Sequence[Build]) -> None:
    """Say of each source that was compiled and has no kernel what may be wrong with it."""
    for source in dict.fromkeys(build.source for build in builds):
        is_spirv = any(build.source == source and not build.sources for build in builds)
        advice = (
            f"the module has no entry point; kernlens symbols {source} lists what it exports"
            if is_spirv
            else "write 'kernel' before the functions that are kernels; --library makes modules of the others, for"
            " kernlens link"
        )
        tell(f"{source} compiles, but has no kernel: {advice}")
