"""``kernlens inspect``: the containers, kernels and symbols of a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kernlens.cli import option
from kernlens.cli.output import is_terminal, print_json, print_lines, print_pieces
from kernlens.errors import NotFoundError
from kernlens.loading.decoded_kernels import with_line_tables
from kernlens.verbs.absent import whole_of
from kernlens.verbs.programs import containers_for, for_device, with_kernels

if TYPE_CHECKING:
    from kernlens.cli.answers.overview import ProgramLines
    from kernlens.loading import Contents
    from kernlens.model.figure import Figure
    from kernlens.model.program import Program
    from kernlens.model.sycl_device import KernelChoice

#: Programs below which sharing the work costs more than it saves: the images of a SYCL library are thousands.
_MANY = 500


@option.verb("kernlens inspect blur.bin")
@option.path()
@option.kernel("Show only programs with this kernel, and of their kernels only this one")
@option.chosen_device()
@option.sort("Sort kernels by this metric, largest first")
@option.flag("Print the compilers' whole logs, by kernel and line, of a recording's builds.", "--log", "has_logs")
@option.flag("Print the sections of each container too.", "--sections", "has_sections")
@option.full()
@option.json()
def command(
    path: str,
    kernel_names: tuple[str, ...],
    device: str | None,
    sort: str | None,
    has_logs: bool,
    has_sections: bool,
    as_json: bool,
) -> None:
    """Show what a file contains: nested containers, kernels, resources, symbols."""
    from kernlens.loading import Folder, open_file
    from kernlens.model.figures import figure_named
    from kernlens.report.failure_lines import failed_documents, failed_section, no_binary_lines

    order = figure_named(sort) if sort is not None else None
    contents = open_file(path, device=device)
    if has_logs:
        _print_logs(contents, kernel_names, device, as_json=as_json)
        contents.check()
        return
    if isinstance(contents, Folder):
        from kernlens.cli.folder_overview import folder_overview, json_form, lines_form

        failed = contents.failed_builds(device)
        form = (
            json_form(order, failed, is_indented=is_terminal())
            if as_json
            else lines_form(path, order, failed, has_sections=has_sections)
        )
        print_pieces(folder_overview(contents, kernel_names, device, form))
        contents.check()
        return
    failed = contents.failed_builds(device)
    choices = _sycl_choices(contents.programs, device, kernel_names)
    whole = whole_of(contents)
    of_device = for_device(contents.programs, device, must_be=not choices and not failed, whole=whole)
    programs = with_kernels(of_device, kernel_names, whole, device) if of_device or not choices else ()
    containers = () if kernel_names else containers_for(contents.containers, device)
    if as_json:
        from kernlens.report.program_document import inspect_document

        known = map(partial(with_line_tables, keeps=order is not None), programs)
        document = inspect_document(containers, known, order, failed_documents([failed]))
        if choices:
            from kernlens.report.sycl_words import choice_document

            document["sycl"] = list(map(choice_document, choices))
        print_json(document)
    else:
        from kernlens.cli.answers.overview import overview

        summary: Iterable[str] = ()
        if choices and device is not None:
            from kernlens.report.sycl_words import choice_lines

            summary = choice_lines(choices, device)
        print_lines(overview(path, containers, _lines(programs, order), summary, has_sections=has_sections))
        print_lines(failed_section(failed))
        if not programs:
            print_lines(no_binary_lines(contents.recorded))
    contents.check()


def _print_logs(contents: Contents, kernel_names: Sequence[str], device: str | None, *, as_json: bool) -> None:
    """Print the logs of all builds, those that failed too. Raises NotFoundError if none has one."""
    from kernlens.cli.build_logs import log_document, log_lines
    from kernlens.report.program_document import toolchain_keys

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


def _lines(programs: Sequence[Program], order: Figure | None) -> Iterable[ProgramLines]:
    """Yield the lines of each program. Recordings unpack a program on request, so all stay with one process."""
    from kernlens.cli.answers.overview import program_lines

    def lines(program: Program, threads: int | None = None) -> ProgramLines:
        return program_lines(with_line_tables(program, keeps=order is not None, threads=threads), order)

    if not isinstance(programs, tuple | list) or len(programs) < _MANY:
        return map(lines, programs)
    from kernlens.cli.shares import in_shares

    # Names and tables cost as much as the reading of some thousand bytes.
    weights = [1024 + (len(program.spirv) + len(program.binary)) // 8 for program in programs]
    return in_shares(programs, weights, lambda share, threads: map(partial(lines, threads=threads), share))
