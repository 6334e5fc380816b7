"""The findings of a check in whole sentences, for those who read them one by one at a source line."""

from __future__ import annotations

from collections.abc import Iterator

from kernlens.analysis.cxx_names import kernel_title
from kernlens.model.fault import merged_faults
from kernlens.model.figures import FAULTS
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.verdict import FAILED, Cause, Finding, Place
from kernlens.report.behaviour_words import fault_sentence
from kernlens.report.describe import plural
from kernlens.report.style import cut

#: Faults that are told one by one.
_NAMED = 20
#: Characters that are shown of build options.
_WIDEST = 200
_LIVE = "GRFs are live there"


def result_sentences(finding: Finding, baseline: str | None) -> str:
    """Return the outcome of a finding, and its likely cause. ``baseline`` is the path that was compared with."""
    return " ".join(_sentences(finding, baseline))


def _sentences(finding: Finding, baseline: str | None) -> Iterator[str]:
    figure, bound = finding.figure, finding.bound
    metric = f"The metric '{figure.heading}' of {_kernel((finding.program, finding.kernel))}"
    if finding.value is None or bound is None or (finding.hidden and bound.allows(finding.value)):
        yield f"{metric} cannot be checked: {finding.hidden or figure.unknown or 'the binary does not state it'}."
        return
    yield f"{metric} is {finding.value:,}."
    if finding.before is not None:
        by = f", compiled by {finding.baseline_toolchain}," if finding.baseline_toolchain else ""
        yield f"In the baseline {baseline}{by} it is {finding.before:,}."
    origin = f"tolerance {finding.tolerance}" if finding.tolerance else bound.origin
    yield f"The {'minimum' if bound.is_least else 'maximum'} is {bound.value:,}{f' ({origin})' if origin else ''}."
    if finding.cause is not None:
        yield f"The likely cause is {_line(finding.cause)}."
    elif finding.reason:
        yield f"{finding.reason[0].upper()}{finding.reason[1:]}."
    yield from (f"Fault: {each}." for each in fault_sentences(finding))


def fault_sentences(finding: Finding) -> Iterator[str]:
    """Yield a sentence on each fault that fails a finding, or that there are more."""
    if finding.figure.key != FAULTS or finding.state != FAILED:
        return
    faults = merged_faults(fault for each in finding.kernel.behaviours for fault in each.faults)
    yield from map(fault_sentence, faults[:_NAMED])
    if len(faults) > _NAMED:
        yield f"and {plural(len(faults) - _NAMED, 'more fault')}"


def side_sentence(kind: str, place: Place, baseline: str | None) -> str:
    """Return the sentence on a kernel of one side; ``kind`` is ``new`` or ``missing``."""
    words = _kernel(place)
    where = "lacks it" if kind == "new" else "has it"
    return f"{words[0].upper()}{words[1:]} is {kind}: the baseline {baseline} {where}."


def _kernel(place: Place) -> str:
    program, kernel = place
    name = "the code of functions" if kernel.name == PSEUDO_KERNEL else f"kernel '{kernel_title(kernel.name)}'"
    toolchain, options = program.build.toolchain, program.build.stated_options
    variant = f" with {cut(options, _WIDEST)}" if options else ""
    by = f", compiled by {toolchain.name}{variant}," if toolchain else ""
    return f"{name} on {program.device or 'an unknown device'}{by}"


def _line(cause: Cause) -> str:
    return f"{_what(cause)}{doubt(cause)}"


def doubt(cause: Cause) -> str:
    """Return how much of a cause is certainly its line's, in brackets behind a space; empty if all is."""
    if cause.certain is None or cause.certain >= cause.count:
        return ""
    return f" ({cause.certain:,} for certain)" if cause.certain else " (perhaps of no line)"


def _what(cause: Cause) -> str:
    line = "this edited line" if cause.is_edited else "this line"
    if cause.counted == _LIVE:
        return f"{line}, where {cause.count:,} of {cause.total:,} GRFs are live"
    if cause.before is None:
        return f"{line}, which has {cause.count:,} of {cause.total:,} {cause.counted}"
    if cause.before == cause.count:
        return line
    return f"{line}, whose {cause.counted} went from {cause.before:,} to {cause.count:,}"
