"""Where to start in an application: the lines of all its kernels that waste most, before all else."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kernlens.analysis.start_here import MOST, by_work, start_here
from kernlens.loading.open import open_file
from kernlens.model.device_time import DeviceTime
from kernlens.recording.reader import Recording
from kernlens.report.start_words import start_lines
from tests.documents import check_printed
from tests.integration.cli.test_cli import kernlens as run

pytestmark = [
    pytest.mark.skipif(not Path("/usr/lib/oclgrind/liboclgrind-rt.so").exists(), reason="no Oclgrind 21.10"),
    pytest.mark.skipif(shutil.which("ocloc") is None, reason="no compiler for Intel's GPUs"),
]
#: Four kernels, each with another fault, and one that wastes nothing.
SOURCE = """\
kernel void transpose(global const float *in, global float *out) {
  int x = get_global_id(0);
  out[x] = in[x % 16 * 64 + x / 16];
}
kernel void row_sums(global const float *in, global float *out) {
  local float tile[32 * 32];
  int l = get_local_id(0);
  for (int i = 0; i < 32; i++)
    tile[i * 32 + l] = in[i * 32 + l];
  barrier(CLK_LOCAL_MEM_FENCE);
  float s = 0;
  for (int i = 0; i < 32; i++)
    s += tile[l * 32 + i];
  out[get_global_id(0)] = s;
}
kernel void histogram(global const float *in, global float *out) {
  global int *bins = (global int *)out;
  atomic_inc(&bins[(int)(in[get_global_id(0)] * 4)]);
}
kernel void mandel(global const float *in, global float *out) {
  int i = get_global_id(0);
  float x = 0;
  if (i % 2) {
    for (int k = 0; k < 200; k++)
      x = native_sin(x * x + 0.1f);
  }
  out[i] = x;
}
kernel void structures(global const float *in, global float *out) {
  int i = get_global_id(0);
  out[i] = in[i * 8] * in[i * 8 + 2048];
}
kernel void copy(global const float *in, global float *out) {
  int i = get_global_id(0);
  out[i] = in[i];
}
"""
#: The line of each fault, and its kind.
FAULTS = {
    "transpose": (3, "scattered access"),
    "row_sums": (13, "bank conflict"),
    "histogram": (18, "contention"),
    "mandel": (24, "idle lanes"),
}


def printed(*words: str | Path, cwd: Path) -> str:
    done = run(*words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    check_printed([str(word) for word in words], done.stdout)
    return done.stdout


def merged(folder: Path, output: str, *recordings: str) -> list[dict[str, Any]]:
    """Return the start of these recordings together."""
    printed("recording", "merge", *recordings, "-o", output, cwd=folder)
    return started(folder, output)


def started(folder: Path, path: str, *words: str) -> list[dict[str, Any]]:
    start: list[dict[str, Any]] = json.loads(printed("annotate", path, "--top", "2", *words, "--json", cwd=folder))[
        "start_here"
    ]
    return start


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    result = tmp_path_factory.mktemp("start")
    (result / "app.cl").write_text(SOURCE)
    arguments = ("--group", "32", "--arg", "random:float:4096", "--arg", "zeros:float:4096")
    for name in (*FAULTS, "copy", "structures"):
        size = ("--size", "2048" if name in {"transpose", "histogram"} else "256")
        words = ("observe", "app.cl", "--kernel", name, "--device", "dg2", *size, *arguments, "-o", f"{name}.klens")
        printed(*words, cwd=result)
    return result


def faults(start: Sequence[dict[str, Any]]) -> dict[str, tuple[int, str]]:
    return {each["kernel"]: (each["line"], each["kind"]) for each in start if each["kind"] is not None}


def test_the_lines_of_all_kernels_come_first(folder: Path) -> None:
    start = merged(folder, "all.klens", "copy.klens", *(f"{name}.klens" for name in reversed(FAULTS)))
    assert faults(start) == FAULTS
    assert len(start) <= MOST
    shares = [each["work_share"] for each in start if each["kind"] is not None]
    assert shares == sorted(shares, reverse=True)
    assert all(0 <= each["cycles_share"] <= 1 for each in start)
    text = " ".join(printed("annotate", "all.klens", "--top", "2", cwd=folder).split())
    assert text.startswith("Start here: 5 kernels in 5 launches, counted in an interpreter, on this data; not time 1. ")
    head = text[: text.index("instructions in ")]
    for each in start:
        assert f"{each['kernel']}, app.cl:{each['line']}: {each['sentence']} {each['source']}" in head
        assert (each["action"] or "") in head


def test_launches_weigh(folder: Path) -> None:
    """What ran a thousand times is started at before what wastes more of one launch."""
    once = merged(folder, "once.klens", "transpose.klens", "mandel.klens")
    assert [each["kernel"] for each in once if each["kind"]] == ["mandel", "transpose"]
    doubled = "transpose.klens"
    for power in range(6):
        printed("recording", "merge", doubled, doubled, "-o", f"{power}.klens", cwd=folder)
        doubled = f"{power}.klens"
    often = merged(folder, "often.klens", "mandel.klens", doubled)
    assert [each["kernel"] for each in often if each["kind"]] == ["transpose", "mandel"]
    assert "transpose" in printed("annotate", "often.klens", "--top", "1", cwd=folder).split("\n\n")[1].split("\n")[0]


def test_the_device_s_time_weighs(folder: Path) -> None:
    """A kernel that took nearly all of the device's time is started at, however little of the work is its."""
    assert merged(folder, "timed.klens", "mandel.klens", "transpose.klens")[0]["kernel"] == "mandel"
    note_times(folder / "timed.klens", {"mandel": 1_000, "transpose": 99_000})
    start = started(folder, "timed.klens")
    assert next(each["kernel"] for each in start if each["kind"]) == "transpose"
    assert all(each["is_timed"] and each["work_share"] <= 0.01 for each in start if each["kernel"] == "mandel")
    assert sum(each["cycles_share"] for each in start if each["kernel"] == "transpose") > 0.9
    text = " ".join(printed("annotate", "timed.klens", "--top", "1", cwd=folder).split())
    assert "of all work, weighed by the device's time" in text
    assert "each kernel weighs the device's time of its launches" in text
    assert "99.0 us of device time" in text
    note_times(folder / "timed.klens", {"mandel": 1_000})  # Of one kernel alone it weighs nothing.
    start = started(folder, "timed.klens")
    assert (next(each["kernel"] for each in start if each["kind"]), start[0]["is_timed"]) == ("mandel", False)


def note_times(path: Path, times: dict[str, int]) -> None:
    """Have a recording say what the device took for its kernels, as a capture of the same programs says it."""
    with Recording(path) as recording:
        names = {kernel: build for build in recording.builds() for kernel in build.behaviours}
    kernels = [
        {"name": name, "program": names[name].name, "device": names[name].device, "created": 1, "launches": 1, "shapes": [],
         "time": DeviceTime(1, time, time, 0.5).document}
        for name, time in times.items()
    ]  # fmt: skip
    with closing(sqlite3.connect(path)) as file:
        file.execute(
            "INSERT OR REPLACE INTO recording VALUES ('capture', ?)", [json.dumps({"builds": [], "kernels": kernels})]
        )
        file.commit()


def test_a_folder_is_one_application(folder: Path, tmp_path: Path) -> None:
    """Its kernels stand in the order of their work, whichever file they are in."""
    for number, name in enumerate(("copy", "mandel", "transpose")):
        shutil.copy(folder / f"{name}.klens", tmp_path / f"{number}.klens")
    start = started(tmp_path, ".")
    assert faults(start) == {name: FAULTS[name] for name in ("transpose", "mandel")}
    text = printed("annotate", ".", "--top", "1", cwd=tmp_path)
    heads = [line.split("  ")[0] for line in text.split("\n") if " on dg2 (" in line]
    assert heads[:3] == ["mandel", "transpose", "copy"]
    moved = printed("annotate", ".", "--top", "1", "--sort", "moved", cwd=tmp_path)
    heads = [line.split("  ")[0] for line in moved.split("\n") if " on dg2 (" in line]
    assert heads[:3] == ["transpose", "copy", "mandel"]


def test_one_kernel_needs_no_start(folder: Path) -> None:
    text = printed("annotate", "mandel.klens", "--top", "2", cwd=folder)
    assert "Start here" not in text
    assert "idle lanes: 16.0 of 32 lanes are at work" in text
    document = json.loads(printed("annotate", "mandel.klens", "--top", "2", "--json", cwd=folder))
    (kernel,) = (each for each in document["programs"][0]["kernels"] if each["name"] == "mandel")
    assert [(each["line"], each["kind"]) for each in kernel["causes"]] == [(24, "idle lanes")]


def test_the_listing_has_the_causes_at_their_lines(folder: Path) -> None:
    lines = printed("annotate", "row_sums.klens", "--kernel", "row_sums", cwd=folder).split("\n")
    (at,) = (number for number, line in enumerate(lines) if line.endswith("s += tile[l * 32 + i];"))
    assert lines[at + 1].strip().startswith("bank conflict: a load of 4 bytes in local memory takes 32 wavefronts")
    assert lines[at + 2].strip() == "pad each row of the array by one element"


def test_where_nothing_is_wasted_the_heaviest_line_is_the_start(folder: Path) -> None:
    printed("recording", "merge", "copy.klens", "histogram.klens", "-o", "few.klens", cwd=folder)
    programs = open_file(folder / "few.klens").counted_code()
    selection = [(program, [program.kernels["copy"]]) for program in programs]
    start = start_here(selection)
    assert next((line.place.line if line.place else 0, line.cause) for line in start.lines) == (35, None)
    assert list(start_lines(start)) == []  # one kernel
    assert [kernel.name for _, kernels in by_work(selection) for kernel in kernels] == ["copy"]


def test_a_line_is_named_once(folder: Path) -> None:
    """Two accesses of one line waste; they are one entry, which leaves place for others."""
    start = merged(folder, "both.klens", "structures.klens", "mandel.klens", "row_sums.klens")
    places = [(each["kernel"], each["line"]) for each in start]
    assert len(places) == len(set(places))
    (entry,) = (each for each in start if each["kernel"] == "structures")
    assert (entry["line"], entry["kind"]) == (31, "strided access")
    assert "1 more access of this line does the same" in entry["sentence"]


def test_what_wastes_little_of_all_work_is_left_out(folder: Path) -> None:
    """A hundredth is the least: the list has place for others."""
    often = "mandel.klens"
    for power in range(7):
        printed("recording", "merge", often, often, "-o", f"mandel_{power}.klens", cwd=folder)
        often = f"mandel_{power}.klens"
    start = merged(folder, "little.klens", "structures.klens", "transpose.klens", often)
    assert start[0]["kernel"] == "mandel"
    assert all(each["work_share"] >= 0.01 or each["cycles_share"] >= 0.1 for each in start)
    selection = [(each, list(each.kernels.values())) for each in open_file(folder / "little.klens").counted_code()]
    (by_counts,) = (line for line in start_here(selection, has_estimate=False).lines if line.cause is not None)
    assert (by_counts.kernel.name, by_counts.share > 0.3) == ("mandel", True)


def test_the_lines_of_one_cause_are_told_once(tmp_path: Path) -> None:
    lines = [f"  p[i].{each} += b[0] * p[i].v{each};" for each in "xyz"]
    head = "typedef struct { float x, y, z, w, vx, vy, vz, mass; } particle;"
    kernel = "kernel void drift(global particle *p, global float *b) {"
    text = "\n".join((head, kernel, "  int i = get_global_id(0);", *lines, "}"))
    (tmp_path / "drift.cl").write_text(text)
    sizes = ("--size", "256", "--group", "32", "--arg", "random:float:4096", "--arg", "zeros:float:4096")
    printed("observe", "drift.cl", "--device", "dg2", *sizes, "-o", "drift.klens", cwd=tmp_path)
    (cause,) = started(tmp_path, "drift.klens")
    assert (cause["line"], cause["kind"]) == (4, "strided access")
    assert "of this line and lines 5, 6 do the same" in cause["sentence"]
