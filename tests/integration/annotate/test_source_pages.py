"""Nsight Compute's source pages of an H100 on the code that they are of: each line as its own page has it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from kernlens.toolchain.nvdisasm import find_nvdisasm
from tests.nvidia_files import profiled, triton
from tests.unit.conftest import Kernlens, kernlens

__all__ = ["kernlens"]
pytestmark = pytest.mark.skipif(
    find_nvdisasm() is None, reason="no nvdisasm here: NVIDIA's licence lets nobody pass it on"
)


def _files(folder: Path, name: str, page: str) -> tuple[str, str]:
    (folder / "program.cubin").write_bytes(triton(".cubin") if name == "matmul" else profiled("k.cubin"))
    (folder / page).write_bytes(profiled(page))
    return str(folder / "program.cubin"), str(folder / page)


def _own_lines(page: str) -> dict[int, tuple[int, int]]:
    """Return the samples and the executed instructions of each line in a page by line."""
    heading, lines = [""], {}
    for cells in csv.reader(io.StringIO(profiled(page).decode())):
        if cells and cells[0] == "Line No":
            heading = cells
        elif cells and cells[0].isdigit():
            row = dict(zip(heading, cells, strict=True))
            lines[int(cells[0])] = int(row["# Samples"]), int(row["Instructions Executed"])
    return lines


@pytest.mark.parametrize(
    ("name", "page", "lines", "count"),
    [
        ("mixed", "sass.csv", "both.csv", 304),
        ("mixed", "both.csv", "both.csv", 304),
        ("matmul", "triton_sass.csv", "triton_both.csv", 272),
    ],
)
def test_lines_are_those_of_the_page_by_line(
    kernlens: Kernlens, tmp_path: Path, name: str, page: str, lines: str, count: int
) -> None:
    program, samples = _files(tmp_path, name, page)
    done = kernlens("annotate", program, "--samples", samples, "--json")
    assert done.status == 0, done.err
    document = json.loads(done.out)
    (kernel,) = document["programs"][0]["kernels"]
    assert len(kernel["instructions"]) == count
    assert kernel["samples"]["without_instruction"] == []
    found_lines = {
        each["line"]: (each["total"], each["measured"].get("Instructions Executed", 0))
        for each in kernel["samples"]["lines"]
    }
    assert found_lines == _own_lines(lines)
    assert document["samples"]["profiler"] == "Nsight Compute"
    # Every instruction that ran has its count.
    assert sum(1 for each in kernel["samples"]["instructions"] if each["measured"]) > count - 30


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [("LDC R1,", "LDC R2,", "at 0x0 it has 'LDC R2"), ('"mixed"', '"mixer"', "no kernel of the input has samples")],
)
def test_a_page_of_other_code_is_refused(kernlens: Kernlens, tmp_path: Path, old: str, new: str, words: str) -> None:
    program, samples = _files(tmp_path, "mixed", "sass.csv")
    Path(samples).write_text(Path(samples).read_text().replace(old, new))
    for command in (["annotate", program], ["report", program, "-o", str(tmp_path / "x.html")]):
        done = kernlens(*command, "--samples", samples)
        assert (done.status, done.out) == (2, "")
        assert words in done.err
    both = ("--samples", samples, "--samples", samples)
    done = kernlens("diff", program, program, *both)
    assert done.status == 2
    assert words in done.err


def test_rows_that_are_cut_off_are_of_other_code(kernlens: Kernlens, tmp_path: Path) -> None:
    program, samples = _files(tmp_path, "mixed", "sass.csv")
    lines = Path(samples).read_text().splitlines(keepends=True)
    Path(samples).write_text("".join([*lines[:9], *lines[10:]]).replace("R2, R4", "R2, R4"))
    done = kernlens("annotate", program, "--samples", samples)
    # A row less is no other code: the others stand where they stood.
    assert done.status == 0
    Path(samples).write_text("".join([*lines, lines[-1].replace(lines[-1][1:15], "0x7fa0597ad500")]))
    done = kernlens("annotate", program, "--samples", samples)
    assert done.status == 2
    assert "no instruction" in done.err


def test_text_diff_and_report(kernlens: Kernlens, tmp_path: Path) -> None:
    program, samples = _files(tmp_path, "mixed", "both.csv")
    done = kernlens("annotate", program, "--samples", samples, "--line", "12")
    assert "Thread Instructions Executed" in done.out
    done = kernlens("diff", program, program, "--samples", samples, "--samples", samples)
    assert "stall_long_sb           2,329" in done.out
    assert kernlens("report", program, "--samples", samples, "-o", str(tmp_path / "x.html")).status == 0
