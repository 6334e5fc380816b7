"""The answers of conformance tests, as their programs print them, and the comparison of two ways to run them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

PASS, FAIL, SKIP = "pass", "fail", "skip"
#: The last lines of a test, for each kind of program: what follows (or precedes) the test's name, and the result.
_KHRONOS = {
    "{} passed": PASS,
    "{} FAILED": FAIL,
    "{} test not supported": SKIP,
    "{} test currently not implemented": SKIP,
    "{} skipped (requires": SKIP,
    "Subtest {} tests is not supported in offline": SKIP,
}
_GTEST = {"[       OK ] {}": PASS, "[  FAILED  ] {}": FAIL, "[  SKIPPED ] {}": SKIP}
_STARTS = {"khronos": "{}...", "gtest": "[ RUN      ] {}"}
_ENDS = {"khronos": _KHRONOS, "gtest": _GTEST}


@dataclass
class Told:
    """The results that a program printed, and the test that had begun and not ended, if any."""

    results: dict[str, str] = field(default_factory=dict)
    running: str | None = None


def listed(kind: str, printed: str) -> list[str]:
    """Return the tests that a program lists."""
    lines = printed.splitlines()
    if kind == "khronos":
        return [line[1:].rstrip() for line in lines if line.startswith("\t")]
    tests, group = [], ""
    for line in lines:
        name = line.partition("#")[0].rstrip()
        if name.endswith(".") and not name.startswith(" "):
            group = name
        elif name.startswith("  ") and group:
            tests.append(group + name.strip())
    return [test for test in tests if "DISABLED_" not in test]


def read_results(kind: str, printed: str, tests: Iterable[str]) -> Told:
    """Return what a program printed of these tests. A test's end counts after its beginning alone: sub-tests print too."""
    told = Told()
    begin = {_STARTS[kind].format(test): test for test in tests}
    for line in printed.splitlines():
        if line in begin:
            told.running = begin[line]
        elif told.running is not None:
            result = next((result for end, result in _ENDS[kind].items() if _is_end(line, end, told.running)), None)
            if result is not None:
                told.results[told.running] = result
                told.running = None
    return told


def _is_end(line: str, end: str, test: str) -> bool:
    """Tell whether the line is this end of the test. What may follow is a bracket, or what the test was given; a message of the
    test that ends without a line's end may precede."""
    words = end.format(test)
    return (
        line == words
        or line.startswith((f"{words} ", f"{words}, "))
        or bool(re.search(rf"[^\w ]{re.escape(words)}$", line))
    )


def expected_status(results: Mapping[str, str]) -> int:
    """Return the exit status of a program whose tests had these results."""
    return int(FAIL in results.values())


@dataclass
class Compared:
    """What two ways to run the same tests have in common: how many tests were compared, and what differs."""

    compared: int = 0
    differences: list[str] = field(default_factory=list)


def compare(plain: Mapping[str, str], other: Mapping[str, str], unstable: Iterable[str]) -> Compared:
    """Compare the results of each test. Those that two plain runs disagree on are no question."""
    compared = Compared()
    for test in sorted(set(plain) - set(unstable)):
        compared.compared += 1
        result = other.get(test, "no result")
        if result != plain[test]:
            compared.differences.append(f"{test}: {plain[test]} without, {result} with")
    return compared


def count_differences(counted: Counter[str], recorded: Counter[str]) -> list[str]:
    """Return the calls that were not recorded as often as they were counted, as ``build CL_SUCCESS``."""
    return [
        f"{call}: {counted[call]} called, {recorded[call]} recorded"
        for call in sorted(set(counted) | set(recorded))
        if counted[call] != recorded[call]
    ]


#: The statuses of calls whose arguments are none, so that there was no build.
NO_CALL = frozenset({"CL_INVALID_PROGRAM", "CL_INVALID_DEVICE", "CL_INVALID_CONTEXT", "CL_INVALID_VALUE"})
_FAILED = re.compile(r"failed with (-?\w+)")


def counted_calls(lines: Iterable[str], name_of: Callable[[int], str]) -> Counter[str]:
    """Return the calls that the preloaded library counted (``build:-11``): those that recordings have."""
    calls: Counter[str] = Counter()
    for line in lines:
        operation, _, status = line.partition(":")
        name = name_of(int(status)) if int(status) else "success"
        if name not in NO_CALL:
            calls[f"{operation} {name}"] += 1
    return calls


def recorded_calls(operations: Sequence[str], reasons: Sequence[str | None]) -> Counter[str]:
    """Return the calls of a recording: the operation of each build, and the reason if it failed. An input of a static link
    has an entry of its own, and is no call."""
    return Counter(
        f"{operation} {failed[1] if (failed := _FAILED.search(reason or '')) else 'success'}"
        for operation, reason in zip(operations, reasons, strict=True)
        if operation != "input"
    )
