"""A check as SARIF 2.1.0, which code hosts show at the source lines: a rule for each bound, a result for each that is not
kept (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html).

A result is the same in two runs if its fingerprint is: source, device, toolchain, kernel and rule, but no line, which moves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from kernlens.analysis.cxx_names import kernel_title
from kernlens.dataclass import dataclass
from kernlens.model.build import Build
from kernlens.model.failed_builds import failure_words
from kernlens.model.program import Program
from kernlens.model.source_path import end_alike
from kernlens.model.verdict import FAILED, UNKNOWN, Finding, Place, Verdict
from kernlens.report.check.verdict_sentences import result_sentences, side_sentence
from kernlens.report.failure_lines import error_place
from kernlens.report.program_titles import stable_titles
from kernlens.report.style import rendered

SCHEMA_URI = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#: The rule of builds without a binary, of which nothing can be checked.
_FAILED_BUILD = "failed-build"
_LEVELS = {FAILED: "error", UNKNOWN: "warning"}

Document = dict[str, Any]


def sarif_document(
    verdict: Verdict, version: str, locate: Callable[[str], str], files: Mapping[int, str] | None = None
) -> Document:
    """Return the log of one run. ``version`` is that of kernlens; ``locate`` returns the path of a source file, from
    the folder that was checked if it is in there, else from the root. ``files`` are the files that programs were read from, by
    the programs' ids: what has no source is shown at these."""
    checked = [finding.program for finding in verdict.findings] + [program for program, _ in verdict.new]
    missing = [program for program, _ in verdict.missing]
    files = dict.fromkeys(map(id, missing), verdict.baseline or "") | dict(files or {})
    paths = {program.build.path for program in checked} | {
        build.path for group in verdict.failed for build in group.builds
    }
    writer = _Results(stable_titles(checked, locate) | stable_titles(missing, locate), locate, files, paths - {""})
    told = [finding for finding in verdict.findings if finding.state in _LEVELS]
    rules = {finding.rule: _rule(finding) for finding in told} | {
        kind: {"id": kind, "shortDescription": {"text": f"A kernel is {kind}, compared with the baseline."}}
        for kind, _ in verdict.failed_kernels
    }
    order = list(rules)
    results = [
        writer.of(
            (finding.program, finding.kernel),
            finding.rule,
            _LEVELS[finding.state],
            result_sentences(finding, verdict.baseline),
            (finding.cause.path, finding.cause.line) if finding.cause else None,
        )
        for finding in told
    ]
    results += [
        writer.of(place, kind, "error", side_sentence(kind, place, verdict.baseline))
        for kind, place in verdict.failed_kernels
    ]
    failed = [build for group in verdict.failed for build in group.builds]
    if failed:
        rules[_FAILED_BUILD] = {"id": _FAILED_BUILD, "shortDescription": {"text": "A build failed."}}
        order.append(_FAILED_BUILD)
    level = "warning" if verdict.allows_failed else "error"
    results += [_failed_build(build, level, locate, group.path) for group in verdict.failed for build in group.builds]
    for result in results:
        result["ruleIndex"] = order.index(result["ruleId"])
    driver = {"name": "kernlens", "version": version, "semanticVersion": version, "rules": list(rules.values())}
    return {
        "$schema": SCHEMA_URI,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }


def _failed_build(build: Build, level: str, locate: Callable[[str], str], recording: str) -> Document:
    """Return the result of a build that failed, at the first error, or else at its source or recording."""
    path, line = error_place(build) or (recording, 1)
    toolchain = build.toolchain.name if build.toolchain else ""
    options = f" with {build.stated_options}" if build.stated_options else ""
    identity = "/".join(filter(None, (build.title, build.device, toolchain, build.stated_options, _FAILED_BUILD)))
    location: Document = {"logicalLocations": [{"name": rendered(build.name), "kind": "module"}]}
    if path:
        location["physicalLocation"] = {
            "artifactLocation": {"uri": _uri(locate(path))},
            "region": {"startLine": max(line, 1)},
        }
    return {
        "ruleId": _FAILED_BUILD,
        "level": level,
        "message": {"text": rendered(f"The build{options} failed: {failure_words(build)}.")},
        "locations": [location],
        "partialFingerprints": _fingerprints(identity),
    }


def _fingerprints(identity: str) -> Document:
    return {
        "kernlens/v2": rendered(identity),
        # By this name GitHub knows an alert; what its own action computes from a line is one for all devices.
        "primaryLocationLineHash": f"{sha256(identity.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}:1",
    }


def _rule(finding: Finding) -> Document:
    figure = finding.figure
    most = "Minimum" if finding.bound and finding.bound.is_least else "Maximum"
    short = (
        f"{figure.heading} of a kernel, compared with the baseline"
        if finding.tolerance
        else (f"{most} {figure.heading} of a kernel")
    )
    meaning = figure.meaning.replace("`", "")
    return {
        "id": finding.rule,
        "shortDescription": {"text": f"{short[0].upper()}{short[1:]}."},
        "fullDescription": {
            "text": f"{figure.heading[0].upper()}{figure.heading[1:]}: {meaning} (unit: {figure.unit})."
        },
        "help": {"text": "Run kernlens annotate with the same options to see the instructions of each source line."},
        "defaultConfiguration": {"level": "error"},
    }


@dataclass(frozen=True)
class _Results:
    """The writer of results: the titles of programs by their ids, how sources are located, the programs' files, and the paths
    of what was compiled for this check."""

    titles: Mapping[int, str]
    locate: Callable[[str], str]
    files: Mapping[int, str]
    paths: Collection[str]

    def of(self, place: Place, rule: str, level: str, message: str, line: tuple[str, int] | None = None) -> Document:
        """Return a result at a source line, or where there is none at the source or the binary."""
        program, kernel = place
        identity = "/".join((self.titles[id(program)], kernel.name, rule))
        return {
            "ruleId": rule,
            "level": level,
            "message": {"text": rendered(message)},
            "locations": [self._location(place, *(line or (None, None)))],
            "partialFingerprints": _fingerprints(identity),
        }

    def _location(self, place: Place, path: str | None, line: int | None) -> Document:
        program, kernel = place
        location: Document = {
            "logicalLocations": [
                {
                    "name": rendered(kernel_title(kernel.name)),
                    "fullyQualifiedName": rendered(f"{self.titles[id(program)]}/{kernel.name}"),
                    "kind": "function",
                }
            ]
        }
        path = path or next(_sources(program), None) or self.files.get(id(program))
        # Line tables, and the recording of a baseline, leave out the folder in which the source lies.
        whole = [own for own in self.paths if path and len(path) < len(own) and end_alike(path, own)]
        path = whole[0] if len(whole) == 1 else path
        if path:
            # A code host takes no file without a line.
            location["physicalLocation"] = {
                "artifactLocation": {"uri": _uri(self.locate(path))},
                "region": {"startLine": line or 1},
            }
        return location


def _sources(program: Program) -> Iterator[str]:
    """Yield the files that a kernel without a line may be shown at."""
    if program.build.path:
        yield program.build.path
    yield from (source.path for source in program.sources)


def _uri(path: str) -> str:
    """Return a path as a URI reference: relative to the folder that was checked, or of the scheme ``file``."""
    encoded = quote(path.replace("\\", "/").encode("utf-8", "surrogateescape"))
    return f"file://{encoded}" if encoded.startswith("/") else encoded
