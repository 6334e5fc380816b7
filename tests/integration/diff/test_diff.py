"""``diff`` of real compiles: two compilers over darktable's programs, and where compiles part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernlens.model.build import Build, BuildToolchain, HeldParts
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.recording.writer import RecordingWriter
from tests.corpus.build import build
from tests.corpus.compiler import DEBIAN, newest
from tests.corpus.manifest import programs
from tests.integration.cli.test_cli import kernlens
from tests.limits import processor_time

SOURCE = """\
kernel void work(global const float *in, global float *out, int n) {
    int i = get_global_id(0);
    float a = in[i];
    float b = in[i + n];
    out[i] = a / b + a * b;
}
"""


@pytest.fixture(scope="module")
def recordings(newest_root: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Every third of darktable's programs for dg2, by Debian 12's compiler and by the newest."""
    folder = tmp_path_factory.mktemp("darktable")
    chosen = [program for program in programs() if program.name.startswith("darktable/")]
    assert len(chosen) == 36
    chosen = chosen[::3]
    for name, compiler in (("old", DEBIAN), ("new", newest(newest_root))):
        builds, failures = build(chosen, ["dg2"], compiler=compiler)
        assert not failures
        with RecordingWriter(folder / f"{name}.klens") as writer:
            for built in builds:
                debug = built.debug.read_bytes() if built.debug.exists() else b""
                parts = HeldParts(binary=built.binary.read_bytes(), debug=debug, spirv=built.spirv.read_bytes())
                writer.add(Build(built.program.name, "dg2", BuildToolchain(name), parts=parts))
    return folder / "old.klens", folder / "new.klens"


def compared(*words: str | Path, status: int, cwd: Path | None = None) -> Any:
    done = kernlens("diff", *words, "--json", cwd=cwd)
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


def test_every_kernel_of_two_compilers_is_paired(recordings: tuple[Path, Path]) -> None:
    document = compared(*recordings, status=1)
    assert document["compared"] > 80
    assert document["only_old"] == []
    # The newest compiler gives a program's functions code of their own.
    assert {entry["kernel"] for entry in document["only_new"]} <= {PSEUDO_KERNEL}
    for kernel in document["kernels"]:
        assert kernel["old"]["program"] == kernel["new"]["program"]
        assert kernel["same_instructions"] or kernel["lines"]
        for line in kernel["lines"]:
            assert line["old"] or line["new"]
            growth = line["added"] - line["removed"] + line["new_sync"] - line["old_sync"]
            assert growth == line["new"] - line["old"]
        (grown,) = [each["new"] - each["old"] for each in kernel["figures"] if each["metric"] == "instructions"] or [0]
        assert sum(line["new"] - line["old"] for line in kernel["lines"]) == grown


def test_what_a_line_gains_and_loses_is_what_its_instructions_show(recordings: tuple[Path, Path]) -> None:
    for kernel in compared(*recordings, "--kernel", "d*", status=1)["kernels"]:
        for line in kernel["lines"]:
            alone: dict[tuple[str, bool], int] = {}
            for pair in line["instructions"]:
                for side, other in (("old", "new"), ("new", "old")):
                    if pair[other] is None:
                        words = pair[side]["text"].removeprefix("(W)").split()
                        key = side, words[0].split(".")[0] in ("sync", "nop", "wait")
                        alone[key] = alone.get(key, 0) + 1
            assert [alone.get((side, False), 0) for side in ("old", "new")] == [line["removed"], line["added"]]
            waits = alone.get(("new", True), 0) - alone.get(("old", True), 0)
            assert waits == line["new_sync"] - line["old_sync"]


def test_the_comparison_of_two_compilers_takes_seconds(recordings: tuple[Path, Path]) -> None:
    from kernlens.analysis.comparison.kernel_changes import Comparison
    from kernlens.analysis.comparison.pairs import pair
    from kernlens.loading import load

    old, new = (load(path) for path in recordings)
    with processor_time(10):  # 2 s where nothing else runs
        comparison = Comparison()
        changes = [comparison.kernel_change(each) for each in pair(old, new).kernels]
    assert all(change.differs for change in changes)


def test_a_recording_is_equal_to_itself(recordings: tuple[Path, Path]) -> None:
    document = compared(recordings[0], recordings[0], status=0)
    assert document["equal"]
    assert document["kernels"] == document["only_old"] == document["only_new"] == []


def test_the_toolchains_of_one_source(newest_root: Path, tmp_path: Path) -> None:
    (tmp_path / "work.cl").write_text(SOURCE)
    document = compared("work.cl", "--device", "dg2", "--toolchain", "system,newest", status=1, cwd=tmp_path)
    (kernel,) = document["kernels"]
    assert kernel["old"]["toolchain"] != kernel["new"]["toolchain"]
    assert kernel["edited"] == []
    assert {line["edited"] for line in kernel["lines"]} == {None}


def test_a_comment_is_no_change(newest_root: Path, tmp_path: Path) -> None:
    """The newest compiler puts a hash of the source behind each kernel."""
    for side, text in (("old", SOURCE), ("new", f"{SOURCE}// a comment\n")):
        (tmp_path / side).mkdir()
        (tmp_path / side / "work.cl").write_text(text)
    options = ("--device", "bmg", "--toolchain", "newest")
    assert compared("old/work.cl", "new/work.cl", *options, status=0, cwd=tmp_path)["equal"]


def test_a_deleted_line_shows_its_old_text(tmp_path: Path) -> None:
    """Of a file with another name too: a line is named by its new path."""
    line = "    out[i + n] = a;"
    for side, text in (("old", SOURCE.replace("}\n", f"{line}\n}}\n")), ("new", SOURCE)):
        (tmp_path / f"{side}.cl").write_text(text)
    words = ("old.cl", "new.cl", "--device", "dg2")
    (kernel,) = compared(*words, status=1, cwd=tmp_path)["kernels"]
    (deleted,) = (each for each in kernel["lines"] if each["path"] and not each["new_line"])
    assert (deleted["old_path"], deleted["old_line"]) == ("old.cl", 6)
    assert (deleted["old_text"], deleted["new_text"]) == (line, None)
    assert (deleted["new"], deleted["added"]) == (0, 0)
    assert deleted["old"] == deleted["removed"] + deleted["old_sync"] > 0
    shown = kernlens("diff", *words, cwd=tmp_path).stdout
    assert f" 6 | {line}  ; deleted, certain 2 -> 0\n" in shown


@pytest.mark.parametrize(
    ("option", "equal", "first"),
    [
        ("-cl-intel-256-GRF-per-thread", "visa-llvm-map", "gen-assembly"),
        ("-cl-denorms-are-zero", "llvm-codegen", "visa"),
    ],
)
def test_the_stage_at_which_options_part(option: str, equal: str, first: str, tmp_path: Path) -> None:
    (tmp_path / "work.cl").write_text(SOURCE)
    words = ("work.cl", "--device", "dg2", "--build-options=", f"--build-options={option}", "--stages")
    (kernel,) = compared(*words, status=1, cwd=tmp_path)["kernels"]
    assert kernel["parting"] == {"equal_stage": equal, "stage": first, "pass": None}


def test_the_pass_at_which_options_part(tmp_path: Path) -> None:
    (tmp_path / "work.cl").write_text(SOURCE)
    words = (
        "work.cl",
        "--device",
        "dg2",
        "--build-options=",
        "--build-options=-cl-fast-relaxed-math",
        "--stages",
        "--all-passes",
    )
    (kernel,) = compared(*words, status=1, cwd=tmp_path)["kernels"]
    assert kernel["parting"]["stage"] == "spirv"
    # The division is another function of the compiler's library.
    assert kernel["parting"]["pass"] == {"stage": "0016-Unify-BIImport", "side": "both", "partial": []}


TABLE = """
constant int w[8] = {1, 2, 3, 4, 5, 6, 7, 8};
kernel void f(global int *a, int i) { a[get_global_id(0)] *= w[i & 7]; }
"""


@pytest.mark.parametrize(
    ("device", "toolchain", "section"),
    [("dg2", "system", ".data.const"), ("bmg", "newest", ".data.const"), ("gfx1030", "", ".rodata")],
)
def test_a_table_that_was_edited_differs(
    device: str, toolchain: str, section: str, newest_root: Path, tmp_path: Path
) -> None:
    """The code is the same, and the result is not."""
    (tmp_path / "old.cl").write_text(TABLE)
    (tmp_path / "new.cl").write_text(TABLE.replace("4,", "9,"))
    options = ("--device", device, *(("--toolchain", toolchain) if toolchain else ()))
    document = compared("old.cl", "new.cl", *options, status=1, cwd=tmp_path)
    assert (document["equal"], document["kernels"]) == (False, [])
    (change,) = document["summary"]["data"]["differing"]
    assert (change["name"], change["bytes"]) == (section, 1)
    done = kernlens("diff", "old.cl", "new.cl", *options, cwd=tmp_path)
    assert f"  constants and initialised variables differ: new ({section}: 1 of " in done.stdout
    same = compared("old.cl", "old.cl", *options, status=0, cwd=tmp_path)
    assert same["summary"]["data"] == {"compared": 1, "unread": 0, "differing": []}


def test_a_table_is_the_same_in_the_binaries_of_two_compilers(newest_root: Path, tmp_path: Path) -> None:
    (tmp_path / "table.cl").write_text(TABLE)
    document = compared("table.cl", "--device", "dg2", "--toolchain", "system,newest", status=1, cwd=tmp_path)
    assert document["summary"]["data"] == {"compared": 1, "unread": 0, "differing": []}
