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
from tests.browser.edits import LONG, compiled, put_caret, versions
from tests.browser.viewer import Viewer
from tests.integration.serve.explorer_fixtures import MAIN, SOURCE, Server, serving
from tests.tree import ROOT

OpenServed = Callable[[Server], Viewer]


@pytest.fixture
def open_served(browser: Browser) -> Iterator[OpenServed]:
    """Opens a server's page; at the end of the test its policy has refused nothing."""
    tabs = []

    def open_one(server: Server) -> Viewer:
        tab = browser.new_context(viewport={"width": 1600, "height": 900}).new_page()
        tab.set_default_timeout(60_000)
        tab.add_init_script(LISTEN)
        tab.goto(f"http://127.0.0.1:{server.port}/#t={server.token}")
        tabs.append(tab)
        return Viewer(tab)

    yield open_one
    refused = [tab.evaluate("window.refused") for tab in tabs]
    for tab in tabs:
        tab.context.close()
    assert refused == [[] for _ in tabs]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "twice.cl").write_text(SOURCE)
    with serving(tmp_path / "twice.cl", "--device", "dg2") as server:
        yield server


def test_typing_edits_where_the_caret_is(server: Server, open_served: OpenServed) -> None:
    viewer = open_served(server)
    assert "t=" not in viewer.address, "the token leaves the address"
    before = viewer.text(".facts")
    put_caret(viewer, "*= 2.0f")
    assert viewer.pinned == "● Pinned line 3"
    viewer.tab.keyboard.insert_text(" data[1] = missing;")
    viewer.find(".said", has_text="missing").wait_for(timeout=LONG)
    assert viewer.find(".source .problem.error").count() == 1
    assert versions(viewer)[1] == "2 line 3 1 error"
    assert viewer.text(".of-which") == "Figures and machine code are those of version 1, which it was made from."
    assert viewer.text(".facts") == before
    assert viewer.text(".standing") == "1 error"
    assert viewer.axe() == []
    viewer.press(*["Backspace"] * len("missing;"))
    viewer.tab.keyboard.type("sqrt(data[2]);")
    compiled(viewer)
    assert viewer.find(".said").count() == 0
    first, second = versions(viewer)
    assert first.startswith("1 as read ")
    count = int(first.split()[-1])
    # Always old to new.
    now_count = int(second.split()[-2])
    assert second == f"2 line 3 {now_count} +{now_count - count}"
    assert viewer.text(".facts").startswith(f"{count} → {now_count} instructions")
    badge = viewer.find(".badge.up")
    badge.wait_for()
    left, arrow, right = badge.inner_text().split()
    assert arrow == "→"
    assert int(left) < int(right)
    assert viewer.pinned == "● Pinned line 3"
    # It is a version of its kernel, no other kernel.
    assert viewer.find("nav .k").count() == 1
    assert "w=" in viewer.address
    viewer.tab.reload()
    viewer.ready()
    viewer.find(".source .cm-line", has_text="sqrt").wait_for()
    compiled(viewer)
    assert versions(viewer) == [first, second]
    viewer.find("button", has_text="Revert").click()
    viewer.find(".version[aria-current=true]", has_text="as read").wait_for()
    viewer.find(".source .cm-line", has_text="sqrt").wait_for(state="detached")
    viewer.tab.wait_for_function("!location.hash.includes('w=')")
    assert viewer.text(".facts") == before
    viewer.find(".version", has_text="line 3").click()
    viewer.find(".source .cm-line", has_text="sqrt").wait_for()


def test_compare_begins_with_the_last_two_versions(server: Server, open_served: OpenServed) -> None:
    viewer = open_served(server)
    put_caret(viewer, "*= 2.0f")
    viewer.tab.keyboard.insert_text(" data[1] = sqrt(data[2]);")
    compiled(viewer)
    viewer.find("button[data-view=compare]").click()
    viewer.find(".compare:not([aria-busy]) .lines tr", has_text="sqrt").wait_for(timeout=LONG)
    fields = viewer.find(".picker input")
    old, new = fields.all()
    builds = viewer.texts(".picker .build-of")
    assert builds == [f"dg2 · version {version} · system · twice.cl" for version in ("1 as read", "2 line 3")]
    ids = [(field.get_attribute("data-key") or "").split(":")[0] for field in (old, new)]
    answer = server.get("/api/diff", params=dict(zip(("left", "right"), ids, strict=True))).json()
    (kernel,) = answer["kernels"]
    (edited,) = (line for line in kernel["lines"] if line["edited"])
    cells = viewer.find(".compare .lines tr", has_text="sqrt").locator("td").all_text_contents()
    assert cells[0] == str(edited["new_line"]) == "3"
    assert f"{edited['old']} → {edited['new']}" in cells
    (figure,) = (each for each in kernel["figures"] if each["metric"] == "instructions")
    card = viewer.text('.compare .card[data-figure="instructions"] b')
    assert card == f"{figure['old']} → {figure['new']}"


def test_the_editor_stays_where_it_is(tmp_path: Path, open_served: OpenServed) -> None:
    """With a line pinned far down nothing jumps when the edit begins, nor when lines are inserted above the pin."""
    lines = [f"  data[{line}] = data[{line}] * {line}.5f;" for line in range(120)]
    (tmp_path / "long.cl").write_text("\n".join(["kernel void far(global float *data)", "{", *lines, "}", ""]))
    with serving(tmp_path / "long.cl", "--device", "dg2") as server:
        viewer = open_served(server)
        viewer.find(".source-pane .opt", has_text="Edit").wait_for()
        viewer.find(".source .cm-scroller").evaluate("scroller => { scroller.scrollTop = 1200; }")
        viewer.line("source", "data[90] =").click()
        width = viewer.find(".source .cm-scroller").bounding_box()
        top = viewer.line("source", "data[90] =").bounding_box()
        viewer.find(".source-pane .opt", has_text="Edit").click()
        viewer.tab.keyboard.insert_text(" ")
        viewer.find(".stage-pane").wait_for(state="detached")
        compiled(viewer)
        for box, wide in (
            (viewer.line("source", "data[90] =").bounding_box(), viewer.find(".source .cm-scroller").bounding_box()),
        ):
            assert top is not None
            assert box is not None
            assert width is not None
            assert wide is not None
            assert box["y"] == pytest.approx(top["y"], abs=1)
            assert wide["width"] > width["width"] * 1.3
        viewer.line("source", "data[80] =").click()
        viewer.line("source", "data[90] =").click()
        assert viewer.pinned == "● Pinned line 93"
        viewer.line("source", "data[85] =").click(modifiers=["Alt"])
        viewer.press("ArrowUp", "End", "Enter")
        viewer.tab.keyboard.insert_text("data[0] += 1.0f;")
        viewer.find(".version", has_text="88").wait_for(timeout=LONG)


def test_fields_compile_without_an_edit(server: Server, open_served: OpenServed) -> None:
    viewer = open_served(server)
    options = viewer.tab.get_by_label("Options", exact=True)
    assert options.input_value() == ""
    options.fill("-cl-opt-disable")
    compiled(viewer)
    assert [version.split(" ")[:3] for version in versions(viewer)][1][1:] == [
        "-cl-opt-disable",
        versions(viewer)[1].split(" ")[2],
    ]
    device = viewer.tab.get_by_label("Device", exact=True)
    device.select_option("pvc")
    viewer.find(".version", has_text="pvc").wait_for(timeout=LONG)
    assert "pvc" in viewer.tab.title()
    # The other fields stay.
    assert options.input_value() == "-cl-opt-disable"
    viewer.tab.reload()
    viewer.ready()
    viewer.find(".version[aria-current=true]", has_text="pvc").wait_for(timeout=LONG)
    assert device.input_value() == "pvc"
    # Back, by the keyboard: nothing is compiled for that.
    viewer.find(".version", has_text="as read").focus()
    viewer.press("Enter")
    viewer.find(".version[aria-current=true]", has_text="as read").wait_for()
    assert options.input_value() == ""
    assert device.input_value() == "dg2"
    assert viewer.focused().endswith("as read") or "as read" in viewer.focused()
    # What cannot be had here is said, and what the program was built with is there instead.
    viewer.tab.evaluate("location.hash = 'k=twice&z=' + encodeURIComponent(':twice.cl:') + '&e=none:system:'")
    viewer.tab.reload()
    viewer.find("footer .told", has_text="device and toolchain of the link").wait_for()
    assert device.input_value() == "dg2"


def test_options_that_are_typed_while_it_compiles_stay(server: Server, open_served: OpenServed) -> None:
    viewer = open_served(server)
    options = viewer.tab.get_by_label("Options", exact=True)
    held: list[Route] = []
    viewer.tab.route("**/api/compile", lambda route: held.append(route))
    with viewer.tab.expect_request("**/api/compile"):
        options.fill("-w")
    # Whoever types goes on, from the first letter: there is no rest, in which it would compile, before the result is there.
    options.evaluate("field => { window.typing = setInterval(() => field.dispatchEvent(new Event('input')), 50); }")
    options.select_text()
    viewer.tab.keyboard.insert_text("-cl-mad-enable")
    text = held[0].request.post_data
    assert text is not None
    held[0].fulfill(response=held[0].fetch(post_data=text.replace("float", "flaot")))
    viewer.tab.unroute("**/api/compile")
    viewer.find(".standing.failed", has_text="error").wait_for(timeout=LONG)
    assert options.input_value() == "-cl-mad-enable"
    viewer.tab.evaluate("clearInterval(typing)")
    viewer.find(".version", has_text="-cl-mad-enable").wait_for(timeout=LONG)


def test_a_source_that_does_not_compile_opens_in_the_editor(tmp_path: Path, open_served: OpenServed) -> None:
    """Errors stand below their lines, those of another file behind its tab; what the compiler proposes can be applied."""
    (tmp_path / "half.h").write_text("inline float half_of(float value)\n{\n  return value * hlaf;\n}\n")
    (tmp_path / "main.cl").write_text(
        '#include "half.h"\nkernel void halve(global float *data, int count)\n{\n'
        "  int last = cuont - 1\n  data[0] = half_of(data[last]);\n}\n"
    )
    with serving(tmp_path / "main.cl", "--device", "dg2") as server:
        viewer = open_served(server)
        viewer.find(".said").first.wait_for()
        assert versions(viewer) == ["1 as read 3 errors"]
        assert viewer.find(".stage-pane .message, .code-pane .message").count() == 1
        assert "does not compile" in viewer.text(".code-pane .message")
        assert viewer.axe() == []
        assert viewer.cut_texts() == []
        # A message is read whole, however narrow its pane is.
        viewer.tab.set_viewport_size({"width": 390, "height": 844})
        pane = viewer.find(".source .cm-scroller").bounding_box()
        assert pane is not None
        for message in viewer.find(".source .said").all():
            box = message.bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= pane["x"] + pane["width"]
        viewer.tab.set_viewport_size({"width": 1600, "height": 900})
        viewer.find(".said button[title='Write count in place of cuont']").click()
        viewer.find(".said button[title='Insert ;']").click()
        viewer.line("source", "int last = count - 1;").wait_for()
        viewer.find(".said").first.wait_for(state="detached", timeout=LONG)
        # Both files of one edit: what was mended in the first stays.
        header = viewer.find(".source-pane .tab", has_text="half.h")
        assert header.locator(".dot").count() == 1
        header.click()
        viewer.find(".said", has_text="hlaf").wait_for()
        put_caret(viewer, "hlaf")
        viewer.press(*["Backspace"] * len("hlaf;"))
        viewer.tab.keyboard.insert_text("0.5f;")
        compiled(viewer)
        viewer.find(".dot").first.wait_for(state="detached")
        assert viewer.text(".pick .name") == "halve"
        viewer.line("gen", "mul").wait_for()
        assert viewer.axe() == []
        viewer.find(".source-pane .tab", has_text="main.cl").click()
        viewer.line("source", "int last = count - 1;").wait_for()


def test_an_edited_text_is_its_files_alone(tmp_path: Path, open_served: OpenServed) -> None:
    (tmp_path / "twice.cl").write_text(SOURCE)
    (tmp_path / "other.cl").write_text("kernel void other(global float *data) { data[0] = 1.0f; }\n")
    with serving(tmp_path / "twice.cl", tmp_path / "other.cl", "--device", "dg2") as server:
        viewer = open_served(server)
        viewer.find("nav .k", has_text="twice").first.click()
        put_caret(viewer, "*= 2.0f")
        viewer.tab.keyboard.insert_text("// edited")
        compiled(viewer)
        assert "w=" in viewer.address
        viewer.find("nav .k", has_text="other").first.click()
        viewer.find(".source .cm-line", has_text="1.0f").wait_for()
        assert "w=" not in viewer.address
        assert viewer.find(".version").count() == 0
        # And back: the edit is still there.
        viewer.find("nav .k", has_text="twice").first.click()
        viewer.line("source", "// edited").wait_for()
        assert len(versions(viewer)) == 2


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
        for words in viewer.texts("dialog .trials > div p"):
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
        viewer.find(".views button", has_text=view).click()
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
        viewer.find(".views button", has_text="Linkage").click()
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
        header, main = (viewer.find(".source-pane .tab", has_text=name) for name in ("half.h", "main.cl"))
        main.click()
        viewer.pin("source", "half_of(data[1])")
        # Whoever types stays where the text goes.
        put_caret(viewer, "+ 1.0f")
        viewer.tab.keyboard.type("//")
        compiled(viewer)
        viewer.tab.keyboard.type("one")
        viewer.line("source", "1.0f;//one").wait_for()
        # Another file's tab shows that file, also after a compile.
        header.click()
        viewer.line("source", "return value").wait_for()
        assert "//one" not in viewer.text(".source .cm-content")
        viewer.tab.get_by_label("Options", exact=True).fill("-cl-mad-enable")
        viewer.find(".version", has_text="-cl-mad-enable").wait_for(timeout=LONG)
        compiled(viewer)
        assert viewer.line("source", "return value").is_visible()
        # The pane is closed and comes back with the text, which can be edited on.
        main.click()
        viewer.line("source", "1.0f;//one").wait_for()
        viewer.find(".source-pane select.mini").select_option("close")
        viewer.find(".code-pane select.mini").select_option(label="Bring back: Source")
        main.click()
        put_caret(viewer, "1.0f;//one")
        viewer.tab.keyboard.type("two")
        viewer.line("source", "1.0f;//onetwo").wait_for()
        viewer.tab.wait_for_function("location.hash.includes('main.cl:')")
        compiled(viewer)
        # A link is of the file that was edited, though another line is pinned.
        header.click()
        viewer.pin("source", "return value")
        viewer.tab.reload()
        viewer.ready()
        viewer.line("source", "1.0f;//onetwo").wait_for()
        viewer.find(".source-pane .tab.on", has_text="main.cl").wait_for()


def test_a_server_that_is_gone_leaves_the_page_readable(server: Server, open_served: OpenServed) -> None:
    viewer = open_served(server)
    viewer.find(".fields").wait_for()
    put_caret(viewer, "*= 2.0f")
    # Killed while it answers, then asked again.
    with viewer.tab.expect_response("**/api/compile"):
        viewer.tab.keyboard.type(" ")
    server.end(signal.SIGKILL)
    for what in ("ended while it compiled", "does not answer"):
        viewer.find(".standing.failed", has_text=what).wait_for(timeout=LONG)
        assert "start it again" in viewer.text(".standing")
        viewer.tab.keyboard.type(" ")
    assert viewer.line("gen", "mov").is_visible()
