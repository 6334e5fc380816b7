"""Lines of Markdown of at most 100 columns: ``python -m tests.wrapped`` wraps the paragraphs that have longer ones.

Rows of tables, code and what programs print stay as they are: Markdown cannot break the first, nobody may break the others.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from tests.pages import WIDTH
from tests.tree import ROOT

FOLDERS = ("docs", "editors", "examples", "tests", "viewer")
#: A fence of code, a row of a table, code that is indented, a heading, a definition of a link.
_AS_IT_IS = re.compile(r"\s*```|\s*\||\s{4}|#|\[[^\]]+\]:")
_MARK = re.compile(r"\s*(?:[*+-]|\d+[.)])\s+")
#: A space behind which a line would begin with what makes a list, a heading or a quotation.
_KEPT = re.compile(r" (?=(?:[-+*#>]+|\d+[.)])(?: |$))")
#: Code that a reader may copy.
_CODE = re.compile(r"`[^`]{1,60}`")


def pages() -> list[Path]:
    """Return all Markdown files of the tree."""
    below = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md")]
    return sorted(path for path in [*ROOT.glob("*.md"), *below] if "node_modules" not in path.parts)


def too_long(text: str) -> list[str]:
    """Return the lines of paragraphs and lists that are too long."""
    return [line for block in _blocks(text) if _is_text(block) for line in block if len(line) > WIDTH and " " in line]


def wrapped(text: str) -> str:
    """Return a page whose paragraphs have no line that is too long; those without one stay as they are."""
    return "\n".join(line for block in _blocks(text) for line in _wrapped(block))


def _blocks(text: str) -> Iterator[list[str]]:
    """Part a page: a paragraph, an entry of a list, a block of code with its fences, or a line of something else."""
    block: list[str] = []
    in_code = False
    for line in text.split("\n"):
        is_fence = line.lstrip().startswith("```")
        continues = in_code or (_is_text(block) and _is_text([line]) and not _MARK.match(line))
        if block and not continues:
            yield block
            block = []
        block.append(line)
        in_code ^= is_fence
    yield block


def _is_text(block: list[str]) -> bool:
    return bool(block) and bool(block[0].strip()) and not _AS_IT_IS.match(block[0])


def _wrapped(block: list[str]) -> list[str]:
    if not _is_text(block) or all(len(line) <= WIDTH for line in block):
        return block
    match = _MARK.match(block[0])
    first = match[0] if match else re.match(r"\s*", block[0])[0]  # type: ignore[index]
    words = _KEPT.sub("\0", " ".join(line.strip() for line in [block[0][len(first) :], *block[1:]]))
    words = _CODE.sub(lambda match: match[0].replace(" ", "\0"), words)
    lines = textwrap.wrap(
        words,
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\0", " ") for line in lines]


def main() -> None:
    for path in pages():
        text = path.read_text("utf-8")
        if (better := wrapped(text)) != text:
            path.write_text(better, "utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
