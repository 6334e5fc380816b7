"""Share: links in other tabs, in other browsers and after a restart; a report of what is seen; a summary on paper."""

from __future__ import annotations

import re
import socket
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.browser.conftest import LISTEN, Open
from tests.browser.edits import put_caret
from tests.browser.viewer import Viewer
from tests.explore_reader import Page as Report
from tests.integration.serve.explorer_fixtures import SOURCE, Server, serving

#: A kernel with lines that cost differently.
KERNELS = (
    SOURCE
    + """kernel void other(global float *data, global int *flags)
{
  const int at = get_global_id(0);
  data[at] = sqrt(data[at + 1]);
  if (flags[at])
    data[at + 2] = native_sin(data[at]) * data[at];
}
"""
)
LONG = 60_000


class Reader:
    """A reader's browser: tabs that share what the browser keeps, and all that they asked for."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.asked: list[str] = []
        self.refused: list[str] = []
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.add_init_script(LISTEN)
        context.on("request", lambda request: self.asked.append(request.url + str(request.headers.get("referer", ""))))

    def tab(self, address: str) -> Viewer:
        tab = self.context.new_page()
        tab.set_default_timeout(LONG)
        tab.on("console", lambda message: self.refused.append(message.text) if "Policy" in message.text else None)
        tab.goto(address)
        return Viewer(tab)


@pytest.fixture
def reader(browser: Browser) -> Iterator[Callable[[], Reader]]:
    """Opens a browser that has seen nothing yet."""
    with ExitStack() as contexts:

        def new() -> Reader:
            context = browser.new_context(viewport={"width": 1600, "height": 900})
            contexts.callback(context.close)
            return Reader(context)

        yield new


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "some.cl").write_text(KERNELS)
    return tmp_path / "some.cl"


@pytest.fixture
def server(sources: Path) -> Iterator[Server]:
    with serving(sources, "--device", "dg2") as server:
        yield server


def address(server: Server) -> str:
    return f"http://127.0.0.1:{server.port}/#t={server.token}"


def choose(viewer: Viewer, item: str) -> None:
    viewer.find("header button", has_text="Share").click()
    viewer.find(".share[open]").wait_for()
    viewer.find(f'.share .item:has(span:text-is("{item}"))').click()
    viewer.find(".share[open]").wait_for(state="detached")


def copied(viewer: Viewer, item: str) -> str:
    choose(viewer, item)
    viewer.find("footer .told", has_text="Copied").wait_for()
    return str(viewer.tab.evaluate("navigator.clipboard.readText()"))


def place(viewer: Viewer) -> tuple[str, str]:
    viewer.find("footer .pinned", has_text="Pinned").wait_for()
    return viewer.find("h1").inner_text(), viewer.pinned


def pin_the_square_root(viewer: Viewer) -> tuple[str, str]:
    viewer.find("nav .all > [role=treeitem]", has_text="other").first.click()
    viewer.find(".source .cm-line", has_text="sqrt").first.wait_for()
    viewer.pin("source", "sqrt")
    return place(viewer)


def test_a_link_opens_in_another_tab_without_the_token_in_it(server: Server, reader: Callable[[], Reader]) -> None:
    browser = reader()
    viewer = browser.tab(address(server))
    there = pin_the_square_root(viewer)
    viewer.press("Shift+C")
    viewer.find("footer .told", has_text="Copied the link").wait_for()
    link = str(viewer.tab.evaluate("navigator.clipboard.readText()"))
    assert link.startswith(f"http://127.0.0.1:{server.port}/#k=other&")
    assert link == copied(viewer, "Copy link")
    assert server.token not in link
    assert place(browser.tab(link)) == there
    # Nobody is told of the token but in the header that asks.
    assert not [asked for asked in browser.asked if server.token in asked]


def test_another_browser_asks_for_the_token_once(server: Server, reader: Callable[[], Reader]) -> None:
    viewer = reader().tab(address(server))
    there = pin_the_square_root(viewer)
    link = copied(viewer, "Copy link")
    stranger = reader()
    tab = stranger.context.new_page()
    tab.set_default_timeout(LONG)
    tab.goto(link)
    other = Viewer(tab)
    other.find("dialog.sheet[open] .access").wait_for()
    assert other.focused() == "Address or token"
    assert other.find(".message", has_text="does not have the server's token").count() == 1, "once, not in each pane"
    assert other.axe() == []
    field = tab.get_by_label("Address or token")
    for wrong, words in (
        ("nothing at all", "holds no token"),
        (f"http://127.0.0.1:{server.port + 1}/#t={server.token}", "another server"),
        ("a" * 22, "not this server's token"),
    ):
        field.fill(wrong)
        other.press("Enter")
        other.find(".access .warn", has_text=words).wait_for()
    field.fill(address(server))
    other.press("Enter")
    assert place(other) == there
    assert server.token not in tab.url
    # From now on this browser is not asked.
    assert place(stranger.tab(link)) == there
    assert not [asked for asked in stranger.asked if server.token in asked]


def test_a_link_with_access_asks_nobody(server: Server, reader: Callable[[], Reader]) -> None:
    viewer = reader().tab(address(server))
    there = pin_the_square_root(viewer)
    link = copied(viewer, "Copy link with access")
    assert f"#t={server.token}&" in link
    assert "secret" in viewer.text("footer .told")
    other = reader().tab(link)
    assert place(other) == there
    assert server.token not in other.tab.url


def test_a_link_leads_to_the_same_place_after_a_restart(sources: Path, reader: Callable[[], Reader]) -> None:
    port = free_port()
    words = (sources, "--device", "dg2", "--port", str(port))
    browser = reader()
    with serving(*words) as server:
        viewer = browser.tab(address(server))
        there = pin_the_square_root(viewer)
        link = copied(viewer, "Copy link")
        secret = copied(viewer, "Copy link with access")
    with serving(*words) as again:
        assert again.token != server.token
        for old in (link, secret):
            tab = browser.tab(old)
            tab.find("dialog.sheet[open] .access").wait_for()
            assert again.token not in tab.tab.content()
            tab.tab.close()
        # The tab that was open: what it asks for next says that it needs the new token, and then it is where it was.
        viewer.find("nav .all > [role=treeitem]", has_text="twice").first.click()
        viewer.find("dialog.sheet[open] .access").wait_for()
        viewer.press("Escape")
        viewer.tab.go_back()
        viewer.find("nav .all > [role=treeitem]", has_text="twice").first.click()
        viewer.find("dialog.sheet[open] .access").wait_for()
        viewer.tab.get_by_label("Address or token").fill(again.token)
        viewer.press("Enter")
        viewer.find(".source .cm-line", has_text="2.0f").first.wait_for()
        assert viewer.text("h1 .name") == "twice"
        assert place(browser.tab(link)) == there


def test_the_menu_is_a_dialog_of_its_own(server: Server, reader: Callable[[], Reader]) -> None:
    viewer = reader().tab(address(server))
    button = viewer.find("header button", has_text="Share")
    button.focus()
    viewer.press("Enter")
    viewer.find(".share[open]").wait_for()
    assert button.get_attribute("aria-expanded") == "true"
    viewer.find(".share em", has_text=re.compile(r"^\d+ KB$")).wait_for()
    assert viewer.axe() == []
    assert viewer.cut_texts() == []
    viewer.press("ArrowDown")
    assert viewer.focused().startswith("Copy link with access")
    viewer.press("Escape")
    assert viewer.focused() == "Share"
    assert button.get_attribute("aria-expanded") == "false"
    viewer.tab.set_viewport_size({"width": 390, "height": 800})
    viewer.press("Enter")
    viewer.find(".share[open]").wait_for()
    assert viewer.cut_texts() == []
    # A click beside it closes it.
    viewer.tab.mouse.click(5, 700)
    viewer.find(".share[open]").wait_for(state="detached")


def test_what_is_seen_is_saved_as_a_report(
    server: Server, reader: Callable[[], Reader], open_report: Open, tmp_path: Path
) -> None:
    viewer = reader().tab(address(server))
    there = pin_the_square_root(viewer)
    with viewer.tab.expect_download() as download:
        choose(viewer, "Save as report")
    path = tmp_path / download.value.suggested_filename
    assert path.name == "other.html"
    download.value.save_as(path)
    viewer.find("footer .told", has_text=f"{-(-path.stat().st_size // 1000)} KB").wait_for()
    report = Report(path.read_text())
    assert [program["kernels"]["name"] for program in report.index["programs"]] == [["other"]]
    assert server.token not in path.read_text()
    opened = open_report(path)
    assert place(opened) == there
    opened.find("header button", has_text="Share").click()
    assert opened.find(".share .item").count() == 2, "a report has no server to ask"
    opened.press("Escape")
    assert opened.find(".source-pane .opt", has_text="Edit").count() == 0, "nor one that compiles"
    assert opened.axe() == []


def test_versions_and_their_comparison_are_in_the_report(
    server: Server, reader: Callable[[], Reader], open_report: Open, tmp_path: Path
) -> None:
    viewer = reader().tab(address(server))
    viewer.find("nav .all > [role=treeitem]", has_text="twice").first.click()
    put_caret(viewer, "2.0f")
    viewer.tab.keyboard.type("\n  data[1] = sqrt(data[2]);")
    viewer.find(".version", has_text="line 4").wait_for()
    with viewer.tab.expect_download() as download:
        choose(viewer, "Save as report")
    download.value.save_as(tmp_path / "twice.html")
    programs = Report((tmp_path / "twice.html").read_text()).index["programs"]
    assert [program["beside"] for program in programs] == [{"0": "1 as read"}, {"0": "2 line 4"}]
    opened = open_report(tmp_path / "twice.html")
    opened.find(".source .cm-line", has_text="sqrt").first.wait_for()
    # What is compared is the version before with the one that was shown.
    opened.press("c")
    opened.find(".compare .lines tbody tr", has_text="sqrt").first.wait_for()


def test_a_recording_that_changed_is_told(tmp_path: Path, sources: Path, reader: Callable[[], Reader]) -> None:
    with serving(sources, "--device", "dg2") as server:
        viewer = reader().tab(address(server))
        look = "dispatchEvent(new Event('focus'))"
        viewer.tab.evaluate(look)
        sources.write_text(KERNELS + "\n")
        viewer.tab.evaluate(look)
        banner = viewer.find(".banner", has_text="some.cl changed after kernlens serve had read it")
        banner.wait_for()
        assert viewer.axe() == []
        banner.get_by_role("button", name="Close").click()
        viewer.tab.evaluate(look)
        viewer.find("nav .all > [role=treeitem]", has_text="other").first.click()
        viewer.find(".source .cm-line", has_text="sqrt").first.wait_for()
        assert not banner.is_visible()


def pages(pdf: bytes) -> int:
    """Count the pages of a PDF, whose objects may stand in packed streams."""
    content = pdf
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL):
        with suppress(zlib.error):
            content += zlib.decompressobj().decompress(stream)
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", content))


def test_the_summary_has_two_pages(open_report: Open, sharpen_page: Path) -> None:
    viewer = open_report(sharpen_page, theme="dark")
    viewer.find(".source .cm-line").first.wait_for()
    for paper in ("A4", "Letter"):
        assert pages(viewer.tab.pdf(format=paper)) == 2, paper
    printed = viewer.find(".printed")
    viewer.tab.evaluate("window.print = () => dispatchEvent(new Event('beforeprint'))")
    choose(viewer, "Print summary")
    viewer.find(".printed .sheet2 td").first.wait_for(state="attached")
    text = str(printed.evaluate("element => element.textContent"))
    assert "Instructions" in text
    assert "costliest lines" in text or "Lines by instructions" in text
    viewer.tab.emulate_media(media="print")
    assert printed.is_visible()
    assert not viewer.find(".app").is_visible()
    assert str(printed.evaluate("element => getComputedStyle(element).color")) == "rgb(27, 34, 48)"
