"""The look of pages without scripts: the viewer's colours (viewer/src/style/tokens.css) and letters, light and dark."""

from __future__ import annotations

from kernlens.report.style import html_line

#: Name of a colour -> what it is on light ground and on dark ground.
COLOURS = {
    "paper": ("#fff", "#12151b"),
    "panel": ("#f6f7f9", "#191d25"),
    "ink": ("#1b2230", "#dfe4ee"),
    "soft": ("#566074", "#9aa5b9"),
    "rule": ("#e0e4eb", "#2b313d"),
    "accent": ("#1d56c9", "#86adff"),
    "warn": ("#a24300", "#ffb074"),
    "better": ("#0a6b45", "#6fd6a4"),
    "error": ("#b3261e", "#ff9d94"),
}

_VARIABLES = " ".join(f"--{name}: light-dark({light}, {dark});" for name, (light, dark) in COLOURS.items())

#: The style that all of them begin with.
LOOK = f"""
:root {{ color-scheme: light dark; {_VARIABLES} }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; padding: 14px 18px; color: var(--ink); background: var(--paper);
  font: 12.5px/1.4 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }}
h1 {{ margin: 0 0 4px; font-size: 14px; font-weight: 650; }}
h2 {{ margin: 18px 0 4px; font-size: 12.5px; font-weight: 600; }}
p {{ margin: 0 0 6px; }}
pre {{ margin: 4px 0 12px; overflow-x: auto; font: 11.5px/18px ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", monospace; }}
table {{ margin: 12px 0; border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: 2px 10px; font-weight: 400; text-align: left; }}
thead th {{ color: var(--soft); }}
a {{ color: inherit; }}
:focus-visible {{ outline: 2px solid var(--accent); outline-offset: 1px; }}
.dim {{ color: var(--soft); }}
.bold {{ font-weight: 600; }}
"""


def page_head(title: str, css: str) -> str:
    """Return the beginning of a page without scripts. Nothing in it can ask for anything from anywhere, whatever text it
    holds: its policy allows this style only."""
    from base64 import b64encode
    from hashlib import sha256

    digest = b64encode(sha256(css.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width">\n'
        f"<title>{html_line(title)}</title>\n<style>{css}</style>\n"
    )
