"""The search: in the kernel that is shown, and in all kernels, which are not read for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from kernlens.report.explore import ExploreDocument
from kernlens.report.explore.chunks import Chunks
from tests.browser.conftest import Open
from tests.browser.made import SOURCE, chunk_of, small_document
from tests.browser.viewer import Viewer
from tests.integration.serve.explorer_fixtures import serving

#: Kernels and what they have beside opcodes; all have code of lines 1 to 4 of add.cl.
KERNELS: dict[str, dict[str, Any]] = {
    "plain": {},
    "counting": {"atomics": 3},
    "splat_all": {"functions": [0]},
    "waiting": {"barriers": 2, "atomics": 1},
}


def searched() -> ExploreDocument:
    """Return four kernels, with what they are found by; the chunk of the kernel ``counting`` cannot be read."""
    document = small_document(source=SOURCE.replace("a[0] += 1;", "a[0] += 1; // Adds"))
    (program,) = document.index["programs"]
    chunks = Chunks()
    kernel = chunk_of(document)
    chunks.add("kernel", "a" * 16, lambda: kernel)
    chunks.add("source", "b" * 16, lambda: {"schema": 2, "kind": "source", "text": "kernel void f() {\n\n// Adds\n}\n"})
    words: dict[str, Any] = {"opcodes": [0, 10, 1, 2], "lines": [[0, 1, 4]]}
    lists = {"opcodes": ["mov", "math.inv"], "functions": ["half_of"], "files": ["add.cl"]}
    kernels = [words | more for more in KERNELS.values()]
    kernels[0] = {"opcodes": [0, 1], "lines": []}
    chunks.add("search", "5" * 16, lambda: {"schema": 2, "kind": "search", **lists, "kernels": [kernels]})
    columns = {key: values * len(KERNELS) for key, values in program["kernels"].items()}
    columns |= {"name": [*KERNELS], "shown": [*KERNELS], "spill_bytes": [0, 0, 128, 0], "instructions": [5, 4, 3, 2]}
    columns["chunk"] = ["a" * 16, "d" * 16, "a" * 16, "a" * 16]
    index = document.index | {"search": "5" * 16, "programs": [program | {"kernels": columns}]}
    return ExploreDocument(index, chunks)


def names(viewer: Viewer) -> dict[str, str]:
    """Return the kernels of the list with the figures beside them."""
    return dict(zip(viewer.texts("nav .k > .name"), viewer.texts("nav .k > em"), strict=True))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_kernels_are_searched(open_report: Open, theme: str) -> None:
    viewer = open_report(searched(), at="#k=plain", theme=theme)
    viewer.press("/")
    results = viewer.find(".results")
    # What can be looked for is said, and does it.
    results.get_by_role("button", name="atomic", exact=True).click()
    viewer.find("nav h2", has_text="2 of 4 kernels").wait_for()
    assert names(viewer) == {"counting": "3", "waiting": "1"}
    assert results.locator(".it", has_text="2 of 4 kernels").is_visible()
    assert results.locator(".it", has_text="Machine code").inner_text().split() == [
        "Machine",
        "code",
        "0",
        "instructions",
    ]
    assert viewer.axe() == []
    assert viewer.cut_texts() == []
    field = viewer.find(".find input")
    for typed, expected in {
        "spills": {"splat_all": "128"},
        "op:mov": {"counting": "10", "splat_all": "10", "waiting": "10", "plain": "1"},
        "math": {"counting": "2", "splat_all": "2", "waiting": "2"},
        "fn:half": {"splat_all": "1"},
        "SPLAT": {"splat_all": "1"},
        "adds": {"counting": "1", "splat_all": "1", "waiting": "1"},
        "line:4": {"counting": "1", "splat_all": "1", "waiting": "1"},
        "re:^wait|^plain": {"waiting": "1", "plain": "1"},
    }.items():
        field.fill(typed)
        viewer.find("nav h2", has_text=f"{len(expected)} of 4").wait_for()
        viewer.tab.wait_for_timeout(50)
        assert names(viewer) == expected, typed
    field.fill("nowhere to be seen")
    viewer.find("nav .none", has_text="No kernel has this").wait_for()
    # What cannot be looked for is said; all kernels are back when nothing is.
    field.fill("reg:r2")
    results.get_by_text("looked for in this kernel alone").wait_for()
    field.fill("re:(a+)+b")
    results.get_by_text("may take for ever").wait_for()
    viewer.find("nav h2", has_text="4 kernels").wait_for()
    viewer.press("Escape")
    assert not results.is_visible()
    assert field.input_value() == ""


def test_enter_opens_no_other_kernel(open_report: Open) -> None:
    viewer = open_report(searched(), at="#k=splat_all")
    viewer.press("/")
    viewer.tab.keyboard.type("atomic")
    viewer.find("nav h2", has_text="2 of 4").wait_for()
    viewer.press("Enter")
    viewer.find("footer", has_text="This kernel has none: Alt and an arrow go to").wait_for()
    assert viewer.text(".pick .name") == "splat_all"


def test_from_place_to_place_and_from_kernel_to_kernel(open_report: Open) -> None:
    viewer = open_report(searched(), at="#k=splat_all")
    viewer.press("/")
    viewer.tab.keyboard.type("adds")
    viewer.find("nav h2", has_text="3 of 4").wait_for()
    viewer.press("Enter")
    assert viewer.text(".find .found") == "1 of 1"
    assert viewer.find("nav mark").count() == 0, "in a source, not in a name"
    # The next kernel of the list; this one's chunk is damaged, and the search has found it all the same.
    viewer.press("Alt+ArrowDown")
    viewer.find(".pick .name", has_text="counting").wait_for()
    viewer.press("Alt+ArrowDown")
    viewer.find(".pick .name", has_text="waiting").wait_for()
    viewer.press("Alt+ArrowUp", "Alt+ArrowUp")
    viewer.find(".pick .name", has_text="splat_all").wait_for()
    assert viewer.find("nav h2").inner_text() == "3 of 4 kernels"
    # To the places in a pane by the pointer; the results close with the focus.
    viewer.find(".results .it", has_text="add.cl").click()
    viewer.find(".gen .cm-content").focus()
    assert not viewer.find(".results").is_visible()
    viewer.press("/")
    assert viewer.find(".results").is_visible()
    viewer.find(".find input").fill("splat")
    viewer.find("nav mark", has_text="splat").wait_for()


def test_the_search_fits_a_narrow_page(open_report: Open) -> None:
    viewer = open_report(searched(), width=390, height=800)
    viewer.find(".find input").focus()
    viewer.find(".find input").fill("atomic")
    everywhere = viewer.find(".results .it", has_text="2 of 4 kernels")
    everywhere.wait_for()
    assert viewer.cut_texts() == []
    assert not viewer.scrolls_sideways()
    assert viewer.axe() == []
    everywhere.click()
    viewer.find("nav .k", has_text="counting").click()
    viewer.find(".pick .name", has_text="counting").wait_for()


def test_without_the_chunk_it_is_said(open_report: Open) -> None:
    document = searched()
    broken = ExploreDocument(document.index | {"search": "6" * 16}, document.chunks)
    viewer = open_report(broken)
    viewer.press("/")
    viewer.tab.keyboard.type("mov")
    viewer.find(".results .dim", has_text="without this part").wait_for()
    assert viewer.find("nav h2").inner_text() == "4 kernels"


def test_serve_reads_no_kernel_for_the_search(browser: Browser, tmp_path: Path) -> None:
    kernels = 9
    lines = [f"kernel void k{number}(global int *a) {{ atomic_add(a, {number}); }}\n" for number in range(kernels)]
    (tmp_path / "many.cl").write_text("".join(lines))
    with serving(tmp_path / "many.cl", "--device", "dg2") as server:
        context = browser.new_context()
        tab = context.new_page()
        tab.set_default_timeout(60_000)
        asked: list[str] = []
        tab.on("request", lambda request: asked.append(request.url) if "/api/chunk/" in request.url else None)
        tab.goto(f"http://127.0.0.1:{server.port}/#t={server.token}")
        viewer = Viewer(tab)
        viewer.press("/")
        for typed in ("atomic_add", "atomic", "op:send"):
            viewer.find(".find input").fill(typed)
            viewer.find("nav h2", has_text=f"{kernels} of {kernels} kernels").wait_for()
        viewer.find(".find input").fill("k3")
        viewer.find("nav h2", has_text=f"1 of {kernels} kernels").wait_for()
        # The kernel that is shown, the source, and what all kernels are found by.
        assert len(set(asked)) < 5
        context.close()
