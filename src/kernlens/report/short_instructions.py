"""Instructions with less ink, for terminals: as the explorer writes them (``viewer/src/machine/operands.ts``).

Subregister 0 and contiguous regions are left out, one element for all channels is ``<0>``; of the options in braces those
stay that say what an instruction waits for, and comments go.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

_SHAPE = re.compile(
    r"\s*(\([^)|]*\))?\s*([A-Za-z][\w.]*)?\s*(?:\((\d+)\|(M\d+)\))?\s*([^{/]*(?:/(?!/)[^{/]*)*)(?:\{([^}]*)\})?"
)
_OPERAND = re.compile(r"[^\s\[]*\[[^\]]*\]\S*|\S+")
#: A scoreboard token: ``I@2``, ``$3.dst``.
_TOKEN = re.compile(r"[A-Z]?@\d+|\$\d+(?:\.(?:src|dst))?")
_SUBREGISTER = re.compile(r"^([-~!(a-z)]*[a-z]\d+)\.0(?=[<:]|$)")
_FLAG = re.compile(r"f\d+$")
_REGION = re.compile(r"<([\d;,]+)>")
_NULL = re.compile(r"null(?:<[^>]*>)?(?::[a-z]+\d*)?")
_CONTIGUOUS = re.compile(r"1(?:;0)?|1;1,\d+|(\d+);\1,1")
_SCALAR = re.compile(r"0(?:;(?:1,)?0)?")
#: The least widths of the columns: predicate, predicate and opcode, channels, operand; and the most of the second.
_PREDICATE, _HEAD, _SIZE, _WIDTH, _MOST = 4, 9, 7, 7, 14


class _Parts(NamedTuple):
    head: str
    size: str
    operands: tuple[str, ...]
    tokens: str


def short_instructions(texts: Sequence[str]) -> list[str]:
    """Return instructions as IGA writes them, shortened, in columns that fit all of them."""
    parts = list(map(_parts, texts))
    head = max([_HEAD, *(min(_MOST, len(each.head) + 1) for each in parts)])
    size = max([_SIZE, *(len(each.size) + 1 for each in parts if each.size)])
    rows = []
    for each in parts:
        operands = " ".join(operand.ljust(_WIDTH) for operand in each.operands)
        row = f"{f'{each.head} '.ljust(head)}{each.size.ljust(size)}{operands}".rstrip()
        rows.append(f"{row}  {each.tokens}" if each.tokens else row)
    return rows


@lru_cache(maxsize=1 << 15)
def _parts(text: str) -> _Parts:
    shape = _SHAPE.match(text[:2000])
    assert shape is not None  # Each part may be missing.
    predicate, opcode, channels, mask, operands, options = shape.groups(default="")
    tokens = [option for option in map(str.strip, options.split(",")) if _TOKEN.fullmatch(option)]
    return _Parts(
        (f"{predicate} " if predicate else "").ljust(_PREDICATE) + opcode,
        f"({channels}|{mask})" if channels else "",
        tuple(short_operand(operand, int(channels or 0)) for operand in _OPERAND.findall(operands)),
        f"{{{','.join(tokens)}}}" if tokens else "",
    )


def short_operand(operand: str, channels: int) -> str:
    """Return an operand with less ink; with one channel every region is the same, and none is written."""
    if _NULL.fullmatch(operand):
        return "null"
    operand = _SUBREGISTER.sub(lambda match: match[0] if _FLAG.search(match[1]) else match[1], operand)

    def region(match: re.Match[str]) -> str:
        if channels == 1 or _CONTIGUOUS.fullmatch(match[1]):
            return ""
        return "<0>" if _SCALAR.fullmatch(match[1]) else match[0]

    return _REGION.sub(region, operand, count=1)
