"""Versions that are compared: Compare follows what is compiled, its figures are those of the source, and links carry them."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import LISTEN, Open
from tests.browser.edits import LONG, compiled, put_caret
from tests.browser.test_share import choose, free_port
from tests.browser.viewer import RESTED, Viewer
from tests.explore_reader import Page as Report
from tests.integration.serve.explorer_fixtures import MAIN, SOURCE, Server, serving

#: Two lines whose code depends on one another, so that an edit of the first changes waits of the second.
MIX = """kernel void mix_all(global float *out, global const float *from, int count)
{
  const int at = get_global_id(0);
  float sum = 0.0f;
  for (int n = 0; n < count; n++)
    sum = mad(from[n * 64 + at], sum, from[n * 64 + at + 32]);
  out[at] = sum;
}
"""
READY = ".compare:not([aria-busy]) .lines tbody tr"


@pytest.fixture
def tab(browser: Browser) -> Iterator[Callable[..., Viewer]]:
    """Opens an address in a browser of its own."""
    with ExitStack() as contexts:

        def new(address: str, width: int = 1600) -> Viewer:
            context = browser.new_context(viewport={"width": width, "height": 900})
            contexts.callback(context.close)
            context.grant_permissions(["clipboard-read", "clipboard-write"])
            context.add_init_script(LISTEN)
            page = context.new_page()
            page.set_default_timeout(LONG)
            page.goto(address)
            return Viewer(page)

        yield new


def address(server: Server) -> str:
    return f"http://127.0.0.1:{server.port}/#t={server.token}"


def edit(viewer: Viewer, line: str, typed: str) -> None:
    put_caret(viewer, line)
    viewer.tab.keyboard.insert_text(typed)
    compiled(viewer)


def compare(viewer: Viewer) -> None:
    viewer.find("button[data-view=compare]").click()
    viewer.find(READY).nth(1).wait_for()


def sides(viewer: Viewer) -> list[str]:
    """Return both sides of the comparison that is shown: device and version."""
    viewer.find(READY).nth(1).wait_for()
    return [" · ".join(words.split(" · ")[:2]) for words in viewer.texts(".picker .build-of")]


def pick(viewer: Viewer, side: str, words: str) -> None:
    viewer.find(f'.picker input[aria-label^="{side}"]').click()
    viewer.find("[role=option]:visible", has_text=words).first.click()
    viewer.find(READY).nth(1).wait_for()


def figures(viewer: Viewer) -> list[str]:
    """Return the cards and the lines of the comparison."""
    return viewer.texts(".compare .card, .compare .lines tbody tr")


def link(viewer: Viewer, item: str = "Copy link with access") -> str:
    choose(viewer, item)
    viewer.find("footer .told", has_text="Copied").wait_for()
    return str(viewer.tab.evaluate("navigator.clipboard.readText()"))


def two_devices(viewer: Viewer) -> None:
    """Make versions 2 (a line), 3 (an option) and 4 (another device), and compare the last two."""
    edit(viewer, "*= 2.0f", " data[1] = sqrt(data[2]);")
    viewer.tab.get_by_label("Options", exact=True).fill("-cl-opt-disable")
    viewer.find(".version", has_text="-cl-opt-disable").wait_for()
    compiled(viewer)
    compare(viewer)
    assert sides(viewer) == ["dg2 · version 2 line 3", "dg2 · version 3 -cl-opt-disable"]
    viewer.tab.get_by_label("Device", exact=True).select_option("pvc")
    viewer.find(".picker .build-of", has_text="version 4 pvc").wait_for()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "twice.cl").write_text(SOURCE)
    with serving(tmp_path / "twice.cl", "--device", "dg2") as server:
        yield server


def test_compare_follows_what_is_compiled(server: Server, tab: Callable[..., Viewer]) -> None:
    viewer = tab(address(server))
    two_devices(viewer)
    assert sides(viewer) == ["dg2 · version 3 -cl-opt-disable", "pvc · version 4 pvc"]
    # Sides that were chosen give way as well, and the page says so; they come back by a button.
    pick(viewer, "Old", "version 1 as read")
    assert sides(viewer) == ["dg2 · version 1 as read", "pvc · version 4 pvc"]
    viewer.tab.get_by_label("Device", exact=True).select_option("tgllp")
    viewer.find(
        ".followed", has_text="Version 5 is shown now: it is compared with version 4, which it was made from."
    ).wait_for()
    assert sides(viewer) == ["pvc · version 4 pvc", "tgllp · version 5 tgllp"]
    assert viewer.axe_in_both_themes() == []
    viewer.find(".followed button", has_text="Show version 1 → version 4 again").click()
    expect(viewer.find(".picker .build-of").first).to_contain_text("version 1 as read")
    assert sides(viewer) == ["dg2 · version 1 as read", "pvc · version 4 pvc"]
    assert not viewer.find(".followed").is_visible()


def test_two_devices_are_compared_in_every_width(server: Server, tab: Callable[..., Viewer]) -> None:
    """All is read whole, and registers of two sizes are not counted against each other."""
    viewer = tab(address(server))
    two_devices(viewer)
    for width in (1440, 1024, 390):
        viewer.tab.set_viewport_size({"width": width, "height": 900})
        read_whole(viewer)
        if width == 1440:
            tops = viewer.find(".card").evaluate_all("cards => cards.map(card => card.getBoundingClientRect().top)")
            assert len(set(tops)) == 1, "a strip of five figures is one row where there is room"
    viewer.tab.set_viewport_size({"width": 1600, "height": 900})
    assert "of 32 → 64 bytes each" in viewer.text('.card[data-figure="peak"]')
    assert viewer.find('.card[data-figure="peak"] :is(.worse, .better)').count() == 0
    assert "not comparable" in viewer.text('.card[data-figure="waits"]')
    pick(viewer, "New", "version 2 line 3")
    assert "bytes each" not in viewer.text(".cards")


def read_whole(viewer: Viewer) -> None:
    """Ask whether nothing is cut in the comparison at the width that the page has."""
    viewer.tab.evaluate(RESTED)
    texts = viewer.find(".picker :is(input, .build-of), .card *, .lines :is(th, td, .text > *, .link)")
    cut: list[str] = texts.evaluate_all(
        """elements => elements.filter(element => element.scrollWidth > element.clientWidth + 1
          && getComputedStyle(element).display !== "inline").map(element => element.textContent)"""
    )
    assert cut == []
    assert viewer.find(".lines").evaluate("lines => lines.scrollWidth <= lines.clientWidth")
    # No word stands on a line of its own.
    assert viewer.find(".lines .link").evaluate_all("links => links.every(link => link.getClientRects().length === 1)")
    assert not viewer.scrolls_sideways()


def test_badges_and_comparison_have_the_same_figures(tmp_path: Path, tab: Callable[..., Viewer]) -> None:
    (tmp_path / "mix.cl").write_text(MIX)
    with serving(tmp_path / "mix.cl", "--device", "dg2") as server:
        viewer = tab(address(server))
        put_caret(viewer, "sum = mad")
        viewer.press("ArrowLeft")
        viewer.tab.keyboard.insert_text(" + 1.0f")
        compiled(viewer)
        viewer.find(".badge").first.wait_for()
        badges = {
            box["y"]: badge.inner_text() for badge in viewer.find(".badge").all() if (box := badge.bounding_box())
        }
        by_line = [words.replace(" ", "") for _, words in sorted(badges.items())]
        assert by_line
        compare(viewer)
        counts = {}
        cells_of = "rows => rows.map(row => Array.from(row.cells, cell => cell.textContent))"
        for cells in viewer.find(READY).evaluate_all(cells_of):
            old, now = cells[4].split(" → ")
            if cells[0].isdigit() and old != now:
                counts[cells[0]] = f"{old}→{now}"
            if cells[0] == "sync of the other lines":
                counts |= dict(line.replace(" ", "").split(":") for line in cells[7].split(", "))
        assert [words for line, words in sorted(counts.items()) if line.isdigit()] == by_line


def test_a_link_carries_both_sides(server: Server, tab: Callable[..., Viewer]) -> None:
    viewer = tab(address(server))
    two_devices(viewer)
    there = sides(viewer), figures(viewer)
    other = tab(link(viewer))
    other.find(".picker .build-of", has_text="version 3").wait_for()
    assert (sides(other), figures(other)) == there
    # What is shown is the version with its text, and the figures beside it are those of the version before.
    assert other.tab.get_by_label("Options", exact=True).input_value() == "-cl-opt-disable"
    other.find("button[data-view=panes]").click()
    other.line("source", "sqrt(data[2])").wait_for()
    assert [words.split()[0] for words in other.texts(".version")] == ["1", "3", "4"]
    # Sides that were chosen, of which none is what is shown.
    pick_two = ("version 1 as read", "version 2 line 3")
    for side, words in zip(("Old", "New"), pick_two, strict=True):
        pick(viewer, side, words)
    there = sides(viewer), figures(viewer)
    assert there[0] == ["dg2 · version 1 as read", "dg2 · version 2 line 3"]
    third = tab(link(viewer))
    third.find(".picker .build-of", has_text="version 2").wait_for()
    assert (sides(third), figures(third)) == there
    assert third.tab.get_by_label("Device", exact=True).input_value() == "pvc"
    # And once more: as the page was loaded anew, and in a link from the one that came by a link.
    third.tab.reload()
    third.find(".picker .build-of", has_text="version 2").wait_for()
    assert (sides(third), figures(third)) == there
    fourth = tab(link(third))
    fourth.find(".picker .build-of", has_text="version 2").wait_for()
    assert (sides(fourth), figures(fourth)) == there


def test_a_link_carries_both_sides_over_a_restart(tmp_path: Path, tab: Callable[..., Viewer]) -> None:
    (tmp_path / "twice.cl").write_text(SOURCE)
    words = (tmp_path / "twice.cl", "--device", "dg2", "--port", str(free_port()))
    with serving(*words) as server:
        viewer = tab(address(server))
        two_devices(viewer)
        pick(viewer, "Old", "version 1 as read")
        there = sides(viewer), figures(viewer)
        fragment = link(viewer, "Copy link").partition("#")[2]
    with serving(*words) as again:
        other = tab(f"{address(again)}&{fragment}")
        other.find(".picker .build-of", has_text="version 4").wait_for()
        assert (sides(other), figures(other)) == there


def test_a_link_carries_edits_of_two_files(tmp_path: Path, tab: Callable[..., Viewer]) -> None:
    (tmp_path / "half.h").write_text("inline float half_of(float value)\n{\n  return value * 0.5f;\n}\n")
    (tmp_path / "main.cl").write_text(
        '#include "half.h"\nkernel void halve(global float *data)\n{\n  data[0] = half_of(data[1]);\n}\n'
    )
    with serving(tmp_path / "main.cl", "--device", "dg2") as server:
        viewer = tab(address(server))
        edit(viewer, "half_of(data[1])", " data[2] = 1.0f;")
        viewer.find(".source-pane .tab", has_text="half.h").click()
        edit(viewer, "value * 0.5f", " // mended")
        viewer.find(".version", has_text="half.h").wait_for()
        other = tab(link(viewer))
        for path, text in (("main.cl", "data[2] = 1.0f"), ("half.h", "// mended")):
            other.find(".source-pane .tab", has_text=path).click()
            other.line("source", text).wait_for()


def test_what_a_link_leaves_out_is_said(server: Server, tab: Callable[..., Viewer]) -> None:
    viewer = tab(address(server))
    put_caret(viewer, "*= 2.0f")
    noise = random.Random(1)
    # Half of what a link takes: both versions are too much for it, not the shown one.
    viewer.tab.keyboard.insert_text(" // " + "".join(chr(noise.randrange(33, 92)) for _ in range(6000)))
    compiled(viewer)
    viewer.find("header button", has_text="Share").click()
    assert viewer.text(".share .lacks") == ""
    viewer.press("Escape")
    put_caret(viewer, "{")
    viewer.tab.keyboard.insert_text(" // " + "".join(chr(noise.randrange(33, 92)) for _ in range(6000)))
    compiled(viewer)
    viewer.find("header button", has_text="Share").click()
    viewer.find(".share .lacks", has_text="too long for a link").wait_for()
    assert "Save as report holds" in viewer.text(".share .lacks")
    assert viewer.axe_in_both_themes() == []
    viewer.press("Escape")
    assert "w=" not in link(viewer, "Copy link")
    assert "too long for a link" in viewer.text("footer .told")


def test_a_side_that_is_not_here_is_said(server: Server, tab: Callable[..., Viewer]) -> None:
    viewer = tab(f"{address(server)}&k=twice&v=compare&a=0123456789abcdef:twice&b=fedcba9876543210:twice")
    viewer.find(".compare .message", has_text="names a side that is not here").wait_for()
    damaged = tab(f"{address(server)}&k=twice&v=compare&w=0123456789abcdef:AAAA")
    damaged.find("footer .told", has_text="is damaged").wait_for()
    damaged.find(".compare .offers").wait_for()


def test_a_comparison_that_nobody_chose_is_in_the_report(
    tmp_path: Path, tab: Callable[..., Viewer], open_report: Open
) -> None:
    (tmp_path / "twice.cl").write_text(SOURCE)
    both = tmp_path / "both.klens"
    subprocess.run([*MAIN, "compile", tmp_path / "twice.cl", "--device", "dg2,pvc", "-o", both], check=True)
    with serving(both) as server:
        viewer = tab(f"{address(server)}&k=twice")
        viewer.line("source", "*= 2.0f").wait_for()
        compare(viewer)
        there = sides(viewer), figures(viewer)
        assert [side.split(" · ")[0] for side in there[0]] == ["dg2", "pvc"]
        with viewer.tab.expect_download() as download:
            choose(viewer, "Save as report")
        download.value.save_as(tmp_path / "twice.html")
    opened = open_report(tmp_path / "twice.html")
    assert (sides(opened), figures(opened)) == there


def test_the_title_of_a_report_names_the_files_that_are_in_it(tmp_path: Path) -> None:
    (tmp_path / "twice.cl").write_text(SOURCE)
    (tmp_path / "other.cl").write_text("kernel void other(global float *data) { data[0] = 1.0f; }\n")
    with serving(tmp_path / "twice.cl", tmp_path / "other.cl", "--device", "dg2") as server:
        programs = {entry["kernels"]["name"][0]: entry["id"] for entry in server.index()["programs"]}
        for names, title in ((["twice"], "twice.cl"), (["twice", "other"], "twice.cl, other.cl")):
            chosen = [{"id": programs[name], "kernels": [name]} for name in names]
            answer = server.client.post("/api/report", json={"state": "#", "only_size": False, "programs": chosen})
            assert Report(answer.text).index["title"] == title
