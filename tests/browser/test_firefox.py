"""The viewer in Firefox: a report, what is shared of it, a notebook's output."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernlens.report.explore import ExploreDocument
from kernlens.report.explore.single_file import page, viewer_script
from tests.browser.firefox import Firefox
from tests.browser.test_share import KERNELS, pages
from tests.browser.walk import walk_through_a_report, walk_through_an_edit
from tests.browser.webdriver import ESCAPE
from tests.explore_reader import Page as Report
from tests.integration.serve.explorer_fixtures import serving


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    with Firefox(tmp_path_factory.mktemp("firefox")) as firefox:
        yield firefox


def test_a_report_opens_and_is_printed_on_two_pages(firefox: Firefox, sharpen_page: Path) -> None:
    firefox.goto(sharpen_page.as_uri())
    firefox.see(".gen .cm-line")
    firefox.click(".source .cm-line", "buffer[rad")
    firefox.see("footer .pinned", "Pinned line")
    pdf = firefox.pdf()
    assert pages(pdf) == 2
    # Afterwards the page is as it was.
    firefox.see(".gen .cm-line")
    assert firefox.run("return root.querySelector('.printed').childElementCount") == 0


def test_links_and_a_report_of_what_is_seen(firefox: Firefox, tmp_path: Path) -> None:
    (tmp_path / "some.cl").write_text(KERNELS)
    with serving(tmp_path / "some.cl", "--device", "dg2") as server:
        firefox.goto(f"http://127.0.0.1:{server.port}/#t={server.token}")
        firefox.click("nav .all > [role=treeitem]", "other")
        firefox.see(".source .cm-line", "sqrt")
        firefox.click(".source .cm-line", "sqrt")
        firefox.see("footer .pinned", "Pinned line 8")
        firefox.click("header button", "Share")
        firefox.click(".share .item", "Copy link")
        firefox.see("footer .told", "Copied the link")
        firefox.click("header button", "Share")
        firefox.see(".share[open]")
        firefox.press(ESCAPE)
        firefox.until("return root.activeElement?.textContent === 'Share'")
        firefox.click("header button", "Share")
        firefox.click(".share .item", "Save as report")
        firefox.see("footer .told", "your browser saves it")
        saved = firefox.downloads / "other.html"
        for _ in range(100):
            if saved.is_file() and saved.stat().st_size:
                break
            firefox.until("return true")
        link = firefox.run("return location.href")
        assert server.token not in link
        firefox.tab()
        firefox.goto(link)
        firefox.see("footer .pinned", "Pinned line 8")
    assert [program["kernels"]["name"] for program in Report(saved.read_text()).index["programs"]] == [["other"]]
    firefox.goto(saved.as_uri())
    firefox.see("footer .pinned", "Pinned line 8")


def test_a_notebooks_output_works_in_a_closed_frame(firefox: Firefox, sharpen: ExploreDocument, tmp_path: Path) -> None:
    text = html.escape("".join(page(sharpen, viewer_script(is_notebook=True))))
    path = tmp_path / "notebook.html"
    path.write_text(
        f'<!DOCTYPE html><iframe sandbox="allow-scripts" width="100%" height="640" srcdoc="{text}"></iframe>'
    )
    firefox.goto(path.as_uri())
    firefox.ask("WebDriver:SwitchToFrame", id=0)
    firefox.see(".gen .cm-line")
    firefox.see(".source .t-k", "const")
    firefox.click(".source .cm-line", "buffer[rad")
    firefox.see("footer .pinned", "Pinned line")
    firefox.ask("WebDriver:SwitchToFrame", id=None)


def test_a_reader_walks_through_a_report(firefox: Firefox, sharpen_page: Path) -> None:
    walk_through_a_report(firefox, sharpen_page.as_uri())


def test_a_reader_edits_and_compares(firefox: Firefox, tmp_path: Path) -> None:
    (tmp_path / "some.cl").write_text(KERNELS)
    with serving(tmp_path / "some.cl", "--device", "dg2") as server:
        walk_through_an_edit(firefox, f"http://127.0.0.1:{server.port}/#t={server.token}")
