"""Trials of build options: the changes, what is compared with what, and the table; the compiler is a script."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernlens.errors import KernlensError, ToolError, UnsupportedError
from kernlens.model.trial import Change, Trial, TrialCode, Tried, TriedKernel
from kernlens.report.style import rendered
from kernlens.report.trial_table import trial_lines, tried_document
from kernlens.toolchain.compile_cache import CompileCache
from kernlens.verbs.tried import changes_for, tried
from tests.unit.conftest import Kernlens
from tests.unit.toolchain.test_compile_cache import calls
from tests.writers.programs import SOURCE, spirv

CODE = TrialCode(32, 128, 640, 3200, 620, 2, "a")
CHANGE = Change("key", "a title")


@pytest.fixture
def source(tmp_path: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "scale.cl"
    path.write_text(SOURCE)
    return path


def trial(**fields: object) -> Trial:
    """Return a trial of CODE, in which these fields are others."""
    values = {name: getattr(CODE, name) for name in CODE.__dataclass_fields__} | {"digest": "b"} | fields
    return Trial(CHANGE, CODE, TrialCode(**values))


def lines_of(*trials: Trial, changes: tuple[Change, ...] = (CHANGE,), name: str = "blur") -> list[str]:
    """Return the printed lines of one kernel's trials."""
    answer = Tried("a.cl", "pvc", "system", "", "", changes, (TriedKernel(name, CODE, trials),), ())
    return [rendered(line) for line in trial_lines(answer)]


def test_half_the_width_is_not_half_the_work() -> None:
    """The trap of width: fewer instructions and cycles for fewer work-items are more for each."""
    narrow = trial(simd=16, instructions=480, cycles=2400)
    assert (narrow.ratio("instructions"), narrow.ratio("cycles")) == (1.5, 1.5)
    wide = trial(simd=64, cycles=4800)
    assert TriedKernel("k", CODE, (narrow, wide)).ranked == [wide, narrow]


def test_a_loop_that_is_no_longer_unrolled_is_not_compared() -> None:
    """The trap of loops: 541 cycles to 84 is the same work, in seven loops instead of none."""
    rolled = trial(loops=9, instructions=84, cycles=84)
    kernel = TriedKernel("k", CODE, (rolled,))
    assert rolled.ratio("cycles") is None
    assert (kernel.ranked, kernel.unranked) == ([], [rolled])
    assert rolled.note == "not comparable: 9 loops, not 2"
    (row,) = [line for line in lines_of(rolled) if line.startswith("  a title")]
    assert row.split()[2:5] == ["-", "-", "32"]


def test_an_array_that_went_to_memory_is_not_compared() -> None:
    """The trap of memory: few instructions, of which each waits for memory."""
    array = trial(memory=(2048, 0, None), cycles=320)
    assert array.note == "not comparable: 64 bytes of private memory per work-item, not 0"
    assert TriedKernel("k", CODE, (array,)).ranked == []
    assert trial(memory=(0, 64, None), cycles=320).note == "not comparable: it calls functions on a stack"
    assert trial(simd=16, cycles=1600).ratio("cycles") == 1.0


def test_cycles_of_which_threads_hide_a_part_are_not_ranked() -> None:
    """The trap of latency: fewer cycles for one thread alone, more to issue for many."""
    code = replace(CODE, issue=640)
    hides, less, both = (
        Trial(CHANGE, code, replace(code, digest="b", issue=issue, cycles=cycles))
        for issue, cycles in ((1280, 1600), (320, 2400), (320, 1700))
    )
    assert TriedKernel("k", code, (hides, less, both)).ranked == [both, less]
    assert TriedKernel("k", code, (hides, less, both)).unranked == [hides]
    assert hides.note.startswith(
        "not ranked: it issues for 40.0 cycles per work-item, not 20.0, and waits for 10.0, not 80.0"
    )
    other = Trial(CHANGE, code, replace(code, digest="c", issue=600, cycles=700))
    assert TriedKernel("k", code, (less, other)).ranked == [other]


def test_registers_that_halve_the_threads_say_so() -> None:
    """The trap of threads: what a thread gains, others that would hide its waits lose."""
    large = trial(grfs=256, spills=22)
    assert large.note == "half the threads"
    (row,) = [line for line in lines_of(large) if line.startswith("  a title")]
    assert row.split() == ["a", "title", "+0.0%", "+0.0%", "32", "256", "22", "2", "half", "the", "threads"]
    assert trial(grfs=192).note == "fewer threads"
    assert trial(grfs=96).note == "more threads"


def test_unknown_figures_are_not_compared() -> None:
    for field in ("loops", "simd"):
        unknown = trial(**{field: None})
        assert (unknown.ratio("cycles"), unknown.note) == (None, "not comparable: loops or width are unknown")
    assert trial(cycles=None).ratio("cycles") is None
    assert trial(cycles=None).ratio("instructions") == 1


def test_the_same_code_is_a_line_and_not_a_row() -> None:
    lines = lines_of(Trial(CHANGE, CODE, CODE))
    assert "  same code: a title" in lines
    assert not any(line.startswith("  tried") for line in lines)


def test_a_size_of_the_kernels_own_is_said() -> None:
    """What the source requires goes before what the macros require."""
    own = replace(CODE, sub_group=16)
    narrow, wide = (Change(f"sub-group-{size}", f"sub-group {size}", sub_group=size) for size in (8, 32))
    trials = (Trial(narrow, own, own), Trial(wide, own, own), Trial(CHANGE, own, own))
    answer = Tried("a.cl", "dg2", "system", "", "", (narrow, wide, CHANGE), (TriedKernel("blur", own, trials),), ())
    lines = [rendered(line) for line in trial_lines(answer)]
    assert "  sub-group 8, sub-group 32: no effect, as the source requires sub-groups of 16" in lines
    assert "  same code: a title" in lines
    notes = [each["note"] for each in tried_document(answer)["kernels"][0]["tried"]]
    assert notes == 2 * ["no effect, as the source requires sub-groups of 16"] + [None]


def test_what_changes_results_is_marked() -> None:
    risky = Change("risky", "risky", results="no NaN")
    lines = lines_of(Trial(risky, CODE, trial().after), changes=(risky,))
    assert any(line.startswith("  risky !") for line in lines)
    assert "  ! changes results: risky: no NaN" in lines
    assert not any("!" in line for line in lines_of(trial()))


def test_the_table_fits_100_columns() -> None:
    long = Change("d", "-D " + "TILE=1234567 " * 20, results="as the source has it " * 9)
    lines = lines_of(Trial(long, CODE, trial(loops=7, grfs=256).after), changes=(long,), name="n" * 300)
    assert max(map(len, lines)) <= 100


def test_options_that_are_there_are_not_tried_again() -> None:
    keys = [change.key for change in changes_for("")]
    assert keys == ["fast-relaxed-math", "mad-enable", "256-registers", "sub-group-8", "sub-group-16", "sub-group-32"]
    assert [change.key for change in changes_for("-cl-mad-enable -cl-opt-disable")] == [
        *("fast-relaxed-math", "256-registers", "without-cl-opt-disable"),
        *keys[3:],
    ]


def test_macros_are_tried_as_the_user_allows() -> None:
    added = changes_for("", ["TILE=8,16", "FAST"])[6:]
    assert [change.options for change in added] == ["-DTILE=8 -DFAST", "-DTILE=16 -DFAST"]
    with pytest.raises(KernlensError, match="the limit is 256"):
        changes_for("", [f"A={','.join(map(str, range(300)))}"])


def test_the_preprocessor_is_past_in_spirv() -> None:
    assert [change.key for change in changes_for("", is_source=False)][-1] == "256-registers"
    with pytest.raises(UnsupportedError, match="no effect on SPIR-V"):
        changes_for("", ["A=1"], is_source=False)


def test_each_change_is_a_compile_which_the_cache_keeps(source: Path, compiler: Path, tmp_path: Path) -> None:
    cache = CompileCache(tmp_path / "cache")
    seen: list[tuple[int, int]] = []
    first = tried(source, "skl", cache=cache, macros=["X=1,2"], on_progress=lambda *step: seen.append(step))
    assert seen[-1] == (9, 9)
    assert calls(compiler) == 9
    assert tried(source, "skl", cache=cache, macros=["X=1,2"]) == first
    assert calls(compiler) == 9
    assert [kernel.name for kernel in first.kernels] == ["scale", "plain"]
    assert [kernel.name for kernel in tried(source, "skl", kernels=["sc*"]).kernels] == ["scale"]
    assert all(each.is_same_code for each in first.kernels[0].trials)


def test_left_out_options_are_left_out(source: Path, compiler: Path) -> None:
    tried(source, "skl", options="-DX -cl-opt-disable -DY", jobs=1)
    commands = (compiler.parent / "calls").read_text().splitlines()
    assert sum("-cl-opt-disable" not in line and "-DX -DY" in line for line in commands) == 1


def test_a_source_that_does_not_compile_is_an_error(source: Path) -> None:
    source.write_text("broken\n")
    with pytest.raises(ToolError, match="does not compile for skl: it is broken"):
        tried(source, "skl")


def test_spirv_is_tried_too(source: Path) -> None:
    path = source.with_suffix(".spv")
    path.write_bytes(spirv())
    assert [change.key for change in tried(path, "skl").changes] == ["fast-relaxed-math", "mad-enable", "256-registers"]


def test_as_json(source: Path) -> None:
    document = tried_document(tried(source, "skl", options="-DX"))
    assert (document["source"], document["device"], document["options"]) == (str(source), "skl", "-DX")
    assert document["changes"][0]["changes_results"].startswith("less accurate")
    scale = document["kernels"][0]
    assert scale["as_it_is"] == {
        "simd": 16, "grf_count": 0, "instructions": 3, "cycles": None, "loops": 0, "spill_messages": 0,
        "private_bytes": 0, "stack_bytes": 0,
    }  # fmt: skip
    assert scale["tried"][0] == {
        "change": "fast-relaxed-math",
        "rank": None,
        "is_same_code": True,
        "figures": scale["as_it_is"],
        "instructions_per_work_item_ratio": 1.0,
        "cycles_per_work_item_ratio": None,
        "note": None,
    }
    assert document["failures"] == []


def test_the_command(source: Path, compiler: Path, kernlens: Kernlens) -> None:
    done = kernlens("advise", "scale.cl", "--device", "skl", "--try", "-D", "X=1,2", "--kernel", "scale", "--no-cache")
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert any(line.startswith("Tried on scale.cl for skl, compiled by NEO 22.43.24595 / IGC") for line in lines)
    assert "scale: SIMD16, 3 instructions, 0 spill messages" in lines
    assert any(line.startswith("  same code: -cl-fast-relaxed-math,") for line in lines)
    assert not any(line.startswith("plain") for line in lines)
    (tried_,) = kernlens("advise", "scale.cl", "--device", "skl", "--try", "--json", "--no-cache").document["tried"]
    assert [kernel["kernel"] for kernel in tried_["kernels"]] == ["scale", "plain"]
    assert "tried" not in kernlens("advise", "scale.cl", "--device", "skl", "--json").document


def test_words_that_only_try_has_a_use_for(source: Path, kernlens: Kernlens, file: Path) -> None:
    assert "-D needs --try" in kernlens("advise", "scale.cl", "--device", "skl", "-D", "A=1").err
    assert "--jobs needs --try" in kernlens("advise", "scale.cl", "--device", "skl", "--jobs", "1").err
    refused = kernlens("advise", file, "--try")
    assert (refused.status, refused.out) == (2, "")
    assert "--try compiles sources, and" in refused.err
