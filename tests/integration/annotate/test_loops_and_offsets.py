"""Loop depths, counts weighed by trips, and addresses, of code that compilers made."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import kernlens
from kernlens.model.kernel import Kernel
from kernlens.model.loop_nest import Loops
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from tests.corpus.loops import difference
from tests.integration.cli.test_cli import answer, refusal
from tests.integration.cli.test_cli import kernlens as command
from tests.packed_code import packed

ROWS = """\
kernel void rows(global const float *in, global float *out, int width, int height)
{
  const int x = get_global_id(0);
  float sum = 0.0f;
  for(int y = 0; y < height; y++)
  {
    float row = 0.0f;
    for(int i = 0; i < width; i++)
      row += in[y * width + i];
    sum += native_exp(row);
  }
  if(x < height)
    out[x] = sum;
}
"""
OUTER, INNER, READ, TAIL = 5, 8, 9, 13


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("loops")
    (path / "rows.cl").write_text(ROWS)
    answer("compile", path / "rows.cl", "--device", "dg2", "-o", path / "rows.klens")
    return path


def document(*words: str | Path) -> dict[str, Any]:
    (program,) = json.loads(answer("annotate", *words, "--json"))["programs"]
    (kernel,) = program["kernels"]
    assert isinstance(kernel, dict)
    return kernel


@pytest.mark.parametrize(
    ("device", "toolchain"), [("skl", SYSTEM), ("tgllp", SYSTEM), ("dg2", NEWEST), ("bmg", NEWEST)]
)
def test_the_depth_of_lines(tmp_path: Path, device: str, toolchain: str, request: pytest.FixtureRequest) -> None:
    if toolchain == NEWEST:
        request.getfixturevalue("newest_root")
    (tmp_path / "rows.cl").write_text(ROWS)
    (program,) = kernlens.compile(tmp_path / "rows.cl", device, toolchain=toolchain)
    kernel = program.kernels["rows"]
    loops = kernel.loops
    assert loops is not None
    assert depth(kernel, loops, OUTER) == 1
    assert [depth(kernel, loops, line) for line in (INNER, READ)] == [2, 2]
    assert depth(kernel, loops, TAIL) == 0
    assert difference(packed(kernel.instructions), loops, 32) is None


def depth(kernel: Kernel, loops: Loops, line: int) -> int:
    assert kernel.source_map is not None
    return loops.depth_of(kernel.source_map.lines["rows.cl", line])


def test_weighed_counts_stand_beside_the_unweighed(folder: Path) -> None:
    plain = document(folder / "rows.klens")
    weighed = document(folder / "rows.klens", "--trips", f"rows.cl:{OUTER}=100", "--trips", f"{INNER}=16")
    assert "trips" not in plain
    assert weighed["trips"]["unstated_loops"] == 0
    assert weighed["trips"]["lines"][0] == {"path": "rows.cl", "line": OUTER, "count": 100, "is_loop": True}
    keys = {"weight"}
    for before, after in zip(plain["instructions"], weighed["instructions"], strict=True):
        assert after.keys() - before.keys() == keys
        assert after["weight"] == {0: 1, 1: 100, 2: 1600}[before["loop_depth"]]
    top = document(folder / "rows.klens", "--top", "1", "--trips", "depth=10")
    (line,) = top["lines"]
    assert (line["line"], line["loop_depth"]) == (READ, 2)
    assert line["weighed_costs"]["instructions"] == 100 * line["costs"]["instructions"]
    total = top["weighed"]["costs"]["instructions"]
    parts = [top["weighed"][part]["instructions"] for part in ("other_lines", "prologue", "inherited", "without_line")]
    assert total == line["weighed_costs"]["instructions"] + sum(parts)
    assert total == sum(10 ** each["loop_depth"] for each in plain["instructions"])
    assert top["costs"]["instructions"] == len(plain["instructions"])


def test_the_text_of_weighed_counts(folder: Path) -> None:
    plain = answer("annotate", folder / "rows.klens")
    assert "    line instr      % certain loop | " in plain
    weighed = answer("annotate", folder / "rows.klens", "--trips", f"rows.cl:{INNER}=10")
    assert "weighed by the trips rows.cl:8=10, if every branch is taken; 1 loop without trips counts once" in weighed
    top = answer("annotate", folder / "rows.klens", "--top", "2", "--trips", "depth=1000")
    assert re.search(rf"^  rows.cl:{READ} +6,000,000 .*\n  rows.cl:{INNER} +4,009,000 ", top, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("rows.cl:13=2",), "rows.cl:13 is in no loop; there are loops at rows.cl:5, rows.cl:8"),
        (("other.cl:5=2",), "came from other.cl:5, so it names no loop; there are loops at rows.cl:5, rows.cl:8"),
        (("rows.cl:99=2",), "no instruction of the selected kernels came from rows.cl:99, so it names no loop"),
        (("rows.cl:5",), "is not of the form blur.cl:16=10 or depth=10"),
        (("rows.cl:5=0",), "a loop runs 1 to"),
        (("rows.cl:x=3",), "is not of the form blur.cl:16=10 or depth=10"),
    ],
)
def test_wrong_trips(folder: Path, words: tuple[str, ...], error: str) -> None:
    assert error in refusal("annotate", folder / "rows.klens", *[word for each in words for word in ("--trips", each)])


def test_trips_of_no_loop_print_the_error_alone(folder: Path) -> None:
    done = command("annotate", folder / "rows.klens", "--top", "3", "--trips", "rows.cl:6=2")
    assert done.stdout == ""
    assert "came from rows.cl:6, so it names no loop" in done.stderr


def test_trips_of_a_kernel_without_loops_weigh_nothing(tmp_path: Path) -> None:
    (tmp_path / "flat.cl").write_text("kernel void flat(global float *x) { x[get_global_id(0)] = 2; }\n")
    answer("compile", tmp_path / "flat.cl", "--device", "dg2", "-o", tmp_path / "flat.klens")
    text = answer("annotate", tmp_path / "flat.klens", "--trips", "depth=4")
    assert "  the trips depth=4 weigh nothing: the kernel has no loops\n" in text
    assert "weighed by" not in text


def test_the_heading_of_weighed_waits(folder: Path) -> None:
    """The cycles above the lines are weighed as those of the lines are."""
    words = ("annotate", folder / "rows.klens", "--top", "99", "--waits")
    plain, weighed = answer(*words), answer(*words, "--trips", "depth=10")
    assert "  IGC's estimate, one thread alone, loops once: " in plain
    heading = re.search(r"one thread alone, weighed by the trips: ([\d,]+) issue cycles, ([\d,]+) wait cycles", weighed)
    assert heading
    kernel = document(folder / "rows.klens", "--waits", "--trips", "depth=10")
    rows = kernel["instructions"]
    issue = sum(row["issue_cycles"] * 10 ** row["loop_depth"] for row in rows)
    waited = sum(row["wait"]["cycles"] * 10 ** row["loop_depth"] for row in rows if row["wait"])
    assert [heading[1], heading[2]] == [f"{issue:,}", f"{waited:,}"]


def test_an_extension_of_no_format_is_refused(folder: Path) -> None:
    refused = refusal("annotate", folder / "rows.klens", "-o", folder / "rows.svg")
    assert "choose for" in refused
    assert "with --format" in refused
    assert not (folder / "rows.svg").exists()
    assert answer("annotate", folder / "rows.klens", "-o", folder / "rows.svg", "--format", "text") == ""


def test_trips_weigh_counts_alone(folder: Path) -> None:
    for words in (("--offset", "0"), ("--format", "csv"), ("--pressure",)):
        assert "--trips weighs counts" in refusal("annotate", folder / "rows.klens", "--trips", "depth=2", *words)


def test_addresses_are_offsets_behind_a_base(folder: Path) -> None:
    rows = document(folder / "rows.klens")["instructions"]
    read = next(row for row in rows if row["line"] == READ and "send" in row["opcode"])
    base = 0x10000
    asked = ",".join(hex(base + offset) for offset in (read["offset"], read["offset"] + 4, 0x99999, rows[0]["offset"]))
    kernel = document(folder / "rows.klens", "--offset", asked, "--base", hex(base))
    first, within, unknown, prologue = kernel["offsets"]
    assert {first[key] for key in ("ip", "asm_label")} == {hex(base + read["offset"]), f"L{read['offset']}"}
    assert first | {"ip": ""} == within | {"ip": ""}
    assert (first["asm_offset"], first["file"], first["line"]) == (read["offset"], "rows.cl", READ)
    assert (first["construct"], first["method"], first["loop_depth"]) == ("in", "table", 2)
    assert first["waits_for"], "a load waits for its address"
    assert [(wait["why"], wait["cycles"]) for wait in first["waits_for"]] == [("distance", None)]
    assert first["waits_for"][0]["cycles_reason"] == "IGC's estimate counts no cycles for distances"
    assert unknown == dict.fromkeys(first) | {"ip": hex(base + 0x99999)}
    assert (prologue["line"], prologue["method"]) == (None, "prologue")


def test_every_wait_is_named_or_has_a_reason(folder: Path) -> None:
    """A distance that counts back over a place with several ways to it, and what the estimate does not count."""
    offsets = ",".join(str(row["offset"]) for row in document(folder / "rows.klens")["instructions"])
    answers = document(folder / "rows.klens", "--offset", offsets)["offsets"]
    text = answer("annotate", folder / "rows.klens", "--offset", offsets)
    reasons = set()
    for each in answers:
        distance = re.search(r"{.*?(\w@\d+)", each["text"])
        reasons.add(each["waits_reason"])
        if distance and not any(wait["why"] == "distance" for wait in each["waits_for"]):
            assert each["waits_reason"] == (
                f"{distance[1]} depends on the way taken: it counts back over a place with several ways to it"
            )
            assert f"    {each['waits_reason']}" in text
        else:
            assert each["waits_reason"] is None, each
        for wait in each["waits_for"]:
            assert (wait["cycles"] is None) == (wait["cycles_reason"] is not None)
    assert len(reasons) > 1


def test_before_xe_nothing_states_the_waits(folder: Path) -> None:
    assert command("compile", "rows.cl", "--device", "skl", "-o", "skl.klens", cwd=folder).returncode == 0
    (answered,) = document(folder / "skl.klens", "--offset", "0x100")["offsets"]
    assert answered["waits_for"] == []
    assert answered["waits_reason"].startswith("waits are unknown on Gen9")


def test_numbers_of_one_list_have_one_base(folder: Path) -> None:
    """Tools print addresses without 0x: a letter tells that all of a list are hexadecimal."""
    rows = document(folder / "rows.klens")["instructions"]
    offsets = [row["offset"] for row in rows[-12:]]
    assert any(set(f"{offset:x}") & set("abcdef") for offset in offsets)
    bare = document(folder / "rows.klens", "--offset", ",".join(f"{offset:x}" for offset in offsets))
    assert [each["asm_offset"] for each in bare["offsets"]] == offsets
    based = document(folder / "rows.klens", "--offset", f"{0x10000 + offsets[0]:#x}", "--base", "10000")["offsets"]
    assert based[0]["asm_offset"] is None
    with_letter = ",".join(f"{0xC0000 + offset:x}" for offset in offsets)
    moved = document(folder / "rows.klens", "--offset", with_letter, "--base", "c0000")["offsets"]
    assert [each["asm_offset"] for each in moved] == offsets


def test_addresses_as_text_and_from_a_file(folder: Path) -> None:
    text = answer("annotate", folder / "rows.klens", "--offset", "0,0x99999")
    assert text.splitlines()[0].startswith("rows: rows+0x0: ")
    assert text.splitlines()[-1] == "rows: rows: no instruction at 0x99999"
    (folder / "many.txt").write_text("\n".join(hex(8 * index % 1024) for index in range(100_000)))
    entries = document(folder / "rows.klens", "--offset", f"@{folder / 'many.txt'}")["offsets"]
    assert len(entries) == 100_000


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--offset", "x" * 5000), "--offset needs a number, not 'xxx"),
        (("--offset", ","), "--offset holds no offset"),
        (("--offset", "@missing"), "missing cannot be read: No such file"),
        (("--offset", "9" * 21), "--offset needs a number"),
        (("--base", "0"), "--base needs --offset"),
        (("--offset", "0", "--base", "y"), "--base needs a number"),
        (("--offset", "0", "--format", "csv"), "--offset prints text or JSON"),
        (("--offset", "2c8x"), "--offset needs a number, not '2c8x'"),
        (("--offset", "0x99999,0x99998"), "no selected kernel has an instruction at offset 0x99999, 0x99998;"),
    ],
)
def test_wrong_addresses(folder: Path, words: tuple[str, ...], error: str) -> None:
    refused = refusal("annotate", folder / "rows.klens", *words)
    assert error in refused
    assert len(refused) < 500
