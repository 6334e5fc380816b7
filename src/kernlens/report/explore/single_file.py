"""An ``explore`` document as one HTML file: the viewer, the index and all chunks in it; it asks for nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from html import escape
from importlib.resources import files
from itertools import accumulate
from urllib.parse import quote, unquote_plus

from kernlens.errors import KernlensError
from kernlens.model.program import Program
from kernlens.report.explore.excerpt import Chosen, Excerpt, Part, Shown
from kernlens.report.explore.explore_document import explore_document
from kernlens.report.explore.packing import LEVEL, SMALLEST, encoded, in_base85, packed, padded
from kernlens.report.explore.viewer_blocks import viewer_blocks
from kernlens.report.shared_paths import SharedPaths

#: Nothing but the viewer's own scripts may run, and nothing may be loaded or sent.
POLICY = (
    "default-src 'none'; script-src {hashes}; style-src 'none'; base-uri 'none'; form-action 'none';"
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
<div id="kernlens" data-mode="report"{state}></div>
<noscript>{title}: this page shows its contents with a script that is part of it, and scripts are switched off.</noscript>
"""
#: The most characters of a page in a notebook.
_NOTEBOOK_LIMIT = 1 << 21
#: Bytes of chunks that are packed together, so that what kernels have in common takes no space again: as many as a page unpacks
#: for one of them before anybody waits.
_FRAME = 1 << 18
_BLOCK = '<script type="application/x-kernlens" id="{name}" data-bytes="{size}">'
_BLOCK_END = "</script>\n"


def viewer_script(*, is_notebook: bool = False) -> str:
    """Return the viewer that comes with the package, or the one for notebooks, which leaves out what a single kernel
    cannot use. Raises KernlensError if this installation has none."""
    name = "notebook.js" if is_notebook else "viewer.js"
    try:
        return files("kernlens").joinpath("explorer/viewer", name).read_text("utf-8")
    except FileNotFoundError:
        raise KernlensError(
            "this installation has no viewer; install kernlens from a wheel or a whole checkout"
        ) from None


def notebook_page(program: Program, version: str, paths: SharedPaths | None = None) -> str | None:
    """Return the page of a program for a notebook, which keeps it in its file: without the stages of the compile if it
    would be too large; None if it is so still, or this installation has no viewer."""
    with suppress(KernlensError):  # The listing, which is there too, says it.
        viewer = viewer_script(is_notebook=True)
        for has_stages in (True, False):
            document = explore_document([program], title=program.name, version=version, has_stages=has_stages)
            chosen = [Chosen(entry["id"]) for entry in document.index["programs"]]
            # The tables are of the whole program, and as large as all that is shown of the kernel.
            excerpt = Excerpt([Part(document)], chosen, has_tables=False)
            text = "".join(page(excerpt, viewer, level=SMALLEST, paths=paths))
            if len(text) <= _NOTEBOOK_LIMIT:
                return text
    return None


def page(
    whole: Shown, viewer: str, *, state: str = "", level: int = LEVEL, paths: SharedPaths | None = None
) -> Iterator[str]:
    """Yield the page in pieces. ``viewer`` is the viewer's script; ``state`` is the address's fragment that the page
    begins with where it is opened without one; ``level`` is that of :func:`packed`. ``paths`` are the sharer's, which the page
    does not have then; None: it has all paths as they are.

    The chunks come before the index, which tells where each begins. Raises what the chunks raise.
    """
    blocks = viewer_blocks(viewer)
    shown = paths.text(whole.index["title"]) if paths else whole.index["title"]
    title = _attribute(shown) or "kernlens"
    policy = escape(POLICY.format(hashes=" ".join(blocks.hashes)), quote=False)
    begin = f' data-state="{_attribute(_state(state, paths) if paths else state)}"' if state else ""
    yield _HEAD.format(policy=policy, title=title, state=begin)
    entries = {}
    offset = 0
    yield _BLOCK.format(name="chunks", size="")
    for contents in _together(whole, paths):
        frame = packed(b"".join(contents.values()), level)
        starts = accumulate(map(len, contents.values()), initial=0)
        for start, (chunk_id, content) in zip(starts, contents.items(), strict=False):
            place = {"offset": offset, "packed": len(frame), "start": start, "size": len(content)}
            entries[chunk_id] = {"kind": whole.chunks.kind(chunk_id), **place}
        frame = padded(frame)
        offset += len(frame)
        yield in_base85(frame).decode("ascii")
    yield _BLOCK_END
    index = encoded(whole.index | {"chunks": entries})
    index = packed(paths.json(index) if paths else index)
    yield _BLOCK.format(name="index", size=len(index)) + in_base85(index).decode("ascii") + _BLOCK_END
    yield _BLOCK.format(name="viewer", size=blocks.size) + blocks.packed + _BLOCK_END
    yield f"<script>{blocks.loader}</script>\n</body>\n</html>\n"


def _together(whole: Shown, paths: SharedPaths | None) -> Iterator[dict[str, bytes]]:
    """Yield the contents of the chunks that are packed together, by their ids."""
    contents: dict[str, bytes] = {}
    size = 0
    for chunk_id in whole.chunks:
        content = whole.chunks.content(chunk_id)
        contents[chunk_id] = paths.json(content) if paths else content
        size += len(contents[chunk_id])
        if size >= _FRAME:
            yield contents
            contents, size = {}, 0
    if contents:
        yield contents


def _state(state: str, paths: SharedPaths) -> str:
    """Return an address's fragment with paths as the page has them."""
    parts = []
    for part in state.split("&"):
        plain = unquote_plus(part)
        told = paths.text(plain)
        parts.append(part if told == plain else quote(told, safe="="))
    return "&".join(parts)


def _attribute(text: str) -> str:
    return escape(_NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", text), quote=True)
