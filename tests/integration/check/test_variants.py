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
    assert last_line(folder, 0).startswith("2 of 2 variants, 2 kernels, 0 unread, 2 bounds checked: all kept")
    assert last_line(folder, 1, most=150).startswith(
        "2 of 2 variants, 2 kernels, 0 unread, 2 bounds checked: 1 not kept"
    )
    assert last_line(folder, 0, most=150, rows="[8]").startswith("1 kernel, 0 unread, 1 bound checked: all kept")


def test_a_variant_of_the_command_line_is_the_only_one(folder: Path) -> None:
    assert last_line(folder, 0, "--build-options=-DROWS=4").startswith("1 kernel, 0 unread, 1 bound checked: all kept")


def test_a_variant_that_does_not_compile_is_counted(folder: Path) -> None:
    words = last_line(folder, 3, rows='[8, 32, "nothing"]')
    assert words.startswith("2 of 3 variants, 2 kernels, 1 unread, 2 bounds checked: 1 of 3 builds failed")


def test_a_baseline_has_every_variant(folder: Path) -> None:
    last_line(folder, 0)
    done = kernlens("sweep", "rows.cl", "--device", "dg2", "-o", "base.klens", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "2 of 2 variants, 2 kernels, 0 unread, 22 bounds" in last_line(folder, 0, "--baseline", "base.klens")
    assert "3 of 3 variants, 3 kernels" in last_line(folder, 0, "--baseline", "base.klens", rows="[8, 16, 32]")


EDIT = SOURCE.replace("    a[get", "#if ROWS > 16\n    sum = native_exp(sum);\n#endif\n    a[get")


def test_diff_compares_every_variant(folder: Path) -> None:
    """The edit changes what only the second variant is compiled to."""
    last_line(folder, 0)
    (folder / "new.cl").write_text(EDIT)
    (folder / "kernlens.toml").write_text(PROJECT.format(most=5000, rows="[8, 32]").replace("rows.cl", "*.cl"))
    done = kernlens("diff", "rows.cl", "new.cl", "--device", "dg2", cwd=folder)
    assert done.returncode == 1, done.stderr
    assert "2 kernels compared, 1 differs" in done.stdout
    assert done.stdout.splitlines()[-1] == "2 of 2 variants, 2 kernels, 0 unread"


def test_diff_of_folders_compares_every_variant(folder: Path) -> None:
    for name, source in (("old", SOURCE), ("new", EDIT)):
        (folder / name).mkdir()
        (folder / name / "rows.cl").write_text(source)
        project = PROJECT.format(most=5000, rows='[8, 32, "nothing"]' if name == "new" else "[8, 32]")
        (folder / name / "kernlens.toml").write_text(project)
    done = kernlens("diff", "old", "new", "--device", "dg2", cwd=folder)
    assert done.returncode == 3, done.stderr
    assert "2 kernels compared, 1 differs" in done.stdout
    assert done.stdout.splitlines()[-1] == "2 of 3 variants, 2 kernels, 1 unread"


def test_advise_says_what_it_looked_at(folder: Path) -> None:
    last_line(folder, 0)
    done = kernlens("advise", "rows.cl", "--device", "dg2", cwd=folder)
    assert done.stdout.splitlines()[-1].startswith("2 of 2 variants, 2 kernels, 0 unread: ")
