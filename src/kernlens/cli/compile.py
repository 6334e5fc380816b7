"""``kernlens compile``: sources for devices, side by side, saved as a recording."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernlens.analysis.cxx_names import kernel_title
from kernlens.cli import option
from kernlens.cli.build_logs import (
    MOST_MESSAGES,
    MOST_NOTES,
    errors_of,
    log_document,
    log_lines,
    message_lines,
    more_line,
    print_warnings,
    source_texts_of,
    targets,
)
from kernlens.cli.option_rules import Rule
from kernlens.cli.output import Progress, is_terminal, print_json, print_lines, print_message
from kernlens.errors import OutputError
from kernlens.loading.identify import kind_of
from kernlens.model.figures import FIGURES, figures_of, notes_on_unknown, own_figures, shown_figures
from kernlens.model.opencl_built_ins import misspelt_built_in, opencl_built_ins
from kernlens.report.launch_words import refusal_lines
from kernlens.report.style import style
from kernlens.report.table import table
from kernlens.report.width import Name
from kernlens.verbs.programs import BuildsError

if TYPE_CHECKING:
    from kernlens.model.build import Build
    from kernlens.model.kernel import Kernel
    from kernlens.report.table import Cell
    from kernlens.toolchain.compile_cache import CompileCache
    from kernlens.toolchain.diagnostics import ErrorLine
    from kernlens.verbs.compile_images import Compilable

    Builds = list[tuple[Build, list[Kernel]]]


#: The languages of sources that are compiled for other APIs, by how their names end.
_OTHER_LANGUAGES = {
    **dict.fromkeys((".comp", ".frag", ".glsl", ".vert"), "GLSL"),
    **dict.fromkeys((".fx", ".hlsl"), "HLSL"),
    **dict.fromkeys((".cu", ".cuh"), "CUDA"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hpp"), "C++ (of SYCL, open what it is compiled to)"),
    ".metal": "Metal",
    ".wgsl": "WGSL",
}
#: What clang says of a header that is nowhere.
_NO_HEADER = re.compile(r"'([^']+)' file not found")
#: What it says of a function that nothing declares, unless it proposes a name itself.
_UNKNOWN_NAME = re.compile(
    r"^(?:use of undeclared identifier|implicit declaration of function) '(\w+)'(?!.*did you mean)"
)
#: What IGC says of a kernel whose spilled values, private memory and stack are more than a thread may have.
_NO_SUCH_WIDTH = re.compile(r"Unsupported required sub group size|SIMD mode specified by intel_reqd_sub_group_size")
_TOO_MUCH_SCRATCH = re.compile(r"total scratch space exceeds HW supported limit")
#: An option that selects an OpenCL C with all built-in functions.
_NEW_OPENCL_C = re.compile(r"-cl-std=(?:CL[23]|CLC\+\+)", re.IGNORECASE)
_LOCKED_HEADER = re.compile(r"cannot open file '(.+)': Permission denied")


_RULES = (Rule("--library", excludes=("--kernel", "--spec-constant"), why="compiles whole sources"),)


@option.verb("kernlens compile blur.cl sharpen.cl --device skl,dg2,pvc -o blur.klens", rules=_RULES)
@option.paths("sources")
@option.devices("Target devices, separated by commas; all: every device of the toolchain.")
@option.kernel("Compile only SPIR-V modules with this kernel (in libraries and recordings)")
@option.specialize()
@option.options_with_lines()
@option.toolchain("Toolchains to use, separated by commas (kernlens toolchain list shows them).", several=True)
@option.file("Recording to write (default: FIRST-SOURCE.klens); with --library, the output folder.", "-o", "--output")
@option.parallel
@option.flag("Compile modules that export functions and variables, for kernlens link.", "--library")
@option.value("Do not save source text in the recording.", "--redact", type=option.Choice(["source"]))
@option.flag(
    "Print the compiler's whole logs, by kernel and line, and the seconds of each compile.", "--log", "has_logs"
)
@option.cache
@option.unconfined()
@option.full()
@option.json()
def command(
    sources: tuple[str, ...],
    devices: list[str],
    kernel_names: tuple[str, ...],
    specialize: tuple[str, ...],
    options: str,
    toolchains: list[str],
    output: str | None,
    jobs: int | None,
    timeout: float,
    library: bool,
    redact: str | None,
    has_logs: bool,
    cache: CompileCache | None,
    unconfined: bool,
    as_json: bool,
) -> None:
    """Compile OpenCL C or SPIR-V for one or more devices, print metrics per kernel and device, and save a recording.

    SOURCES may also be folders of sources (*.cl), and SYCL executables and libraries, recordings and device binaries:
    kernlens compiles the SPIR-V modules in them that contain a kernel selected with --kernel. It overwrites an
    existing recording of the output's name. With --library, it compiles each OpenCL C source to SOURCE.spv and, for
    each device, to SOURCE.DEVICE.bin. The binaries export every function and variable that is not
    static. What the SPIR-V exports depends on --build-options of kernlens link.
    """
    if library:
        _print_library(sources, devices, options, toolchains, output, timeout, as_json=as_json)
        return
    if not devices:
        raise click.UsageError("--device is missing; kernlens devices lists what can be compiled for")
    from kernlens.verbs.compile import build, compiled_kernels, plan

    recording = Path(output or Path(os.path.abspath(sources[0])).with_suffix(".klens").name)
    _check_kept(recording, sources)
    with _compilable(sources, kernel_names, specialize) as chosen:
        planned = plan(chosen.files, devices, toolchains, options=options, timeout=timeout, settings=chosen.settings)
        notes = [*chosen.recorded_notes(), *chosen.notes(planned.jobs)]
        notes += [
            f"the toolchain {toolchain} does not compile for {name}, which is left out there"
            for name, toolchain in planned.left_out
        ]
        print_message(*(f"kernlens: {note}" for note in notes))
        with Progress("compiling", quiet=as_json) as progress:
            compiling = build(
                [chosen.job(job, unconfined=unconfined) for job in planned.jobs],
                recording=recording,
                redact_source=redact == "source",
                workers=jobs,
                on_progress=lambda done, total, newest: progress.show(
                    done, total, f"{chosen.titled(newest).name} for {newest.device}"
                ),
                command_line=sys.argv,
                titled=chosen.titled,
                cache=cache,
            )
            with closing(compiling):  # The recording is finished when a signal comes between two builds too.
                numbered = {index: (compiled, compiled_kernels(compiled)) for index, compiled in compiling}
            builds = [numbered[index] for index in sorted(numbered)]
    failed = [compiled for compiled, _ in builds if not compiled.ok]
    if as_json:
        print_json(_document(recording, builds, has_logs=has_logs))
    else:
        _print(recording, builds, has_logs=has_logs)
    if not has_logs:
        print_warnings(compiled for compiled, _ in builds)
        print_failures(failed)
    _print_unrecorded([compiled for compiled, _ in builds])
    _print_kernelless([compiled for compiled, kernels in builds if compiled.ok and not kernels])
    if len(failed) == len(builds):
        state = f"{recording} stays as it was" if recording.exists() else "no recording was written"
        print_message(f"kernlens: nothing compiled, so {state}")
    sys.exit(3 if failed else 0)


def _print_library(
    sources: Sequence[str],
    devices: Sequence[str],
    options: str,
    toolchains: Sequence[str],
    output: str | None,
    timeout: float,
    *,
    as_json: bool,
) -> None:
    """Compile modules that export their functions, and print where they are."""
    from kernlens.verbs.compile_library import compile_modules

    modules = compile_modules(sources, devices, options, ",".join(toolchains), output, timeout)
    if as_json:
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
def _compilable(sources: Sequence[str], kernel_names: Sequence[str], specialize: Sequence[str]) -> Iterator[Compilable]:
    """Yield what ``compilable`` does. Raises UsageError for a choice that does not fit the files."""
    from kernlens.verbs.compile_images import ChoiceError, compilable

    try:
        with compilable(
            list(dict.fromkeys(sources)), kernel_names, dict(map(option.constant_of, specialize))
        ) as chosen:
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


@contextmanager
def told_failures() -> Iterator[None]:
    """End the command with status 3 if sources do not compile, once all has been printed that compilers said."""
    try:
        yield
    except BuildsError as error:
        print_failures(error.builds)
        sys.exit(error.exit_status)


def _print_unrecorded(builds: Sequence[Build]) -> None:
    """Say which included files are not in the recording, and why."""
    unread = {each.path: each.unread for build in builds for each in build.parts.sources if each.unread}
    for path, reason in unread.items():
        print_message(f"kernlens: {path} is included and not recorded: {reason}")


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
        print_message(f"kernlens: {source} compiles, but has no kernel: {advice}")


def print_failures(failed: Sequence[Build]) -> None:
    """Print what compilers said of sources that do not compile: once what they said of one source for several devices."""
    alike: dict[tuple[str, tuple[ErrorLine, ...]], list[Build]] = {}
    for build in failed:
        errors = tuple(message for message, _ in errors_of(build))
        # Failures without a place in the source, such as a compiler that died, are told one by one.
        is_placed = any(message.path or message.kernels for message in errors)
        alike.setdefault((build.path, errors) if is_placed else (str(id(build)), ()), []).append(build)
    for (_, errors), builds in alike.items():
        _print_failure(builds, errors_of(builds[0]) if errors else [])


def _print_failure(builds: Sequence[Build], errors: Sequence[tuple[ErrorLine, Sequence[ErrorLine]]]) -> None:
    """Print the first errors, each with its source line and a mark under the column; without any, the failure itself."""
    first = builds[0]
    if not errors:
        print_message(f"kernlens: {first.told_failure}")
        return
    print_message(f"kernlens: {first.source} does not compile for {targets(builds)}")
    texts = source_texts_of(first)
    for message, notes in errors[:MOST_MESSAGES]:
        for each in (message, *(notes if len(notes) <= MOST_NOTES else ())):
            print_message(*message_lines(each, texts))
    _print_remedies(builds, [message.message for message, _ in errors])
    print_message(*more_line(errors[MOST_MESSAGES:], "error"))
    language = _OTHER_LANGUAGES.get(Path(first.path).suffix.lower())
    if language is not None:
        print_message(
            f"{first.source} has the extension of {language}; kernlens compiles OpenCL C and SPIR-V for OpenCL"
        )


def _print_remedies(builds: Sequence[Build], messages: Sequence[str]) -> None:
    """Print what helps against errors that are known."""
    for header in dict.fromkeys(match[1] for message in messages if (match := _NO_HEADER.match(message))):
        print_message(f"kernlens: name the folder of {header}: --build-options '-I FOLDER'")
    for header in dict.fromkeys(match[1] for message in messages if (match := _LOCKED_HEADER.match(message))):
        print_message(f"kernlens: you may not read {header}: ls -l {header} shows who may")
    unknown = list(dict.fromkeys(match[1] for message in messages if (match := _UNKNOWN_NAME.search(message))))
    for name in unknown:
        if meant := misspelt_built_in(name):
            print_message(f"kernlens: {name} is no built-in function; {meant} is one")
    if absent := [name for name in unknown if name in opencl_built_ins()]:
        from kernlens.toolchain.device_compilers import fullest_language

        options = " ".join(build.options or "" for build in builds)
        languages = dict.fromkeys(fullest_language(build.device) for build in builds if build.device)
        untried = [
            f"--build-options -cl-std={each}"
            for each in languages
            if each not in options and not (each == "CL3.0" and _NEW_OPENCL_C.search(options))
        ]
        print_message(
            f"kernlens: the device or this version of OpenCL C lacks built-in functions: {', '.join(absent)}"
            + (f"; try {' or '.join(untried)}" if untried else "")
        )
    if any(_TOO_MUCH_SCRATCH.search(message) for message in messages):
        print_message(
            "kernlens: the limit is for a hardware thread, and what it needs grows with the SIMD width: require smaller"
            " sub-groups (intel_reqd_sub_group_size), or try --build-options -cl-intel-256-GRF-per-thread"
        )
    if any(_NO_SUCH_WIDTH.search(message) for message in messages):
        from kernlens.isa.intel.sycl_support import sycl_device_named

        devices = [known for build in builds if (known := sycl_device_named(build.device))]
        sizes = "; ".join(
            f"{known.name} has sub-groups of {', '.join(map(str, sorted(known.sub_group_sizes)))}" for known in devices
        )
        print_message(
            f"kernlens: one such kernel keeps the whole program from compiling{sizes and f'; {sizes}'}; compile it apart from"
            " the others (SYCL: -fsycl-device-code-split=per_kernel)"
        )
