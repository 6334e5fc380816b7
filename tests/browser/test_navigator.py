"""The list of kernels: names grouped and whole, one Tab stop, and 3,000 kernels."""

from __future__ import annotations

import pytest

from kernlens.report.explore import ExploreDocument
from kernlens.report.explore.name_groups import Listed
from tests.browser.conftest import Open
from tests.browser.made import many_kernels
from tests.browser.viewer import Viewer
from tests.tree import ROOT

SETS = ROOT / "tests/unit/report/name_sets"
#: The rows whose name ends beyond its column, or is higher than the row.
CUT = """() => [...document.getElementById("kernlens").shadowRoot.querySelectorAll(".all > [role=treeitem]")].flatMap(row => {
  const name = row.querySelector(".name").getBoundingClientRect();
  const lines = [...row.querySelectorAll(".name > span")];
  const wide = lines.some(line => [...line.children].some(part => part.getBoundingClientRect().right > name.right + 1.5));
  const badge = row.querySelector("small, em").getBoundingClientRect();
  return wide || badge.left < name.right || name.height > row.clientHeight ? [row.textContent] : [];
})"""


def listed(name: str) -> list[Listed]:
    lines = (SETS / f"{name}.txt").read_text().splitlines()
    return [Listed(kernel, file) for file, kernel in (line.split("\t") for line in lines)]


def named(name: str) -> ExploreDocument:
    kernels = listed(name)
    figures = [(100 + 37 * row % 5000, (8, 16, 32)[row % 3], 64 * (row % 5 == 0)) for row in range(len(kernels))]
    return many_kernels(kernels, figures)


def rows(viewer: Viewer) -> list[str]:
    return [" ".join(text.split()) for text in viewer.texts("nav .all > [role=treeitem] > .name")]


@pytest.mark.parametrize(("name", "width"), [("darktable", 1440), ("bullet", 1440), ("ggml", 390), ("dpnp", 1440)])
def test_no_name_is_cut(open_report: Open, name: str, width: int) -> None:
    viewer = open_report(named(name), width=width, theme="dark" if name == "bullet" else "light")
    viewer.press("K")
    list_ = viewer.find("nav .nl")
    seen = 0
    for _ in range(4):
        assert viewer.tab.evaluate(CUT) == []
        seen += viewer.find("nav .k").count()
        list_.evaluate("element => element.scrollBy(0, element.clientHeight)")
        viewer.tab.evaluate("new Promise(requestAnimationFrame)")
    assert seen > 20
    assert viewer.axe() == []
    assert not viewer.scrolls_sideways()


def test_the_keyboard_walks_the_tree(open_report: Open) -> None:
    viewer = open_report(named("darktable"))
    viewer.press("K")
    # The worst kernel, with its whole name and its figures.
    assert viewer.focused().startswith(f"{viewer.text('.pick .name')}, ")
    assert "instructions, SIMD" in viewer.focused()
    assert viewer.find("nav [role=treeitem][tabindex='0']").count() == 1
    # To its file, which closes and opens.
    viewer.press("ArrowLeft")
    head = viewer.focused()
    assert ".cl" in head
    viewer.press("ArrowLeft")
    closed = viewer.find("nav [aria-expanded=false]")
    assert closed.count() == 1
    assert viewer.focused().partition("▸")[0] == head.partition("▾")[0]
    viewer.press("ArrowRight", "ArrowRight")
    assert closed.count() == 0
    # Typing jumps, to a row as it is shown; letters are no commands here.
    viewer.tab.keyboard.type("hblur")
    assert "hblur, " in viewer.focused()
    viewer.press("End")
    last = viewer.focused()
    assert viewer.find("nav [role=treeitem][tabindex='0']").count() == 1
    viewer.press("Home")
    assert ".cl" in viewer.focused()
    viewer.press("End", "Enter")
    viewer.find(".pick .name", has_text=last.split(", ")[0]).wait_for()
    # A single Tab stop: the next is the splitter.
    viewer.press("Tab")
    assert viewer.focused() == "Width of the list"


def test_the_list_is_as_wide_as_its_reader_wants(open_report: Open) -> None:
    viewer = open_report(named("bullet"))
    edge = viewer.find(".nav-split")
    wide = "element => element.getBoundingClientRect().width"
    before = viewer.find("nav").evaluate(wide)
    edge.focus()
    viewer.press("PageUp")
    assert viewer.find("nav").evaluate(wide) == before + 60
    assert edge.get_attribute("aria-valuenow") == str(round(before + 60))
    viewer.press("End")
    assert viewer.find("nav").evaluate(wide) == 560
    # All names of this set have a line of their own then.
    assert viewer.find("nav .k .name > span + span").count() == 0
    viewer.press("Home")
    assert viewer.find("nav").evaluate(wide) == 180
    assert viewer.find("nav .k .name > span + span").count() > 3
    assert viewer.tab.evaluate(CUT) == []


def test_three_thousand_kernels(open_report: Open) -> None:
    kernels = [
        kernel._replace(device=device, toolchain=toolchain)
        for device in ("dg2", "bmg", "pvc", "lnl", "skl", "mtl")
        for toolchain in ("system", "newest")
        for kernel in listed("darktable")[:250]
    ]
    document = many_kernels(kernels, [(100 + row % 977, 16, 0) for row in range(3000)])
    viewer = open_report(document)
    assert viewer.text("nav h2") == "3,000 kernels"
    name = viewer.text(".pick .name")
    # Only the current kernel's build and file are open; its row is in sight, in the upper third.
    current = viewer.find("nav [aria-current=true]")
    place, list_ = current.bounding_box(), viewer.find("nav .nl").bounding_box()
    assert place is not None
    assert list_ is not None
    assert list_["y"] <= place["y"] < list_["y"] + list_["height"] / 2
    assert viewer.find("nav .all > *").count() < 80
    builds = viewer.find("nav [aria-level='1'][aria-expanded]")
    assert builds.first.inner_text().split("\n")[-1] == "250"
    # A link to the last one opens with it in sight.
    viewer.press("K", "End")
    viewer.press("ArrowRight", "End", "ArrowRight", "End", "Enter")
    viewer.find(".pick .name", has_not_text=name).wait_for()
    again = open_report(document, at=viewer.address)
    current = again.find("nav [aria-current=true]")
    assert again.text(".pick .name") in str(current.text_content())
    place = current.bounding_box()
    assert place is not None
    assert list_["y"] <= place["y"] < list_["y"] + list_["height"]


def test_it_opens_with_the_kernel_in_the_upper_third(open_report: Open) -> None:
    viewer = open_report(named("darktable"), at="#k=soften_mix")
    current, list_ = viewer.find("nav [aria-current=true]"), viewer.find("nav .nl")
    assert "soften_mix" in str(current.text_content())
    place, room = current.bounding_box(), list_.bounding_box()
    assert place is not None
    assert room is not None
    assert list_.evaluate("element => element.scrollTop") > 0
    assert room["y"] <= place["y"] < room["y"] + room["height"] / 2


def test_a_click_leaves_the_letters_to_the_panes(open_report: Open) -> None:
    viewer = open_report(named("darktable"))
    viewer.find("nav .k").nth(3).click()
    viewer.press("?")
    viewer.find("dialog[open]").wait_for()
    viewer.press("Escape", "2")
    assert "c=memory" in viewer.address


def test_files_are_sorted_by_name_and_kernels_by_instructions(open_report: Open) -> None:
    viewer = open_report(named("bullet"))
    viewer.find("nav .order").select_option("name")
    heads = [row for row in rows(viewer) if ".cl" in row]
    assert heads == sorted(heads, key=str.lower)
    viewer.find(".nc button", has_text="instr").click()
    figures = [int(text.replace(",", "")) for text in viewer.texts("nav .k > em")]
    assert figures[0] == max(figures)
    assert viewer.find("nav .order").input_value() == "instructions"


def test_names_of_a_file_are_texts(open_report: Open) -> None:
    hostile = ["<img src=x onerror=alert(1)>", "a" * 5000, "\u202egnp.cl", "b\tc\x1b[31m"]
    kernels = [Listed(name, "x.cl") for name in hostile]
    viewer = open_report(many_kernels(kernels, [(10 - row, 16, 0) for row in range(4)]))
    assert viewer.find("nav img").count() == 0
    assert "<img src=x onerror=alert(" in rows(viewer)[1]
    # Far more than fits is cut in the row; its title has all of it.
    assert "…" in viewer.find("nav .k > .name").nth(1).inner_text()
    assert "a" * 5000 in str(viewer.find("nav .k .heard").nth(1).text_content())
    assert "\u202e" not in "".join(rows(viewer))
