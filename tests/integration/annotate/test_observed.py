"""The counts of an interpreter, saved by ``observe -o`` and shown by ``annotate``: the same numbers, by lines of the code."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import kernlens
from kernlens.errors import ToolError
from kernlens.recording.reader import Recording
from kernlens.verbs.observe.observe import observe
from tests.documents import check_printed
from tests.integration.cli.test_cli import kernlens as run
from tests.tree import ROOT

pytestmark = [
    pytest.mark.skipif(not Path("/usr/lib/oclgrind/liboclgrind-rt.so").exists(), reason="no Oclgrind 21.10"),
    pytest.mark.skipif(shutil.which("ocloc") is None, reason="no compiler for Intel's GPUs"),
]
TRANSPOSE = ("--size", "64x64", "--group", "16x16", "--arg", "random:float:4096", "--arg", "zeros:float:4096")
LOOPS = """\
kernel void loops(global const float *in, global float *out, int n)
{
  int x = get_global_id(0);
  float s = 0;
  if (in[x] > 2.0f)
    s = native_sin(in[x + n]);
  for (int i = 0; i < x; i++)
    s += in[i * 3 + x];
  for (int i = 0; i < 4; i++)
    s += in[i + x];
  #pragma unroll 4
  for (int i = 0; i < n; i++)
    s += in[i + 2 * x];
  out[x] = s;
}
"""


def printed(*words: str | Path, cwd: Path, status: int = 0) -> str:
    done = run(*words, cwd=cwd)
    assert done.returncode == status, done.stderr
    check_printed([str(word) for word in words], done.stdout)
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the two transposes observed and merged, what ``observe --json`` printed of each, and ``loops``."""
    result = tmp_path_factory.mktemp("observed")
    shutil.copy(ROOT / "examples" / "transpose.cl", result)
    for name in ("transpose", "transpose_tiled"):
        words = ("observe", "transpose.cl", "--kernel", name, "--device", "dg2", *TRANSPOSE, "--json")
        (result / f"{name}.json").write_text(printed(*words, "-o", f"{name}.klens", cwd=result))
    printed("recording", "merge", "transpose.klens", "transpose_tiled.klens", "-o", "both.klens", cwd=result)
    (result / "loops.cl").write_text(LOOPS)
    arguments = ("--arg", "random:float:4096", "--arg", "zeros:float:1024", "--arg", "103")
    sizes = ("--size", "256", "--group", "64", "-o", "loops.klens")
    printed("observe", "loops.cl", "--device", "dg2", *sizes, *arguments, cwd=result)
    return result


def kernels_of(text: str) -> dict[str, Any]:
    return {each["name"]: each for program in json.loads(text)["programs"] for each in program["kernels"]}


def test_the_recording_says_what_observe_said(folder: Path) -> None:
    kernels = kernels_of(printed("annotate", "both.klens", "--json", cwd=folder))
    for name in ("transpose", "transpose_tiled"):
        assert kernels[name]["behaviours"] == [json.loads((folder / f"{name}.json").read_text())]


def test_lines_have_their_counts(folder: Path) -> None:
    listing = printed("annotate", "both.klens", "--kernel", "transpose", cwd=folder).splitlines()
    assert "  observed: counted in an interpreter, on this data; not time" in listing
    assert "  64 x 64 work-items in groups of 16 x 16: all 16 groups ran" in listing
    (line,) = (each for each in listing if each.endswith("| " + "  out[x * height + y] = in[y * width + x];"))
    assert line.split("|")[0].split()[-5:] == ["4,096", "32.0", "256", "2,304", "512"]
    assert any("16 units of 64 bytes a request where 2 would do" in each for each in listing)


def test_the_lines_that_move_most_come_first(folder: Path) -> None:
    document = json.loads((folder / "transpose.json").read_text())
    most = max(document["lines"], key=lambda each: each["units"])
    words = ("annotate", "both.klens", "--kernel", "transpose", "--top", "1", "--sort", "moved")
    (kernel,) = kernels_of(printed(*words, "--json", cwd=folder)).values()
    (line,) = kernel["observed_lines"]
    assert {**most, "path": line["path"]} == {key: line[key] for key in most}
    assert line["moved_bytes"] == 64 * most["units"]
    assert line["accesses"][0].startswith(
        "store of 4 bytes (irregular): 16 units of 64 bytes a request where 2 would do"
    )
    text = printed(*words, cwd=folder)
    assert f"{64 * most['units']:,}" in text
    assert "not observed" in printed("annotate", "loops.cl", "--device", "dg2", *words[4:], cwd=folder)


def test_kernels_and_lines_are_ordered_by_what_they_waste(folder: Path, tmp_path: Path) -> None:
    """Kernels in the order of their source waste less than the last; atomics whose lanes wait for each other are waste."""
    (tmp_path / "w.cl").write_text(
        "kernel void copy(global const float *in, global float *out)\n{\n int x = get_global_id(0);\n out[x] = in[x];\n}\n"
        "kernel void count(global const float *in, global float *out)\n{\n int x = get_global_id(0);\n out[x] = in[x];\n"
        " atomic_inc((global int *)out + (x & 1));\n}\n"
        "kernel void far(global const float *in, global float *out)\n{\n int x = get_global_id(0);\n"
        " out[x] = in[x * 16];\n}\n"
    )
    sizes = ("--size", "256", "--group", "64", "--arg", "random:float:4096", "--arg", "zeros:float:256")
    for name in ("copy", "count", "far"):
        observe_words = ("observe", "w.cl", "--kernel", name, "--device", "dg2", *sizes, "-o", f"{name}.klens")
        told = printed(*observe_words, cwd=tmp_path)
    printed("recording", "merge", "copy.klens", "count.klens", "far.klens", "-o", "w.klens", cwd=tmp_path)
    words = ("annotate", "w.klens", "--top", "5", "--sort", "excess")
    kernels = kernels_of(printed(*words, "--json", cwd=tmp_path))
    lines = {name: [each["line"] for each in kernel["observed_lines"]] for name, kernel in kernels.items()}
    assert [*lines.items()] == [("far", [15]), ("count", [10]), ("copy", [])]
    text = printed(*words, cwd=tmp_path)
    assert text.startswith("Start here: 3 kernels in 3 launches")
    assert text.index("\nfar  ") < text.index("\ncount  ")
    assert text.index("\ncount  ") < text.index("\ncopy  ")
    assert "  no line moves more than it must\n" in text
    for sentence in told.split("Causes, by what they waste\n")[1].split("\n\n")[0].splitlines():
        assert " ".join(sentence.split()) in " ".join(text.split())  # as observe says it


def test_csv_has_the_counts_of_an_instructions_line(folder: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(printed("annotate", "both.klens", "--format", "csv", cwd=folder))))
    document = json.loads((folder / "transpose_tiled.json").read_text())
    lines = {str(each["line"]): each for each in document["lines"]}
    compared = [row for row in rows if row["kernel"] == "transpose_tiled" and row["line"] in lines]
    for row in compared:
        line = lines[row["line"]]
        assert row["runs"] == str(line["runs"])
        assert (row["waves"] or "0") == str(line["wavefronts"])
        assert (row["units"] or "0") == str(line["units"])
    assert len(compared) > 50


def test_a_line_loads_what_it_requests(folder: Path) -> None:
    """The messages of the code times their runs, against the requests that were counted: unrolled loops join their loads."""
    document = json.loads(printed("annotate", "loops.klens", "--top", "20", "--json", cwd=folder))
    ((kernel,),) = (program["kernels"] for program in document["programs"])
    (observed,) = kernels_of(printed("annotate", "loops.klens", "--json", cwd=folder))["loops"]["behaviours"]
    lane = 4 * kernel["simd"]
    loaded = {each["line"]: each["weighed_costs"]["global_load_bytes"] / lane for each in kernel["lines"]}
    requests = {each["line"]: each["requests"] for each in observed["lines"]}
    assert requests[8] > requests[13] > 100
    assert {line: loaded[line] for line in (5, 8, 13)} == {line: requests[line] for line in (5, 8, 13)}


def test_loops_that_do_not_match_are_said(folder: Path) -> None:
    kernel = kernels_of(printed("annotate", "loops.klens", "--json", cwd=folder))["loops"]
    notes = kernel["executions"]["notes"]
    assert any(note.startswith("loop of line 12: 103 rounds; unrolled 4 times: 25 of the code") for note in notes)
    assert "loop of line 9: 4 rounds; the code has none, the compiler unrolled or removed it" in notes
    assert any(note.startswith("loop of line 7: ") for note in notes)
    assert any("without runs" in note and "line 6" in note for note in notes)
    # What nobody ran beside a branch counts as if it ran, what runs once per sub-group does.
    weights = {each["line"]: each["weight"] for each in kernel["instructions"]}
    assert weights[14] == kernel["executions"]["sub_groups"] == 256 // kernel["simd"]


def test_a_line_runs_at_most_as_often_as_was_counted(tmp_path: Path) -> None:
    """A branch that one sub-group in sixteen takes."""
    (tmp_path / "rare.cl").write_text(
        "kernel void rare(global const float *in, global float *out)\n{\n  int x = get_global_id(0);\n"
        "  if (x < 16)\n    out[x + 256] = native_sin(in[x]);\n  out[x] = in[x];\n}\n"
    )
    sizes = ("--size", "256", "--group", "64", "--arg", "random:float:1024", "--arg", "zeros:float:1024")
    printed("observe", "rare.cl", "--device", "dg2", *sizes, "-o", "rare.klens", cwd=tmp_path)
    kernel = kernels_of(printed("annotate", "rare.klens", "--json", cwd=tmp_path))["rare"]
    assert {each["weight"] for each in kernel["instructions"] if each["line"] == 5} == {1}
    assert max(each["weight"] for each in kernel["instructions"]) == 256 // kernel["simd"] > 1


def test_stated_trips_go_before_observed_ones(folder: Path) -> None:
    kernel = kernels_of(printed("annotate", "loops.klens", "--trips", "7=9", "--json", cwd=folder))["loops"]
    assert "executions" not in kernel
    assert kernel["trips"]["lines"][0]["count"] == 9


def test_what_cannot_run_is_recorded_with_its_reason(tmp_path: Path) -> None:
    source = tmp_path / "k.cl"
    source.write_text(
        "kernel void k(global int *a)\n{\n a[get_global_id(0)] = sub_group_reduce_add(a[get_global_id(0)]);\n}\n"
    )
    launch: dict[str, Any] = {"size": [64], "group": [64], "arguments": ["zeros:int:64"], "device": "dg2"}
    with pytest.raises(ToolError, match="sub_group_reduce_add"):
        observe(source, **launch, options="-cl-std=CL2.0", recording=tmp_path / "k.klens")
    (program,) = kernlens.load(tmp_path / "k.klens")
    (behaviour,) = program.kernels["k"].behaviours
    assert not behaviour.is_counted
    assert "sub_group_reduce_add" in behaviour.reason
    assert "nothing counted: Oclgrind cannot run" in printed("annotate", "k.klens", cwd=tmp_path)


def test_without_a_device_there_is_nothing_to_save(folder: Path) -> None:
    done = run("observe", "transpose.cl", "--kernel", "transpose", *TRANSPOSE, "-o", "no.klens", cwd=folder)
    assert done.returncode == 2
    assert "needs --device" in done.stderr


def test_a_merged_recording_adds_launches_up(folder: Path) -> None:
    printed("recording", "merge", "transpose.klens", "both.klens", "-o", "again.klens", cwd=folder)
    with Recording(folder / "again.klens") as recording:
        (build,) = recording.builds()
        assert [each.launches for each in build.behaviours["transpose"]] == [2]
    (kernel,) = kernels_of(printed("annotate", "again.klens", "--kernel", "transpose", "--json", cwd=folder)).values()
    assert kernel["executions"]["sub_groups"] == 2 * 4096 // 32


#: Kernels of an application, with the rounds of a loop at a line.
REAL = [
    (
        "bilateral.cl", "blur_line_z", "64x64", "16x4",
        ("random:float:65536", "zeros:float:65536", "1", "64", "4096", "64", "64", "16"), "for(int i=2;i<size3-2;i++)", 12,
    ),
    (
        "extended.cl", "pixelmax_second", "256", "64", ("random:float:4096", "zeros:float:64", "1000", "local:1024"),
        "for(int offset = ", 6,
    ),
    (
        "dwt.cl", "dwt_hat_transform_col", "64x64", "16x4",
        ("random:float4:4096", "64", "64", "2", "zeros:float4:4096", "0.5"), "", 0,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("file", "kernel", "size", "group", "arguments", "loop", "rounds"), REAL)
def test_kernels_of_an_application(
    file: str,
    kernel: str,
    size: str,
    group: str,
    arguments: tuple[str, ...],
    loop: str,
    rounds: int,
    darktable_kernels: Path,
    tmp_path: Path,
) -> None:
    described = [word for argument in arguments for word in ("--arg", argument)]
    words = ("observe", str(darktable_kernels / file), "--kernel", kernel, "--device", "dg2", "--size", size)
    alone = printed(*words, "--group", group, *described, "-o", "seen.klens", "--json", cwd=tmp_path)
    whole = kernels_of(printed("annotate", "seen.klens", "--kernel", kernel, "--json", cwd=tmp_path))[kernel]
    assert whole["behaviours"] == [json.loads(alone)]
    lines = {each["line"] for each in whole["instructions"]} & {
        each["line"] for each in whole["behaviours"][0]["lines"] if each["requests"]
    }
    assert lines
    if loop:
        source = (darktable_kernels / file).read_text().splitlines()
        stated = [(source[each["line"] - 1].strip(), each["count"]) for each in whole["trips"]["lines"]]
        assert any(text.startswith(loop) and count == rounds for text, count in stated), stated
