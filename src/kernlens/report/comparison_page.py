"""A comparison as one HTML file: the table of figures, and each changed kernel with its lines, folded. It has no scripts, and
asks for nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kernlens.analysis.comparison.kernel_changes import KernelChange
from kernlens.analysis.comparison.pairs import Pairing
from kernlens.analysis.comparison.stage_partings import Parting
from kernlens.report.comparison import figure_rows, kernel_lines, summary
from kernlens.report.style import html_line, page_head

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5f6a7d; --paper: #fff; --rule: #dde1e8;
  --red: #b3261e; --green: #1a7f37; --yellow: #7a5d00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dde3ee; --soft: #8b96aa; --paper: #12161e; --rule: #2b3342;
    --red: #ff8a80; --green: #7ee2a0; --yellow: #e6c65c; }
}
body { margin: 0 auto; max-width: 110em; padding: 12px; font: 14px/1.45 system-ui, sans-serif;
  color: var(--ink); background: var(--paper); }
pre { font: 12.5px/1.5 ui-monospace, monospace; overflow-x: auto; margin: 4px 0 12px; }
table { border-collapse: collapse; margin: 12px 0; font-variant-numeric: tabular-nums; }
th, td { padding: 2px 12px 2px 0; text-align: left; border-bottom: 1px solid var(--rule); }
a { color: inherit; }
details { border-top: 1px solid var(--rule); padding: 4px 0; }
summary { cursor: pointer; }
.red { color: var(--red); }
.green { color: var(--green); }
.yellow { color: var(--yellow); }
.dim { color: var(--soft); }
.bold { font-weight: 600; }
"""


def comparison_page(
    old: str,
    new: str,
    pairing: Pairing,
    changes: Sequence[KernelChange],
    partings: Sequence[Parting | None],
    *,
    has_instructions: bool,
) -> Iterator[str]:
    """Yield the page in pieces; the arguments are those of the text."""
    yield page_head("kernlens diff", _STYLE)
    yield "<h1>kernlens diff</h1>\n"
    yield from comparison_body(old, new, pairing, changes, partings, has_instructions=has_instructions)
    yield "</html>\n"


def comparison_body(
    old: str,
    new: str,
    pairing: Pairing,
    changes: Sequence[KernelChange],
    partings: Sequence[Parting | None],
    *,
    has_instructions: bool,
) -> Iterator[str]:
    """Yield what the page says, in pieces, as notebooks show it too."""
    yield _block(summary(old, new, pairing, changes))
    if changes:
        headings, rows = figure_rows(changes)
        cells = "".join(f"<th>{html_line(heading)}</th>" for heading in headings)
        yield f"<table>\n<tr>{cells}</tr>\n"
        for number, (name, *others) in enumerate(rows):
            first = f'<a href="#kernel-{number}">{html_line(name)}</a>'
            yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in (first, *map(html_line, others)))}</tr>\n"
        yield "</table>\n"
    for number, (change, parting) in enumerate(zip(changes, partings, strict=True)):
        _, title, *lines = kernel_lines(change, parting=parting, has_instructions=has_instructions)
        is_open = " open" if number == 0 else ""
        yield f'<details id="kernel-{number}"{is_open}><summary>{html_line(title)}</summary>\n{_block(lines)}</details>\n'


def _block(lines: Iterable[str]) -> str:
    return f"<pre>{chr(10).join(map(html_line, lines))}</pre>\n"
