"""Rows of kernels whose binaries state figures of their own: tables and CSV have their columns, and no empty ones."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

from kernlens.cli.answers.sweep_table import csv_rows, sweep_document, sweep_table
from kernlens.model.figures import FIGURES, figure_named
from kernlens.model.sweep_row import MEASURED, Sweep, SweepRow, worst_first
from kernlens.verbs.sweep.measuring import plain_rows

COUNTS = {"instructions": 40, "code_size": 200}
VALUES = tuple(COUNTS.get(figure.key) for figure in MEASURED)
GFX = SweepRow("a.cl", "gfx1030", "amd", "clang 15", "", "k", VALUES, own=(("vgprs", 24), ("lds_bytes", 512)))
DG2 = SweepRow("a.cl", "dg2", "system", "IGC 1", "", "k", tuple(range(len(MEASURED))))
VGPRS = figure_named("vgprs")


def heading(*rows: SweepRow) -> str:
    return next(iter(sweep_table(rows, figure_named("instructions"), 0)))


def test_a_table_has_what_a_row_states() -> None:
    own = heading(GFX)
    assert "VGPRs" in own
    assert "LDS" in own
    assert "GRF count" not in own
    both = heading(GFX, DG2)
    assert "VGPRs" in both
    assert "GRF count" in both
    assert "VGPRs" not in heading(DG2)


def test_rows_can_be_ordered_by_it() -> None:
    more = replace(GFX, kernel="more", own=(("vgprs", 30),))
    assert [row.kernel for row in worst_first([GFX, more, DG2], VGPRS)] == ["more", "k", "k"]
    assert DG2.value(VGPRS) is None


def test_every_form_has_the_columns() -> None:
    rows = list(csv.DictReader(csv_rows([GFX, DG2])))
    assert (rows[0]["vgprs"], rows[0]["lds_bytes"], rows[0]["code_size"]) == ("24", "512", "200")
    assert (rows[1]["vgprs"], rows[1]["simd"]) == ("", "0")
    assert "vgprs" not in next(iter(csv_rows([DG2])))
    assert sweep_document([GFX])["rows"][0]["figures"]["vgprs"] == 24
    assert "vgprs" not in sweep_document([DG2])["rows"][0]["figures"]
    assert Sweep([GFX, DG2]).table["vgprs"] == (24, None)
    assert {figure.key for figure in FIGURES} <= set(Sweep([GFX]).table.columns)


def test_rows_travel_as_json() -> None:
    (plain,) = json.loads(json.dumps(plain_rows([GFX])))
    assert plain[3] == [["vgprs", 24], ["lds_bytes", 512]]
