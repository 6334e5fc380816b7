"""The marks on the parts of a line that a terminal shows in colour, and the way to make lines fit to be printed.

Names, sources and messages come out of files that anybody may have made, and a terminal obeys what it is sent: an escape
sequence can fill the clipboard, hide text or forge lines. So no text here holds real escape sequences. ``style`` puts
marks around a text that only this process knows, and ``rendered``, which the command line calls on each line that it
writes, turns these marks into colours and everything else that is not text into visible escapes: ``\\x1b``.
"""

from __future__ import annotations

import os
import re

#: Begins every mark of this process. Lone surrogates stand in no text that was decoded from UTF-8, and these eight are
#: drawn anew in each process: no file can forge a mark.
_KEY = "".join(chr(0xD800 + byte) for byte in os.urandom(8))
#: Colour -> its number among the eight of ECMA-48; a mark holds it in one character, with two bits for the weight.
_COLOURS = {"red": 1, "green": 2, "yellow": 3, "cyan": 6}
_BOLD, _DIM = 8, 16
_FIRST = 0x40
_END = f"{_KEY}{chr(_FIRST)}"

#: What is no text: C0 without the tab, DEL, C1, separators of lines and paragraphs, lone surrogates (bytes of file names
#: that are no UTF-8), and Unicode's Bidi_Control characters, which make a line read otherwise than it is.
_CONTROLS = r"\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
#: The tab and the visible characters of ASCII, in which nothing is to be replaced.
_PLAIN = bytes([0x09, *range(0x20, 0x7F)])
_MARK = re.compile(f"({_KEY}[\x40-\x5f])")
_SPECIAL = re.compile(f"{_KEY}([\x40-\x5f])|[{_CONTROLS}]")


#: Whether ``style`` marks anything.
_has_styles = True


def want_styles(has_styles: bool) -> None:
    """Set whether this process will show styles anywhere. If not, ``style`` returns texts as they are, which saves the
    making and the removing of its marks."""
    global _has_styles
    _has_styles = has_styles


#: How wide tables and headings may be; None: as wide as they are.
_width: int | None = None


def fit_to(width: int | None) -> None:
    """Have tables and headings be at most this wide from now on: on a terminal. Elsewhere nothing is shortened (None), as
    scripts read it."""
    global _width
    _width = width


def fitting_width() -> int | None:
    """Return the width that limits tables and headings, None if nothing does."""
    return _width


def style(text: str, *, fg: str | None = None, bold: bool = False, dim: bool = False) -> str:
    """Return ``text`` between marks that make it coloured (red, green, yellow or cyan), bold or dim on a terminal."""
    if not _has_styles:
        return text
    mark = (_COLOURS[fg] if fg else 0) | (_BOLD if bold else 0) | (_DIM if dim else 0)
    return f"{_KEY}{chr(_FIRST + mark)}{text}{_END}"


def rendered_lines(lines: list[str], colours: bool = False) -> list[str]:
    """Return many lines as ``rendered`` does each. Where all are plain ASCII text without styles, which is told for all at
    once and a dozen times faster, they are returned as they are."""
    joined = "".join(lines)
    if joined.isascii() and not joined.encode().translate(None, _PLAIN):
        return lines
    return [rendered(line, colours) for line in lines]


def rendered(line: str, colours: bool = False) -> str:
    """Return one line as it may be written to a terminal or a pipe, its styles as ANSI sequences if ``colours``, else left
    out. A newline within it is shown as an escape, like all that is not text: it cannot forge another line."""

    def replacement(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0].encode("unicode_escape").decode()
        return _sequence(ord(match[1]) - _FIRST) if colours else ""

    return _SPECIAL.sub(replacement, line)


def html_line(line: str) -> str:
    """Return one line as HTML, whatever its text: styles as spans whose classes are their colour, ``bold`` and ``dim``."""
    from html import escape

    pieces, is_open = [], False
    for number, piece in enumerate(_MARK.split(line)):
        if number % 2 == 0:
            pieces.append(escape(rendered(piece), quote=True))
            continue
        mark = ord(piece[-1]) - _FIRST
        if is_open:
            pieces.append("</span>")
        colour = [name for name, value in _COLOURS.items() if value == mark & 7]
        classes = [*colour, *(["bold"] if mark & _BOLD else []), *(["dim"] if mark & _DIM else [])]
        is_open = bool(classes)
        if is_open:
            pieces.append(f'<span class="{" ".join(classes)}">')
    return "".join(pieces) + ("</span>" if is_open else "")


def cut(line: str, width: int) -> str:
    """Return a line with its first ``width`` characters, styles not counted, the last of which says that it goes on."""
    pieces = _MARK.split(line)
    if sum(len(piece) for piece in pieces[::2]) <= width:
        return line
    room = max(width - 1, 0)
    fitting = []
    for position, piece in enumerate(pieces):
        if position % 2:
            fitting.append(piece)
            continue
        if room < len(piece) and room >= 0:
            piece, room = f"{piece[:room]}…", -1
        else:
            piece, room = (piece, room - len(piece)) if room >= 0 else ("", room)
        fitting.append(piece)
    return "".join(fitting)


def _sequence(mark: int) -> str:
    """Return the escape sequence of a mark; Select Graphic Rendition of ECMA-48, 8.3.117."""
    codes = [*(["1"] if mark & _BOLD else []), *(["2"] if mark & _DIM else []), *([f"3{mark & 7}"] if mark & 7 else [])]
    return f"\x1b[{';'.join(codes or '0')}m"
