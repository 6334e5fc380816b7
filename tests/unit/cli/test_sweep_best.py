"""``sweep --best`` as it is printed and written: the table, the marks of CSV, JSON."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

import kernlens as package
from kernlens.cli.answers.sweep_best import best_document, best_table, marks
from kernlens.cli.answers.sweep_table import csv_rows
from kernlens.model.best_sets import best_sets, weighing
from kernlens.report.style import rendered_lines
from tests.unit.conftest import Kernlens
from tests.unit.model.test_best_sets import FIGURES, row
from tests.unit.verbs.test_sweep import rows_of
from tests.writers.programs import SOURCE

ROWS = [
    row("", spill_stores=4, cycles=100, code_size=960, grf_count=128),
    row("-a", spill_stores=2, cycles=300, code_size=700, grf_count=128),
    row("-b", cycles=90, code_size=950, grf_count=256),
    row("-c", cycles=95, code_size=990, grf_count=256),
    row("", "calm"),
    row("-b", "calm"),
    row("", "big", simd=8, cycles=10),
    row("-b", "big", simd=32, cycles=20),
    row("-x", None),
]


def test_the_table_has_the_first_set_and_the_best() -> None:
    by = weighing()
    assert rendered_lines(list(best_table(best_sets(ROWS, by), by, 0))) == [
        "  kernel  device     options     SIMD  GRF count  spills  cycles  code size  gain",
        "  k       dg2        no options    16        128       4     100        960",
        "                  *  -b            16        256       0      90        950  spills -100.0%",
        "  big     dg2        no options     8          0       0      10          0",
        "                  *  -b            32          0       0      20          0  cycles -50.0%",
        "  * the best by spills,cycles,size",
        "2 of 3 kernels gain from another set than the first",
        "  no other set is better than the first for calm",
    ]
    assert (
        rendered_lines(list(best_table(best_sets(ROWS, by), by, 1)))[-3] == "  and 1 more kernel: --top 0, --csv FILE"
    )


def test_a_kernel_with_one_set_is_compared_with_nothing() -> None:
    by = weighing()
    table = rendered_lines(list(best_table(best_sets([row("")], by), by, 0)))
    assert table == ["nothing to compare: no kernel has figures with more than one set of options"]
    rows = [row("", "calm"), row("-b", "calm"), row("-b", "alone")]
    assert rendered_lines(list(best_table(best_sets(rows, by), by, 0))) == [
        "0 of 1 kernel gain from another set than the first",
        "  no other set is better than the first for calm",
        "  no other set has figures of alone",
    ]


def test_what_the_marks_of_rows_are() -> None:
    by = weighing()
    read = list(csv.reader(io.StringIO("\n".join(csv_rows(ROWS, FIGURES, marks(best_sets(ROWS, by)))))))
    assert read[0][-2:] == ["reason", "best"]
    assert "".join(each[-1] for each in read[1:]) == "001010010"


def test_the_document() -> None:
    by = weighing("spills,cycles,size")
    document = best_document(best_sets(ROWS, by), by)
    first, calm, _ = document["best"]
    assert document["weigh"] == "spills,cycles,size"
    assert first == {
        **{"source": "a.cl", "device": "dg2", "toolchain": "system", "compiler": "NEO 1", "kernel": "k", "sets": 4},
        "toolchain_name": "system",
        **{"first": "", "best": "-b", "by": ["spills"], "ratio": 0.0},
        "unranked": [],
        "criteria": [
            {"metric": "spills", "first": 4, "best": 0},
            {"metric": "cycles", "first": 100, "best": 90},
            {"metric": "size", "first": 960, "best": 950},
        ],
    }
    assert (calm["by"], calm["ratio"], calm["best"]) == ([], None, "")


@pytest.fixture
def source(tmp_path: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNLENS_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("scale.cl").write_text(SOURCE)


def test_the_command(kernlens: Kernlens, source: None) -> None:
    command = ("sweep", "scale.cl", "--device", "dg2", "-D", "A=1,2", "--best")
    done = kernlens(*command, "--csv", "x.csv")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("0 of 2 kernels gain from another set than the first\n")
    assert "scale has the same machine code with -DA=1, -DA=2 (dg2)\n" in done.out
    rows = rows_of(Path("x.csv").read_text())
    assert [(each["kernel"], each["options"], each["best"]) for each in rows] == [
        ("scale", "-DA=1", "1"),
        ("plain", "-DA=1", "1"),
        ("scale", "-DA=2", "0"),
        ("plain", "-DA=2", "0"),
    ]
    document = kernlens(*command, "--weigh", "size,live-grfs", "--json").document
    assert (document["weigh"], [each["kernel"] for each in document["best"]]) == ("size,live-grfs", ["scale", "plain"])
    assert "live_grfs" in document["rows"][0]["figures"]
    swept = package.sweep("scale.cl", "dg2", options=["-DA=1", "-DA=2"])
    assert best_sets(swept, "size")[0].best.options == "-DA=1"


def test_words_that_go_wrong(kernlens: Kernlens, source: None) -> None:
    done = kernlens("sweep", "scale.cl", "--device", "dg2", "--weigh", "size")
    assert (done.status, "--weigh needs --best" in done.err) == (2, True)
    done = kernlens("sweep", "scale.cl", "--device", "dg2", "--best", "--weigh", "sizes")
    assert (done.status, done.err) == (2, "kernlens: --weigh: there is no metric 'sizes'; did you mean size?\n")


def test_what_is_not_ranked_is_crowned_nowhere(kernlens: Kernlens) -> None:
    """Neither in the table, nor by marks of CSV, nor in JSON; each says why."""
    rows = [row("", loops=0, cycles=900), row("-rolled", loops=2, cycles=90), row("-array", private_bytes=64, loops=0)]
    by = weighing()
    sets = best_sets(rows, by)
    assert rendered_lines(list(best_table(sets, by, 1))) == [
        "0 of 1 kernel gain from another set than the first",
        "  not ranked: k on dg2 with -rolled: 2 loops, not 0",
        "  and 1 more that are not ranked: --top 0",
    ]
    assert marks(sets) == set()
    (document,) = best_document(sets, by)["best"]
    assert (document["first"], document["best"], document["by"]) == ("", None, [])
    assert document["unranked"] == [
        {"options": "-rolled", "reason": "2 loops, not 0"},
        {"options": "-array", "reason": "4 bytes of private memory per work-item, not 0"},
    ]
