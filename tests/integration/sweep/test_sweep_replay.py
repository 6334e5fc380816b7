"""``kernlens sweep --replay`` on PoCL: sets of options are timed on a kept launch, and wrong ones are never the best."""

from __future__ import annotations

import csv
import io
import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernlens.dataclass import replace
from kernlens.model.build import HeldParts
from kernlens.verbs.replay.replay import replay
from kernlens.verbs.replay.timed_sets import timed_sets
from tests.documents import check_printed
from tests.integration.docs.json_shapes import shapes
from tests.integration.docs.test_json_keys import answer, compare
from tests.writers.kept_launches import READ_ONLY, WRITE_ONLY, Keeper, record_launches

pytestmark = pytest.mark.skipif(not Path("/etc/OpenCL/vendors/pocl.icd").exists(), reason="no PoCL")

#: With SLOW it does so many times as much for the same result; with BIAS the result is another one, and with NONE at once.
KERNEL = """
kernel void work(global const float *in, global float *out) {
    int i = get_global_id(0);
    float sum = 0.0f;
#ifndef NONE
    for (int round = 0; round < 40 * SLOW; round++)
        sum += round % SLOW ? 0.0f : native_sin(in[i] + round / SLOW);
#endif
    out[i] = sum;
}
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    keeper = Keeper(KERNEL, "-DSLOW=40", "work")
    arguments: list[Any] = [[struct.pack("<2048f", *range(2048)), READ_ONLY], [bytes(8192), WRITE_ONLY]]
    launch = keeper.launch("work", arguments, [2048], [64])
    return record_launches(tmp_path_factory.mktemp("kept") / "work.klens", keeper.build, launch)


def sweep(*words: object, status: int = 0) -> str:
    arguments = ["sweep", *map(str, words)]
    done = subprocess.run([sys.executable, "-m", "kernlens", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr + done.stdout
    if "--json" in arguments:
        check_printed(arguments, done.stdout)
    return done.stdout + ("" if "--json" in arguments else done.stderr)


def test_the_best_set_was_measured_and_is_right(recording: Path, tmp_path: Path) -> None:
    """The set that computes nothing is by far the fastest, and wrong."""
    sets = [f"--build-options={each}" for each in ("-DSLOW=40", "-DSLOW=1 -DNONE", "-DSLOW=1", "-DSLOW=oh")]
    table = tmp_path / "sets.csv"
    text = sweep(recording, "--replay", "--best", "--runs", 12, *sets, "--csv", table, status=3)
    lines = text.splitlines()
    assert lines[0].startswith("launch 1 of work: 2,048 work-items in groups of 64, work.cl on ")
    assert [line.split("  ")[1:3] for line in lines[2:3]] == [["*", "-DSLOW=1"]]
    (best,) = [line for line in lines if line.startswith("* the best: ")]
    assert best.startswith("* the best: -DSLOW=1: ")
    assert best.count("x (") == 2
    assert "; timed again: " in best
    (measured,) = [line for line in lines if line.startswith("measured: ")]
    assert measured.startswith("measured: 12 runs on ")
    assert measured.endswith("(Portable Computing Language), each set in turn with the recorded options (-DSLOW=40)")
    assert "the times are those of this CPU, and say nothing about a GPU" in lines
    assert any(
        line.startswith("  -DSLOW=1 -DNONE: the buffer of argument 1 (out): 2,048 of 2,048 floats") for line in lines
    )
    assert any(line.startswith("kernlens: -DSLOW=oh: clBuildProgram") for line in lines)
    rows = {row["options"]: row for row in csv.DictReader(io.StringIO(table.read_text()))}
    assert [(each, row["equal"]) for each, row in rows.items()] == [
        *(("-DSLOW=40", "1"), ("-DSLOW=1 -DNONE", "0"), ("-DSLOW=1", "1"), ("-DSLOW=oh", "")),
    ]
    assert float(rows["-DSLOW=1 -DNONE"]["ratio"]) > float(rows["-DSLOW=1"]["ratio"]) > 2


def test_results_are_those_of_replay(recording: Path) -> None:
    options = "-DSLOW=1 -DNONE"
    document = json.loads(sweep(recording, "--replay", "--json", "--runs", 8, f"--build-options={options}"))
    (each,) = document["sets"]
    done = [
        sys.executable,
        "-m",
        "kernlens",
        "replay",
        str(recording),
        f"--build-options={options}",
        "--runs",
        "0",
        "--json",
    ]
    replayed = json.loads(subprocess.run(done, capture_output=True, text=True, check=False).stdout)
    assert each["build"]["results"] == replayed["launches"][0]["builds"][1]["results"]
    assert each["equal"] is False
    assert "best" not in document


def test_macros_are_added_to_the_recorded_options(recording: Path) -> None:
    swept = timed_sets(recording, macros=["SLOW=20,40"], runs=1)
    assert [each.options for each in swept.sets] == ["-DSLOW=40 -DSLOW=20", "-DSLOW=40 -DSLOW=40"]
    assert [each.is_right for each in swept.sets] == [True, True]
    assert swept.best is None, "one pair of runs tells nothing"


def test_options_do_not_change_a_binary(recording: Path, tmp_path: Path) -> None:
    keeper = Keeper("kernel void one(global int *out) { out[get_global_id(0)] = 1; }")
    launch = keeper.launch("one", [[bytes(64), WRITE_ONLY]], [16])
    build = replace(keeper.build, parts=HeldParts(binary=keeper.build.binary))
    path = record_launches(tmp_path / "binary.klens", build, launch)
    assert replay(path, runs=0)[0].is_equal
    (each,) = timed_sets(path, ["-DX=1"], runs=1).sets
    assert each.reason.startswith("the recording holds only the binary of program, which no build options change")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--replay"], "there is nothing to sweep: name sets with --build-options or -D"),
        (["--replay", "other.klens", "-D", "A"], "--replay takes one recording"),
        (["--runs", "3", "--device", "dg2"], "--runs needs --replay"),
        (
            ["--replay", "--weigh", "size", "--best"],
            "runs a launch with each set, one after the other; remove --weigh",
        ),
        (["--replay", "-D", "A", "--kernel", "wrk"], "keeps no launch of wrk; did you mean work?"),
        (["--replay", "-D", "A", "--device", "Nothing:0"], "no OpenCL device is called Nothing:0"),
    ],
)
def test_what_cannot_be_done_is_said(words: list[str], sentence: str, recording: Path) -> None:
    assert sentence in sweep(recording, *words, status=2)


def test_keys_of_timed_sets_are_documented(tmp_path: Path) -> None:
    _, shape = shapes("sweep")
    sum_up = "for (int i = 0; i < LOOPS; i++) out[get_global_id(0) + LOOPS % 2] += sqrt(2.25f);"
    source = f"kernel void k(global float *out) {{ {sum_up} }}"
    keeper = Keeper(source, "-DLOOPS=90000")
    launch = keeper.launch("k", [[bytes(128), WRITE_ONLY]], [16], [4])
    path = record_launches(tmp_path / "a.klens", keeper.build, launch)
    words = ("sweep", path, "--replay", "--runs", "8", "-D", "LOOPS=1,90000,oh")
    timed = answer(*words, "--best", status=3), answer(*words, status=3)
    compare(shape, *timed)
