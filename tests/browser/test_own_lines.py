"""The switch for own lines: figures per line are those of ``annotate``, with it and without."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernlens import load
from kernlens.model.kernel import Kernel
from kernlens.report.explore import explore_document
from tests.browser.conftest import Open
from tests.browser.made import small_document
from tests.browser.viewer import Viewer
from tests.integration.annotate.test_own_lines import NEWEST_ROOT, compiled
from tests.unit.conftest import Kernlens, kernlens

__all__ = ["compiled", "kernlens"]

#: The lines of the source that is shown which have figures, as they stand there.
FIGURES = """() => [...document.getElementById("kernlens").shadowRoot.querySelectorAll(".source-pane .numbers .cell")]
  .map(cell => [...cell.children].map(part => part.textContent))
  .filter(([line, figure]) => figure !== "").map(([line, figure]) => [Number(line), Number(figure)])"""
SWITCH = "button:has-text('Own lines')"

Counts = dict[str, dict[int, int]]


def figures(viewer: Viewer, path: str) -> dict[int, int]:
    """The instructions beside the lines of a file."""
    viewer.find(f".source-pane .tabs [title='{path}']").click()
    viewer.find(f".source-pane .tabs [title='{path}'][aria-pressed=true]").wait_for()
    viewer.ready()
    return dict(viewer.tab.evaluate(FIGURES))


def counted(kernlens: Kernlens, recording: Path, *options: str) -> Counts:
    """The instructions of each line, as ``annotate`` counts them, by file."""
    answer = json.loads(kernlens("annotate", recording, "--top", "100000", "--json", *options).out)
    counts: Counts = {}
    for line in answer["programs"][0]["kernels"][0]["lines"]:
        if line["costs"]["instructions"]:
            counts.setdefault(line["path"], {})[line["line"]] = line["costs"]["instructions"]
    return counts


def test_figures_follow_the_switch(
    compiled: tuple[Path, Kernel], open_report: Open, kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = compiled[0] / "k.klens"
    if NEWEST_ROOT is not None:
        monkeypatch.setenv("KERNLENS_NEWEST_ROOT", NEWEST_ROOT)
    plain, own = counted(kernlens, recording), counted(kernlens, recording, "--own-lines")
    (source,) = (path for path in own if path.endswith("k.cl"))
    assert plain[source] != own[source]
    assert len(plain) > len(own) == 2
    programs = list(load(recording))
    viewer = open_report(explore_document(programs))
    assert viewer.find(SWITCH).get_attribute("aria-pressed") == "false"
    assert figures(viewer, source) == plain[source]
    viewer.press("i")
    viewer.find(f"{SWITCH}[aria-pressed=true]").wait_for()
    # Whoever reads an own file stays in it.
    viewer.find(f".source-pane .tabs [title='{source}'][aria-pressed=true]").wait_for()
    assert {path: figures(viewer, path) for path in own} == own
    assert viewer.find(".source-pane .tabs:not(.pair) .tab").count() == len(own)
    assert "o=1" in viewer.address
    link = viewer.address
    assert viewer.axe() == []
    assert viewer.cut_texts() == []
    # An instruction of the library's says from where it is.
    viewer.find(".gen .cm-line", has_text="math.cos").first.click(position={"x": 3, "y": 9})
    assert "cosine.h:3" in viewer.text("aside .trail")
    viewer.find(SWITCH).click()
    viewer.find(f"{SWITCH}[aria-pressed=false]").wait_for()
    assert figures(viewer, source) == plain[source]
    assert "o=" not in viewer.address
    assert figures(open_report(explore_document(programs), at=link), source) == own[source]


def test_the_command_line_sets_where_it_begins(
    compiled: tuple[Path, Kernel],
    open_report: Open,
    kernlens: Kernlens,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if NEWEST_ROOT is not None:
        monkeypatch.setenv("KERNLENS_NEWEST_ROOT", NEWEST_ROOT)
    page = tmp_path / "own.html"
    assert kernlens("report", compiled[0] / "k.klens", "--own-lines", "-o", page).status == 0
    viewer = open_report(page)
    viewer.find(f"{SWITCH}[aria-pressed=true]").wait_for()
    assert "o=" not in viewer.address
    viewer.find(SWITCH).click()
    viewer.find(f"{SWITCH}[aria-pressed=false]").wait_for()
    assert "o=0" in viewer.address


def test_there_is_no_switch_where_all_lines_are_own(open_report: Open) -> None:
    viewer = open_report(small_document())
    assert not viewer.find(SWITCH).is_visible()
    viewer.press("i")
    assert "each line is its own" in viewer.text("footer .told")
