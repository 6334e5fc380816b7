"""``kernlens inspect``: the containers, kernels and symbols of a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kernlens.cli import option
from kernlens.cli.output import print_json, print_lines, print_pieces
from kernlens.cli.sources import Sources
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError, NotFoundError
from kernlens.loading.decoded_kernels import with_line_tables
from kernlens.verbs.absent import whole_of
from kernlens.verbs.programs import containers_for, for_device, with_kernels

if TYPE_CHECKING:
    from kernlens.cli.answers.overview import ProgramLines
    from kernlens.loading import Contents
    from kernlens.model.figure import Figure
    from kernlens.model.program import Program
    from kernlens.model.sycl_device import KernelChoice
    from kernlens.model.trips import Trips

#: Programs below which sharing the work costs more than it saves: the images of a SYCL library are thousands.
_MANY = 500


@dataclass(frozen=True)
class Asked:
    """The words of the command."""

    path: str = option.path()
    kernels: tuple[str, ...] = option.kernels("Show only programs with this kernel, and of their kernels only this one")
    sources: Sources = option.together(Sources)
    trips: Trips | None = option.trips()
    sort: str | None = option.sort("Sort programs and their kernels by this metric, largest first")
    has_logs: bool = option.flag(
        "Print the compilers' whole logs, by kernel and line, of a recording's builds.", "--log"
    )
    has_sections: bool = option.flag("Print the sections of each container too.", "--sections")
    full: None = option.full()
    as_json: bool = option.json()


@option.verb(Asked, "kernlens inspect blur.bin")
def command(asked: Asked) -> None:
    """Show what a file contains: nested containers, kernels, resources, symbols."""
    from kernlens.loading import Folder
    from kernlens.model.figures import figure_named

    order = figure_named(asked.sort) if asked.sort is not None else None
    contents, device = asked.sources.opened(asked.path, with_spirv=False), asked.sources.chosen
    if asked.trips is not None:
        from kernlens.verbs.weighed import weighed_contents

        contents = weighed_contents(contents, asked.trips)
    if asked.has_logs:
        _print_logs(contents, asked.kernels, device, as_json=asked.as_json)
    elif isinstance(contents, Folder):
        from kernlens.cli.folder_overview import folder_overview, json_form, lines_form

        failed = contents.failed_builds(device)
        form = (
            json_form(order, failed)
            if asked.as_json
            else lines_form(asked.path, order, failed, has_sections=asked.has_sections)
        )
        print_pieces(folder_overview(contents, asked.kernels, device, form))
    else:
        _print_file(contents, asked, device, order)
    contents.check()


def _print_file(contents: Contents, asked: Asked, device: str | None, order: Figure | None) -> None:
    from kernlens.report.failure_lines import failed_documents, failed_section, no_binary_lines

    failed = contents.failed_builds(device)
    choices = _sycl_choices(contents.programs, device, asked.kernels)
    whole = whole_of(contents)
    of_device = for_device(contents.programs, device, must_be=not choices and not failed, whole=whole)
    programs = with_kernels(of_device, asked.kernels, whole, device) if of_device or not choices else ()
    if order is not None:
        programs = _ranked(programs, order)
    containers = () if asked.kernels else containers_for(contents.containers, device)
    if asked.as_json:
        from kernlens.report.program_document import inspect_document

        known = map(partial(with_line_tables, keeps=order is not None), programs)
        document = inspect_document(
            containers, known, order, failed_documents([failed]), has_bounds=bool(asked.kernels)
        )
        if choices:
            from kernlens.report.sycl_words import choice_document

            document["sycl"] = list(map(choice_document, choices))
        print_json(document)
        return
    from kernlens.cli.answers.overview import overview

    summary: Iterable[str] = ()
    if choices and device is not None:
        from kernlens.report.sycl_words import choice_lines

        summary = choice_lines(choices, device)
    read = _lines(programs, order, has_bounds=bool(asked.kernels))
    lines = overview(asked.path, containers, read, summary, has_sections=asked.has_sections)
    print_lines(lines)
    print_lines(failed_section(failed))
    if not programs:
        print_lines(no_binary_lines(contents.recorded))


def _ranked(programs: Iterable[Program], order: Figure) -> list[Program]:
    """Return the programs, the one with the kernel that has most of a figure first; the unreadable ones are last."""

    def most(program: Program) -> int:
        try:
            values = [order.read(kernel) for kernel in with_line_tables(program, keeps=True).entry_kernels.values()]
        except KernlensError:
            return -2
        return max((-1 if value is None else value for value in values), default=-1)

    return sorted(programs, key=most, reverse=True)


def _print_logs(contents: Contents, kernel_names: Sequence[str], device: str | None, *, as_json: bool) -> None:
    """Print the logs of all builds, those that failed too. Raises NotFoundError if none has one."""
    from kernlens.report.program_document import toolchain_keys
    from kernlens.verbs.build_messages import log_document, log_lines

    programs = for_device(contents.programs, device, must_be=False)
    programs = with_kernels(programs, kernel_names, whole_of(contents), device)
    failed = [build for each in contents.files() for build in each.failed_builds(device).builds]
    builds = {id(build): build for build in [*(program.build for program in programs), *failed]}
    logged = [build for build in builds.values() if build.log]
    if not logged:
        raise NotFoundError(f"{contents.path} holds no compiler's log; kernlens compile and capture record them")
    if as_json:
        keys = [
            {
                "name": build.name,
                "source": build.source,
                "device": build.device,
                **toolchain_keys(build),
                "ok": build.ok,
            }
            for build in logged
        ]
        print_json({"schema": 1, "logs": [key | log_document(build) for key, build in zip(keys, logged, strict=True)]})
        return
    for number, build in enumerate(logged):
        print_lines([*([""] if number else []), *log_lines(build, kernel_names)])


def _sycl_choices(
    programs: Sequence[Program], device: str | None, kernel_names: Sequence[str]
) -> Sequence[KernelChoice]:
    """Return the SYCL runtime's choices for the kernels of a host file; none without a device."""
    if device is None or not isinstance(programs, tuple):  # A recording's programs are unpacked one by one.
        return ()
    from kernlens.verbs.sycl_choices import sycl_choices

    return sycl_choices(programs, device, kernel_names)


def _lines(programs: Sequence[Program], order: Figure | None, *, has_bounds: bool = False) -> Iterable[ProgramLines]:
    """Yield the lines of each program. Recordings unpack a program on request, so all stay with one process."""
    from kernlens.cli.answers.overview import program_lines

    def lines(program: Program, threads: int | None = None) -> ProgramLines:
        read = with_line_tables(program, keeps=order is not None or has_bounds, threads=threads)
        return program_lines(read, order, has_bounds=has_bounds)

    if not isinstance(programs, tuple | list) or len(programs) < _MANY:
        return map(lines, programs)
    from kernlens.cli.shares import in_shares

    # Names and tables cost as much as the reading of some thousand bytes.
    weights = [1024 + (len(program.spirv) + len(program.binary)) // 8 for program in programs]
    return in_shares(programs, weights, lambda share, threads: map(partial(lines, threads=threads), share))
