"""A source that was repaired in the page is one like any other: it is edited again, and found by what it has now."""

from __future__ import annotations

from pathlib import Path

from tests.browser.edits import LONG, compiled, put_caret, versions
from tests.browser.test_serve import OpenServed, open_served
from tests.integration.serve.explorer_fixtures import serving

__all__ = ["open_served"]

BROKEN = """// The first line is none of the kernel's.
kernel void scale(global float *out, global const float *in, float factor)
{
  size_t i = get_global_id(0);
  out[i] = in[i] * facter;
}
"""
PLAIN = "kernel void add(global int *counts)\n{\n  counts[get_global_id(0)] += 1;\n}\n"


def test_a_repaired_source_is_edited_and_found(tmp_path: Path, open_served: OpenServed) -> None:
    (tmp_path / "scale.cl").write_text(BROKEN)
    (tmp_path / "add.cl").write_text(PLAIN)
    with serving(tmp_path, "--device", "dg2") as server:
        viewer = open_served(server)
        viewer.find("nav [role=treeitem]", has_text="scale").last.click()
        viewer.find(".said button[title='Write factor in place of facter']").click()
        compiled(viewer)
        assert viewer.text(".pick .name") == "scale"
        # The same file, with its text.
        assert viewer.texts(".source-pane .tabs:not(.pair) .tab") == ["\N{LOWER RIGHT PENCIL} scale.cl"]
        viewer.line("source", "in[i] * factor;").wait_for()
        # Who types on within two seconds of an answer is not done with the version, and makes no other.
        viewer.tab.wait_for_timeout(2_100)
        put_caret(viewer, "size_t i")
        viewer.tab.keyboard.insert_text(" atomic_inc((volatile global int *)out);")
        compiled(viewer)
        assert len(versions(viewer)) == 3
        # Where letters are typed they are no keys, and no text says that they are.
        assert viewer.find("footer .letter, aside .letter").filter(visible=True).count() == 0
        assert viewer.find("footer .typing").is_visible()
        viewer.press("Escape")
        # The search knows of the version that is shown, and of the others what they were compiled to.
        viewer.press("/")
        viewer.find(".find input").fill("atomic")
        viewer.find("nav h2", has_text="1 of 2 kernels").wait_for(timeout=LONG)
        assert "scale" in viewer.text("nav [role=treeitem].k")
        viewer.find(".find input").fill("op:")
        viewer.find(".find input").fill("atomic_inc")
        viewer.find("nav h2", has_text="1 of 2 kernels").wait_for(timeout=LONG)
        # What is clicked beside the results closes them.
        viewer.find(".source-pane .tab").first.click()
        assert viewer.find(".find .results").is_hidden()


def test_the_header_stays_whole_after_an_edit(tmp_path: Path, open_served: OpenServed) -> None:
    for number in range(6):
        (tmp_path / f"another_source_with_a_name_{number}.cl").write_text(
            PLAIN.replace("add", f"add_to_the_counts_{number}")
        )
    with serving(tmp_path, "--device", "dg2") as server:
        viewer = open_served(server)
        put_caret(viewer, "+= 1;")
        viewer.press("ArrowLeft")
        viewer.tab.keyboard.insert_text(" + counts[0] / counts[1]")
        compiled(viewer)
        for width in (1440, 1200, 1024, 390):
            viewer.tab.set_viewport_size({"width": width, "height": 900})
            help_button = viewer.find("header button[aria-label^=Help]").bounding_box()
            assert help_button is not None
            assert help_button["x"] + help_button["width"] <= width
            assert viewer.find("header").evaluate("element => element.scrollWidth <= element.clientWidth")
        viewer.tab.set_viewport_size({"width": 1600, "height": 900})
        name = viewer.find(".pick .name")
        assert name.evaluate("element => element.scrollWidth <= element.clientWidth")
