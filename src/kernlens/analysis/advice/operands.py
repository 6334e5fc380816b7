"""The operands of a division in OpenCL C: what stands left and right of ``/``, ``%``, ``/=`` or ``%=``.

Such operators group from the left: the left operand of the second ``/`` in ``a / b / c`` is ``a / b``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_TOKEN = re.compile(
    r"[A-Za-z_]\w*|(?:\d|\.\d)(?:[eEpP][-+]|[\w.])*|[-+*/%&|^=<>!]=|<<|>>|&&|\|\||\+\+|--|->|\S", re.ASCII
)
_OPERAND = re.compile(r"[\w.]*\w", re.ASCII)
_OPEN, _CLOSE = "([", ")]"
_PRODUCTS = ("*", "/", "%")
_STEPS = (2 * "+", 2 * "-")
_UNARY = ("-", "+", "*", "&", "~", "!")
#: Words behind which an expression begins, and those whose brackets are no part of one.
_BEFORE_EXPRESSIONS = frozenset(("return", "case", "else", "do"))
_HEADS = frozenset(("if", "while", "for", "switch"))


def operands(before: str, operator: str, behind: str) -> tuple[str, str]:
    """Return the texts of both operands of the operator between two pieces of a statement without comments. A text is empty
    where it is not certain."""
    before = re.split(r"[;{}]", before)[-1]
    left, right = [list(_TOKEN.finditer(text)) for text in (before, behind)]
    begin = _begin([token[0] for token in left], operator in ("/", "%"))
    end = _end([token[0] for token in right], operator in ("/", "%"))
    return (
        " ".join(before[left[begin].start() :].split()) if begin is not None else "",
        " ".join(behind[: right[end - 1].end()].split()) if end is not None else "",
    )


def _begin(words: Sequence[str], groups: bool) -> int | None:
    """Return the index of the first word of the operand that ends with the last; None where it is not certain."""
    begin = _unary_begin(words, len(words))
    while groups and begin is not None and begin > 1 and words[begin - 1] in _PRODUCTS:
        begin = _unary_begin(words, begin - 1)
    if begin is None or (begin and (_OPERAND.fullmatch(words[begin - 1]) or words[begin - 1] == "]")):
        return begin if begin and words[begin - 1] in _BEFORE_EXPRESSIONS else None
    return begin


def _unary_begin(words: Sequence[str], end: int) -> int | None:
    begin = _postfix_begin(words, end)
    while begin:
        word = words[begin - 1]
        if word == ")":  # A cast, or the head of a statement.
            start = _opening(words, begin - 1)
            head = words[start - 1] if start else ""
            if start is None or (head not in _HEADS and head not in _BEFORE_EXPRESSIONS and _OPERAND.fullmatch(head)):
                return None
            if head in _HEADS:
                return begin
            begin = start
        elif word in _STEPS:
            return None
        elif word in _UNARY and not _ends_operand(words, begin - 1):
            begin -= 1
        else:
            return begin
    return begin


def _ends_operand(words: Sequence[str], end: int) -> bool:
    """Return whether the words before ``end`` end with an operand: then an operator behind them has two."""
    last = words[end - 1] if end else ""
    return last in (")", "]") or bool(_OPERAND.fullmatch(last) and last not in _BEFORE_EXPRESSIONS)


def _postfix_begin(words: Sequence[str], end: int) -> int | None:
    begin = end
    while begin and words[begin - 1] in _CLOSE:
        start = _opening(words, begin - 1)
        if start is None:
            return None
        begin = start
        if words[begin] == "(" and not (begin and _OPERAND.fullmatch(words[begin - 1])):
            return begin
        if begin and words[begin - 1] in (*_HEADS, *_BEFORE_EXPRESSIONS):
            return begin
    if not begin or not _OPERAND.fullmatch(words[begin - 1]):
        return None
    begin -= 1
    return _postfix_begin(words, begin - 1) if begin > 1 and words[begin - 1] in (".", "->") else begin


def _opening(words: Sequence[str], close: int) -> int | None:
    depth = 0
    for index in range(close, -1, -1):
        depth += (words[index] in _CLOSE) - (words[index] in _OPEN)
        if depth == 0:
            return index
    return None


def _end(words: Sequence[str], is_unary: bool) -> int | None:
    """Return the index behind the last word of the operand that begins with the first; None where it is not certain."""
    depth = 0
    for index, word in enumerate(words):
        depth += (word in _OPEN) - (word in _CLOSE)
        following = words[index + 1] if index + 1 < len(words) else ""
        if following in _STEPS:
            return None
        if depth < 0 or (depth == 0 and word in ";,"):
            return index or None
        if depth or not is_unary or not (word in _CLOSE or _OPERAND.fullmatch(word)):
            continue
        if following not in (*_OPEN, ".", "->") and not (word == ")" and _OPERAND.fullmatch(following)):
            return index + 1
    return None
