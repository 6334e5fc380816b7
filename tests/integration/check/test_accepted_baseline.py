"""The command that ``check`` names for a new baseline makes one that loses no kernel."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.warm_commands import kernlens

LONG = "kernel void {0}(global float *a) {{ int i = get_global_id(0); a[i] = a[i] * 3 + a[i + 1] * 5 + a[i + 2]; }}\n"
SHORT = "kernel void {0}(global float *a) {{ int i = get_global_id(0); a[i] = a[i] * 3; }}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("first", "second"):
        Path(f"{name}.cl").write_text(LONG.format(name))
    assert kernlens("compile", "first.cl", "second.cl", "--device", "dg2", "-o", "base.klens").returncode == 0
    return tmp_path


def test_it_compiles_all_that_was_checked(folder: Path) -> None:
    Path("first.cl").write_text(SHORT.format("first"))
    words = ("check", "first.cl", "second.cl", "--device", "dg2", "--baseline", "base.klens")
    better = kernlens(*words)
    assert better.returncode == 0, better.stdout
    line = next(each for each in better.stdout.splitlines() if each.startswith("better than the baseline: "))
    command = line.partition("; ")[2].removesuffix(" writes a new one")
    assert command == "kernlens sweep first.cl second.cl --device dg2 --toolchain system -o base.klens"
    assert kernlens(*shlex.split(command)[1:]).returncode == 0
    again = kernlens(*words)
    assert "2 kernels" in again.stdout
    assert "better than" not in again.stdout
    Path("second.cl").write_text(LONG.format("second").replace("a[i + 2]", "a[i + 2] / a[i]"))
    assert kernlens(*words).returncode == 1


def test_a_baseline_with_more_than_was_checked_is_not_replaced(folder: Path) -> None:
    Path("first.cl").write_text(SHORT.format("first"))
    better = kernlens("check", "first.cl", "--device", "dg2", "--baseline", "base.klens")
    line = next(each for each in better.stdout.splitlines() if each.startswith("better than the baseline: "))
    assert "sweep" not in line
    assert "missing, in the baseline alone" in better.stdout
