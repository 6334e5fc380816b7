"""Views that act: with a single build, Compare and Sweep compile others; stages and pipelines of passes are compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import kernlens
from kernlens.report.explore import explore_document
from tests.browser.conftest import Open
from tests.browser.edits import LONG
from tests.browser.viewer import Viewer
from tests.integration.serve.explorer_fixtures import Server, serving
from tests.tree import ROOT

TONE = ROOT / "examples/kernels/tone.cl"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "tone.cl").write_bytes(TONE.read_bytes())
    with serving(tmp_path / "tone.cl", "--device", "dg2", "--toolchain", "system") as server:
        yield server


@pytest.fixture
def viewer(server: Server, browser: Browser) -> Iterator[Viewer]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    tab = context.new_page()
    tab.goto(f"http://127.0.0.1:{server.port}/#t={server.token}")
    yield Viewer(tab)
    context.close()


@pytest.fixture
def problems(viewer: Viewer) -> list[str]:
    """What the console says, and requests that were refused."""
    problems: list[str] = []
    viewer.tab.on("console", lambda message: problems.append(message.text))
    viewer.tab.on("response", lambda answer: problems.append(answer.url) if answer.status >= 400 else None)
    return problems


def test_a_single_build_is_compared_with_what_a_button_compiles(viewer: Viewer, problems: list[str]) -> None:
    viewer.find("button[data-view=compare]").click()
    viewer.find(".offers button", has_text="-cl-fast-relaxed-math").wait_for()
    assert viewer.axe_in_both_themes() == []
    assert viewer.texts(".offers button[disabled]")[0] == "dg2"
    viewer.find(".offers button", has_text="-cl-fast-relaxed-math").click()
    viewer.find(".picker .build-of", has_text="version 2 -cl-fast-relaxed-math").wait_for(timeout=LONG)
    good = viewer.find('.card[data-figure="instructions"] .better').evaluate("item => getComputedStyle(item).color")
    # The same for another device is no measure of this one.
    viewer.tab.get_by_label("Device", exact=True).select_option("pvc")
    viewer.find(".picker .build-of", has_text="version 3 pvc").wait_for(timeout=LONG)
    viewer.find(".compare.apart").wait_for()
    colours = viewer.find('.card[data-figure="instructions"] em, .facts b.down').evaluate_all(
        "items => items.map(item => getComputedStyle(item).color)"
    )
    assert len(colours) >= 2
    assert good not in colours
    assert problems == []


def test_any_two_stages_are_compared(viewer: Viewer) -> None:
    viewer.find("button[data-view=compare]").click()
    viewer.find("button", has_text="Compare two stages of tone").click()
    choices = viewer.find(".of-stages select")
    expect(choices).to_have_count(2)
    expect(viewer.find(".sides .head b").first).to_contain_text("SPIR-V")
    choices.first.select_option(label="LLVM IR, unified")
    expect(viewer.find(".sides .head b").first).to_contain_text("LLVM IR, unified")
    choices.nth(1).select_option(label="LLVM IR, optimised")
    expect(viewer.find(".sides .head b").nth(1)).to_contain_text("LLVM IR, optimised")
    assert viewer.find(".half.gone").count() > 0
    assert viewer.axe_in_both_themes() == []
    # A stage with itself is equal, and a link leads to the same.
    choices.nth(1).select_option(label="LLVM IR, unified")
    expect(viewer.find(".sides > p")).to_contain_text("The texts are equal")
    viewer.tab.reload()
    expect(viewer.find(".sides > p")).to_contain_text("The texts are equal")
    viewer.find(".of-stages select").first.select_option(label="Source lines and machine code")
    viewer.find(".compare .lines table").wait_for()


def test_a_sweep_is_compiled_in_the_page(viewer: Viewer, problems: list[str]) -> None:
    viewer.find("button[data-view=sweep]").click()
    compile_ = viewer.find(".builds .primary")
    expect(compile_).to_have_text("Compile 1 build")
    for words in ("-cl-fast-relaxed-math", "-cl-opt-disable"):
        viewer.find(".builds .offer button", has_text=words).click()
    viewer.find(".builds .offer button", has_text="pvc").first.click()
    expect(compile_).to_have_text("Compile 6 builds")
    compile_.click()
    viewer.find(".sweep tbody td").first.wait_for(timeout=LONG)
    viewer.find(".builds [role=status]", has_text="Compiled: 6 of 6 builds").wait_for(timeout=LONG)
    assert viewer.find(".sweep tbody td").count() == 6
    # Each device has its own worst: without optimisation both are.
    assert viewer.find(".sweep td.worst").count() == 2
    assert viewer.axe_in_both_themes() == []
    figure = viewer.find(".sweep tbody td").nth(1).inner_text()
    heads = viewer.find(".sweep thead th").nth(2).inner_text().split("\n")
    viewer.find(".sweep tbody td button").nth(1).click()
    viewer.find(".version[aria-current=true]", has_text=figure).wait_for(timeout=LONG)
    assert viewer.tab.get_by_label("Device", exact=True).input_value() == heads[0]
    assert problems == []


def test_a_build_of_a_sweep_that_fails_says_why(viewer: Viewer) -> None:
    viewer.find("button[data-view=sweep]").click()
    field = viewer.find(".builds .offer input")
    field.fill("-DLIGHT= -Dlight=)")
    field.press("Enter")
    viewer.find(".builds .primary", has_text="Compile 2 builds").click()
    viewer.find(".builds [role=status]", has_text="Compiled: 2 of 2 builds, 1 failed").wait_for(timeout=LONG)
    assert viewer.find(".sweep td.failed").get_attribute("title")


def test_two_pipelines_part_where_they_first_differ(open_report: Open, tmp_path: Path) -> None:
    (tmp_path / "tone.cl").write_bytes(TONE.read_bytes())
    programs = []
    for options in ("", "-cl-fast-relaxed-math"):
        stages = kernlens.stages(tmp_path / "tone.cl", "dg2", toolchain="system", options=options, all_passes=True)
        programs += [program for program in stages.programs if program.kernels]
    viewer = open_report(explore_document(programs, title="tone"), at="#v=passes")
    viewer.find(".passes li.on").wait_for()
    viewer.find(".passes .picker input").click()
    viewer.find(".passes .picker li", has_text="tone").first.click()
    viewer.find(".passes li.pair.on").wait_for()
    words = viewer.text(".passes-head > :last-child")
    assert "They part at" in words
    name = words.split("They part at ")[1].split(",")[0]
    assert viewer.find(".passes li.on button").get_attribute("title") == f"{name}: here they part"
    marks = viewer.texts(".passes li.pair .number")
    assert marks.count("▶") == 1
    assert "≠" not in marks[: marks.index("▶")]
    assert viewer.find(".passes .two .unlike").count() > 0
    assert viewer.axe_in_both_themes() == []
    viewer.find("button", has_text="This one alone").click()
    expect(viewer.find(".passes li.pair")).to_have_count(0)


def test_a_report_says_what_compiles(open_report: Open) -> None:
    document = explore_document(list(kernlens.compile(TONE, ["dg2"], toolchain="system")), title="one")
    for view in ("compare", "sweep"):
        viewer = open_report(document, at=f"#v={view}")
        assert "kernlens serve FILE" in viewer.text(f".{view}")
        assert viewer.find(".offers").count() == 0
