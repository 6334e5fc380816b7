"""The pictures of the documentation: ``python -m tests.browser.pictures [FOLDER]``; without a folder, docs/pictures.

They show the kernel of docs/first_hour.md, compiled by Debian's compiler, in DejaVu's fonts. Two runs differ by a temporary
folder's name and by what a browser's version draws otherwise, so that nobody compares them.
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

from playwright.sync_api import Browser, sync_playwright

from tests.browser.viewer import Viewer
from tests.tree import ROOT

DOCS = ROOT / "docs"
#: Picture -> the address within the report, and the theme.
PICTURES = {
    "page.png": ("#k=blur&l=blur.cl:20", "light"),
    "report.png": ("#k=blur&s=visa&l=blur.cl:17&c=memory", "dark"),
}
WIDTH, HEIGHT = 1440, 900
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
        Viewer(tab).find(".pinned").wait_for()
        tab.screenshot(path=folder / name)
        context.close()


@contextmanager
def report() -> Iterator[Path]:
    """Yield the report of the first hour's kernel with all stages of its compile."""
    with tempfile.TemporaryDirectory(prefix="kernlens-") as folder:
        (source,) = re.findall(r"```c\n(.*?)```", (DOCS / "first_hour.md").read_text(), re.DOTALL)
        Path(folder, "blur.cl").write_text(source)
        for words in (
            ["stages", "blur.cl", "--device", "dg2", "-o", "blur.klens"],
            ["report", "blur.klens", "-o", "blur.html"],
        ):
            subprocess.run(
                [sys.executable, "-m", "kernlens", *words], check=True, cwd=folder, stdout=subprocess.DEVNULL
            )
        yield Path(folder, "blur.html")


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "pictures"
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as fonts, report() as page, sync_playwright() as playwright:
        fonts.write(_FONTS)
        fonts.flush()
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox"],
            env={**os.environ, "FONTCONFIG_FILE": fonts.name},
        )
        take(browser, page, folder)
        browser.close()


if __name__ == "__main__":
    main()
