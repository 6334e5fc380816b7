"""The text of advice: each kernel with the lines that it is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from kernlens.analysis.kernel_notes import kernel_notes
from kernlens.analysis.lanes.kernel_accesses import kernel_accesses
from kernlens.analysis.line_texts import source_line
from kernlens.analysis.observed_code import observed_code, observed_texts
from kernlens.analysis.ranked_causes import MOST, RankedCause, ranked_causes
from kernlens.model.advice import PAGE, SPILL, Advice, AdvisedKernel, advice_coverage
from kernlens.model.build import SOURCE_SUFFIX
from kernlens.model.failed_builds import FailedBuilds
from kernlens.model.static_access import UNKNOWN
from kernlens.report.behaviour_words import COUNTED, cause_words
from kernlens.report.bound_words import about_kernel
from kernlens.report.describe import kernel_heading, kernel_words, plural
from kernlens.report.failure_lines import failed_lines
from kernlens.report.program_titles import variant_words
from kernlens.report.start_words import LEAST
from kernlens.report.style import cut, style

#: Of no more kernels each is described, those without advice too.
_FEW = 4
#: Characters that are shown of a source line.
_WIDEST = 100


def advice_lines(
    kernels: Sequence[AdvisedKernel], failed: Sequence[FailedBuilds] = (), *, is_tried: bool = False
) -> Iterator[str]:
    """Yield the advice, kernel by kernel, how many kernels most rules could not judge, what ``failed``, and a line that sums it
    up. ``is_tried``: other build options are compared behind it."""
    ranked = ranked_causes(kernels)
    variants = variant_words(each.program for each in kernels)
    yield from _start_lines(ranked, variants)
    of_kernel: dict[int, list[RankedCause]] = {}
    for entry in ranked:
        of_kernel.setdefault(id(entry.kernel), []).append(entry)
    for each in kernels:
        entries = of_kernel.get(id(each.kernel), [])
        is_judged = bool(each.kernel.code_size) and each.kernel.advice_reason is None
        if not entries and not (is_judged and (len(kernels) <= _FEW or any(kernel_notes(each)))):
            continue
        variant = variants.get(id(each.program))
        yield style(f"{kernel_heading(each.program, each.kernel)}{f' ({variant})' if variant else ''}", bold=True)
        texts = each.program.source_lines
        for entry in entries:
            yield from _cause_lines(entry) if entry.cause is not None else ()
            for piece in entry.advice:
                worth = entry.worth if piece is entry.advice[0] else ""
                yield from _lines_of(piece, source_line(texts, piece.path, piece.line) if piece.path else None, worth)
        if is_judged:
            yield from (style(f"  {words}", dim=True) for words in about_kernel(each))
        yield ""
    observed = sum(entry.cause is not None for entry in ranked)
    kernels_with_code = [each for each in kernels if each.kernel.code_size]
    for reason, count in Counter(each.kernel.advice_reason for each in kernels_with_code).items():
        if reason is not None:
            yield style(
                f"{plural(count, 'kernel')}: {reason}; kernlens annotate PATH --top 10 lists costly lines", fg="yellow"
            )
    lacking = Counter(each.reason for each in kernels_with_code if each.reason and each.kernel.advice_reason is None)
    for reason, count in lacking.items():
        yield style(f"most rules need lines and source text; in {plural(count, 'kernel')}: {reason}", fg="yellow")
    yield from _on_data(kernels)
    count = sum(len(each.advice) for each in kernels)
    judged = [each.kernel for each in kernels_with_code if each.kernel.advice_reason is None]
    if not count and judged:
        next_step = f" by the rules of {PAGE}; kernlens annotate PATH --top 10 lists the lines with most instructions"
        if any(kernel.waits_reason is None for kernel in judged):
            next_step += ", and with --sort wait those that wait, and for what"
    elif count and not is_tried and any(piece.rule == SPILL for each in kernels for piece in each.advice):
        next_step = "; --try compares other options and sub-group sizes"
    else:
        next_step = ""
    wasting = f"{plural(observed, 'cause')} of waste on data, " if observed else ""
    yield from failed_lines(failed)
    looked_at = advice_coverage(kernels, failed).words
    yield f"{looked_at}: {wasting}{plural(count, 'piece') + ' of' if count else 'no'} advice{next_step}"


def _on_data(kernels: Sequence[AdvisedKernel]) -> Iterator[str]:
    """Yield what is not known of kernels without data, and the command that finds out."""
    unobserved = [
        each for each in kernels if not each.kernel.behaviours and each.program.build.source.endswith(SOURCE_SUFFIX)
    ]
    if not unobserved:
        return
    source = unobserved[0].program.build.source
    answers = [kernel_accesses(each.program, each.kernel) for each in unobserved]
    known = [each.pattern != UNKNOWN for answer in answers for each in answer.accesses]
    is_whole = all(known) and not any(answer.reason for answer in answers)
    addresses = ", addresses" if not any(known) else "" if is_whole else ", some addresses"
    yield style(
        f"rounds{addresses} and bank conflicts depend on data:"
        f" kernlens observe {source} --kernel K --size N --group N --arg A ... counts them (kernlens observe --help)",
        dim=True,
    )


def _start_lines(ranked: Sequence[RankedCause], variants: Mapping[int, str]) -> Iterator[str]:
    """Yield the causes to start at, if several kernels have some."""
    if len({id(entry.kernel) for entry in ranked}) < LEAST:
        return
    names = {entry.program.name for entry in ranked}
    yield style("Start here", bold=True)
    for number, entry in enumerate(ranked[:MOST], 1):
        place = entry.place
        where = f", {place.path.rpartition('/')[2]}:{place.line}" if place is not None else ""
        which = [entry.program.name] if len(names) > 1 else []
        which += filter(None, [variants.get(id(entry.program))])
        program = f" ({' '.join(which)})" if which else ""
        yield f"  {number}. {kernel_words(entry.kernel)}{program}{where}: {entry.evidence}"
        yield f"     {entry.action}" + (style(f" ({entry.worth})", dim=True) if entry.worth else "")
    yield ""


def _cause_lines(entry: RankedCause) -> Iterator[str]:
    """Yield a cause of waste of a kernel that was observed."""
    code, cause = observed_code(entry.kernel), entry.cause
    assert cause is not None
    texts = observed_texts(entry.program, code) if code else {}
    if cause.place is not None:
        source = source_line(texts, cause.place.path, cause.place.line)
        text = f" | {style(cut(source, _WIDEST), bold=True)}" if source is not None else ""
        place = f"{cause.place.path.rpartition('/')[2]}:{cause.place.line}"
        yield f"  {style(place, fg='green')}{text}"
    yield f"    {cause_words(cause)}; {cause.action}"
    yield style(f"    {COUNTED}; {entry.worth}; docs/commands/observe.md#causes", dim=True)


def _lines_of(piece: Advice, source: str | None, worth: str) -> Iterator[str]:
    if piece.path is not None:
        text = f" | {style(cut(source, _WIDEST), bold=True)}" if source is not None else ""
        yield f"  {style(piece.place, fg='green')}{text}"
    yield f"    {piece.short}"
    # The rest may be of no line.
    sure = (
        "" if piece.certain in (None, piece.count) else f", {piece.certain:,} of {piece.count:,} certainly of this line"
    )
    sure += f", {piece.elsewhere:,} of other lines" if piece.elsewhere else ""
    yield style(f"    {'; '.join(filter(None, (f'{piece.origin}{sure}', worth, piece.link)))}", dim=True)
