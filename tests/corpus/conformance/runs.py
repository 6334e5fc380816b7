"""Conformance tests run on a driver: as they are, and in each way with kernlens."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernlens.model.level_zero_results import result_name
from kernlens.recording.reader import Recording
from kernlens.runtime.opencl.error_codes import ERROR_NAMES
from kernlens.toolchain.loaders.application import find_application
from kernlens.toolchain.simulation import simulated_environment
from kernlens.toolchain.toolchains import NEWEST, SYSTEM, toolchain
from tests.corpus.conformance.results import (
    counted_calls,
    expected_status,
    listed,
    read_results,
    recorded_calls,
)
from tests.corpus.conformance.suites import Suite
from tests.integration.capture.capture_fixtures import FLAGS, HERE, MAIN
from tests.integration.layers.opencl_layer_fixtures import ICD_FOLDER

#: Each driver: its toolchain, the device that it simulates (None: it computes), and the vendor file of the system's.
DRIVERS = {
    "pocl": (SYSTEM, None, "pocl.icd"),
    "dg2": (SYSTEM, "dg2", "intel.icd"),
    "dg2-newest": (NEWEST, "dg2", ""),
    "bmg": (NEWEST, "bmg", ""),
}
#: Those that a suite's programs cannot start on: the black box tests call functions that older Level Zero loaders lack.
UNUSABLE = {"level-zero": ("pocl",), "opencl": (), "zello": ("pocl", "dg2")}
PLAIN, LAYER, RUN = "plain", "layer", "run"
#: The ways with kernlens: the options of a capture; none for the snapshot layer, and for kernlens run.
WAYS: Mapping[str, Mapping[str, tuple[str, ...] | None]] = {
    "opencl": {"capture": (), "stages": ("--stages", "--lines"), LAYER: None},
    "level-zero": {"capture": (), "stages": ("--stages", "--lines"), RUN: None},
}
#: How tests are chosen on a command line.
_LIST = {"khronos": "--list", "gtest": "--gtest_list_tests"}
#: Seconds that a way with kernlens may take longer than a plain run, with which second builds have their own time.
_LONGER = 10
DID_NOT_END = "did not end"


@dataclass
class Ran:
    """All runs of a suite's tests in one way: the result of each test, the calls that were counted and recorded in the same
    processes, and what was wrong with a process."""

    results: dict[str, str] = field(default_factory=dict)
    counted: Counter[str] = field(default_factory=Counter)
    recorded: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Process:
    """A process that ended, or was ended (status None)."""

    status: int | None
    out: str
    err: str


@dataclass(frozen=True)
class Runner:
    """A suite's tests on a driver. ``limit`` is how many seconds a plain process may take."""

    suite: Suite
    driver: str
    folder: Path
    limit: float
    batch: int

    def tests(self, program: Path) -> list[str]:
        """Return the program's tests: those that it lists, or its own name if it is one."""
        if self.suite.kind == "program":
            return [program.name]
        return listed(self.suite.kind, self._run(program, PLAIN, [_LIST[self.suite.kind]], Path(), self.limit).out)

    def run(self, program: Path, way: str, tests: Sequence[str]) -> Ran:
        """Run the tests, many in a process. If that does not end as it should, the others run in the next."""
        ran, pending = Ran(), list(tests)
        while pending:
            batch = pending[: self.batch]
            longer = 1 if way == PLAIN else _LONGER
            with tempfile.TemporaryDirectory(dir=self.folder) as work:
                done = self._run(program, way, self._arguments(batch), Path(work), self.limit * longer)
                told = self._results(done, batch)
                self._note(ran, done, told, way, Path(work))
            ran.results |= told
            pending = [test for test in pending if test not in ran.results]
        return ran

    def _arguments(self, tests: Sequence[str]) -> list[str]:
        if self.suite.kind == "program":
            return []
        return [f"--gtest_filter={':'.join(tests)}"] if self.suite.kind == "gtest" else list(tests)

    def _results(self, done: Process, batch: Sequence[str]) -> dict[str, str]:
        """Return what is known of the tests after a process: at least of one."""
        if self.suite.kind == "program":
            return {batch[0]: DID_NOT_END if done.status is None else _ended(done.status)}
        told = read_results(self.suite.kind, done.out, batch)
        if len(told.results) < len(batch):
            end = DID_NOT_END if done.status is None else _ended(done.status)
            left = [test for test in batch if test not in told.results]
            told.results[told.running or left[0]] = end
        return told.results

    def _note(self, ran: Ran, done: Process, results: Mapping[str, str], way: str, work: Path) -> None:
        """Note what the process counted and recorded, and its exit status if that is another than its tests say."""
        is_whole = self.suite.kind != "program" and all(value in ("pass", "fail", "skip") for value in results.values())
        if is_whole and done.status != expected_status(results):
            ran.faults.append(f"exit status {done.status} after {_few(results)}: {done.err[-300:]}")
        options = WAYS[self.suite.interface].get(way)
        if options is None or done.status is None:
            return
        name_of = opencl_name if self.suite.interface == "opencl" else result_name
        counted = work / "counted"
        calls = counted_calls(counted.read_text().splitlines() if counted.exists() else (), name_of)
        recorded = _recorded(work / "x.klens")
        ran.counted += calls
        ran.recorded += recorded
        if calls != recorded:
            ran.faults.append(
                f"calls of {_few(results)}: {dict(calls - recorded)} not recorded, {dict(recorded - calls)} not called"
            )

    def _run(self, program: Path, way: str, arguments: Sequence[str], work: Path, limit: float) -> Process:
        name, device, _ = DRIVERS[self.driver]
        words = [str(program), *arguments]
        options = WAYS[self.suite.interface].get(way)
        variables = {**os.environ, **self._variables(program, work)}
        simulate = () if device is None else ("--simulate", device, "--toolchain", name)
        if options is not None:
            command = [*MAIN, "capture", *simulate, *options, "-o", str(work / "x.klens"), "--", *words]
            return _process(command, None, variables, program.parent, limit)
        if way == RUN:
            return _process([*MAIN, "run", *simulate, "--", *words], None, variables, program.parent, limit)
        chosen = toolchain(name)
        application = find_application(words, None, chosen)
        if device is not None:
            variables |= chosen.environment() | simulated_environment(device, chosen)
        if way == LAYER:
            variables |= _layer_variables(variables)
        return _process(application.words, application.executable, variables, program.parent, limit)

    def _variables(self, program: Path, work: Path) -> dict[str, str]:
        """Return the same for all ways: one platform, no caches, few of the tests' many values, and who counts."""
        vendor = DRIVERS[self.driver][2]
        variables = {
            "CL_WIMPY_MODE": "1",
            "NEO_CACHE_PERSISTENT": "0",
            "POCL_CACHE_DIR": str(work / "pocl"),
            "LD_PRELOAD": str(self.folder / f"{self.suite.interface}.so"),
            "COUNTED": str(work / "counted"),
            "TRACED": program.name,
        }
        return variables | ({"OCL_ICD_VENDORS": str(ICD_FOLDER / vendor)} if vendor else {})


def build_counters(folder: Path) -> None:
    """Build the libraries that count the calls of an interface."""
    headers = Path(__file__).parents[3] / "native" / "level_zero_api"
    sources = {
        "opencl": [str(HERE / "counting_preload.c")],
        "level-zero": [str(Path(__file__).with_name("level_zero_calls.c")), f"-I{headers}"],
    }
    for interface, words in sources.items():
        library = [*FLAGS, "-shared", "-fPIC", "-o", str(folder / f"{interface}.so"), *words, "-ldl"]
        subprocess.run(["gcc", *library], check=True, timeout=60)


def opencl_name(status: int) -> str:
    """Return the constant's name, or the number if the specification has none."""
    return ERROR_NAMES.get(status, str(status))


def _few(tests: Iterable[str]) -> str:
    first, *others = tests
    return f"{first} and {len(others)} more" if others else first


def _layer_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Return what leads a loader to the layer, in front of the drivers that these variables lead it to."""
    own = {name: value for name, value in variables.items() if name != "LD_PRELOAD"}
    done = subprocess.run([*MAIN, "layer", "--json"], env=own, check=True, capture_output=True, text=True, timeout=60)
    environment: dict[str, str | None] = json.loads(done.stdout)["environment"]
    return {name: value for name, value in environment.items() if value is not None}


def _ended(status: int) -> str:
    """Return a result for a status, as kernlens and a shell pass it on too."""
    if status < 0:
        return f"ended by {signal.Signals(-status).name}"
    return "pass" if status == 0 else f"ended with {status}"


def _recorded(path: Path) -> Counter[str]:
    if not path.exists():
        return Counter()
    with Recording(path) as recording:
        operations = [call["operation"] for call in json.loads(recording.metadata["capture"])["builds"]]
        return recorded_calls(operations, [build.reason for build in recording.builds()])


def _process(
    words: Sequence[str], executable: str | None, variables: Mapping[str, str], folder: Path, limit: float
) -> Process:
    """Run a process with a time limit, in a group of its own, of which nothing stays."""
    with tempfile.TemporaryFile("w+", errors="replace") as out, tempfile.TemporaryFile("w+", errors="replace") as err:
        process = subprocess.Popen(
            words,
            executable=executable,
            env=variables,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        status: int | None = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = process.wait(limit)
        with contextlib.suppress(ProcessLookupError):  # Some tests leave processes behind, also when they end.
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        out.seek(0)
        err.seek(0)
        return Process(status, out.read(), err.read())
