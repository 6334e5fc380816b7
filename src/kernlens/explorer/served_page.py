"""The page that holds the viewer, and what it loads: one script and an icon, under names that change with their content."""

from __future__ import annotations

import hashlib
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from kernlens.errors import UnsupportedError
from kernlens.explorer.guard import PAGE_POLICY

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>kernlens</title>
<link rel="icon" href="/icon.svg">
</head>
<body>
<div id="kernlens" data-mode="serve"></div>
<noscript>kernlens shows programs with a script of its own, and scripts are switched off.</noscript>
<script src="{script}"></script>
</body>
</html>
"""
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#1d56c9" d="M2 2h3v12H2z"/>'
    '<path fill="#e6b13a" d="M6 3h8v2H6zm0 8h5v2H6z"/><path fill="#86adff" d="M6 7h6v2H6z"/></svg>'
)
#: Content under such a name never changes.
IMMUTABLE = "public, max-age=31536000, immutable"


class Page:
    """The page and what it loads, read once."""

    def __init__(self) -> None:
        """Read the files. Raises UnsupportedError if this installation lacks the viewer."""
        script = files("kernlens") / "explorer" / "viewer" / "viewer.js"
        try:
            self._script = script.read_bytes()
        except OSError as error:
            raise UnsupportedError(
                "this installation lacks the viewer (explorer/viewer/viewer.js); install kernlens from a wheel, or build"
                " it in the checkout: see CONTRIBUTING.md"
            ) from error
        self.script_path = f"/viewer-{hashlib.sha256(self._script).hexdigest()[:16]}.js"

    async def page(self, request: Request) -> Response:
        """Return the page itself, which holds nothing but the script's address."""
        headers = {"Content-Security-Policy": PAGE_POLICY}
        return Response(_PAGE.format(script=self.script_path), 200, headers, "text/html")

    async def script(self, request: Request) -> Response:
        """Return the viewer."""
        return Response(self._script, 200, {"Cache-Control": IMMUTABLE}, "text/javascript")

    async def icon(self, request: Request) -> Response:
        """Return the icon of the browser's tab."""
        return Response(_ICON, 200, None, "image/svg+xml")
