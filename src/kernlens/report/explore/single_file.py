"""An ``explore`` document as one HTML file: the viewer, the index and all chunks in it; it asks for nothing."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from html import escape
from importlib.resources import files

from kernlens.errors import KernlensError
from kernlens.model.program import Program
from kernlens.report.explore.explore_document import ExploreDocument, explore_document
from kernlens.report.explore.packing import encoded, in_base85, packed, padded

#: Nothing but the viewer's own script may run, and nothing may be loaded or sent.
POLICY = (
    "default-src 'none'; script-src 'sha256-{hash}'; style-src 'none'; base-uri 'none'; form-action 'none';"
    " require-trusted-types-for 'script'"
)
#: Control characters and halves of characters, which HTML cannot hold, separators, and what turns the direction of text.
_NO_TEXT = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
</head>
<body>
<div id="kernlens" data-mode="report"></div>
<noscript>{title}: this page shows its contents with a script that is part of it, and scripts are switched off.</noscript>
"""
#: The most characters of a page in a notebook, beside the viewer.
_NOTEBOOK_LIMIT = 1 << 21
_BLOCK = '<script type="application/x-kernlens" id="{name}" data-bytes="{size}">'
_BLOCK_END = "</script>\n"


def viewer_script() -> str:
    """Return the viewer that comes with the package. Raises KernlensError if this installation has none."""
    try:
        return files("kernlens").joinpath("explorer/viewer/viewer.js").read_text("utf-8")
    except FileNotFoundError:
        raise KernlensError(
            "this installation has no viewer; install kernlens from a wheel or a whole checkout"
        ) from None


def notebook_page(program: Program, version: str) -> str | None:
    """Return the page of a program for a notebook, which keeps it in its file: without the stages of the compile if it
    would be too large; None if it is so still, or this installation has no viewer."""
    with suppress(KernlensError):  # The listing, which is there too, says it.
        viewer = viewer_script()
        for has_stages in (True, False):
            document = explore_document([program], title=program.name, version=version, has_stages=has_stages)
            text = "".join(page(document, viewer))
            if len(text) - len(viewer) <= _NOTEBOOK_LIMIT:
                return text
    return None


def page(whole: ExploreDocument, viewer: str) -> Iterator[str]:
    """Yield the page in pieces. ``viewer`` is the viewer's script, which must not hold what ends a script or begins a
    comment in HTML.

    The chunks come before the index, which tells where each begins. Raises ValueError for such a script, and what the
    chunks raise.
    """
    script = viewer.replace("\r\n", "\n").strip("\n")
    lowered = script.lower()
    if "</script" in lowered or "<!--" in lowered or "\0" in script or "\r" in script:
        raise ValueError("the viewer's script contains what a page cannot have inside of a script")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    title = escape(_NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", whole.index["title"]) or "kernlens", quote=True)
    yield _HEAD.format(policy=escape(POLICY.format(hash=digest), quote=False), title=title)
    entries = {}
    offset = 0
    yield _BLOCK.format(name="chunks", size="")
    for chunk_id in whole.chunks:
        chunk = whole.chunks.packed(chunk_id)
        kind = whole.chunks.kind(chunk_id)
        entries[chunk_id] = {"kind": kind, "offset": offset, "packed": len(chunk.content), "size": chunk.size}
        content = padded(chunk.content)
        offset += len(content)
        yield in_base85(content).decode("ascii")
    yield _BLOCK_END
    index = packed(encoded(whole.index | {"chunks": entries}))
    yield _BLOCK.format(name="index", size=len(index)) + in_base85(index).decode("ascii") + _BLOCK_END
    yield f"<script>{script}</script>\n</body>\n</html>\n"
