"""How Sphinx makes a site of these pages (scripts/docs.sh). It needs no network, and neither do the pages."""

from __future__ import annotations

import re
from typing import Any

project = "kernlens"
copyright = "the authors of kernlens, Apache-2.0"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "kernlens"
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"footer_icons": []}
html_static_path = ["style"]
html_css_files = ["site.css"]
#: Headings down to this level can be linked to.
myst_heading_anchors = 3


def _prepare(app: object, page: str, text: list[str]) -> None:
    """Keep only the words of links to what is not among the pages: README, examples."""
    outside = "../" * (page.count("/") + 1)
    text[0] = re.sub(rf"\[([^\]]*)\]\({re.escape(outside)}[^)]*\)", r"\1", text[0])


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _prepare)
