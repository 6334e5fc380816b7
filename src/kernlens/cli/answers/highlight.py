"""Colours for the texts of stages, on a terminal."""

from __future__ import annotations

#: File ending -> rich's (Pygments') name of the language. vISA has none: the general assembly lexer marks comments and numbers.
_LEXERS = {
    ".cl": "c", ".ll": "llvm", ".visa.ll": "llvm", ".s": "gas", ".asm": "gas", ".visaasm": "gas", ".spvasm": "gas",
    ".zeinfo": "yaml", ".diff": "diff",
}  # fmt: skip
#: Longer texts are printed plain: colouring takes about a second per megabyte.
_MOST_CHARACTERS = 4 << 20


def highlighted(text: str, ending: str) -> str:
    """Return ``text`` with terminal colours; as it is where there is no lexer for it, or too much of it."""
    lexer_name = _LEXERS.get(ending)
    if lexer_name is None or len(text) > _MOST_CHARACTERS:
        return text
    from io import StringIO

    from rich.console import Console
    from rich.syntax import Syntax

    coloured = Syntax("", lexer_name, theme="ansi_dark").highlight(text)
    console = Console(file=StringIO(), force_terminal=True, color_system="standard")
    with console.capture() as captured:
        console.print(coloured, soft_wrap=True, end="")
    return captured.get()
