"""``kernlens annotate``: source lines with the instructions they became, and back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from kernlens.cli.options import (
    Selection,
    device_option,
    json_option,
    kernel_option,
    line_of,
    number_of,
    path_argument,
    select,
    source_root_option,
    verb,
)
from kernlens.errors import NoCodeError, NotFoundError, UnsupportedError
from kernlens.model.line_choice import LineChoice
from kernlens.model.source_map import SourcePlace

if TYPE_CHECKING:
    from kernlens.model.kernel import Kernel

FORMATS = ("text", "html", "json", "csv")


@verb("kernlens annotate blur.bin --kernel blur --line 42")
@path_argument()
@kernel_option()
@click.option("--line", metavar="[FILE:]N", help="Only the instructions of this source line.")
@click.option("--offset", metavar="N", help="Which source line is the instruction at this offset of the kernel?")
@click.option(
    "--format", "format_name", type=click.Choice(FORMATS), help="What to print; as the output is called, else text."
)
@click.option("-o", "--output", metavar="FILE", type=click.Path(), help="Write to this file instead.")
@click.option("--source", metavar="FILE", type=click.Path(), help="The source, where the line table does not name it.")
@source_root_option()
@device_option()
@json_option()
def command(
    path: str,
    kernel_names: tuple[str, ...],
    line: str | None,
    offset: str | None,
    format_name: str | None,
    output: str | None,
    source: str | None,
    source_roots: tuple[str, ...],
    device: str | None,
    as_json: bool,
) -> None:
    """Print each source line with its instruction count, its share, and the instructions it became."""
    from kernlens.loading import open_file
    from kernlens.loading.decoding import decode_kernels
    from kernlens.report.document import annotate_document

    format_name = "json" if as_json else format_name or _format_of(output)
    contents = open_file(path, device=device, source_roots=source_roots, source=source)
    selection = select(contents.machine_code(), kernel_names, device)
    decode_kernels(selection, texts=True)
    if offset is not None:
        _print_place(selection, number_of(offset, "--offset"))
        contents.check()
        return
    only = line_of(line) if line is not None else None
    if format_name == "json":
        _write_document(annotate_document(selection, only), output)
    else:
        _write_lines(_render(selection, format_name, only), output, cutting=format_name == "text")
    contents.check()
    if only is not None:
        _check_code([kernel for _, kernels in selection for kernel in kernels], only)


def _format_of(output: str | None) -> str:
    """The format that a file's ending stands for: ``x.html`` is a page."""
    ending = os.path.splitext(output or "")[1].lower().lstrip(".")
    return ending if ending in FORMATS else "text"


def _write_document(document: dict[str, Any], output: str | None) -> None:
    from kernlens.cli.output import print_compact_json, write_json

    if output is None:
        print_compact_json(document)
    else:
        write_json(output, document)


def _write_lines(lines: list[str], output: str | None, *, cutting: bool) -> None:
    from kernlens.cli.output import print_lines, write_text

    if output is None:
        print_lines(lines, cutting=cutting)
    else:
        write_text(output, lines)


def _check_code(kernels: list[Kernel], only: LineChoice) -> None:
    """Raise NoCodeError if no kernel has code of the line; UnsupportedError if none has a line table to know it from."""
    if any(_has_code(kernel, only) for kernel in kernels):
        return
    reasons = [kernel.line_table_reason for kernel in kernels]
    if kernels and None not in reasons:
        raise UnsupportedError(f"nothing says what came from {only}: {reasons[0]}")
    raise NoCodeError(f"no instruction came from {only}; kernlens annotate without --line shows those that have")


def _has_code(kernel: Kernel, only: LineChoice) -> bool:
    source_map = kernel.source_map
    return source_map is not None and any(only.holds(SourcePlace(path, line)) for path, line in source_map.lines)


def _render(selection: Selection, format_name: str, only: LineChoice | None) -> list[str]:
    if format_name == "text":
        from kernlens.report.listing import annotated

        return [row for program, kernels in selection for kernel in kernels for row in annotated(program, kernel, only)]
    if format_name == "csv":
        from kernlens.report.rows import csv_lines

        return list(csv_lines(selection, only))
    from kernlens.report.document import annotate_document
    from kernlens.report.page import html_page

    return html_page(annotate_document(selection, only)).split("\n")


def _print_place(selection: Selection, offset: int) -> None:
    """The line of each chosen kernel's instruction at ``offset``, with the calls that it was inlined through."""
    from kernlens.analysis.cxx_names import readable
    from kernlens.cli.output import print_lines
    from kernlens.report.listing import where_from

    is_covered = False
    for program, kernels in selection:
        for kernel in kernels:
            instruction = kernel.instructions.at(offset)
            if instruction is None:
                continue
            is_covered, index = True, instruction.index
            source_map = kernel.source_map
            words = where_from(kernel, index)
            calls = source_map.inlined_at(index) if source_map else ()
            inlined = "".join(f", inlined at {call.path}:{call.line}" for call in calls)
            where = f"{program.name}: {readable(kernel.name)}+{instruction.offset:#x}"
            print_lines([f"{where}: {instruction.text}", f"    {words}{inlined}"])
    if not is_covered:
        raise NotFoundError(
            f"no chosen kernel has an instruction at offset {offset:#x}; kernlens disasm lists the offsets"
        )
