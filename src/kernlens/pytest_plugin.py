"""The pytest plugin: budgets of kernels as marks of tests, and fixtures that compile or capture what is held against them.

pytest loads it in every project of an environment that holds kernlens, so it imports the rest of kernlens when a test uses it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from kernlens.model.bounds import Rule
    from kernlens.model.coverage import Coverage
    from kernlens.model.failed_builds import FailedBuilds
    from kernlens.model.program import Program
    from kernlens.verbs.replay.replayed import Replayed

_Result = TypeVar("_Result")
_MARK = "kernel_budget"
#: Before the names of what a test has looked at, which reports carry, also to JUnit's files and from other processes.
_PROPERTY = "kernlens-"
_PROGRAMS = pytest.StashKey["list[Program]"]()
_FAILED = pytest.StashKey["list[FailedBuilds]"]()
#: Words of the mark that are no bounds.
_KERNEL, _DEVICE, _UNKNOWN, _ALLOWED = "kernel", "device", "allow_unknown", "allow_failed_builds"


def pytest_configure(config: pytest.Config) -> None:
    """Describe the mark: pytest refuses unknown ones with --strict-markers."""
    config.addinivalue_line(
        "markers",
        f"{_MARK}(max_FIGURE=N, min_FIGURE=N, {_KERNEL}='*', {_DEVICE}=None, {_UNKNOWN}=False,"
        f" {_ALLOWED}=False): the kernels that the test has"
        " kernlens_compile or kernlens_capture make are within these bounds",
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Read the marks, so that a misspelt word is reported before anything is compiled."""
    _rules(item)


@pytest.hookimpl(trylast=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Hold what the test has made against its marks, once the test itself has passed."""
    rules = _rules(item)
    if rules:
        is_allowed = any(mark.kwargs.get(_ALLOWED) for mark in item.iter_markers(_MARK))
        failed = [] if is_allowed else item.stash.setdefault(_FAILED, [])
        coverage = _check(item.stash.setdefault(_PROGRAMS, []), rules, tuple(failed))
        item.user_properties += [(f"{_PROPERTY}{key}", count) for key, count in coverage.document.items()]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell what the marks of all tests that passed looked at: one that holds of nothing must not look like one that holds."""
    from collections import Counter

    counts: Counter[str] = Counter()
    for report in terminalreporter.getreports("passed"):
        counts.update({key: count for key, count in report.user_properties if key.startswith(_PROPERTY)})
    if counts:
        from kernlens.model.coverage import Coverage

        own = {key.removeprefix(_PROPERTY): count for key, count in counts.items()}
        terminalreporter.write_line(f"{_MARK}: {Coverage(**own).words}")


@pytest.fixture
def kernlens_compile(request: pytest.FixtureRequest) -> Callable[..., list[Program]]:
    """Compile as ``kernlens.compile`` does, with its arguments, sources in all variants that ``kernlens.toml`` has, and return
    the Programs, which the test's marks are about."""

    def compiled(*arguments: Any, **options: Any) -> list[Program]:
        __tracebackhide__ = True
        import kernlens

        return _noted(request.node, _short(lambda: kernlens.compile(*arguments, **{"variants": True, **options})))

    return compiled


@pytest.fixture
def kernlens_capture(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., list[Program]]:
    """Run a command, or a Python script with this interpreter, as ``kernlens.capture`` does, with its keywords, and
    return the Programs that it built, which the test's marks are about. The test fails if the command does, or builds
    nothing."""

    def captured(command: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], **options: Any) -> list[Program]:
        __tracebackhide__ = True
        import kernlens

        parts = [command] if isinstance(command, str | os.PathLike) else command
        words = [os.fspath(word) for word in parts]
        if words[0].endswith(".py"):
            words.insert(0, sys.executable)
        number = len(request.node.stash.setdefault(_PROGRAMS, []))
        capture = _short(lambda: kernlens.capture(words, tmp_path / f"captured-{number}.klens", **options))
        named = " ".join(words)
        if capture.exit_status:
            pytest.fail(f"{named} ended with status {capture.exit_status}", pytrace=False)
        recording = capture.recording
        if recording is None:
            pytest.fail(f"nothing was captured of {named}: {capture.reason}", pytrace=False)
        request.node.stash.setdefault(_FAILED, []).append(_short(lambda: capture.failed_builds))
        programs = _short(lambda: list(kernlens.load(recording)))
        return _noted(request.node, (program for program in programs if program.kernels))

    return captured


@pytest.fixture
def kernlens_replay() -> Callable[..., Replayed]:
    """Replay a kept launch as ``kernlens.replay`` does, with its arguments, and return the answer: with ``all_launches`` the
    first that differs, else the last. The test fails if nothing was compared."""

    def replayed(recording: str | os.PathLike[str], **options: Any) -> Replayed:
        __tracebackhide__ = True
        import kernlens

        answers = _short(lambda: kernlens.replay(recording, **options))
        for answer in answers:
            if not all(build.compared for build in answer.builds):
                why = "the device is simulated" if answer.is_simulated else ", ".join(answer.not_compared)
                title = f"launch {answer.number:,} of {answer.kernel} on {answer.device}"
                pytest.fail(f"nothing was compared of {title}: {why}", pytrace=False)
        return answers[-1]

    return replayed


def _short(work: Callable[[], _Result]) -> _Result:
    """Return what ``work`` returns. An error of kernlens ends in the line of the test that asked: how kernlens came to it is
    nothing that the test's author can change, and the error says what is wrong."""
    __tracebackhide__ = True
    from kernlens.errors import KernlensError

    try:
        return work()
    except KernlensError as error:
        raise error.with_traceback(None) from None


def _noted(item: pytest.Item, programs: Iterable[Program]) -> list[Program]:
    new = list(programs)
    item.stash.setdefault(_PROGRAMS, []).extend(new)
    return new


def _rules(item: pytest.Item) -> list[Rule]:
    """Return the rules of a test's marks; the one nearest to the test is the last, which goes before the others."""
    marks = list(item.iter_markers(_MARK))
    if not marks:
        return []
    from kernlens.errors import KernlensError
    from kernlens.isa.devices import device
    from kernlens.model.bounds import Rule, bound

    rules, wrong = [], ""
    try:
        for mark in reversed(marks):
            words = dict(mark.kwargs)
            words.pop(_ALLOWED, None)
            patterns, name, allows = words.pop(_KERNEL, "*"), words.pop(_DEVICE, None), words.pop(_UNKNOWN, None)
            bounds = tuple(bound(key, value, _MARK) for key, value in words.items())
            if mark.args or not bounds:
                raise KernlensError(f"{_MARK} takes bounds by their names: max_spill=0, min_simd=16")
            if name is not None:
                device(name)
            for pattern in [patterns] if isinstance(patterns, str) else patterns:
                rules.append(Rule(pattern, bounds, name, allows, _MARK))
    except KernlensError as error:
        wrong = str(error)
    if wrong:  # Where the error is handled, pytest would tell of it as of another one.
        pytest.fail(wrong, pytrace=False)
    return rules


def _check(programs: list[Program], rules: Sequence[Rule], failed: tuple[FailedBuilds, ...]) -> Coverage:
    """Return what was looked at, if all is within the rules; else the test fails."""
    from kernlens.errors import KernlensError
    from kernlens.report.check.verdict_text import verdict_lines
    from kernlens.report.style import rendered
    from kernlens.verbs.check import UNUSED, judged

    if not programs and not any(failed):
        pytest.fail(f"{_MARK}: the test has made no program with kernlens_compile or kernlens_capture", pytrace=False)
    words = ""
    try:
        verdict = judged(programs, rules, failed=failed, fail_on=frozenset({UNUSED}))
        words = "" if verdict.ok else "\n".join(map(rendered, verdict_lines(verdict)))
    except KernlensError as error:
        words = str(error)
    if words:
        pytest.fail(words, pytrace=False)
    return verdict.coverage
