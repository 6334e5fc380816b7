"""*Verify* and *Time*: an edited version runs on the launch that a recording of a real application keeps; on PoCL."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.edits import LONG, put_caret, versions
from tests.browser.test_serve import OpenServed, open_served
from tests.browser.viewer import Viewer
from tests.integration.capture.capture_fixtures import environment
from tests.integration.layers.opencl_layer_fixtures import pocl
from tests.integration.serve.explorer_fixtures import MAIN, Server, serving

__all__ = ["open_served"]

pytestmark = pytest.mark.skipif(not Path("/etc/OpenCL/vendors/pocl.icd").exists(), reason="no PoCL")

APPLICATION = '''
import numpy as np, pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
x = cl.Buffer(context, flags, hostbuf=np.arange(4096, dtype=np.float32))
program = cl.Program(context, """kernel void scale(global float *x, float factor)
{
  size_t i = get_global_id(0);
  float y = x[i];
  x[i] = y * factor;
}
kernel void never(global float *x)
{
  x[get_global_id(0)] += 1.0f;
}
""").build()
program.scale(queue, (4096,), None, x, np.float32(3))
queue.finish()
'''


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what ``kernlens capture --lines --launch`` keeps of a program of pyopencl."""
    folder = tmp_path_factory.mktemp("kept")
    (folder / "app.py").write_text(APPLICATION)
    path = folder / "app.klens"
    command = [
        *MAIN,
        "capture",
        "--lines",
        "--launch",
        "scale",
        "-o",
        str(path),
        "--",
        sys.executable,
        str(folder / "app.py"),
    ]
    variables = environment(pocl(folder / "cache"))
    subprocess.run(command, env=variables, check=True, capture_output=True, timeout=300)
    return path


@pytest.fixture(scope="module")
def server(recording: Path) -> Iterator[Server]:
    with serving(recording) as started:
        yield started


def edit(viewer: Viewer, line: str, text: str) -> None:
    """Type behind a line, and wait for the version that comes of it."""
    before = len(versions(viewer))
    viewer.tab.wait_for_timeout(2_100)
    put_caret(viewer, line)
    viewer.tab.keyboard.insert_text(text)
    viewer.find(".version").nth(max(1, before)).wait_for(timeout=LONG)
    viewer.tab.locator(".app:not(.stale) .standing.done").wait_for(timeout=LONG)


def test_a_version_is_verified_and_timed(server: Server, open_served: OpenServed) -> None:
    viewer = open_served(server)
    viewer.kernel("scale").click()
    assert viewer.find(".replays").filter(visible=True).count() == 0
    edit(viewer, "float y = x[i];", " if (i == 12) y += 1.0f;")
    verify, time = viewer.find(".replays button").all()
    # By the keyboard alone.
    viewer.press("Escape")
    verify.focus()
    viewer.press("Enter")
    viewer.find(".version .replayed.differs", has_text="differs at x[12]").wait_for(timeout=LONG)
    assert viewer.texts(".replays td, .replays th[scope=row]")[:6] == [
        "edited", "the buffer of argument 0 (x)", "1 of 4096 floats", "[12]", "36", "39",
    ]  # fmt: skip
    assert "different" in viewer.text(".replays b")
    assert viewer.axe_in_both_themes() == []
    assert viewer.focused() == "Verify"
    # The badge is that version's: another one has none, and it is there again.
    viewer.find(".version", has_text="as read").click()
    viewer.find(".version[aria-current=true]", has_text="as read").wait_for()
    assert viewer.find(".replays table").count() == 0
    assert viewer.find(".version .replayed").count() == 1
    edit(viewer, "x[i] = y * factor;", " // The same.")
    time.click()
    viewer.find(".version[aria-current=true] .replayed.equal", has_text="x").wait_for(timeout=LONG)
    assert "20 pairs" in viewer.text(".replays b")
    assert "say nothing about a GPU" in viewer.text(".replays .dim")
    assert viewer.axe_in_both_themes() == []


def test_what_cannot_run_says_why(server: Server, open_served: OpenServed) -> None:
    viewer = open_served(server)
    viewer.kernel("never").click()
    viewer.find(".pick .name", has_text="never").wait_for()
    edit(viewer, "+= 1.0f", " // Other.")
    assert [button.is_disabled() for button in viewer.find(".replays button").all()] == [True, True]
    assert viewer.text(".replays .state") == "No launch of never was kept: kernlens capture --launch never keeps one."


def test_a_replay_can_be_stopped(server: Server, open_served: OpenServed) -> None:
    viewer = open_served(server)
    viewer.kernel("scale").click()
    edit(viewer, "float y = x[i];", " while (x[0] == 0.0f) x[1] += 1.0f;")
    viewer.find(".replays button", has_text="Verify").click()
    viewer.find(".replays .state", has_text="verifying version 2 of scale").wait_for()
    viewer.find(".replays button", has_text="Stop").click()
    viewer.find(".replays button:enabled", has_text="Verify").wait_for()
    assert viewer.text(".replays .state") == ""
    # The next one does not wait for it.
    viewer.find(".version", has_text="as read").click()
    viewer.find(".replays button", has_text="Verify").click()
    viewer.find(".version[aria-current=true] .replayed", has_text="equal").wait_for(timeout=LONG)
