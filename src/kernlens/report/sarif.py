"""A check as SARIF 2.1.0, which code hosts show at the source lines: a rule for each bound, a result for each that is not
kept (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

from kernlens.analysis.cxx_names import kernel_title
from kernlens.model.source_path import end_alike
from kernlens.model.verdict import FAILED, UNKNOWN, Finding, Place, Verdict
from kernlens.report.style import rendered
from kernlens.report.verdict_text import cause_words, finding_words

SCHEMA_URI = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {FAILED: "error", UNKNOWN: "warning"}

Document = dict[str, Any]


def sarif_document(verdict: Verdict, version: str, locate: Callable[[str], str]) -> Document:
    """Return the log of one run. ``version`` is that of kernlens; ``locate`` returns the path of a source file, from
    the folder that was checked if it is in there, else from the root."""
    told = [finding for finding in verdict.findings if finding.state in _LEVELS]
    rules = {finding.rule: _rule(finding) for finding in told}
    for kind, _ in verdict.failed_kernels:
        rules[kind] = {"id": kind, "shortDescription": {"text": f"a kernel is {kind} against the baseline"}}
    order = list(rules)
    results = [_result(finding, order.index(finding.rule), locate) for finding in told]
    for kind, place in verdict.failed_kernels:
        message = f"{kernel_title(place[1].name)} is {kind} against the baseline {verdict.baseline}"
        results.append(
            {
                "ruleId": kind,
                "ruleIndex": order.index(kind),
                "level": "error",
                "message": {"text": rendered(message)},
                "locations": [_location(place, None, None, locate)],
            }
        )
    driver = {"name": "kernlens", "version": version, "semanticVersion": version, "rules": list(rules.values())}
    return {
        "$schema": SCHEMA_URI,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }


def _rule(finding: Finding) -> Document:
    figure = finding.figure
    return {
        "id": finding.rule,
        "shortDescription": {"text": f"{figure.heading}: a kernel's budget"},
        "fullDescription": {"text": f"{figure.heading} ({figure.unit}): {figure.meaning}"},
        "defaultConfiguration": {"level": "error"},
    }


def _result(finding: Finding, rule: int, locate: Callable[[str], str]) -> Document:
    cause = finding.cause
    name = kernel_title(finding.kernel.name)
    words = [f"{name} on {finding.program.device}: {finding_words(finding)}"]
    if cause is not None:
        words.append(f"the likely cause has {cause_words(cause)}")
    elif finding.reason:
        words.append(finding.reason)
    path, line = (cause.path, cause.line) if cause else (None, None)
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": _LEVELS[finding.state],
        "message": {"text": rendered("; ".join(words))},
        "locations": [_location((finding.program, finding.kernel), path, line, locate)],
        # One result of a line is told from another: a kernel may have several, on several devices.
        "partialFingerprints": {
            "kernlens/v1": rendered(f"{finding.kernel.name}/{finding.program.device}/{finding.rule}")
        },
    }


def _location(place: Place, path: str | None, line: int | None, locate: Callable[[str], str]) -> Document:
    program, kernel = place
    location: Document = {
        "logicalLocations": [
            {
                "name": rendered(kernel_title(kernel.name)),
                "fullyQualifiedName": rendered(f"{program.name}/{kernel.name}"),
                "kind": "function",
            }
        ]
    }
    named = program.build.path
    if path and len(path) < len(named) and end_alike(path, named):
        path = named  # The line table leaves out the folder in which the source lies.
    path = path or next(_sources(place), None)
    if path:
        physical: Document = {"artifactLocation": {"uri": _uri(locate(path))}}
        if line:
            physical["region"] = {"startLine": line}
        location["physicalLocation"] = physical
    return location


def _sources(place: Place) -> Iterator[str]:
    """Yield the files that a kernel without a line may be shown at."""
    program, _ = place
    if program.build.path:
        yield program.build.path
    yield from (source.path for source in program.sources)


def _uri(path: str) -> str:
    """Return a path as a URI reference: relative to the folder that was checked, or of the scheme ``file``."""
    encoded = quote(path.replace("\\", "/").encode("utf-8", "surrogateescape"))
    return f"file://{encoded}" if encoded.startswith("/") else encoded
