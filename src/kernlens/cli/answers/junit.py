"""A check as JUnit XML, which CI systems show as tests: a suite for each program, a case for each bound of each kernel.

CI systems follow a case through its runs by its class and its name, which no two cases share: source, device and toolchain,
and kernel and bound.

The elements are those that Jenkins, GitLab and GitHub's reporters read: ``testsuites``, ``testsuite``, ``testcase`` with
``failure``, ``error`` or ``skipped`` (https://github.com/jenkinsci/xunit-plugin, junit-10.xsd).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from kernlens.cli.answers.replay_text import difference_words
from kernlens.model.build import Build
from kernlens.model.failed_builds import failure_words
from kernlens.model.program import Program
from kernlens.model.verdict import FAILED, PASSED, UNKNOWN, Finding, Verdict
from kernlens.report.check.verdict_sentences import fault_sentences
from kernlens.report.check.verdict_text import cause_words, finding_words, grouped
from kernlens.report.describe import device_words
from kernlens.report.failure_lines import error_place
from kernlens.report.program_titles import stable_titles
from kernlens.report.style import rendered

if TYPE_CHECKING:
    from kernlens.verbs.replay.replayed import Replayed

#: How a finding that did not pass is written; the others were left out on purpose.
_ELEMENTS = {FAILED: "failure", UNKNOWN: "error"}


def junit_xml(verdict: Verdict, locate: Callable[[str], str]) -> str:
    """Return the whole document. ``locate`` returns the path of a source file, from the folder that was checked if it is
    in there."""
    checked = [finding.program for finding in verdict.findings] + [program for program, _ in verdict.new]
    titles = stable_titles(checked, locate) | stable_titles((program for program, _ in verdict.missing), locate)
    suites = [
        _suite(titles[id(findings[0].program)], findings)
        for findings in grouped(verdict.findings, lambda finding: id(finding.program))
    ]
    if verdict.new or verdict.missing:
        suites.append(_kernels(verdict, titles))
    suites += [_failed_build(build, verdict, locate) for group in verdict.failed for build in group.builds]
    return _document([text for text, _ in suites], [element for _, elements in suites for element in elements])


def replay_junit(replayed: Sequence[Replayed]) -> str:
    """Return the document of launches that ran again: a suite for each, a case for each build."""
    suites, elements = [], []
    for each in replayed:
        title = f"{each.program}: launch {each.number} of {each.kernel}"
        states = ["failure" if build.differing else PASSED for build in each.builds]
        cases = [
            _case(build.title, title, state, "results differ", list(map(difference_words, build.differing)), "replay")
            for build, state in zip(each.builds, states, strict=True)
        ]
        suites.append(_around(title, cases, states))
        elements += states
    return _document(suites, elements)


def _document(suites: Sequence[str], elements: Sequence[str]) -> str:
    counts = _counts(elements).partition(" skipped")[0]  # Of all suites together the schema does not take it.
    inside = "\n".join(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="kernlens"{counts}>\n{inside}\n</testsuites>\n'


def _suite(name: str, findings: Sequence[Finding]) -> tuple[str, list[str]]:
    elements = [_ELEMENTS.get(finding.state, finding.state) for finding in findings]
    cases = [
        _case(f"{finding.kernel.name}: {finding.rule}", name, element, finding_words(finding), list(_details(finding)))
        for finding, element in zip(findings, elements, strict=True)
    ]
    return _around(name, cases, elements, _properties(findings[0].program)), elements


def _properties(program: Program) -> str:
    """Return how a suite's program was compiled."""
    known = {
        "device": device_words(program),
        "toolchain": program.build.toolchain_title,
        "build_options": program.build.own_options,
    }
    inside = "".join(f"<property name={_attribute(k)} value={_attribute(v)}/>" for k, v in known.items() if v)
    return f"    <properties>{inside}</properties>\n"


def _kernels(verdict: Verdict, titles: dict[int, str]) -> tuple[str, list[str]]:
    """Return a suite of the kernels that only one side has, which fail only if that was asked for."""
    failed = {id(kernel) for _, (_, kernel) in verdict.failed_kernels}
    cases, elements = [], []
    for kind, places in (("new", verdict.new), ("missing", verdict.missing)):
        for program, kernel in places:
            elements.append("failure" if id(kernel) in failed else PASSED)
            words = f"{kind} against the baseline {verdict.baseline}"
            cases.append(_case(f"{kernel.name}: {kind}", titles[id(program)], elements[-1], words))
    return _around("kernels of one side", cases, elements), elements


def _failed_build(build: Build, verdict: Verdict, locate: Callable[[str], str]) -> tuple[str, list[str]]:
    """Return a suite of a build that failed, in which nothing but that could be tested."""
    place = error_place(build)
    toolchain = f" by {build.toolchain.name}" if build.toolchain else ""
    options = f" ({build.stated_options})" if build.stated_options else ""
    name = f"{locate(place[0]) if place else build.title} on {build.device}{toolchain}{options}"
    element = "skipped" if verdict.allows_failed else "error"
    case = _case(f"{build.name}: build", name, element, failure_words(build), build.log.splitlines(), kind="build")
    return _around(name, [case], [element]), [element]


def _around(name: str, cases: Sequence[str], elements: Sequence[str], properties: str = "") -> str:
    inside = "\n".join(cases)
    return f"  <testsuite name={_attribute(name)}{_counts(elements)}>\n{properties}{inside}\n  </testsuite>"


def _counts(elements: Sequence[str]) -> str:
    counted = {"tests": len(elements)}
    counted |= {f"{name}s": elements.count(name) for name in ("failure", "error")} | {
        "skipped": elements.count("skipped")
    }
    return "".join(f' {name}="{count}"' for name, count in counted.items())


def _case(name: str, suite: str, element: str, words: str, details: Sequence[str] = (), kind: str = "budget") -> str:
    begin = f'    <testcase name={_attribute(name)} classname={_attribute(suite)} time="0"'
    if element == PASSED:
        return f"{begin}/>"
    if element == "skipped":
        return f"{begin}><skipped message={_attribute(words)}/></testcase>"
    text = escape("\n".join(map(rendered, [words, *details])))
    return f'{begin}><{element} message={_attribute(words)} type="{kind}">{text}</{element}></testcase>'


def _details(finding: Finding) -> Iterator[str]:
    if cause := finding.cause:
        yield f"{cause.path}:{cause.line}{f' | {cause.source}' if cause.source is not None else ''}"
        yield f"  {cause_words(cause)}"
    elif finding.reason:
        yield finding.reason
    yield from (f"fault: {each}" for each in fault_sentences(finding))


def _attribute(text: str) -> str:
    """Return a text as an attribute with its quotes. XML 1.0 has no way to write control characters, so that these are
    shown as escapes."""
    return quoteattr(rendered(text))
