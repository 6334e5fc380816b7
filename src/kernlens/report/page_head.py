"""The beginning of pages without scripts: a comparison's, a heat map's."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

from kernlens.report.style import html_line


def page_head(title: str, style: str) -> str:
    """Return the beginning of a page. Nothing in it can ask for anything from anywhere, whatever text it holds: its
    policy allows this style only."""
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width">\n'
        f"<title>{html_line(title)}</title>\n<style>{style}</style>\n"
    )
