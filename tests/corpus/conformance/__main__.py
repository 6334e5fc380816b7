"""The conformance tests of others, plain and with kernlens: ``python -m tests.corpus.conformance --help``.

Each test of OpenCL-CTS, of level-zero-tests' module tests and of compute-runtime's black box tests runs as it is, under
``kernlens capture``, under ``capture --stages --lines``, and with the snapshot layer (Level Zero: under ``kernlens run``). The
results of all tests must be the same, and so must be the calls that build, by their status, as a preloaded library counts
them and as the recording has them. Tests whose plain run does not end in time are left out, and so are those that differ and
that a second plain run answers differently too. Simulated devices execute nothing, so that many tests fail there: with
kernlens they must fail too.

Sources that are not in the folder are cloned from the projects' public addresses. They need g++, cmake, ninja, spirv-tools and
OpenCL's development files; level-zero-tests Boost 1.81 and googletest too. The exit status is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from tests.corpus.conformance.results import compare, count_differences
from tests.corpus.conformance.runs import DID_NOT_END, DRIVERS, PLAIN, UNUSABLE, WAYS, Ran, Runner, build_counters
from tests.corpus.conformance.suites import SUITES, prepare
from tests.environment import cache_folder


def chosen(tests: Sequence[str], patterns: Sequence[str], without: Sequence[str]) -> list[str]:
    """Return the tests whose names have one of the texts, if there are some, and none of the others."""
    matching = [test for test in tests if not patterns or any(pattern in test for pattern in patterns)]
    return [test for test in matching if not any(pattern in test for pattern in without)]


def left_out(plain: Ran) -> dict[str, str]:
    """Return the tests that a plain run did not end, and how they did: nothing can be compared."""
    return {
        test: result for test, result in plain.results.items() if result == DID_NOT_END or result.startswith("ended by")
    }


def run_all(runner: Runner, way: str, tests: Mapping[Path, Sequence[str]]) -> Ran:
    """Run the tests of all programs in a way."""
    whole = Ran()
    for program, names in tests.items():
        ran = runner.run(program, way, names)
        whole.results |= ran.results
        whole.counted += ran.counted
        whole.recorded += ran.recorded
        whole.faults += ran.faults
    return whole


def show(where: str, way: str, plain: Ran, ran: Ran, unstable: Sequence[str]) -> int:
    """Print a row of the table, and what differs below it. Return how much does."""
    compared = compare(plain.results, ran.results, unstable)
    counts = count_differences(ran.counted, ran.recorded)
    passed = sum(result == "pass" for result in plain.results.values())
    print(
        f"{where:16} {way:8} {compared.compared:5} compared, {passed:4} pass, {len(compared.differences):3} differ;"
        f" {ran.counted.total():5} calls, {ran.recorded.total():5} recorded, {len(counts):3} differ",
        flush=True,
    )
    if unstable:
        print(f"    left out, as two plain runs differ: {', '.join(unstable)}", flush=True)
    differences = [*compared.differences, *counts, *ran.faults]
    for line in differences:
        print(f"    {line}", flush=True)
    return len(differences)


def compare_suite(runner: Runner, patterns: Sequence[str], without: Sequence[str], ways: Sequence[str]) -> int:
    """Compare a suite's tests on a driver in these ways (none: all), and return how much differs."""
    where = f"{runner.suite.name} {runner.driver}"
    programs = {each: chosen(runner.tests(each), patterns, without) for each in runner.suite.programs}
    plain = run_all(runner, PLAIN, programs)
    for test, result in left_out(plain).items():
        print(f"{where:16} left out, as the plain run {result}: {test}", flush=True)
        del plain.results[test]
    tests = {each: [test for test in names if test in plain.results] for each, names in programs.items()}
    different = 0
    for way in WAYS[runner.suite.interface] if plain.results else ():
        if ways and way not in ways:
            continue
        ran = run_all(runner, way, tests)
        doubtful = {test for test, result in plain.results.items() if ran.results[test] != result}
        again = run_all(
            runner, PLAIN, {each: [test for test in names if test in doubtful] for each, names in tests.items()}
        )
        unstable = sorted(test for test in doubtful if again.results[test] != plain.results[test])
        different += show(where, way, plain, ran, unstable)
    return different


def main() -> None:
    """Build and run the suites, print the table, and end with 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=Path, default=cache_folder() / "conformance", help="[default: %(default)s]")
    parser.add_argument("--suite", choices=SUITES, action="append", help="[default: all]")
    parser.add_argument("--driver", choices=list(DRIVERS), action="append", help="[default: all that a suite can use]")
    parser.add_argument("--test", action="append", default=[], help="part of the names of tests [default: all]")
    parser.add_argument("--without", action="append", default=[], help="part of the names of tests that do not run")
    parser.add_argument("--way", choices=sorted({*chain(*WAYS.values())}), action="append", help="[default: all]")
    parser.add_argument("--seconds", type=float, default=120, help="time limit of a plain process")
    parser.add_argument("--cut", action="store_true", help="basic and vectors with fewer cases (cut.py)")
    parser.add_argument("--batch", type=int, default=24, help="tests in a process")
    arguments = parser.parse_args()
    arguments.sources.mkdir(parents=True, exist_ok=True)
    different = 0
    for name in arguments.suite or SUITES:
        suite = prepare(name, arguments.sources.resolve(), arguments.cut)
        for line in suite.missing:
            print(f"not built: {line}")
        for driver in arguments.driver or DRIVERS:
            if driver in UNUSABLE.get(suite.name, UNUSABLE[suite.interface]):
                continue
            with tempfile.TemporaryDirectory() as folder:
                build_counters(Path(folder))
                runner = Runner(suite, driver, Path(folder), arguments.seconds, arguments.batch)
                different += compare_suite(runner, arguments.test, arguments.without, arguments.way)
    print(f"{different} differences")
    raise SystemExit(different > 0)


if __name__ == "__main__":
    main()
