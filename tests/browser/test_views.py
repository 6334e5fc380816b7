"""Compare and passes in a report: what they show is what ``kernlens diff`` and ``stages --all-passes`` say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import kernlens
from kernlens.analysis.stage_changes import difference, pass_steps
from kernlens.model.line_choice import LineChoice
from kernlens.model.program import Program
from kernlens.report.explore import explore_document
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from kernlens.verbs.diff import between
from kernlens.verbs.stages import compared_snapshots, passes_of_one_line
from tests.browser.conftest import Open
from tests.browser.viewer import Viewer

#: As the page writes them.
MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"

OLD = """kernel void twice(global float *data, float by)
{
  size_t at = get_global_id(0);
  data[at] *= by;
  data[at] += 1.0f;
}
"""
#: A line more at the beginning, and another factor: one line's code differs.
NEW = "// by three\n" + OLD.replace("*= by", "*= by * by + sqrt(by)")


@pytest.fixture
def two(tmp_path: Path) -> list[Program]:
    """One kernel before and after an edit."""
    programs = []
    for name, text in (("old", OLD), ("new", NEW)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "twice.cl").write_text(text)
        programs += kernlens.compile(folder / "twice.cl", "dg2")
    return programs


def test_what_is_compared_is_what_diff_says(open_report: Open, two: list[Program], darktable_kernels: Path) -> None:
    """Lines, counts of instructions, what only one side has, and figures: of an edit, and of builds for two devices."""
    programs = [
        *two,
        *kernlens.compile(darktable_kernels / "sharpen.cl", ["dg2", "tgllp"]),
    ]
    document = explore_document(programs, title="compared", has_stages=False)
    ids = [entry["id"] for entry in document.index["programs"]]
    pairs = [
        (old, new, name)
        for old, new in permutations(range(len(programs)), 2)
        for name in programs[old].kernels.keys() & programs[new].kernels.keys()
    ]
    assert len(pairs) == 2 + 2 * 3
    viewer = open_report(document)
    rows = 0
    for old, new, name in pairs:
        answer = between([programs[old]], [programs[new]], ("old", "new"), [name]).document(lines=True)
        (kernel,) = answer["kernels"]
        viewer.tab.evaluate(
            "link => { location.hash = link }", f"#k={name}&v=compare&a={ids[old]}:{name}&b={ids[new]}:{name}"
        )
        for side in (old, new):
            viewer.find(f'.picker input[data-key="{ids[side]}:{name}"]').wait_for()
        viewer.find(".compare:not([aria-busy]) .lines tbody tr").nth(1).wait_for()
        assert sorted(_shown_lines(viewer)) == sorted(map(_line_words, kernel["lines"]))
        # The page has no limits of launches.
        for figure in (each for each in kernel["figures"] if each["metric"] != "max_work_group"):
            card = viewer.text(f'.compare .card[data-figure="{figure["metric"]}"] b')
            assert card == f"{_figure(figure['old'])} → {_figure(figure['new'])}"
        rows += len(kernel["lines"])
    assert rows > 60


def _figure(value: int | None) -> str:
    return DASH if value is None else f"{value:,}"


def _line_words(line: dict[str, Any]) -> tuple[str, ...]:
    """Return how a line of ``diff --json`` stands in the page: the line, what only one side has, waits, and both counts."""
    numbers = [number for number in dict.fromkeys((line["old_line"], line["new_line"])) if number]
    place = " → ".join(map(str, numbers))
    if line["path"] is None:
        place = "prologue" if line["prologue"] else "a neighbour's line" if line["inherited"] else "no line"
        place = "sync of the other lines" if line["change"] == "sync" else place
    waits = line["new_sync"] - line["old_sync"]
    signs = [
        f"{sign}{abs(count):,}" if count else ""
        for sign, count in (
            (MINUS, line["removed"]),
            ("+", line["added"]),
            (MINUS if waits < 0 else "+", waits),
        )
    ]
    return place, *signs, f"{line['old']:,} → {line['new']:,}"


def _shown_lines(viewer: Viewer) -> list[tuple[str, ...]]:
    cells: list[list[str]] = viewer.find(".compare .lines tbody tr").evaluate_all(
        "rows => rows.map(row => Array.from(row.cells, cell => cell.textContent))"
    )
    return [tuple(row[:5]) for row in cells if row[0] != "all"]


def test_an_edited_line_is_the_one_that_differs(open_report: Open, two: list[Program]) -> None:
    viewer = open_report(explore_document(two, title="two"))
    viewer.press("c")
    rows = viewer.find(".compare .lines tbody tr")
    rows.nth(1).wait_for()
    assert "the source differs in 2 lines" in viewer.text(".compare .differences")
    (change,) = between(two[:1], two[1:], ("old", "new")).changes
    old, new = (len(kernel.instructions) for kernel in (change.pair.old, change.pair.new))
    # Always old to new.
    share = f"{abs(new - old) / old:.1%}".replace("%", " %")
    words = f"{old} → {new} {new - old:+} ({share})".replace("-", MINUS)
    assert viewer.text('.compare .card[data-figure="instructions"] > :last-child') == words
    edited = viewer.find(".compare tr", has_text="sqrt")
    assert edited.locator("del").inner_text() in OLD
    assert edited.locator("del + span").inner_text() in NEW
    edited.locator("button").click()
    assert "on" in (edited.get_attribute("class") or "")
    gone, come = viewer.find(".sides .gone").count(), viewer.find(".sides .come").count()
    waits = viewer.find(".sides .come .op", has_text="sync").count()
    assert viewer.find(".sides .gone .op", has_text="sync").count() == 0
    assert edited.locator("td").all_text_contents()[1:4] == [
        f"{sign}{count}" if count else "" for sign, count in ((MINUS, gone), ("+", come - waits), ("+", waits))
    ]
    assert viewer.find(".sides .none").count() == gone + come
    viewer.find(".compare button", has_text="all").first.click()
    assert viewer.find(".sides .row").count() > max(old, new)
    assert viewer.cut_texts() == []
    assert viewer.axe() == []
    viewer.find("button", has_text="Swap").click()
    viewer.find('.compare .card[data-figure="instructions"]', has_text=f"{new} → {old}").wait_for()
    viewer.tab.go_back()
    viewer.find('.compare .card[data-figure="instructions"]', has_text=f"{old} → {new}").wait_for()
    viewer.tab.set_viewport_size({"width": 400, "height": 800})
    assert viewer.find(".sides .half").evaluate_all(
        "halves => halves.length > 0 && halves.every(half => half.scrollHeight <= half.clientHeight + 1)"
    )
    viewer.press("Escape")
    viewer.find(".code-pane").or_(viewer.find(".source-pane")).first.wait_for()
    assert "v=compare" not in viewer.address
    viewer.tab.go_back()
    viewer.find(".compare").wait_for()


def test_any_two_kernels_are_found_by_their_words(open_report: Open, darktable_kernels: Path) -> None:
    programs = kernlens.compile(darktable_kernels / "sharpen.cl", ["dg2", "tgllp"])
    viewer = open_report(explore_document(programs, title="sharpen", has_stages=False), at="#k=sharpen_mix&v=compare")
    old, new = (viewer.find(f'.picker input[aria-label^="{side}"]') for side in ("Old", "New"))
    old.wait_for()
    # The same kernel of another build, never another kernel.
    builds = viewer.find(".picker .build-of")
    assert [each.input_value() for each in (old, new)] == ["sharpen_mix", "sharpen_mix"]
    assert [build.split(" · ")[0] for build in builds.all_inner_texts()] == ["dg2", "tgllp"]
    new.click()
    new.fill("tgllp vblur")
    assert viewer.find("[role=option]:visible").count() == 1
    assert viewer.axe() == []
    viewer.press("Enter")
    viewer.find(".compare .differences", has_text="Kernel sharpen_mix → sharpen_vblur; device dg2 → tgllp").wait_for()
    assert new.input_value().startswith("sharpen_vblur")
    new.click()
    viewer.press("Escape")
    assert viewer.find("[role=listbox]:visible").count() == 0
    assert new.input_value().startswith("sharpen_vblur")
    viewer.find(".compare .lines tbody tr").nth(1).wait_for()


def test_a_kernel_without_another_build_is_compared_with_nothing(open_report: Open, darktable_kernels: Path) -> None:
    programs = kernlens.compile(darktable_kernels / "sharpen.cl", "dg2")
    viewer = open_report(explore_document(programs, title="sharpen", has_stages=False), at="#k=sharpen_mix&v=compare")
    assert "no other version or build of sharpen_mix" in viewer.text(".compare .message")
    assert viewer.axe() == []
    viewer.find("button", has_text="Choose the new side").click()
    viewer.find("[role=option]", has_text="sharpen_hblur").click()
    viewer.find(".compare .differences", has_text="Kernel sharpen_mix → sharpen_hblur").wait_for()


def test_equal_kernels_differ_in_nothing(open_report: Open, two: list[Program]) -> None:
    viewer = open_report(explore_document([two[0], two[0]], title="same"))
    viewer.press("c")
    viewer.find(".compare .lines p", has_text="The instructions are the same, one by one").wait_for()
    assert viewer.text(".compare .differences") == "Same device, toolchain, options and source."


def test_one_kernel_alone_has_nothing_to_be_compared_with(open_report: Open, two: list[Program]) -> None:
    viewer = open_report(explore_document(two[:1], title="one"))
    viewer.press("c")
    assert "kernlens serve old.klens new.klens" in viewer.text(".compare .lines")


#: A second kernel, with a loop: passes over loops change it alone.
BOTH = (
    OLD
    + """kernel void sums(global const float *from, global float *to, int count)
{
  float sum = 0.0f;
  for (int n = 0; n < count; n++)
    sum += from[n] * from[n];
  to[get_global_id(0)] = sum;
}
"""
)


@pytest.mark.parametrize("toolchain", [SYSTEM, NEWEST])
def test_passes_of_a_kernel_are_those_of_stages(
    open_report: Open, tmp_path: Path, request: pytest.FixtureRequest, toolchain: str
) -> None:
    """What each changed of the kernel, the lines that it touched, and its time where the compiler says it."""
    if toolchain == NEWEST:
        request.getfixturevalue("newest_root")
    (tmp_path / "both.cl").write_text(BOTH)
    stages = kernlens.stages(tmp_path / "both.cl", "dg2", toolchain=toolchain, all_passes=True)
    document = explore_document([program for program in stages.programs if program.kernels], title="passes")
    viewer = open_report(document, at="#k=sums&v=passes")
    viewer.find(".passes li.on").wait_for()
    shown = _shown_passes(viewer)
    steps = [step for step in pass_steps(stages.snapshots) if step.changed is not False]
    names = {step.snapshot.stage: step for step in steps}
    ran = sum(step.count for step in pass_steps(stages.snapshots))
    changed = [name for name in shown if names[name].changed]
    assert viewer.text(".passes-head p") == f"{len(shown)} passes changed sums of {ran} that ran"
    assert [name for name in names if name in shown] == list(shown)
    # Some passes changed the other kernel alone.
    assert 10 < len(shown) < len(names)
    for name in [*changed[:3], changed[-1]]:
        viewer.find(f'.passes li button[title^="{name}"]').click()
        (before, after), *_ = compared_snapshots(stages, (name, ""), "sums")
        lines = [line for line in difference(before, after) if not line.startswith(("---", "+++"))]
        drawn = _net(viewer.find(".passes .diff > div").all_text_contents())
        # Lines between the functions are no part of them.
        assert {line: n for line, n in drawn.items() if line[1:]} == {
            line: n for line, n in _net(lines).items() if line[1:]
        }
        counts = Counter(line[0] for line in drawn.elements())
        signs = f"{MINUS}{counts['-']:,}" if counts["-"] else "", f"+{counts['+']:,}" if counts["+"] else ""
        assert shown[name] in (signs, (signs[0], "moved"))
    # Heads stand above their columns.
    for head, column in (("pass", ".name"), ("phase", ".phase")):
        above = viewer.find(".passes-heads span", has_text=head).first.bounding_box()
        below = viewer.find(f".passes li {column}").first.bounding_box()
        assert above is not None
        assert below is not None
        assert above["x"] == pytest.approx(below["x"], abs=2), head
    touched = viewer.find(".passes input.touched")
    for line in (11, 12):
        touched.fill(str(line))
        through = passes_of_one_line(stages, LineChoice(None, line), "sums")
        assert list(_shown_passes(viewer)) == [each.stage for each in through]
        assert through
    touched.fill("1")
    expect(viewer.find(".passes li")).to_have_text("No pass touched line 1.")
    touched.fill("")
    viewer.find("button", has_text="Only what changed").click()
    assert viewer.find(".passes li").count() == ran
    assert viewer.axe() == []
    times = viewer.find(".passes li .time").all_text_contents()
    if toolchain == SYSTEM:
        assert "IGC 1 cannot tell them" in viewer.text(".passes-head")
        assert not any(times)
    else:
        assert sum(" ms" in time for time in times) > 0.9 * ran
        emit = viewer.find(".passes li", has_text="igcbuiltinimport").locator(".time")
        assert float((emit.text_content() or "").split(" ms")[0]) > 1


def _shown_passes(viewer: Viewer) -> dict[str, tuple[str, str]]:
    """Return the passes in sight with what they removed and added."""
    rows: list[list[str]] = viewer.find(".passes li button").evaluate_all(
        """buttons => buttons.map(button => [button.title.split(/[,:]/)[0],
            button.querySelector(".removed").textContent, button.querySelector(".added").textContent])"""
    )
    return {name: (removed, added) for name, removed, added in rows}


def _net(lines: Sequence[str]) -> Counter[str]:
    """Return the lines that are only before, and only after; what was moved counts as neither. Numbers of metadata aside."""
    bare = [re.sub(r"!\d+|(?<= )#\d+", "", line.rstrip()) for line in lines if line[:1] in ("+", "-")]
    new, old = (Counter(line[1:] for line in bare if line[0] == sign) for sign in "+-")
    return Counter(
        {f"+{line}": n for line, n in (new - old).items()} | {f"-{line}": n for line, n in (old - new).items()}
    )


def test_passes_that_were_not_kept_say_how_to_keep_them(open_report: Open, two: list[Program]) -> None:
    viewer = open_report(explore_document(two[:1], title="one"), at="#v=passes")
    assert "--all-passes" in viewer.text(".passes .diff .message")


def test_a_sweep_has_a_cell_for_each_kernel_and_configuration(open_report: Open, tmp_path: Path) -> None:
    (tmp_path / "twice.cl").write_text(OLD)
    # As recordings name them, which tell builds apart; in the order in which the compiles ended.
    programs = [
        replace(program, name=f"twice:{program.device}{toolchain}")
        for toolchain, program in zip(
            (":system", "", ""), kernlens.compile(tmp_path / "twice.cl", ["dg2", "pvc", "tgllp"]), strict=True
        )
    ]
    devices = [str(program.device) for program in programs]
    viewer = open_report(explore_document(programs, title="swept"), at="#v=sweep&figure=code_size")
    cells = viewer.find(".sweep tbody td")
    cells.nth(2).wait_for()
    sizes = {program.device.name: len(program.kernels["twice"].code) for program in programs if program.device}
    heads = [head.split("\n")[0] for head in viewer.texts(".sweep thead th")[1:]]
    assert heads == devices
    assert [cell.lstrip("▲").replace(",", "") for cell in cells.all_inner_texts()] == [
        str(sizes[device]) for device in devices
    ]
    assert viewer.find(".sweep td.worst").count() == 0, "figures of two devices are no measure of one another"
    assert viewer.axe() == []
    cells.nth(1).locator("button").click()
    viewer.find(".how .fact b", has_text=devices[1]).wait_for()
    assert "v=sweep" not in viewer.address
