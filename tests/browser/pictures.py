"""The pictures of the documentation: ``python -m tests.browser.pictures [FOLDER]``; without a folder, docs/pictures.

They show kernels of examples/, compiled by Debian's compiler, in DejaVu's fonts and few colours. Each file holds the page's
text too, so that a test can compare that with a new picture's to the letter; of the pixels, versions of a browser draw some
otherwise.
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
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.viewer import Viewer
from tests.tree import ROOT

DOCS = ROOT / "docs"
#: Report -> the commands that make its recording, NAME.klens, from the sources of examples/.
REPORTS = {
    "blur": "stages blur.cl --device dg2 --all-passes -o blur.klens",
    "tone": "compile tone.cl --device dg2 -o tone.klens",
    "builds": "sweep tone.cl blur.cl --device skl,dg2 --build-options= --build-options=-cl-fast-relaxed-math -o builds.klens",
    "seen": "observe transpose.cl --kernel transpose --device dg2 --size 64x64 --group 16x16"
    " --arg ramp:float:4096 --arg zeros:float:4096 -o seen.klens",
}
SOURCES = ("kernels/blur.cl", "kernels/tone.cl", "transpose.cl")


class Picture(NamedTuple):
    """A view of a report: the address within it, the theme, and what is there once it is whole."""

    report: str
    address: str
    theme: str
    awaited: str = ".pinned:not(:empty)"


#: By the names of their files in docs/pictures.
PICTURES = {
    "page.png": Picture("blur", "#k=blur&l=blur.cl:20", "light"),
    "report.png": Picture("blur", "#k=blur&s=visa&l=blur.cl:17&c=memory", "dark"),
    "advice.png": Picture("tone", "#k=tone&l=tone.cl:6", "light"),
    "passes.png": Picture("blur", "#k=blur&v=passes", "light", ".passes table, .passes li, .passes [role=option]"),
    "compare.png": Picture("builds", "#k=tone&v=compare", "light", ".compare .lines"),
    "sweep.png": Picture("builds", "#k=tone&v=sweep", "dark", ".sweep td"),
    "behaviour.png": Picture("seen", "#k=transpose&l=transpose.cl:8", "light"),
}
#: Colours of a picture: letters and shades are all there, and a file has a third of its bytes.
COLOURS = 192
WIDTH, HEIGHT = 1600, 900
#: The key of the page's text in a picture's file.
TEXT = "Page"
_FONTS = """<fontconfig>
  <dir>/usr/share/fonts/truetype/dejavu</dir>
  <match><edit name="family" mode="append_last"><string>DejaVu Sans</string></edit></match>
</fontconfig>"""


def take(browser: Browser, reports: Path, folder: Path) -> None:
    """Take all pictures of the reports in a folder."""
    for name, (report, address, theme, awaited) in PICTURES.items():
        context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=theme)  # type: ignore[arg-type]
        tab = context.new_page()
        tab.goto((reports / f"{report}.html").as_uri() + address)
        viewer = Viewer(tab)
        viewer.find(awaited).first.wait_for()
        if "l=" in address:
            # What a screen reader says of it comes a moment later, and is a part of the text.
            viewer.find(".spoken").filter(has_text="pinned, ").wait_for(state="attached")
        information = PngInfo()
        still = Image.open(BytesIO(_still(tab)))
        information.add_itxt(TEXT, re.sub(r"kernlens-\w+/?", "", viewer.text(".app")))
        still.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(
            folder / name, pnginfo=information, optimize=True
        )
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
def all_reports() -> Iterator[Path]:
    """Yield a folder with all reports."""
    with tempfile.TemporaryDirectory(prefix="kernlens-") as folder:
        for source in SOURCES:
            shutil.copy(ROOT / "examples" / source, folder)
        for name, words in REPORTS.items():
            for each in (words.split(" "), ["report", f"{name}.klens", "-o", f"{name}.html"]):
                subprocess.run(
                    [sys.executable, "-m", "kernlens", *each], check=True, cwd=folder, stdout=subprocess.DEVNULL
                )
        yield Path(folder)


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
    with all_reports() as reports, chromium() as browser:
        take(browser, reports, folder)


if __name__ == "__main__":
    main()
