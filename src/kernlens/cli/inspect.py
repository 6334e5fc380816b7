"""``kernlens inspect``: the containers, kernels and symbols of a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kernlens.cli import option
from kernlens.cli.output import is_terminal, print_json, print_lines, print_pieces
from kernlens.verbs.absent import whole_of
from kernlens.verbs.programs import containers_for, for_device, with_kernels

if TYPE_CHECKING:
    from kernlens.model.figure import Figure
    from kernlens.model.program import Program
    from kernlens.report.overview import ProgramLines

#: Programs below which sharing the work costs more than it saves: the images of a SYCL library are thousands.
_MANY = 500


@option.verb("kernlens inspect blur.bin")
@option.path()
@option.kernel("Show only programs with this kernel, and of their kernels only this one")
@option.chosen_device()
@option.sort("Sort kernels by this metric, largest first")
@option.full()
@option.json()
def command(path: str, kernel_names: tuple[str, ...], device: str | None, sort: str | None, as_json: bool) -> None:
    """Show what a file contains: nested containers, kernels, resources, symbols."""
    from kernlens.loading import Folder, open_file
    from kernlens.model.figures import figure_named
    from kernlens.report.failure_lines import failed_documents, failed_section

    order = figure_named(sort) if sort is not None else None
    contents = open_file(path, device=device)
    if isinstance(contents, Folder):
        from kernlens.cli.folder_overview import folder_overview, json_form, lines_form

        failed = contents.failed_builds(device)
        form = json_form(order, failed, is_indented=is_terminal()) if as_json else lines_form(path, order, failed)
        print_pieces(folder_overview(contents, kernel_names, device, form))
        contents.check()
        return
    failed = contents.failed_builds(device)
    whole = whole_of(contents)
    programs = with_kernels(for_device(contents.programs, device, whole=whole), kernel_names, whole, device)
    containers = () if kernel_names else containers_for(contents.containers, device)
    if as_json:
        from kernlens.report.program_document import inspect_document

        print_json(inspect_document(containers, programs, order, failed_documents([failed])))
    else:
        from kernlens.report.overview import overview

        print_lines(overview(path, containers, _lines(programs, order)))
        print_lines(failed_section(failed))
    contents.check()


def _lines(programs: Sequence[Program], order: Figure | None) -> Iterable[ProgramLines]:
    """Yield the lines of each program. Recordings unpack a program on request, so all stay with one process."""
    from kernlens.report.overview import program_lines

    lines = partial(program_lines, order=order)
    if not isinstance(programs, tuple | list) or len(programs) < _MANY:
        return map(lines, programs)
    from kernlens.cli.shares import in_shares

    # Names and tables cost as much as the reading of some thousand bytes.
    weights = [1024 + (len(program.spirv) + len(program.binary)) // 8 for program in programs]
    return in_shares(programs, weights, lambda share, threads: map(lines, share))
