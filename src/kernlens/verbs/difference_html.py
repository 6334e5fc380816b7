"""A comparison as HTML, for notebooks: the table of figures, and each changed kernel with its lines, folded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kernlens.analysis.comparison.stage_partings import Parting
from kernlens.model.notebook import MONOSPACED, preformatted
from kernlens.report.diff.comparison import figure_rows, kernel_lines
from kernlens.report.diff.comparison_summary import Summary, summary_lines
from kernlens.report.failure_lines import failed_lines
from kernlens.report.style import html_line


def comparison_body(what: Summary, partings: Sequence[Parting | None], *, most: int) -> Iterator[str]:
    """Yield the HTML in pieces, with ``most`` kernels; ``partings`` are where the compiles of each part, None where that was
    not asked for."""
    changes = what.changes[:most]
    yield _block(summary_lines(what, most))
    if changes:
        headings, rows = figure_rows(changes)
        cells = "".join(f"<th>{html_line(heading)}</th>" for heading in headings)
        yield f'<div style="{MONOSPACED}"><table>\n<tr>{cells}</tr>\n'
        for number, (name, *others) in enumerate(rows):
            first = f'<a href="#kernel-{number}">{html_line(name)}</a>'
            yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in (first, *map(html_line, others)))}</tr>\n"
        yield "</table></div>\n"
    for number, (change, parting) in enumerate(zip(changes, partings, strict=True)):
        _, title, *lines = kernel_lines(change, parting=parting, has_instructions=False)
        is_open = " open" if number == 0 else ""
        yield f'<details id="kernel-{number}"{is_open}><summary>{html_line(title)}</summary>\n{_block(lines)}</details>\n'
    if failed := list(failed_lines(what.failed)):
        yield _block(failed)


def _block(lines: Iterable[str]) -> str:
    return f"{preformatted(chr(10).join(map(html_line, lines)))}\n"
