"""An unmodified application on the interpreter: what it computes, what it launches, and what its kernels did."""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kernlens.model.behaviour import Behaviour
from kernlens.model.build import Build
from kernlens.recording.reader import Recording
from kernlens.verbs.observe.observe import observe
from tests.documents import check_printed
from tests.integration.capture.capture_fixtures import MAIN, Done, environment
from tests.integration.layers.opencl_layer_fixtures import Platform, pocl
from tests.whole import before_release

pytestmark = pytest.mark.skipif(
    not Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so").exists(), reason="no Oclgrind 21.10 (Debian 12's oclgrind)"
)
SOURCE = Path(__file__).parent / "sources" / "observed.c"
#: The options that the application prints, and the sums of what its kernels computed.
_ANSWERS = re.compile(r"^(?:options|transpose|add|k|\d).*$", re.MULTILINE)


def built(folder: Path, source: Path) -> str:
    words = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", str(folder / "app"), str(source)]
    subprocess.run([*words, "-lOpenCL", "-lpthread"], check=True, timeout=60)
    return str(folder / "app")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> str:
    return built(tmp_path_factory.mktemp("observed"), SOURCE)


@pytest.fixture(scope="module")
def cpu(tmp_path_factory: pytest.TempPathFactory) -> Platform:
    return pocl(tmp_path_factory.mktemp("pocl-cache"))


def captured(work: Path, *words: str, options: tuple[str, ...] = ("--observe",), on: Platform | None = None) -> Done:
    recording = work / "x.klens"
    variables = environment(on or Platform("", {}, late=""))
    command = [*MAIN, "capture", *options, "-o", str(recording), "--", *words]
    done = subprocess.run(command, cwd=work, env=variables, capture_output=True, text=True, timeout=300, check=False)
    check_printed(command[3:], done.stdout)
    return Done(done.returncode, done.stdout, done.stderr, recording)


def builds(done: Done) -> list[Build]:
    return Recording(done.recording).builds()


def behaviours(build: Build) -> dict[str, list[Behaviour]]:
    return {name: list(build.behaviours[name]) for name in build.behaviours}


def test_results_and_launches_are_those_of_another_device(app: str, cpu: Platform, tmp_path: Path) -> None:
    for word in ("launches", "threads"):
        observed = captured(tmp_path, app, word, options=("--observe", "--device", "h100"))
        in_full = captured(tmp_path, app, word, options=(), on=cpu)
        assert (observed.status, in_full.status) == (7, 7)
        assert "platforms: 1\n" in observed.out
        assert "others" not in observed.out  # what kernlens adds to a build's options
        assert _ANSWERS.findall(observed.out) == _ANSWERS.findall(in_full.out)
        assert len(_ANSWERS.findall(observed.out)) == (3 if word == "launches" else 5)


def test_contexts_that_overlap(tmp_path: Path) -> None:
    """Each has memory and an observer of its own; the first was everybody's, and went with it. rand() is the application's."""
    done = captured(tmp_path, built(tmp_path, SOURCE.with_name("contexts.c")), options=("--observe",))
    libc = ctypes.CDLL(None)
    libc.srand(7)
    sums = [2 * by for each in range(4) for by in (each + 1, -each)]
    assert done.status == 0, done.err
    assert done.out.splitlines() == [*map(str, sums), f"{libc.rand()} {libc.rand()}"]
    counted = [behaviours(build)["count"] for build in builds(done)]
    assert [[(each.groups_done, each.launches, each.reason) for each in known] for known in counted] == [
        [(1, 1, "")]
    ] * 8
    assert [[size for _, size in launch.buffers] for (launch,) in counted] == [[128]] * 8


def test_a_stencil_and_a_search_are_those_of_another_device(cpu: Platform, tmp_path: Path) -> None:
    pytest.importorskip("pyopencl")
    program = str(SOURCE.with_name("heat_and_paths.py"))
    observed = captured(tmp_path, sys.executable, program, options=("--observe", "--device", "h100"))
    launches, (build,) = observed.launches(), builds(observed)
    plain = captured(tmp_path, sys.executable, program, options=(), on=cpu)
    assert launches == plain.launches() == {"hotspot": 4, "pathfinder": 7}
    results = [re.findall("^result .*", done.out, re.MULTILINE) for done in (observed, plain)]
    assert (observed.status, len(results[0]), results[0]) == (0, 2, results[1])
    counted = [each for launches in behaviours(build).values() for each in launches]
    assert [(each.is_counted, each.groups_done == each.groups, each.faults) for each in counted] == [
        (True, True, ())
    ] * 2


def test_launches_are_kept_too(tmp_path: Path) -> None:
    """At the process's end the interpreter is asked from another thread: for the one that ends, it writes to freed memory."""
    pytest.importorskip("pyopencl")
    words = (sys.executable, str(SOURCE.with_name("heat_and_paths.py")))
    done = captured(tmp_path, *words, options=("--observe", "--launch", "*:first"))
    assert done.status == 0, done.err
    assert "2 launches kept" in done.err
    assert {each.kernel for build in builds(done) for each in build.parts.kept_launches} == {"hotspot", "pathfinder"}


def test_every_kernel_has_counts(app: str, cpu: Platform, tmp_path: Path) -> None:
    plain = captured(tmp_path, app, "launches", options=(), on=cpu).launches()
    done = captured(tmp_path, app, "launches", options=("--observe", "--device", "h100"))
    assert done.launches() == plain == {"transpose": 12, "add": 2}
    (build,) = builds(done)
    assert build.options == "-DWORD"
    behaviours_of = behaviours(build)
    assert set(behaviours_of) == {"transpose", "add"}  # no launch, no behaviour
    (transpose,), (add,) = behaviours_of["transpose"], behaviours_of["add"]
    # The sizes of work-groups that the application left to the driver.
    assert (add.launches, add.global_size, add.local_size) == (2, (4096, 1, 1), (256, 1, 1))
    assert (transpose.launches, transpose.groups_done, transpose.groups) == (12, 8 * 16, 8 * 16)
    assert transpose.notes == ("8 of 12 launches with these sizes were counted",)
    (source,) = build.sources
    (tmp_path / "k.cl").write_text(source.text)
    alone = observe(
        tmp_path / "k.cl", kernel="transpose", size=[64, 64], group=[16, 16],
        arguments=["ramp:int:4096", "ramp:int:4096"], device="h100",
    )  # fmt: skip
    (line,), (own,) = ([each for each in launch.lines if each.requests] for launch in (transpose, alone))
    assert (line.place.line, line.requests, line.units) == (4, 8 * own.requests, 8 * own.units)


def test_the_machine_code_of_a_device(app: str, tmp_path: Path) -> None:
    done = captured(tmp_path, app, "launches", options=("--observe", "--device", "dg2"))
    interpreted, compiled = builds(done)
    assert (interpreted.name, compiled.name) == ("program-1", "program-1")
    assert (compiled.device, compiled.options) == ("dg2", "-gline-tables-only -DWORD")
    assert behaviours(interpreted) == {}
    from kernlens.loading import open_file

    kernels = {each.name: each for each in open_file(str(done.recording)).programs[-1].kernels.values()}
    for name, kernel in kernels.items():
        for each in kernel.behaviours:
            assert (each.device, each.machine.width) == ("dg2", kernel.resources.simd)
            assert kernel.source_map is not None
            assert {line.place.path for line in each.lines} <= {path for path, _ in kernel.source_map.lines}
        assert len(kernel.behaviours) == (name != "idle")


@pytest.mark.parametrize("device", ["h100", ""])
def test_counts_without_machine_code_are_said_shown_and_judged(device: str, app: str, tmp_path: Path) -> None:
    options = ("--observe", *(("--device", device) if device else ()))
    done = captured(tmp_path, app, "launches", options=options)
    why = "for h100: the toolchain" if device else "as no --device was named: --device D compiles for one"
    assert f"kernlens: no machine code was compiled {why}" in done.err
    assert done.err.endswith(f"Next: kernlens annotate {done.recording} --top 10 --sort moved\n")
    assert "\nStart here: 2 kernels in 14 launches" in done.err
    assert "  1. transpose, " in done.err
    (build,) = builds(done)
    counted = {name: launches[0] for name, launches in behaviours(build).items()}

    def run(*words: str) -> tuple[int, str]:
        command = [*MAIN, *words]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        check_printed(list(words), ended.stdout)
        assert not ended.stderr
        return ended.returncode, ended.stdout

    status, document = run("annotate", "x.klens", "--top", "10", "--sort", "moved", "--json")
    kernels = {each["name"]: each for program in json.loads(document)["programs"] for each in program["kernels"]}
    assert (status, list(kernels)) == (0, ["transpose", "add"])  # by what they move
    for name, kernel in kernels.items():
        (line,) = kernel["observed_lines"]
        (moved,) = (each for each in counted[name].lines if each.units)
        assert (line["line"], line["units"]) == (moved.place.line, int(moved.units * counted[name].times))
        assert "in[" in line["source"]
    for words in (("--top", "3"), ()):
        status, text = run("annotate", "x.klens", *words)
        assert (status, "scattered access" in text, "out[x * 64" in text) == (0, True, True)
    status, verdict = run("check", "x.klens", "--max-units-per-request", "4", "--no-faults", "--json")
    states = {(each["kernel"], each["metric"]): each["state"] for each in json.loads(verdict)["findings"]}
    assert status == 1
    assert [key for key, state in states.items() if state == "failed"] == [("transpose", "units_per_request")]
    # Of code that is not there nothing is known.
    assert run("check", "x.klens", "--max-instructions", "100", "--max-code-size", "100")[0] == 2
    command = [*MAIN, "disasm", "x.klens"]
    refused = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert "has what kernels did on data, but no machine code" in refused.stderr


def test_what_cannot_be_observed_leaves_nothing_behind(app: str, tmp_path: Path) -> None:
    done = captured(tmp_path, app, "launches", options=("--observe", "--device", "dg2,h100"))
    assert (done.status, "there is no device 'dg2,h100'" in done.err) == (2, True)
    assert not list(tmp_path.glob("*.capture"))
    missing = captured(tmp_path, app, "launches", options=("--observe", "--toolchain", "absent"))
    assert "there is no toolchain 'absent'" in missing.err


@before_release
@pytest.mark.skipif(os.geteuid() != 0, reason="the machine's own Oclgrind is hidden by mounts, which needs to be root")
def test_the_interpreter_of_a_toolchain(app: str, tmp_path: Path) -> None:
    """Where the machine has none of its own, as Debian 13."""
    variables = environment(Platform("", {}, late=""), KERNLENS_TOOLCHAINS=str(tmp_path / "toolchains"))
    subprocess.run([*MAIN, "toolchain", "add", "oclgrind"], env=variables, check=True, timeout=300, capture_output=True)
    (tmp_path / "empty").mkdir()
    hidden = [*Path("/usr/lib/x86_64-linux-gnu").glob("liboclgrind*")]
    mounts = [f"mount --bind /dev/null {each}" for each in hidden]
    mounts.append(f"mount --bind {tmp_path}/empty /usr/lib/oclgrind")
    command = [*MAIN, "capture", "--observe", "--device", "h100", "-o", "x.klens", "--", app, "launches"]
    line = " && ".join([*mounts, 'exec "$@"'])
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", line, "sh", *command],
        cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    in_full = captured(tmp_path, app, "launches", options=("--observe", "--device", "h100"))
    assert hidden, "there is something to hide"
    assert done.returncode == in_full.status == 7, done.stderr
    assert _ANSWERS.findall(done.stdout) == _ANSWERS.findall(in_full.out)


def test_a_program_that_was_linked(app: str, tmp_path: Path) -> None:
    done = captured(tmp_path, app, "link")
    *compiled, linked = builds(done)
    assert all(behaviours(each) == {} for each in compiled)
    (launch,) = behaviours(linked)["k"]
    assert (launch.is_counted, launch.launches) == (True, 1)


def test_what_had_ended_is_there_when_the_application_is_killed(app: str, tmp_path: Path) -> None:
    done = captured(tmp_path, app, "killed")
    assert done.status == -9
    first, second = builds(done)
    assert [each.is_counted for each in behaviours(first)["add"]] == [True]
    (launch,) = behaviours(second)["k"]
    assert launch.reason == "the application's process ended while the interpreter ran it"
    assert f"nothing was counted of k: {launch.reason}" in done.err


def test_a_launch_for_which_the_application_did_not_wait(app: str, tmp_path: Path) -> None:
    done = captured(tmp_path, app, "unwaited")
    assert done.status == 5
    (launch,) = behaviours(builds(done)[0])["add"]
    assert launch.reason == "it had not run when the application ended, which did not wait for it or was stopped"


@pytest.mark.parametrize(
    ("word", "reason"),
    [("lockstep", "k relies on lockstep"), ("fatal", "Oclgrind cannot run this kernel: .*; nothing was counted")],
)
def test_why_nothing_was_counted(word: str, reason: str, app: str, tmp_path: Path) -> None:
    done = captured(tmp_path, app, word)
    assert done.status == 7
    (launch,) = behaviours(builds(done)[0])["k"]
    assert re.match(reason, launch.reason)
    assert (launch.lines, launch.accesses) == ((), ())
    assert re.search(f"nothing was counted of k: {reason}", done.err)


def test_a_kernel_that_cannot_be_made(app: str, tmp_path: Path) -> None:
    done = captured(tmp_path, app, "unknown")
    assert (done.status, "kernel: -46" in done.out) == (3, True)
    (launch,) = behaviours(builds(done)[0])["k"]
    assert launch.reason.startswith("Oclgrind cannot run this kernel: as it made it, it missed something")
    assert launch.reason in done.err


def test_faults_are_recorded_and_told(app: str, tmp_path: Path) -> None:
    options = ("--observe", "--json", "--fail-on-faults")
    done = captured(tmp_path, app, "faults", options=options)
    assert done.status == 7  # The application's own.
    (launch,) = behaviours(builds(done)[0])["k"]
    (fault,) = launch.faults
    assert (fault.kind, fault.argument, fault.count, fault.places[0].line) == ("bounds", "out", 4090, 3)
    assert re.search("kernlens: k: .*:3: writes 4 bytes out of bounds, .*out", done.err)
    (listed,) = json.loads(done.out.splitlines()[-1])["faults"]
    assert {key: listed[key] for key in ("kernel", "kind", "argument", "count")} == {
        "kernel": "k", "kind": "bounds", "argument": "out", "count": 4090
    }  # fmt: skip
    assert listed["places"][0]["line"] == 3


def test_what_the_flags_of_a_buffer_forbid_is_told_once_behind_the_race(app: str, tmp_path: Path) -> None:
    done = captured(tmp_path, app, "flags", options=("--observe", "--device", "dg2"))
    (launch,) = behaviours(builds(done)[1])["k"]
    *races, fault = launch.faults
    assert {each.kind for each in races} == {"race"}
    assert (fault.kind, fault.argument, [place.line for place in fault.places]) == ("other", "in", [5, 7])
    assert fault.count == 4096 + 64
    assert fault.sentence == "reads a buffer that the host made write-only: mend the flags of clCreateBuffer"
    assert "Oclgrind says" not in done.err
    assert "no fault in what ran" not in done.err
    checked = subprocess.run(
        [*MAIN, "check", str(done.recording), "--no-faults"], capture_output=True, text=True, timeout=60, check=False
    )
    lines = [line.strip() for line in checked.stdout.split("\n")]
    at = next(number for number, line in enumerate(lines) if line.startswith("fault: "))
    assert re.search(r":(\d+) ", lines[at - 2]).group(1) == str(races[0].places[0].line)  # type: ignore[union-attr]
    assert "data race" in lines[at]


def test_that_no_fault_was_seen_is_said(app: str, tmp_path: Path) -> None:
    done = captured(tmp_path, app, "launches")
    assert "kernlens: no fault in what ran: no access out of bounds, no data race, " in done.err


def test_a_budget_of_time_ends_the_counting(app: str, tmp_path: Path) -> None:
    done = captured(tmp_path, app, "killed", options=("--observe", "--seconds", "1"))
    (launch,) = behaviours(builds(done)[1])["k"]
    assert launch.reason == "no work-group ended within the 1 s that are counted of each kernel"
