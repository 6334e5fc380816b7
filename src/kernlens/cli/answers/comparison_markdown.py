"""A comparison as Markdown, for a comment on a pull request: the worst kernels and what caused it, all else folded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kernlens.analysis.comparison.kernel_changes import KernelChange
from kernlens.analysis.comparison.stage_partings import Parting
from kernlens.report.describe import plural
from kernlens.report.diff.comparison import figure_rows, kernel_lines
from kernlens.report.diff.comparison_summary import Summary, closing_lines, first_lines, summary_lines
from kernlens.report.style import rendered

#: Characters of a comment, at most: GitHub takes 65,536, and GitLab more.
_LIMIT = 60_000
#: Kernels in the table, and other lines, above what is folded: with headings 15 lines.
_ROWS, _LINES = 4, 4
#: What may begin markup, a link or a mention.
_MARKUP = frozenset("<>&|`*_[]#@~\\:")


def comparison_markdown(what: Summary, partings: Sequence[Parting | None], most: int | None) -> Iterator[str]:
    """Yield the lines; ``most`` kernels are shown (None: all), and no more than fit into a comment. Names and sources can
    begin no markup: they stand as escaped HTML."""
    lines = list(_head(what, most))
    left = _LIMIT - sum(len(line) + 1 for line in lines)
    yield from lines
    changes = what.changes[:most]
    shown = len(changes)
    for number, (change, parting) in enumerate(zip(changes, partings, strict=False)):
        _, title, *own = kernel_lines(change, parting=parting)
        block = ["", f"<details><summary>{_text(title)}</summary>", "", *_block(own), "", "</details>"]
        left -= sum(len(line) + 1 for line in block)
        if left < 0:
            yield ""
            yield f"The lines of {plural(len(changes) - number, 'kernel')} are left out: a comment holds no more."
            break
        yield from block
    yield from map(_text, closing_lines(what, shown))


def _head(what: Summary, most: int | None) -> Iterator[str]:
    differing = len(what.changes)
    failed = sum(each.failed for each in what.sources.compiled) if what.sources else 0
    alone = len(what.pairing.only_old) + len(what.pairing.only_new)
    words = [f"{differing:,} of {plural(len(what.pairing.kernels), 'kernel')} differ{'s' if differing == 1 else ''}"]
    words += [f"{alone:,} on one side only"] if alone else []
    words += [f"{plural(failed, 'source')} not compiled"] if failed else []
    yield f"### kernlens: {', '.join(words)}"
    changes = [change for change in what.changes[:most] if change.figures]
    if changes:
        yield ""
        yield from _table(changes[:_ROWS])
    first = list(first_lines(what, _LINES))
    yield ""
    if first:
        yield from _block(first)
    yield "<details><summary>What was compared</summary>"
    yield ""
    yield from _block(summary_lines(what, most))
    if changes[_ROWS:]:
        yield ""
        yield from _table(changes)
    yield ""
    yield "</details>"


def _table(changes: Sequence[KernelChange]) -> Iterator[str]:
    headings, rows = figure_rows(changes)
    yield f"|{'|'.join(headings)}|"
    yield f"|{'-|' * len(headings)}"
    for name, program, *cells in rows:
        yield f"|{'|'.join(map(_cell, (name, program)))}|{'|'.join(cells)}|"


def _block(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines as they are: no text in them can end the block."""
    yield "<pre>"
    for line in lines:
        yield _text(line) or "&nbsp;"
    yield "</pre>"


def _cell(text: str) -> str:
    return f"<code>{_text(text)}</code>"


def _text(text: str) -> str:
    """Return a text that no renderer of Markdown takes for anything else."""
    return "".join(f"&#{ord(each)};" if each in _MARKUP else each for each in rendered(text))
