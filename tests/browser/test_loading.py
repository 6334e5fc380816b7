"""The page of ``kernlens serve`` while a kernel is on its way, and when it cannot be read: no control acts on another one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route

from tests.browser.conftest import LISTEN
from tests.browser.edits import compiled, put_caret, versions
from tests.browser.test_share import KERNELS
from tests.browser.viewer import Viewer
from tests.integration.serve.explorer_fixtures import Server, serving

SOURCES = {
    "first.cl": "kernel void first(global float *data) { data[get_global_id(0)] *= 2.0f; }\n",
    "second.cl": "kernel void second(global float *data) { data[get_global_id(0)] += sqrt(data[0]); }\n",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("loading")
    paths: list[Path] = []
    for name, text in SOURCES.items():
        paths.append(folder / name)
        paths[-1].write_text(text)
    with serving(*paths, "--device", "dg2") as server:
        yield server


@pytest.fixture
def viewer(browser: Browser, server: Server) -> Iterator[Viewer]:
    context = browser.new_context(viewport={"width": 1600, "height": 900})
    tab = context.new_page()
    tab.set_default_timeout(20_000)
    tab.add_init_script(LISTEN)
    tab.goto(f"http://127.0.0.1:{server.port}/#t={server.token}&k=first")
    yield Viewer(tab)
    assert tab.evaluate("window.refused") == []
    context.close()


def chunk_of(server: Server, name: str) -> str:
    (kernels,) = (program["kernels"] for program in server.index()["programs"] if name in program["kernels"]["name"])
    return str(kernels["chunk"][kernels["name"].index(name)])


def test_fields_wait_for_the_kernel_that_was_chosen(viewer: Viewer, server: Server) -> None:
    """What is chosen in them compiles the kernel that the header names, and never the one that is still in the panes."""
    held: list[Route] = []
    sent: list[str | None] = []
    viewer.tab.on("request", lambda asked: sent.append(asked.post_data) if asked.url.endswith("/api/compile") else None)
    viewer.tab.route(f"**/api/chunk/{chunk_of(server, 'second')}", lambda route: held.append(route))
    device = viewer.tab.get_by_label("Device", exact=True)
    assert device.is_enabled()
    with viewer.tab.expect_request("**/api/chunk/**"):
        viewer.kernel("second").click()
    viewer.find(".standing", has_text="loading second").wait_for()
    assert viewer.text(".pick .name") == "second"
    assert viewer.line("source", "first").is_visible()
    for label in ("Device", "Toolchain", "Options"):
        assert viewer.tab.get_by_label(label, exact=True).is_disabled()
    assert viewer.axe() == []
    held[0].continue_()
    viewer.line("source", "second").wait_for()
    device.select_option("pvc")
    compiled(viewer)
    assert viewer.text(".pick .name") == "second"
    assert "second (pvc)" in viewer.find("nav .k", has_text="second").inner_text()
    (request,) = sent
    assert request is not None
    assert "second.cl" in request
    assert "first.cl" not in request


def test_an_edit_that_is_asked_for_while_a_kernel_is_on_its_way_is_of_that_kernel(
    browser: Browser, tmp_path: Path
) -> None:
    """Both are of one file: each kernel's own lines are unfolded in the editor, too, and the line to look at is in sight."""
    (tmp_path / "some.cl").write_text(
        KERNELS + "\n" * 60 + KERNELS.replace("(", "_again(", 1).replace("void other", "void last")
    )
    held: list[Route] = []
    with serving(tmp_path / "some.cl", "--device", "dg2") as server:
        context = browser.new_context(viewport={"width": 1600, "height": 500})
        tab = context.new_page()
        tab.set_default_timeout(20_000)
        tab.goto(f"http://127.0.0.1:{server.port}/#t={server.token}&k=other")
        viewer = Viewer(tab)
        assert viewer.line("source", "sqrt").is_visible()
        assert viewer.line("source", "2.0f").count() == 0
        tab.route(f"**/api/chunk/{chunk_of(server, 'twice')}", lambda route: held.append(route))
        with tab.expect_request("**/api/chunk/**"):
            viewer.kernel("twice").click()
        viewer.find(".source-pane .edit").click()
        viewer.find("footer .told", has_text="once twice is here").wait_for()
        assert viewer.find(".typed-in").count() == 0
        held[0].continue_()
        viewer.find(".source.typed-in").wait_for()
        put_caret(viewer, "2.0f")
        tab.keyboard.insert_text(" data[1] = sqrt(data[2]);")
        compiled(viewer)
        viewer.press("Escape")
        # What is edited stays in its editor, with the lines of the kernel that is chosen.
        assert viewer.line("source", "native_sin").count() == 0
        viewer.kernel("last").click()
        viewer.line("source", "native_sin").wait_for()
        viewer.kernel("twice").click()
        viewer.line("source", "2.0f").wait_for()
        context.close()


def test_a_compile_of_a_kernel_that_was_left_does_not_bring_it_back(viewer: Viewer, server: Server) -> None:
    compiles: list[Route] = []
    chunks: list[Route] = []
    viewer.tab.route("**/api/compile", lambda route: compiles.append(route))
    viewer.tab.route(f"**/api/chunk/{chunk_of(server, 'second')}", lambda route: chunks.append(route))
    with viewer.tab.expect_request("**/api/compile"):
        viewer.tab.get_by_label("Options", exact=True).fill("-cl-mad-enable")
    with viewer.tab.expect_request("**/api/chunk/**"):
        viewer.kernel("second").click()
    compiles[0].continue_()
    # The version is kept when its result is there.
    for _ in range(200):
        if viewer.tab.evaluate("JSON.stringify(sessionStorage).includes('-cl-mad-enable')"):
            break
        viewer.tab.wait_for_timeout(100)
    else:
        raise AssertionError("the compile has no result")
    chunks[0].continue_()
    viewer.line("source", "second").wait_for()
    assert viewer.text(".pick .name") == "second"
    assert "k=second" in viewer.address
    assert "w=" not in viewer.address
    # Its version is there when the reader comes back.
    viewer.kernel("first").click()
    viewer.find(".version[aria-current=true]", has_text="-cl-mad-enable").wait_for()


def test_a_kernel_that_cannot_be_read_leaves_a_page_that_works(viewer: Viewer, server: Server) -> None:
    failing = f"**/api/chunk/{chunk_of(server, 'second')}"
    answer = '{"error": "a fault of kernlens itself", "next": "the terminal that kernlens serve runs in says more"}'
    viewer.tab.route(failing, lambda route: route.fulfill(status=500, body=answer))
    viewer.kernel("second").click()
    message = viewer.find(".code-pane .message", has_text="second could not be read")
    message.wait_for()
    assert "the terminal that kernlens serve runs in says more" in message.inner_text()
    assert "choose another device" in message.inner_text()
    # All of the page is of this kernel: its source, what it was built with; no tool of the other stays.
    viewer.line("source", "second").wait_for()
    device, toolchain = (viewer.tab.get_by_label(label, exact=True) for label in ("Device", "Toolchain"))
    assert device.input_value() == "dg2"
    assert toolchain.input_value() != ""
    assert viewer.find(".pane", has_text="wait").count() == 0
    assert viewer.find(".source-pane .tab.on").inner_text() == "second.cl"
    assert viewer.axe() == []
    # Another device compiles it, and is shown; its version that cannot be read is left behind and come back from.
    device.select_option("pvc")
    compiled(viewer)
    viewer.line("gen", "mov").wait_for()
    assert [version.split()[:2] for version in versions(viewer)] == [["1", "as"], ["2", "pvc"]]
    viewer.find(".version", has_text="as read").click()
    message.wait_for()
    assert device.input_value() == "dg2"
    viewer.tab.unroute(failing)
    viewer.find("button", has_text="Try again").click()
    viewer.line("gen", "sqt").or_(viewer.line("gen", "math")).wait_for()
    assert message.count() == 0
    # Another kernel shows nothing of the failure while it is on its way.
    assert viewer.find(".version[aria-current=true]", has_text="as read").count() == 1


def test_the_search_finds_the_same_kernels_after_a_compile(viewer: Viewer) -> None:
    def hits_of(text: str) -> str:
        viewer.find("header input").fill(text)
        return viewer.find(".results .it", has_text=text).last.inner_text()

    def names() -> list[str]:
        viewer.tab.evaluate("new Promise(done => setTimeout(done, 300))")
        return [row.split()[0] for row in viewer.texts("nav .k > .name")]

    before = hits_of("math")
    assert before.split("\n")[-1] == "1 of 2 kernels"
    hits_of("data")
    both = names()
    assert sorted(both) == ["first", "second"]
    viewer.press("Escape")
    viewer.tab.get_by_label("Options", exact=True).fill("-cl-mad-enable")
    compiled(viewer)
    assert hits_of("math") == before
    assert hits_of("data").split("\n")[-1] == "2 of 2 kernels"
    assert sorted(names()) == sorted(both)
