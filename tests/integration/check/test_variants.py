"""A source that ``kernlens.toml`` gives several values of a macro is checked with each of them, and what was not is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.warm_commands import kernlens

SOURCE = """
#ifndef ROWS
#error ROWS is not defined
#endif
kernel void rows(global float* a) {
    float sum = 0;
    for (int i = 0; i < ROWS; i++) sum += a[i * get_global_size(0) + get_global_id(0)];
    a[get_global_id(0)] = sum;
}
"""
PROJECT = """
[kernel."*"]
max-instructions = {most}
[source."rows.cl".define]
ROWS = {rows}
[source."absent.cl".define]
X = 1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.cl").write_text(SOURCE)
    return tmp_path


def last_line(folder: Path, status: int, *words: str, most: int = 5000, rows: str = "[8, 32]") -> str:
    (folder / "kernlens.toml").write_text(PROJECT.format(most=most, rows=rows))
    done = kernlens("check", "rows.cl", "--device", "dg2", *words, cwd=folder)
    assert done.returncode == status, done.stdout + done.stderr
    assert 'source."absent.cl": no file fits' in done.stdout
    return done.stdout.splitlines()[-1]


def test_every_variant_is_checked(folder: Path) -> None:
    assert last_line(folder, 0).startswith("2 of 2 variants, 2 kernels, 2 bounds checked: all kept")
    assert last_line(folder, 1, most=150).startswith("2 of 2 variants, 2 kernels, 2 bounds checked: 1 not kept")
    assert last_line(folder, 0, most=150, rows="[8]").startswith("1 kernel, 1 bound checked: all kept")


def test_a_variant_of_the_command_line_is_the_only_one(folder: Path) -> None:
    assert last_line(folder, 0, "--build-options=-DROWS=4").startswith("1 kernel, 1 bound checked: all kept")


def test_a_variant_that_does_not_compile_is_counted(folder: Path) -> None:
    words = last_line(folder, 3, rows='[8, 32, "nothing"]')
    assert words.startswith("2 of 3 variants, 2 kernels, 2 bounds checked: 1 of 3 builds failed")


def test_a_baseline_has_every_variant(folder: Path) -> None:
    last_line(folder, 0)
    done = kernlens("sweep", "rows.cl", "--device", "dg2", "-o", "base.klens", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "2 of 2 variants, 2 kernels, 22 bounds" in last_line(folder, 0, "--baseline", "base.klens")
    assert "3 of 3 variants, 3 kernels" in last_line(folder, 0, "--baseline", "base.klens", rows="[8, 16, 32]")
