"""The JSON document of a check (schema 1, docs/json.md)."""

from __future__ import annotations

from typing import Any

from kernlens.model.verdict import UNKNOWN, Cause, Finding, Place, Verdict
from kernlens.report.failure_lines import failed_documents
from kernlens.report.json_text import attributes
from kernlens.report.program_document import place_document
from kernlens.report.program_titles import source_path

Document = dict[str, Any]


def verdict_document(verdict: Verdict) -> Document:
    """Return the whole document: every finding, those that passed too."""
    return {
        "schema": 1,
        "ok": verdict.ok,
        "coverage": verdict.coverage.document,
        "budget_file": verdict.budget_file,
        "baseline": verdict.baseline,
        "findings": [_finding(finding) for finding in verdict.findings],
        "new": list(map(_place, verdict.new)),
        "missing": list(map(_place, verdict.missing)),
        "without_budget": list(map(_place, verdict.without_budget)),
        "idle_rules": list(verdict.idle),
        "unused_rules": list(verdict.unused),
        "failed_builds": failed_documents(verdict.failed),
    }


def _place(place: Place) -> Document:
    program, kernel = place
    return {"kernel": kernel.name, **place_document(program), "source": source_path(program) or None}


def _finding(finding: Finding) -> Document:
    bound = finding.bound
    return {
        **_place((finding.program, finding.kernel)),
        "rule": finding.rule,
        "metric": finding.figure.key,
        "state": finding.state,
        "value": finding.value,
        "limit": bound.value if bound else None,
        "is_least": finding.figure.more_is_better if bound is None else bound.is_least,
        "baseline": finding.before,
        "baseline_toolchain": finding.baseline_toolchain,
        "tolerance": str(finding.tolerance) if finding.tolerance else None,
        "origin": bound.origin if bound and bound.origin else None,
        "cause": _cause(finding.cause) if finding.cause else None,
        "reason": finding.hidden if finding.state == UNKNOWN else finding.reason,
    }


def _cause(cause: Cause) -> Document:
    named = attributes(cause, "path", "line", "source", "counted", "count", "certain", "total", "before")
    return named | {"edited": cause.is_edited}
