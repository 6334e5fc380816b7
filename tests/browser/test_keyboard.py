"""Everything by keys alone, as somebody without a pointer uses it; and what a screen reader is told."""

from __future__ import annotations

from pathlib import Path

from tests.browser.conftest import Open
from tests.browser.made import chunk_of, small_document, with_kernels


def test_a_walk_by_keys(open_report: Open, sharpen_page: Path) -> None:
    viewer = open_report(sharpen_page)
    # To the first pane by Tab alone: the focus always shows where it is, and nothing traps it.
    names = []
    for _ in range(60):
        viewer.press("Tab")
        names.append(viewer.focused())
        if names[-1].startswith("Source sharpen.cl"):
            break
    assert any("Search this kernel" in name for name in names)
    assert names[-1].startswith("Source sharpen.cl")
    # The hottest line first; then from lit line to lit line in another pane.
    viewer.press("n")
    pinned = viewer.pinned
    assert pinned.startswith("● Pinned line")
    viewer.find(".spoken", has_text="percent").wait_for(state="attached")
    viewer.press("j", "j", "Enter")
    assert viewer.pinned != pinned
    viewer.press("Escape")
    assert viewer.pinned == ""
    viewer.press("Tab")
    assert viewer.focused() != names[-1]
    # Stages, colours, operands, sheets.
    stage = viewer.find(".stage-pane .cm-content").get_attribute("aria-label")
    viewer.press("]")
    assert viewer.find(".stage-pane .cm-content").get_attribute("aria-label") != stage
    viewer.press("2")
    assert viewer.text(".source-pane .columns").startswith("bytes")
    viewer.press("o")
    assert "<1;1,0>" in viewer.text(".gen .cm-content")
    viewer.press("o", "?")
    viewer.find("dialog[open]").wait_for()
    viewer.press("Escape")
    assert viewer.find("dialog[open]").count() == 0
    # The list of kernels: arrows and Enter.
    name = viewer.text(".pick .name")
    viewer.press("K", "ArrowDown", "Enter")
    viewer.find(".pick .name", has_not_text=name).wait_for()
    # The splitter.
    splitter = viewer.find(".splitter").first
    before = splitter.get_attribute("aria-valuenow")
    splitter.focus()
    viewer.press("ArrowRight")
    assert splitter.get_attribute("aria-valuenow") == str(int(before or 0) + 2)


def test_finding_shows_how_many_lines_of_each_pane_match(open_report: Open, sharpen_page: Path) -> None:
    viewer = open_report(sharpen_page)
    viewer.press("/")
    viewer.tab.keyboard.type("op:send")
    viewer.find(".code-pane .told", has_text="found").wait_for()
    assert viewer.text(".source-pane .told").startswith("0 found")
    viewer.press("Enter", "Enter")
    assert viewer.text(".find .found").startswith("2 of ")
    # Letters are letters in a field.
    assert viewer.find(".find input").input_value() == "op:send"
    for query in ("re:send\\..*r\\d+", "line:25", "reg:r4", "float4", "re:("):
        viewer.find(".find input").fill(query)
        viewer.find(".results .warn", has_text="regular" if query == "re:(" else "").wait_for(state="attached")
    viewer.press("Escape")
    assert viewer.find(".find input").input_value() == ""


def test_machine_code(open_report: Open) -> None:
    viewer = open_report(small_document())
    # Short operands: no subregister 0, no contiguous region, one value for all channels as <0>.
    row = viewer.line("gen", "add ")
    assert row.inner_text().split() == ["add", "16", "r4:f", "r2:f", "-r3<0>:f", "I@1"]
    viewer.press("g", "p")
    viewer.find("footer .told", has_text="5 registers are live at 0x0020").wait_for()
    viewer.pin("gen", "send")
    detail = viewer.text("aside")
    assert "Writes up to 64 bytes of global memory" in detail
    assert "r4 0x0010" in detail
    assert "r6 0x0040" in detail
    # A token leads to the message that is waited for, a register to who wrote it.
    viewer.find(".token", has_text="$3.dst").click()
    assert "&i=0x20" in viewer.address
    # A distance leads to the instruction that it counts back to, and that one to those that wait for it.
    viewer.find(".token", has_text="I@1").click()
    assert viewer.address.endswith("&i=0x0")
    assert "Waited for at: 0x0010, 0x0020." in viewer.text("aside")
    viewer.find("aside .link", has_text="0x0020").first.click()
    assert "A@1 waits for the last instruction of each pipe: 0x0010, 0x0000." in viewer.text("aside")
    viewer.line("gen", "add ").locator(".t-r", has_text="r2").click()
    assert "&i=0x10" in viewer.address
    assert "r2 0x0000" in viewer.text("aside")
    assert viewer.find(".gen .R0 .from").evaluate("e => getComputedStyle(e, '::before').content") == '"w"'
    # A block folds and unfolds, by key and by click.
    rows = viewer.find(".gen .cm-line").count()
    viewer.press("f")
    assert viewer.find(".gen .cm-line").count() < rows
    viewer.find(".gen .cm-line.header").first.click()
    assert viewer.find(".gen .cm-line").count() == rows


def test_copying_gives_the_text_of_iga(open_report: Open) -> None:
    viewer = open_report(small_document())
    viewer.find(".gen .cm-content").focus()
    viewer.press("Control+a")
    copied = viewer.find(".gen .cm-content").evaluate(
        """content => {
          const data = new DataTransfer();
          content.dispatchEvent(new ClipboardEvent("copy", {clipboardData: data, bubbles: true, cancelable: true}));
          return data.getData("text/plain");
        }"""
    )
    assert "r2.0<1;1,0>:f     -r3.0<0;1,0>:f    {I@1}" in copied
    assert "block" not in copied
    assert len(copied.split("\n")) == 5


def test_panes_that_are_made_anew_go_on_where_they_were(open_report: Open, sharpen_page: Path) -> None:
    viewer = open_report(sharpen_page)
    # The last message of the kernel, far below.
    viewer.press("/")
    viewer.tab.keyboard.type("op:send")
    viewer.press("Shift+Enter", "Shift+Enter", "Escape")
    scrolled = "element => element.scrollTop > 400"
    assert viewer.find(".gen .cm-scroller").evaluate(scrolled)
    viewer.press("o")
    viewer.line("gen", "<1;1,0>").wait_for()
    assert viewer.find(".gen .cm-scroller").evaluate(scrolled)
    viewer.find(".source-pane select.mini").select_option("swap")
    viewer.tab.evaluate("new Promise(requestAnimationFrame)")
    assert viewer.find(".gen .cm-scroller").evaluate(scrolled)


def test_what_is_drawn_again_leaves_the_focus_where_it_was(open_report: Open) -> None:
    passes = [
        {"pass": name, "attempt": 1, "names": names, "lines": [], "changed": changed, "added": 1, "removed": 0}
        | {"diff": "@@\n+new" if changed else None, "missing": None}
        for name, names, changed in [
            ("first", ["first"], True), ("idle", ["idle", "lazy", "calm"], False), ("last", ["last"], True)
        ]
    ]  # fmt: skip
    viewer = open_report(
        with_kernels({name: chunk_of(small_document()) for name in ("one", "two", "three")}, passes=passes)
    )
    # The list of kernels: sorted, and a kernel opened.
    viewer.find(".nc button", has_text="instr").focus()
    viewer.press("Enter")
    assert viewer.focused() == "instr ▾"
    viewer.find("nav .k", has_text="two").focus()
    viewer.press("Enter")
    viewer.find(".pick .name", has_text="two").wait_for()
    assert viewer.focused().startswith("two")
    # The panes' menus: a pane is closed, and brought back.
    menu = viewer.find(".stage-pane select.mini")
    menu.focus()
    menu.select_option("close")
    viewer.find(".stage-pane").wait_for(state="detached")
    assert viewer.focused() != ""
    viewer.find(".code-pane select.mini").select_option(label="Bring back: Stage")
    viewer.line("stage", "add i32").wait_for()
    # The list of passes: one is chosen, and those without effect are shown.
    viewer.find(".views button", has_text="Passes").click()
    viewer.find(".passes li.on", has_text="first").wait_for()
    viewer.find(".passes li button", has_text="last").focus()
    viewer.press("Enter")
    viewer.find(".passes li.on", has_text="last").wait_for()
    assert "last" in viewer.focused()
    viewer.press("ArrowUp", "Enter")
    viewer.find(".passes li.on", has_text="first").wait_for()
    assert "first" in viewer.focused()
    viewer.find("button", has_text="Only what changed").focus()
    viewer.press("Enter")
    assert viewer.focused() == "Only what changed"
    viewer.find(".passes li button", has_text="calm").focus()
    viewer.press("ArrowUp", "Enter")
    viewer.find(".passes li.on", has_text="lazy").wait_for()
    assert "lazy" in viewer.focused()
    # Back to the panes: not to the beginning of the page.
    viewer.press("Escape")
    assert viewer.focused().startswith("Source")


def test_what_a_screen_reader_is_told(open_report: Open, sharpen_page: Path) -> None:
    viewer = open_report(sharpen_page)
    names = {
        (node["role"]["value"], node.get("description", node["name"])["value"])
        for node in viewer.tab.context.new_cdp_session(viewer.tab).send("Accessibility.getFullAXTree")["nodes"]
        if not node["ignored"] and "name" in node
    }
    assert {
        ("region", "Machine code"),
        ("textbox", "Machine code"),
        ("textbox", "Source sharpen.cl"),
        ("navigation", "Kernels"),
        # What is cut off for the eye, and which figure is which.
        ("treeitem", "sharpen_hblur, 245 instructions, SIMD32"),
    } <= names
    # Each row is told, those of one line too.
    viewer.find(".gen .cm-content").focus()
    viewer.press("Control+Home", "j", "j")
    told = viewer.find(".spoken[aria-live=polite]")
    told.get_by_text("0010: (W) and 1 r127.2:ud r0:ud 0xFFFFFFC0:ud").wait_for(state="attached")
    viewer.press("j")
    told.get_by_text("0020: ").wait_for(state="attached")
