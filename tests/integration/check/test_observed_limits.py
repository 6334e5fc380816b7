"""Limits on what a kernel does on its data: held, not held, and never passed where nobody looked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import kernlens
from kernlens.dataclass import replace
from kernlens.model.behaviour import Behaviour
from kernlens.recording.writer import RecordingWriter
from tests.documents import check_printed
from tests.integration.annotate.test_observed import TRANSPOSE
from tests.integration.cli.test_cli import kernlens as run
from tests.tree import ROOT

pytestmark = [
    pytest.mark.skipif(not Path("/usr/lib/oclgrind/liboclgrind-rt.so").exists(), reason="no Oclgrind 21.10"),
    pytest.mark.skipif(shutil.which("ocloc") is None, reason="no compiler for Intel's GPUs"),
]
FAULTY = "kernel void k(global int *a)\n{\n a[get_global_id(0) + 1] = 1;\n}\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    result = tmp_path_factory.mktemp("limits")
    shutil.copy(ROOT / "examples" / "transpose.cl", result)
    for name in ("transpose", "transpose_tiled"):
        words = ("observe", "transpose.cl", "--kernel", name, "--device", "dg2", *TRANSPOSE)
        assert run(*words, "-o", f"{name}.klens", cwd=result).returncode == 0
    (result / "k.cl").write_text(FAULTY)
    sizes = ("--size", "64", "--group", "64", "--arg", "zeros:int:64", "-o", "k.klens")
    assert run("observe", "k.cl", "--device", "dg2", *sizes, cwd=result).returncode == 0
    return result


def check(*words: str, cwd: Path) -> tuple[int, dict[str, Any]]:
    done = run("check", *words, "--json", cwd=cwd)
    check_printed(["check", *words, "--json"], done.stdout)
    return done.returncode, json.loads(done.stdout) if done.stdout else {}


def test_units_per_request(folder: Path) -> None:
    words = ("transpose.klens", "--kernel", "transpose", "--max-units-per-request")
    status, verdict = check(*words, "15", cwd=folder)
    (finding,) = verdict["findings"]
    assert (status, finding["state"], finding["value"]) == (1, "failed", 16)
    assert (finding["cause"]["line"], finding["cause"]["count"]) == (8, 1792)  # above its ideal, of 2,304
    assert check(*words, "16", cwd=folder)[0] == 0
    tiled = ("transpose_tiled.klens", "--kernel", "transpose_tiled", "--max-units-per-request", "2")
    assert check(*tiled, "--max-waves-per-request", "2", "--no-faults", cwd=folder)[0] == 0


def test_units_above_the_ideal(folder: Path, tmp_path: Path) -> None:
    """A wide access that is coalesced wastes nothing, however many units it has."""
    words = ("transpose.klens", "--kernel", "transpose", "--max-excess-units")
    status, verdict = check(*words, "349", cwd=folder)
    (finding,) = verdict["findings"]
    assert (status, finding["metric"], finding["value"], finding["cause"]["line"]) == (1, "excess_units", 350, 8)
    assert check(*words, "350%", cwd=folder)[0] == 0
    assert check("transpose_tiled.klens", "--kernel", "transpose_tiled", "--max-excess-units", "0", cwd=folder)[0] == 0
    (folder / "waste.toml").write_text('[kernel."transpose"]\nmax-excess-units = 349\n')
    assert check("transpose.klens", "--kernel", "transpose", "--budget", "waste.toml", cwd=folder)[0] == 1
    assert not kernlens.check(str(folder / "transpose.klens"), kernel="transpose", max_excess_units=349).ok
    source, saved = tmp_path / "wide.cl", tmp_path / "wide.klens"
    source.write_text("kernel void wide(global float4 *a)\n{\n    a[get_global_id(0)] *= 2;\n}\n")
    kernlens.observe(
        source, size=[64], group=[32], arguments=["random:float4:64"], device="dg2", sub_group=32, recording=saved
    )
    assert check(str(saved), "--max-units-per-request", "4", cwd=tmp_path)[0] == 1
    assert check(str(saved), "--max-excess-units", "0", cwd=tmp_path)[0] == 0


def test_no_faults_is_a_key_of_files_and_of_python(folder: Path) -> None:
    (folder / "faults.toml").write_text('[kernel."k"]\nno-faults = true\n')
    status, verdict = check("k.klens", "--budget", "faults.toml", cwd=folder)
    assert (status, verdict["findings"][0]["rule"], verdict["findings"][0]["limit"]) == (1, "max-observed-faults", 0)
    assert not kernlens.check(folder / "k.klens", no_faults=True).ok
    (folder / "faults.toml").write_text('[kernel."k"]\nno-faults = false\n')
    assert "true or is left out" in run("check", "k.klens", "--budget", "faults.toml", cwd=folder).stderr


def test_a_baseline_holds_what_was_observed(folder: Path) -> None:
    """The same kernel that reads with a stride which a launch decides: 1 in the baseline, 16 now."""
    (folder / "s.cl").write_text(
        "kernel void s(global const float *in, global float *out, int n)\n{\n int x = get_global_id(0);\n"
        " out[x] = in[x * n];\n}\n"
    )
    sizes = ("--size", "256", "--group", "64", "--arg", "random:float:4096", "--arg", "zeros:float:256")
    for stride in ("1", "16"):
        words = ("observe", "s.cl", "--device", "dg2", *sizes, "--arg", stride, "-o", f"s{stride}.klens")
        assert run(*words, cwd=folder).returncode == 0
    assert check("s1.klens", "--baseline", "s1.klens", cwd=folder)[0] == 0
    status, verdict = check("s16.klens", "--baseline", "s1.klens", cwd=folder)
    failed, wasted = (each for each in verdict["findings"] if each["state"] == "failed")
    assert wasted["metric"] == "excess_units"
    assert (status, failed["metric"], failed["baseline"] < failed["value"]) == (1, "units_per_request", True)
    assert failed["cause"]["line"] == 4
    more = ("--tolerance", "excess-units=any")
    assert (
        check("s16.klens", "--baseline", "s1.klens", "--tolerance", "units-per-request=any", *more, cwd=folder)[0] == 0
    )


def test_a_kernel_that_nobody_observed_does_not_pass(folder: Path) -> None:
    status, verdict = check("transpose.klens", "--no-faults", cwd=folder)
    assert {each["kernel"]: each["state"] for each in verdict["findings"]} == {
        "transpose": "passed",
        "transpose_tiled": "unknown",
    }
    assert status == 2
    done = run("check", "transpose.klens", "--no-faults", cwd=folder)
    assert "cannot be checked; it was not observed: kernlens observe -o FILE" in done.stdout


def test_faults_fail_with_their_line(folder: Path) -> None:
    status, verdict = check("k.klens", "--no-faults", cwd=folder)
    (finding,) = verdict["findings"]
    assert (status, finding["state"], finding["value"], finding["cause"]["line"]) == (1, "failed", 1, 3)


def test_a_file_of_limits_and_python_take_the_same_names(folder: Path) -> None:
    (folder / "limits.toml").write_text('[kernel."transpose"]\nmax-units-per-request = 15\nmax-observed-faults = 0\n')
    status, verdict = check("transpose.klens", "--budget", "limits.toml", cwd=folder)
    assert status == 1
    assert [each["state"] for each in verdict["findings"]] == ["failed", "passed"]
    program = kernlens.load(folder / "transpose.klens")[0]
    assert not kernlens.check(program, kernel="transpose", max_units_per_request=15).ok
    assert kernlens.check(program, kernel="transpose", max_units_per_request=16).ok


@pytest.mark.parametrize("change", ["partial", "refused"])
def test_what_was_not_counted_whole_does_not_pass(change: str, folder: Path) -> None:
    (program,) = kernlens.load(folder / "transpose.klens")
    (observed,) = program.kernels["transpose"].behaviours
    other = replace(observed, groups_done=3)
    if change == "refused":
        other = Behaviour.not_counted("transpose", "it uses sub-groups", (64, 64, 1), (16, 16, 1), "dg2")
    with RecordingWriter(folder / f"{change}.klens", overwrite=True) as writer:
        number = writer.add(program.build)
        writer.add_behaviour(number, other)
    words = (f"{change}.klens", "--kernel", "transpose", "--no-faults")
    status, verdict = check(*words, cwd=folder)
    assert (status, verdict["findings"][0]["state"]) == (2, "unknown")
    told = "only 3 of 16 work-groups ran" if change == "partial" else "it uses sub-groups"
    assert told in run("check", *words, cwd=folder).stdout
    if change == "partial":  # What was counted is too much already.
        assert check(*words, "--max-units-per-request", "15", cwd=folder)[0] == 1


@pytest.mark.parametrize("kernel", ["lockstep", "race"])
def test_a_recorded_fault_fails_whether_or_not_counts_are_there(kernel: str, tmp_path: Path) -> None:
    """A fault is known, so nothing about it is unknown that could be allowed."""
    tail = "if (l < 4)\n  s[l] += s[l + 4];" if kernel == "lockstep" else "s[l] += s[63 - l];"
    (tmp_path / "k.cl").write_text(
        "__attribute__((intel_reqd_sub_group_size(8))) kernel void k(global int *a)\n{\n volatile local int s[64];\n"
        f" int l = get_local_id(0);\n s[l] = l;\n {tail}\n a[l] = s[l];\n}}\n"
    )
    sizes = ("--size", "64", "--group", "64", "--arg", "zeros:int:64", "-o", "k.klens")
    assert run("observe", "k.cl", "--device", "dg2", *sizes, cwd=tmp_path).returncode == 0
    (program,) = kernlens.load(tmp_path / "k.klens")
    (observed,) = program.kernels["k"].behaviours
    assert observed.is_counted == (kernel == "race")
    for words in ((), ("--allow-unknown",)):
        status, verdict = check("k.klens", "--no-faults", *words, cwd=tmp_path)
        assert (status, verdict["findings"][0]["state"]) == (1, "failed")
    assert "fault: k.cl:" in run("annotate", "k.klens", cwd=tmp_path).stdout


def test_each_report_of_a_check_tells_the_faults(folder: Path) -> None:
    done = run("check", "k.klens", "--no-faults", "--sarif", "k.sarif", "--junit", "k.xml", cwd=folder)
    told = "k.cl:3: writes 4 bytes out of bounds, at byte 256 of its buffer of 256 bytes"
    for text in (done.stdout, (folder / "k.sarif").read_text(), (folder / "k.xml").read_text()):
        assert told in text
        assert "argument a; work-item (63, 0, 0)" in text


def test_faults_of_a_launch_that_did_not_end_are_recorded(tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(
        "kernel void k(global volatile int *a)\n{\n a[get_global_id(0) + 60] = 1;\n while (a[0] == 0)\n  a[1] = 1;\n}\n"
    )
    sizes = ("--size", "64", "--group", "64", "--arg", "zeros:int:60", "--seconds", "1", "-o", "k.klens")
    done = run("observe", "k.cl", "--device", "dg2", *sizes, cwd=tmp_path)
    assert (done.returncode, "nothing was counted" in done.stderr) == (3, True)
    status, verdict = check("k.klens", "--no-faults", "--allow-unknown", cwd=tmp_path)
    assert (status, verdict["findings"][0]["state"], verdict["findings"][0]["value"]) == (1, "failed", 1)
