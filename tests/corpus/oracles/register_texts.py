"""The statements of libiga64's text of an instruction on registers and control flow, read from the text alone.

Places are bits of one number: the bits of flag registers first, then, from ``GENERAL`` on, the bytes of general registers.
"""

from __future__ import annotations

import functools
import operator
import re
from dataclasses import dataclass, field, replace
from functools import lru_cache

Places = int
GENERAL = 2048

_TYPE_BITS = {
    "u1": 1, "u2": 2, "s2": 2, "u4": 4, "s4": 4, "ub": 8, "b": 8, "bf8": 8, "hf8": 8, "uw": 16, "w": 16, "hf": 16, "bf": 16,
    "ud": 32, "d": 32, "f": 32, "tf32": 32, "uq": 64, "q": 64, "df": 64, "v": 32, "uv": 32, "vf": 32,
}  # fmt: skip
_HEAD = re.compile(r"(?:\((W)?&?(~)?(f\d+\.\d+)?(?:\.(\w+))?\))?\s*([a-z]\S*)\s*(?:\((\d+)\|M(\d+)\))?\s*(.*)")
_CONDITION = re.compile(r"\((eq|ne|gt|ge|lt|le|ov|un|ez|nz|eo)\)(f\d+\.\d+)\s*")
_OPERAND = re.compile(r"^[-~]?(?:\(abs\))?r(\d+)(?:\.(\d+|mme\d|nomme))?(?:<(\d+)(?:;(?:(\d+),)?(\d+))?>)?(?::(\w+))?$")
_FLAG_OPERAND = re.compile(r"^[-~]?f(\d+)\.(\d+)(?:<[\d;,]*>)?:(\w+)$")
_SEND_OPERAND = re.compile(r"^(?:r(\d+)|null|r\[(s0\.\d+)\])(?::(?:\d+|[a-z]\w*|a0\.\d+#?\d*))?$")
_LENGTHS = re.compile(r"wr:(\d+)h?(?:\+(\d+))?, rd:(\d+)")
_LABEL = re.compile(r"\bL(_N)?(\d+)\b")


@dataclass(frozen=True, slots=True)
class SaidOfRegisters:
    """The registers that a text names. ``is_send``: of messages the bytes of whole registers are said. ``is_open``: the
    text names registers that only the run time knows. ``gathered``: so many registers, which a scalar register names."""

    mnemonic: str
    reads: Places = 0
    writes: Places = 0
    is_predicated: bool = False
    is_send: bool = False
    is_open: bool = False
    is_end: bool = False
    gathered: int | None = None
    labels: tuple[int, ...] = field(default=())

    def with_places(self, reads: Places, writes: Places) -> SaidOfRegisters:
        """Return the same instruction with other places."""
        return replace(self, reads=reads, writes=writes)


def said_of_registers(text: str, register_bytes: int) -> SaidOfRegisters:
    """Read one text of ``iga64 -d``."""
    code, _, remark = text.partition("//")
    match = _HEAD.match(code.strip())
    assert match, text
    _, _, predicate, group, mnemonic, size, offset, rest = match.groups()
    lanes, first = int(size or 1), int(offset or 0)
    rest, _, options = rest.partition("{")
    name = mnemonic.split(".")[0]
    reads = _flags(predicate, first, lanes, group) if predicate else 0
    writes = 0
    condition = _CONDITION.search(rest)
    if condition:
        rest = rest[: condition.start()] + rest[condition.end() :]
        if name not in ("sel", "csel"):
            writes |= _flags(condition[2], first, lanes, None)
    labels = tuple(int(number) for sign, number in _LABEL.findall(rest) if not sign)
    tokens = rest.replace("(sat)", "").split()
    is_open = "r[" in rest
    if name.startswith("send"):
        written, read = _message(tokens, remark, register_bytes)
        is_open |= _LENGTHS.search(remark) is None
    elif name.startswith("dpas"):
        written, read = _systolic(mnemonic, tokens, lanes, register_bytes)
    elif name in ("nop", "sync", "illegal"):
        written = read = 0
    else:
        written, read = _plain(name, mnemonic, tokens, lanes, register_bytes)
    return SaidOfRegisters(
        name,
        reads | read,
        writes | written,
        predicate is not None,
        name.startswith("send"),
        is_open,
        "EOT" in options,
        _gathered(remark) if name.startswith("send") and "r[s0" in rest else None,
        labels,
    )


def _gathered(remark: str) -> int | None:
    lengths = _LENGTHS.search(remark)
    return int(lengths[1]) + int(lengths[2] or 0) if lengths else None


def _flags(flag: str, first: int, lanes: int, group: str | None) -> Places:
    register, subregister = flag[1:].split(".")
    width = int(match[1]) if group and (match := re.match(r"(?:any|all)(\d+)h", group)) else 0
    start, count = first, lanes
    if width:
        start, count = first - first % width, -(-(first % width + lanes) // width) * width
    start = (int(subregister) * 16 + start) % 32
    return ((1 << min(count, 32 - start)) - 1) << start << 32 * int(register)


def _plain(name: str, mnemonic: str, tokens: list[str], lanes: int, register_bytes: int) -> tuple[Places, Places]:
    """Return what is written, and what is read."""
    has_destination = name not in ("if", "while", "brd", "brc", "jmpi", "goto", "join", "else", "endif", "ret", "wait")
    operands = [token for token in tokens if not _LABEL.fullmatch(token)]
    sources = operands[1:] if has_destination else operands
    written = read = 0
    for position, token in enumerate(operands):
        places = _flag_operand(token) | _operand(name, token, lanes, register_bytes, len(sources))
        if has_destination and position == 0:
            written |= places | (places << register_bytes if mnemonic == "math.idiv" else 0)
        else:
            read |= places
    return written, read


def _flag_operand(token: str) -> Places:
    match = _FLAG_OPERAND.match(token)
    if match is None:
        return 0
    bits = _TYPE_BITS[match[3]]
    return ((1 << bits) - 1) << 32 * int(match[1]) + bits * int(match[2])


def _operand(name: str, token: str, lanes: int, register_bytes: int, sources: int) -> Places:
    match = _OPERAND.match(token)
    if match is None:
        return 0
    number, subregister, vertical, width, horizontal, kind = match.groups()
    size = max(1, _TYPE_BITS.get(kind or "ud", 32) // 8)
    at = GENERAL + int(number) * register_bytes
    if name in ("call", "calla", "ret"):
        return 0xFF << at + 4 * int(subregister or 0)
    byte = int(subregister or 0) * size if (subregister or "0").isdigit() else 0
    return _elements(vertical, width, horizontal, lanes, size) << at + byte


@lru_cache(4096)
def _elements(vertical: str | None, width: str | None, horizontal: str | None, lanes: int, size: int) -> int:
    """Return the bytes of the elements, from the first on: ``<V;W,H>``, ``<V;H>`` of ternary instructions, ``<H>``."""
    starts = [lane if vertical is None else lane * int(vertical) for lane in range(lanes)]
    if vertical is not None and horizontal is not None:
        v, h = int(vertical), int(horizontal)
        w = int(width) if width is not None else 1 if v == 0 else v if h == 0 else max(1, v // h)
        starts = [lane // w * v + lane % w * h for lane in range(lanes)]
    return functools.reduce(operator.or_, (((1 << size) - 1) << start * size for start in starts))


def _message(tokens: list[str], remark: str, register_bytes: int) -> tuple[Places, Places]:
    """Return whole registers; where a register holds the lengths, the first one of each operand that has any."""
    lengths = _LENGTHS.search(remark)
    parts = [0, 0, 0]
    counts = (int(lengths[3]), int(lengths[1]), int(lengths[2] or 0)) if lengths else (1, 1, 1)
    for position, token in enumerate(tokens[:3]):
        match = _SEND_OPERAND.match(token)
        if match is None:
            break
        if match[1] is not None:
            parts[position] = ((1 << counts[position] * register_bytes) - 1) << GENERAL + int(match[1]) * register_bytes
    return parts[0], parts[1] | parts[2]


def _systolic(mnemonic: str, tokens: list[str], lanes: int, register_bytes: int) -> tuple[Places, Places]:
    depth, repeat = map(int, mnemonic.split(".")[1].split("x"))
    # Of dpasw the other thread has half of what is read for each repetition.
    own = (repeat + 1) // 2 if mnemonic.startswith("dpasw") else repeat
    parts = [0, 0, 0, 0]
    for position, token in enumerate(tokens[:4]):
        match = re.match(r"r(\d+)(?:\.(\d+))?(?:<\d>)?:(\w+)$", token)
        if match is not None:
            bits = _TYPE_BITS[match[3]]
            size = (lanes * repeat * bits // 8, lanes * repeat * bits // 8, lanes * depth * 4, depth * own * 4)[
                position
            ]
            start = int(match[1]) * register_bytes + int(match[2] or 0) * bits // 8
            parts[position] = ((1 << size) - 1) << GENERAL + start
    return parts[0], parts[1] | parts[2] | parts[3]
