"""The page of ``kernlens serve``: edit, compile, error, fix; configurations; linkage; a server that is gone."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route

from kernlens.report.style import rendered
from kernlens.report.trial_table import trial_lines
from kernlens.verbs.tried import tried
from tests.browser.conftest import LISTEN
from tests.browser.viewer import Viewer
from tests.integration.serve.explorer_fixtures import MAIN, SOURCE, Server, serving
from tests.tree import ROOT

#: What a compile on a busy machine may take.
LONG = 60_000

OpenServed = Callable[[Server], Viewer]


@pytest.fixture
def open_served(browser: Browser) -> Iterator[OpenServed]:
    """Opens a server's page; at the end of the test its policy has refused nothing."""
    contexts = []
    tabs = []

    def open_one(server: Server) -> Viewer:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        contexts.append(context)
        tab = context.new_page()
        tab.set_default_timeout(60_000)
        tab.add_init_script(LISTEN)
        tab.goto(f"http://127.0.0.1:{server.port}/#t={server.token}")
        tabs.append(tab)
        return Viewer(tab)

    yield open_one
    refused = [tab.evaluate("window.refused") for tab in tabs]
    for context in contexts:
        context.close()
    assert refused == [[] for _ in tabs]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "twice.cl").write_text(SOURCE)
    with serving(tmp_path / "twice.cl", "--device", "dg2") as server:
        yield server


def test_edit_compile_error_fix(server: Server, open_served: OpenServed) -> None:
    viewer = open_served(server)
    assert "t=" not in viewer.address, "the token leaves the address"
    before = viewer.text(".facts")
    viewer.press("e")
    viewer.find(".edit-bar").wait_for()
    state = viewer.find(".edit-bar .state")
    editor = viewer.find(".source .cm-content")
    editor.click()
    viewer.press("Control+Home", "ArrowDown", "ArrowDown", "Home")
    viewer.tab.keyboard.type("  data[0] = missing;\n")
    viewer.find(".problems li", has_text="missing").wait_for(timeout=LONG)
    assert "from before the error" in state.inner_text()
    assert viewer.text(".facts") == before
    assert viewer.find(".source .problem").count() == 1
    viewer.find(".problems button").first.click()
    viewer.press("Home", "Shift+End", "Delete")
    viewer.tab.keyboard.type("  data[1] = sqrt(data[2]);")
    state.get_by_text("compiled in").wait_for(timeout=LONG)
    assert viewer.find(".problems").count() == 0
    assert viewer.text(".facts") != before
    # The new line has code, and it lights up as every other does.
    viewer.find(".source .cm-line", has_text="sqrt").hover()
    assert "from line 3" in viewer.spoken or viewer.find(".gen .cm-line").count() > 0
    assert viewer.axe() == []
    address = viewer.address
    assert "z=" in address
    viewer.find("button", has_text="End editing").click()
    viewer.find(".how .cmd").wait_for()
    viewer.tab.reload()
    viewer.ready()
    viewer.find(".source .cm-line", has_text="sqrt").wait_for()


def test_two_configurations_are_compared(server: Server, open_served: OpenServed) -> None:
    viewer = open_served(server)
    viewer.press("e")
    viewer.find(".edit-bar").wait_for()
    viewer.find("button[aria-label='Add a configuration']").click()
    viewer.tab.get_by_label("Options").fill("-cl-opt-disable")
    viewer.find(".edit-bar .state").get_by_text("compiled in").wait_for(timeout=LONG)
    viewer.find(".chip", has_text="-cl-opt-disable").wait_for()
    viewer.find("nav .tag", has_text="edited").first.wait_for()
    viewer.find("header button", has_text="Compare").click()
    viewer.find(".differences", has_text="options none → -cl-opt-disable").wait_for()
    viewer.find(".compare .lines tbody tr").nth(1).wait_for()


def test_a_link_holds_the_configurations(server: Server, open_served: OpenServed) -> None:
    viewer = open_served(server)
    viewer.press("e")
    viewer.find(".edit-bar").wait_for()
    compiled = viewer.find(".edit-bar .state").get_by_text("compiled in")
    options = viewer.tab.get_by_label("Options")
    options.fill("-cl-mad-enable")
    viewer.find(".chip", has_text="-cl-mad-enable").wait_for()
    viewer.find("button[aria-label='Add a configuration']").click()
    options.fill("-cl-opt-disable")
    viewer.find(".chip", has_text="-cl-opt-disable").wait_for()
    compiled.wait_for(timeout=LONG)
    viewer.tab.reload()
    viewer.ready()
    # The one that was shown comes first.
    compiled.wait_for(timeout=LONG)
    assert viewer.find(".chip[aria-pressed]").all_inner_texts() == [
        "dg2 · system · -cl-opt-disable",
        "dg2 · system · -cl-mad-enable",
    ]
    assert options.input_value() == "-cl-opt-disable"
    viewer.find(".facts", has_text="at peak").wait_for()
    assert "-cl-opt-disable" in viewer.text("nav .tag")
    assert viewer.find(".stale").count() == 0
    # What cannot be had here is said, and what the program was built with is there instead.
    viewer.tab.evaluate("location.hash = location.hash.replaceAll('dg2:system', 'none:system')")
    viewer.tab.reload()
    viewer.find("footer .told", has_text="device and toolchain of the link").wait_for()
    assert viewer.find(".chip[aria-pressed]").count() == 1


def test_options_that_are_typed_while_it_compiles_stay(server: Server, open_served: OpenServed) -> None:
    viewer = open_served(server)
    viewer.press("e")
    viewer.find(".edit-bar").wait_for()
    held: list[Route] = []
    viewer.tab.route("**/api/compile", lambda route: held.append(route))
    with viewer.tab.expect_request("**/api/compile"):
        viewer.find(".edit-bar button", has_text="Compile").click()
    options = viewer.tab.get_by_label("Options")
    options.select_text()
    viewer.tab.keyboard.insert_text("-cl-mad-enable")
    # Whoever types goes on: there is no rest before the result is there.
    options.evaluate("field => { window.typing = setInterval(() => field.dispatchEvent(new Event('input')), 50); }")
    text = held[0].request.post_data
    assert text is not None
    held[0].fulfill(response=held[0].fetch(post_data=text.replace("float", "flaot")))
    viewer.tab.unroute("**/api/compile")
    viewer.find(".edit-bar .state").get_by_text("failed").wait_for(timeout=LONG)
    assert options.input_value() == "-cl-mad-enable"
    viewer.tab.evaluate("clearInterval(typing)")
    viewer.find(".chip", has_text="-cl-mad-enable").wait_for()


def test_a_configuration_is_removed_while_it_compiles(server: Server, open_served: OpenServed) -> None:
    """Answers belong to the configurations that were asked for, whatever number those have by then."""
    viewer = open_served(server)
    viewer.press("e")
    viewer.find(".edit-bar").wait_for()
    viewer.find("button[aria-label='Add a configuration']").click()
    viewer.tab.get_by_label("Options").fill("-cl-opt-disable")
    compiled = viewer.find(".edit-bar .state").get_by_text("compiled in")
    compiled.wait_for(timeout=LONG)
    viewer.find(".chip").first.click()
    held: list[Route] = []
    viewer.tab.route("**/api/compile", lambda route: held.append(route))
    with viewer.tab.expect_request("**/api/compile"):
        viewer.find(".edit-bar button", has_text="Compile").click()
    viewer.find("button[aria-label='Remove this configuration']").click()
    held[0].fulfill(response=held[0].fetch())
    compiled.wait_for(timeout=LONG)
    viewer.find("button", has_text="End editing").click()
    assert "-cl-opt-disable" in viewer.text(".how .cmd")


def test_an_edited_text_is_its_files_alone(tmp_path: Path, open_served: OpenServed) -> None:
    (tmp_path / "twice.cl").write_text(SOURCE)
    (tmp_path / "other.cl").write_text("kernel void other(global float *data) { data[0] = 1.0f; }\n")
    with serving(tmp_path / "twice.cl", tmp_path / "other.cl", "--device", "dg2") as server:
        viewer = open_served(server)
        viewer.find("nav li button", has_text="twice").first.click()
        viewer.find(".source .cm-line", has_text="twice").wait_for()
        viewer.press("e")
        viewer.find(".edit-bar").wait_for()
        viewer.find(".source .cm-content").click()
        viewer.press("Control+End")
        viewer.tab.keyboard.type("// edited")
        viewer.find(".edit-bar .state").get_by_text("compiled in").wait_for(timeout=LONG)
        assert "z=" in viewer.address
        viewer.find("button", has_text="End editing").click()
        viewer.find("nav li button", has_text="other").first.click()
        viewer.find(".source .cm-line", has_text="1.0f").wait_for()
        assert "z=" not in viewer.address
        viewer.press("e")
        viewer.find(".edit-bar").wait_for()
        assert "edited" not in viewer.text(".source .cm-content")


def test_build_options_are_tried_beside_the_advice(tmp_path: Path, open_served: OpenServed) -> None:
    """The table has the words and figures of ``advise --try``, also for an option with which the source does not compile."""
    source = tmp_path / "tone.cl"
    source.write_bytes((ROOT / "examples/kernels/tone.cl").read_bytes())
    with serving(source, "--device", "pvc") as server:
        viewer = open_served(server)
        viewer.press("a")
        button = viewer.find("dialog .trials button")
        assert button.inner_text() == "Try options"
        button.focus()
        viewer.press("Enter")
        viewer.find("dialog .trials button", has_text="Stop").wait_for()
        assert viewer.focused() == "Stop"
        # Closed and opened again, it goes on.
        viewer.press("Escape")
        viewer.press("a")
        viewer.find("dialog .trials .state", has_text="compiled in").wait_for(timeout=LONG)
        assert viewer.axe() == []
        assert viewer.cut_texts() == []
        printed = " ".join(" ".join(map(rendered, trial_lines(tried(source, "pvc"), is_full=True))).split())
        rows = [row.locator("th, td").all_inner_texts() for row in viewer.find("dialog .trials tr").all()]
        (failed,) = (row for row in rows if len(row) == 2)
        assert failed[0] == "sub-group 8"
        assert f"{failed[0]}: {failed[1]}"[:40] in printed
        assert len(rows) > 4
        for row in rows:
            assert row is failed or " ".join(" ".join(row).split()) in printed
        for words in viewer.find("dialog .trials > div p").all_inner_texts():
            assert words in printed
        viewer.press("Escape")
        viewer.tab.route("**/api/compile", lambda route: route.abort())
        viewer.press("a")
        viewer.find("dialog .trials button").click()
        viewer.find("dialog .trials .state.failed", has_text="does not answer").wait_for()
        assert button.inner_text() == "Try options"


def test_what_cannot_be_linked_or_was_not_swept_is_said(server: Server, open_served: OpenServed) -> None:
    viewer = open_served(server)
    for view, words in (("Linkage", "nothing to link"), ("Sweep", "one configuration")):
        viewer.find("header button", has_text=view).click()
        viewer.find(".view .message p", has_text=words).wait_for()
        viewer.press("Escape")


def test_modules_and_their_symbols(tmp_path: Path, open_served: OpenServed) -> None:
    (tmp_path / "caller.cl").write_text(
        "float half_of(float); float lost(float);\n"
        "kernel void caller(global float *data) { data[0] = half_of(data[1]) + lost(data[2]); }\n"
    )
    (tmp_path / "callee.cl").write_text("float half_of(float value) { return value * 0.5f; }\n")
    words = ["compile", "--library", "--device", "dg2", "caller.cl", "callee.cl", "--build-options", ""]
    subprocess.run([*MAIN, *words], cwd=tmp_path, check=True, capture_output=True)
    paths = [tmp_path / f"{name}.dg2.bin" for name in ("caller", "callee")]
    with serving(*paths) as server:
        viewer = open_served(server)
        viewer.find("header button", has_text="Linkage").click()
        viewer.find(".linkage h2").wait_for()
        answer = server.get("/api/link").json()
        assert viewer.find(".linkage tbody tr").count() == len(
            {edge["symbol"] for edge in answer["edges"]} | {each["symbol"] for each in answer["unresolved"]}
        )
        assert viewer.find(".linkage td.lacks").count() == len(answer["unresolved"]) > 0
        assert viewer.axe() == []


def test_an_edit_beside_other_files(tmp_path: Path, open_served: OpenServed) -> None:
    """The text that is edited is that of its file alone; it stays whatever else is opened, closed, or compiled."""
    (tmp_path / "half.h").write_text("inline float half_of(float value)\n{\n  return value * 0.5f + sqrt(value);\n}\n")
    (tmp_path / "main.cl").write_text(
        '#include "half.h"\nkernel void halve(global float *data)\n{\n'
        "  data[0] = half_of(data[1]);\n  data[2] = half_of(data[3]) + 1.0f;\n}\n"
    )
    with serving(tmp_path / "main.cl", "--device", "dg2") as server:
        viewer = open_served(server)
        state = viewer.find(".edit-bar .state")
        header, main = (viewer.find(".source-pane .tab", has_text=name) for name in ("half.h", "main.cl"))
        main.click()
        viewer.pin("source", "half_of(data[1])")
        viewer.press("e")
        viewer.find(".edit-bar").wait_for()
        assert viewer.tab.get_by_label("Options").input_value() == "-gline-tables-only"
        # Whoever types stays where the text goes, though a line is pinned elsewhere.
        viewer.line("source", "+ 1.0f").click()
        viewer.press("End")
        viewer.tab.keyboard.type("//")
        state.get_by_text("compiled in").wait_for(timeout=LONG)
        viewer.tab.keyboard.type("one")
        viewer.line("source", "1.0f;//one").wait_for()
        # Another file's tab shows that file, also after a compile.
        header.click()
        viewer.line("source", "return value").wait_for()
        assert "//one" not in viewer.text(".source .cm-content")
        assert viewer.find(".source .cm-content").get_attribute("aria-readonly") == "true"
        viewer.tab.get_by_label("Options").fill("-gline-tables-only -cl-mad-enable")
        viewer.find(".chip", has_text="-cl-mad-enable").wait_for()
        state.get_by_text("compiled in").wait_for(timeout=LONG)
        assert viewer.line("source", "return value").is_visible()
        viewer.find(".chip").first.focus()
        viewer.press("Enter")
        assert "-cl-mad-enable" in viewer.focused()
        # The pane is closed and comes back with the text, which can be edited on.
        main.click()
        viewer.line("source", "1.0f;//one").wait_for()
        viewer.find(".source-pane select.mini").select_option("close")
        viewer.find(".code-pane select.mini").select_option(label="Bring back: Source")
        viewer.line("source", "1.0f;//one").click()
        viewer.press("End")
        viewer.tab.keyboard.type("two")
        viewer.line("source", "1.0f;//onetwo").wait_for()
        viewer.tab.wait_for_function("location.hash.includes('main.cl:')")
        state.get_by_text("compiled in").wait_for(timeout=LONG)
        # A link is of the file that was edited, though another line is pinned.
        header.click()
        viewer.pin("source", "return value")
        viewer.tab.reload()
        viewer.ready()
        viewer.line("source", "1.0f;//onetwo").wait_for()
        viewer.find(".source-pane .tab.on", has_text="main.cl").wait_for()


def test_a_server_that_is_gone_leaves_the_page_readable(server: Server, open_served: OpenServed) -> None:
    viewer = open_served(server)
    viewer.press("e")
    viewer.find(".edit-bar").wait_for()
    # Killed while it answers, then asked again.
    with viewer.tab.expect_response("**/api/compile"):
        viewer.find(".edit-bar button", has_text="Compile").click()
    server.end(signal.SIGKILL)
    for what in ("ended while it compiled", "does not answer"):
        viewer.find(".edit-bar .state.failed", has_text=what).wait_for(timeout=LONG)
        assert "start it again" in viewer.text(".edit-bar .state")
        viewer.find(".source .cm-content").click()
        viewer.tab.keyboard.type(" ")
    assert viewer.line("gen", "mov").is_visible()
