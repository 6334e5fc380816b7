"""The pictures of the documentation: ``python -m tests.browser.pictures [FOLDER]``; without a folder, docs/pictures.

They show examples/kernels/blur.cl, compiled by Debian's compiler, in DejaVu's fonts. Each file holds the page's text too, so
that a test can compare that with a new picture's to the letter; of the pixels, versions of a browser draw some otherwise.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.viewer import Viewer
from tests.tree import ROOT

DOCS = ROOT / "docs"
#: Picture -> the address within the report, and the theme.
PICTURES = {
    "page.png": ("#k=blur&l=blur.cl:20", "light"),
    "report.png": ("#k=blur&s=visa&l=blur.cl:17&c=memory", "dark"),
}
WIDTH, HEIGHT = 1600, 900
#: The key of the page's text in a picture's file.
TEXT = "Page"
_FONTS = """<fontconfig>
  <dir>/usr/share/fonts/truetype/dejavu</dir>
  <match><edit name="family" mode="append_last"><string>DejaVu Sans</string></edit></match>
</fontconfig>"""


def take(browser: Browser, report: Path, folder: Path) -> None:
    """Take all pictures of a report."""
    for name, (address, theme) in PICTURES.items():
        context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=theme)  # type: ignore[arg-type]
        tab = context.new_page()
        tab.goto(report.as_uri() + address)
        viewer = Viewer(tab)
        viewer.find(".pinned").wait_for()
        # What a screen reader says of it comes a moment later, and is a part of the text.
        viewer.find(".spoken").filter(has_text="pinned, ").wait_for(state="attached")
        (folder / name).write_bytes(_still(tab))
        information = PngInfo()
        information.add_itxt(TEXT, re.sub(r"kernlens-\w+/?", "", viewer.text(".app")))
        with Image.open(folder / name) as picture:
            picture.save(folder / name, pnginfo=information, optimize=True)
        context.close()


def _still(tab: Page) -> bytes:
    """Return a picture of the page once it has not changed for a while: panes go to their lines one after the other."""
    seen, same = b"", 0
    for _ in range(100):
        tab.wait_for_timeout(100)
        shot = tab.screenshot()
        seen, same = shot, same + 1 if shot == seen else 0
        if same == 5:
            break
    return seen


@contextmanager
def report() -> Iterator[Path]:
    """Yield the report of the first hour's kernel with all stages of its compile."""
    with tempfile.TemporaryDirectory(prefix="kernlens-") as folder:
        shutil.copy(ROOT / "examples/kernels/blur.cl", folder)
        for words in (
            ["stages", "blur.cl", "--device", "dg2", "-o", "blur.klens"],
            ["report", "blur.klens", "-o", "blur.html"],
        ):
            subprocess.run(
                [sys.executable, "-m", "kernlens", *words], check=True, cwd=folder, stdout=subprocess.DEVNULL
            )
        yield Path(folder, "blur.html")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield Debian's Chromium, which knows no fonts but DejaVu's."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as fonts, sync_playwright() as playwright:
        fonts.write(_FONTS)
        fonts.flush()
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox"],
            env={**os.environ, "FONTCONFIG_FILE": fonts.name},
        )
        yield browser
        browser.close()


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "pictures"
    with report() as page, chromium() as browser:
        take(browser, page, folder)


if __name__ == "__main__":
    main()
