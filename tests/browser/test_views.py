"""Compare and passes in a report: what they show is what ``kernlens diff`` and ``stages --all-passes`` say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import kernlens
from kernlens.analysis.stage_changes import pass_steps
from kernlens.model.program import Program
from kernlens.report.explore import explore_document
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from kernlens.verbs.diff import between
from tests.browser.conftest import Open

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


def test_an_edited_line_is_the_one_that_differs(open_report: Open, two: list[Program]) -> None:
    viewer = open_report(explore_document(two, title="two"))
    viewer.press("c")
    rows = viewer.find(".compare .lines tbody tr")
    rows.nth(1).wait_for()
    (change,) = between(two[:1], two[1:], ("old", "new")).changes
    counts = [str(len(kernel.instructions)) for kernel in (change.pair.old, change.pair.new)]
    assert rows.nth(0).locator("td.number").all_inner_texts()[:2] in (counts, counts[::-1])
    texts = []
    for at in range(1, rows.count()):
        _, left, right, _, text = rows.nth(at).locator("td").all_inner_texts()
        texts.append(text)
        # A line of both sources is one row, wherever it has moved to.
        assert (int(left) > 0 and int(right) > 0) == (text in OLD and text in NEW)
    assert any("sqrt" in text for text in texts)
    assert len(texts) == len(set(texts))
    assert viewer.find(".sides .gone, .sides .come").count() > 0
    viewer.find("button", has_text="all machine code").click()
    assert viewer.find(".sides .row").count() > max(map(int, counts))
    assert viewer.cut_texts() == []
    assert viewer.axe() == []
    viewer.tab.set_viewport_size({"width": 400, "height": 800})
    assert viewer.find(".sides .half").evaluate_all(
        "halves => halves.length > 0 && halves.every(half => half.scrollHeight <= half.clientHeight + 1)"
    )
    viewer.press("Escape")
    viewer.find(".code-pane").or_(viewer.find(".source-pane")).first.wait_for()
    assert "v=compare" not in viewer.address
    viewer.tab.go_back()
    viewer.find(".compare").wait_for()


def test_equal_kernels_differ_in_nothing(open_report: Open, two: list[Program]) -> None:
    viewer = open_report(explore_document([two[0], two[0]], title="same"))
    viewer.press("c")
    viewer.find(".compare .lines p", has_text="No line differs").wait_for()
    assert "are the same" in viewer.text(".differences")


def test_one_kernel_alone_has_nothing_to_be_compared_with(open_report: Open, two: list[Program]) -> None:
    viewer = open_report(explore_document(two[:1], title="one"))
    viewer.press("c")
    assert "kernlens serve old.klens new.klens" in viewer.text(".compare .message")


@pytest.mark.parametrize("toolchain", [SYSTEM, NEWEST])
def test_passes_are_those_of_stages(
    open_report: Open, tmp_path: Path, request: pytest.FixtureRequest, toolchain: str
) -> None:
    if toolchain == NEWEST:
        request.getfixturevalue("newest_root")
    (tmp_path / "twice.cl").write_text(OLD)
    stages = kernlens.stages(tmp_path / "twice.cl", "dg2", toolchain=toolchain, all_passes=True)
    steps = list(pass_steps(stages.snapshots))
    viewer = open_report(explore_document([program for program in stages.programs if program.kernels], title="passes"))
    viewer.find("button", has_text="Passes").click()
    viewer.find(".passes li.on").wait_for()
    changed = [step for step in steps if step.changed]
    ran = sum(step.count for step in steps)
    acting = ran - sum(step.count for step in steps if step.changed is False)
    assert viewer.text(".passes .side p") == f"{ran:,} passes, {acting:,} changed something"
    assert viewer.text(".passes li.on .name") == changed[0].snapshot.stage
    drawn = viewer.find(".passes .diff .come").count(), viewer.find(".passes .diff .gone").count()
    assert drawn >= (changed[0].added, changed[0].removed)
    viewer.find(".passes input").fill(changed[-1].snapshot.stage)
    viewer.find(".passes li", has_text=changed[-1].snapshot.stage).locator("button").click()
    assert f"+{changed[-1].added}" in viewer.text(".passes li.on em") or changed[-1].added == 0
    assert viewer.axe() == []


def test_passes_that_were_not_kept_say_how_to_keep_them(open_report: Open, two: list[Program]) -> None:
    viewer = open_report(explore_document(two[:1], title="one"), at="#v=passes")
    assert "--all-passes" in viewer.text(".passes .diff .message")


def test_a_sweep_has_a_cell_for_each_kernel_and_configuration(open_report: Open, tmp_path: Path) -> None:
    (tmp_path / "twice.cl").write_text(OLD)
    # As recordings name them, which tell builds apart; in the order in which the compiles ended.
    programs = [
        replace(program, name=f"twice:{program.device}:system")
        for program in kernlens.compile(tmp_path / "twice.cl", ["dg2", "pvc", "tgllp"])
    ]
    devices = [str(program.device) for program in programs]
    viewer = open_report(explore_document(programs, title="swept"), at="#v=sweep&figure=code_size")
    cells = viewer.find(".sweep tbody td")
    cells.nth(2).wait_for()
    sizes = {program.device.name: len(program.kernels["twice"].code) for program in programs if program.device}
    heads = [head.split("\n")[0] for head in viewer.find(".sweep thead th").all_inner_texts()[1:]]
    assert heads == devices
    assert [cell.replace(",", "") for cell in cells.all_inner_texts()] == [str(sizes[device]) for device in devices]
    assert viewer.text(".sweep td.worst").replace(",", "") == str(max(sizes.values()))
    assert viewer.axe() == []
    cells.nth(1).locator("button").click()
    viewer.find(".how .fact b", has_text=devices[1]).wait_for()
    assert "v=sweep" not in viewer.address
