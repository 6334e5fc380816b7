"""A source that ``kernlens.toml`` gives several values of a macro is checked with each of them, and what was not is named."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import kernlens as package
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


def test_variants_are_told_apart_by_their_options(folder: Path) -> None:
    last_line(folder, 0)
    advised = kernlens("advise", "rows.cl", "--device", "dg2", cwd=folder).stdout
    kernels = json.loads(kernlens("advise", "rows.cl", "--device", "dg2", "--json", cwd=folder).stdout)["kernels"]
    assert [each["build_options"] for each in kernels] == ["-DROWS=8", "-DROWS=32"]
    assert [f"rows on dg2 (12.55.8) ({each['build_options']})" in advised for each in kernels] == [True, True]


def test_what_does_not_compile_is_not_missing_and_what_is_missing_has_its_path(folder: Path) -> None:
    (folder / "k").mkdir()
    (folder / "k/rows.cl").write_text(SOURCE)
    (folder / "k/other.cl").write_text("kernel void other(global float* a) { a[0] = 1; }")
    (folder / "kernlens.toml").write_text('[source."k/rows.cl".define]\nROWS = [8, 32]\n')
    words = ["k", "--device", "dg2", "--baseline", "base.klens", "--fail-on-missing", "--sarif", "out.sarif"]
    assert kernlens("sweep", "k", "--device", "dg2", "-o", "base.klens", cwd=folder).returncode == 0

    def results(source: str) -> list[tuple[str, str, str]]:
        (folder / "k/rows.cl").write_text(source)
        kernlens("check", *words, cwd=folder)
        (run,) = json.loads((folder / "out.sarif").read_text())["runs"]
        return [
            (
                each["ruleId"],
                each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
                each["message"]["text"].partition(" with ")[2][:8],
            )
            for each in run["results"]
        ]

    broken = results(SOURCE.replace("float sum = 0", "float sum = "))
    assert broken == [("failed-build", "k/rows.cl", "-DROWS=8"), ("failed-build", "k/rows.cl", "-DROWS=3")]
    renamed = results(SOURCE.replace("rows(", "other_rows("))
    assert renamed == [("missing", "k/rows.cl", "-DROWS=8"), ("missing", "k/rows.cl", "-DROWS=3")]


#: An application that builds one source with related macros, after lines of its own.
APPLICATION = r"""
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
int main(void) {
    char text[4096] = "#define KIND 2\n";
    cl_platform_id platform;
    cl_device_id device;
    FILE* file = fopen("k/flash.cl", "r");
    text[15 + fread(text + 15, 1, 4000, file)] = 0;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    const char* sets[] = {"-DDK=8 -DDV=8 -cl-mad-enable", "-DDK=16 -DDV=16 -cl-mad-enable", "-DDK=24 -DDV=8"};
    for (int i = 0; i < 3; i++) {
        const char* source = text;
        cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
        if (clBuildProgram(program, 1, &device, sets[i], NULL, NULL)) return 1;
    }
    return 0;
}
"""
FLASH = """kernel void flash(global float* a) {
    float sum = KIND;
    for (int i = 0; i < DK; i++) sum += a[i * DV + get_global_id(0)];
    a[get_global_id(0)] = sum;
}
"""


def test_variants_are_learnt_from_an_application(tmp_path: Path) -> None:
    (tmp_path / "k").mkdir()
    (tmp_path / "k/flash.cl").write_text(FLASH)
    (tmp_path / "app.c").write_text(APPLICATION)
    subprocess.run(["gcc", "-o", "app", "app.c", "-lOpenCL"], cwd=tmp_path, check=True, timeout=60)
    captured = kernlens("capture", "--simulate", "dg2", "-o", "app.klens", "--", "./app", cwd=tmp_path)
    assert captured.returncode == 0, captured.stderr
    alone = kernlens("check", "k", "--device", "dg2", "--max-instructions", "5000", cwd=tmp_path)
    assert alone.returncode == 3, "without its macros the source does not compile"

    options = kernlens("recording", "options", "app.klens", "--toml", cwd=tmp_path)
    (tmp_path / "kernlens.toml").write_text(options.stdout)
    checked = kernlens("check", "k", "--device", "dg2", "--max-instructions", "5000", cwd=tmp_path)
    assert checked.stdout.splitlines()[-1].startswith(
        "3 of 3 variants, 3 kernels, 0 unread, 3 bounds checked: all kept"
    )
    swept = kernlens("sweep", "k", "--device", "dg2", "--json", cwd=tmp_path)
    rows = Counter(row["figures"]["instructions"] for row in json.loads(swept.stdout)["rows"])
    programs = package.load(tmp_path / "app.klens")
    assert len(rows) == 3
    assert rows == Counter(len(kernel.instructions) for program in programs for kernel in program.kernels), (
        "the sets give the code that the application got"
    )
