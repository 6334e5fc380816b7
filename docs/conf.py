"""How Sphinx makes a site of these pages (scripts/docs.sh). It needs no network, and neither do the pages."""

from __future__ import annotations

import re
from pkgutil import iter_modules
from typing import Any

import kernlens.model

project = "kernlens"
copyright = "the authors of kernlens, Apache-2.0"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "kernlens"
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"footer_icons": []}
html_static_path = ["style"]
html_css_files = ["site.css"]
#: Headings down to this level can be linked to.
myst_heading_anchors = 3
autodoc_member_order = "bysource"
# Types of other packages have no page here, and neither has a type that a signature names without its module.
nitpick_ignore_regex = [("py:.*", r"(?!kernlens\.).*")]
TYPE_VARIABLES = (
    "figure.MeasuredKernel",
    "figures._Row",
    "former_keys.Value",
    "reach.Item",
    "source_map.Of",
    "source_map.Answer",
)
nitpick_ignore = [("py:class", f"kernlens.model.{name}") for name in TYPE_VARIABLES]
nitpick_ignore += [("py:class", "kernlens.verbs.capture.spooled.Counter")]
#: Attributes that have the name of a builtin class, as ``type`` has.
suppress_warnings = ["ref.python"]

#: Page -> the classes that its functions take and give, and whose modules have no other public names.
ANSWERS = {
    "reference/kernlens": (
        "verbs.capture.capture.Capture",
        "verbs.difference.Difference",
        "pipeline.compile_stages.Pipeline",
    ),
    "reference/level_zero": (
        "runtime.level_zero.module_links.NativeInput",
        "runtime.level_zero.native_binary.NativeBinary",
        "toolchain.toolchains.Toolchain",
    ),
}


def _prepare(app: object, page: str, text: list[str]) -> None:
    """Add those classes, and the modules of nouns, to their pages; keep only the words of links to what is not among the
    pages: README, examples."""
    for name in ANSWERS.get(page, ()):
        text[0] += f"\n```{{eval-rst}}\n.. autoclass:: kernlens.{name}\n   :members:\n```\n"
    for module in iter_modules(kernlens.model.__path__, "kernlens.model.") if page == "reference/model" else ():
        text[0] += f"\n## {module.name}\n\n```{{eval-rst}}\n.. automodule:: {module.name}\n   :members:\n```\n"
    outside = "../" * (page.count("/") + 1)
    text[0] = re.sub(rf"\[([^\]]*)\]\({re.escape(outside)}[^)]*\)", r"\1", text[0])


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _prepare)
