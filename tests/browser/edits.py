"""What tests of edits in ``kernlens serve`` do and read."""

from __future__ import annotations

from tests.browser.viewer import Viewer

#: What a compile on a busy machine may take.
LONG = 60_000


def versions(viewer: Viewer) -> list[str]:
    """Return the versions of the strip as they are read: number, name, figure, change."""
    return [" ".join(version.split()) for version in viewer.texts(".version")]


def compiled(viewer: Viewer) -> None:
    """Wait until the compile that runs, or is about to, has succeeded and is shown."""
    viewer.tab.locator(".app:not(.stale) .standing.done").wait_for(timeout=LONG)


def put_caret(viewer: Viewer, text: str) -> None:
    """Click a line of the source behind its text, where letters are typed: behind *Edit* alone. What is inserted there at once
    is one version; typed letter by letter on a busy machine, half of it can be a version of its own."""
    if viewer.find(".source.typed-in").count() == 0:
        viewer.find(".source-pane .opt", has_text="Edit").click()
    viewer.line("source", text).click()
    viewer.press("End")
