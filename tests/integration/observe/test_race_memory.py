"""The look for data races takes 48 bytes for each byte of a buffer, so what is too large is left out, and named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernlens.model.behaviour import Behaviour
from kernlens.report.behaviour_words import no_fault_words
from kernlens.toolchain.oclgrind import race_memory
from kernlens.verbs.observe.observe import observe
from tests.integration.observe.test_hardware_counters import pytestmark  # noqa: F401

SOURCE = """kernel void both(global int *small, global int *large, global const int *read, local int *own) {
  own[0] = get_local_id(0);
  small[0] = get_global_id(0);
  large[0] = get_global_id(0) + read[get_global_id(0)];
}
kernel void copy(global const int *read, global int *large) {
  large[get_global_id(0)] = read[get_global_id(0)];
}
"""
SMALL, LARGE = 64, 4096


def run(folder: Path, kernel: str = "both") -> Behaviour:
    source = folder / "k.cl"
    source.write_text(SOURCE)
    own = [f"zeros:int:{SMALL}", f"zeros:int:{LARGE}", f"ramp:int:{SMALL}", "local:256"]
    arguments = own if kernel == "both" else [f"ramp:int:{LARGE}", f"zeros:int:{LARGE}"]
    return observe(source, kernel=kernel, size=[SMALL], group=[16], arguments=arguments, device="h100")


def races(observed: Behaviour) -> set[str | None]:
    return {each.argument for each in observed.faults if each.kind == "race"}


def test_buffers_for_which_there_is_no_memory_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(tmp_path)
    assert (races(whole) >= {"small", "large"}, whole.notes) == (True, ())
    monkeypatch.setattr("kernlens.toolchain.oclgrind.race_memory", lambda: 48 * 4 * (2 * SMALL))
    part = run(tmp_path)
    assert races(part) == races(whole) - {"large"}
    (note,) = part.notes
    assert note.startswith("data races were not looked for in the buffers of large: that takes 48 bytes")
    assert [each.requests for each in part.accesses] == [each.requests for each in whole.accesses]
    monkeypatch.setattr("kernlens.toolchain.oclgrind.race_memory", lambda: 48)
    assert races(run(tmp_path)).isdisjoint({"small", "large"})


def test_what_was_left_out_is_no_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no data race," in no_fault_words(run(tmp_path, "copy").notes)
    monkeypatch.setattr("kernlens.toolchain.oclgrind.race_memory", lambda: 48 * 4 * LARGE)
    part = run(tmp_path, "copy")
    assert (part.faults, "of large:" in part.notes[0]) == ((), True)
    assert "no data race in the other buffers," in no_fault_words(part.notes)


def test_a_launch_with_large_buffers_ends_in_its_time(tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(SOURCE)
    count = 1 << 26  # Two buffers of 256 MiB would take 24 GiB.
    words = ["--kernel", "copy", "--size", str(count), "--group", "256", "--seconds", "2"]
    arguments = ["--arg", f"zeros:int:{count}"] * 2
    command = [sys.executable, "-m", "kernlens", "observe", str(tmp_path / "k.cl"), *words, *arguments]
    done = subprocess.run([*command, "--fail-on-faults"], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, "as not all work-groups ran" in done.stderr) == (2, True)
    is_left_out = race_memory() < 2 * 4 * count * 48
    assert ("data races were not looked for in the buffers of" in done.stdout) == is_left_out
