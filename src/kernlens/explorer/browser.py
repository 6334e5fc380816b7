"""The start of the user's browser, without telling the token to others."""

from __future__ import annotations

import html
import os
import threading
import webbrowser
from pathlib import Path

from kernlens import log

_PAGE = '<!DOCTYPE html><meta charset="utf-8"><title>kernlens</title><meta http-equiv="refresh" content="0;url={}">'


def open_browser(address: str, folder: str) -> None:
    """Open an address in the user's browser, if there is a screen to show it on; return at once.

    The words of a process can be read by all users of a machine. So the browser is started with the name of a file in
    ``folder``, which only this user may read, and that leads to the address.
    """
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        log.debug("explorer", "no browser is opened: neither DISPLAY nor WAYLAND_DISPLAY is set")
        return
    page = Path(folder) / "kernlens.html"
    page.write_text(_PAGE.format(html.escape(address, quote=True)), encoding="utf-8")
    threading.Thread(target=_open, args=(page.as_uri(),), daemon=True).start()


def _open(uri: str) -> None:
    try:
        is_open = webbrowser.open(uri)
    except (webbrowser.Error, OSError) as error:
        log.debug("explorer", "no browser can be opened: %s", error)
        return
    log.debug("explorer", "a browser was %sopened", "" if is_open else "not ")
