"""What libiga64's text of an instruction says of registers and of control flow, read from the text alone.

Registers are sets of pairs: a name (``r12``, ``f0``) and the byte in it, or of a flag register the bit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

Places = frozenset[tuple[str, int]]

_TYPE_BITS = {
    "u1": 1, "u2": 2, "s2": 2, "u4": 4, "s4": 4, "ub": 8, "b": 8, "bf8": 8, "hf8": 8, "uw": 16, "w": 16, "hf": 16, "bf": 16,
    "ud": 32, "d": 32, "f": 32, "tf32": 32, "uq": 64, "q": 64, "df": 64, "v": 32, "uv": 32, "vf": 32,
}  # fmt: skip
_HEAD = re.compile(r"(?:\((W)?&?(~)?(f\d+\.\d+)?(?:\.(\w+))?\))?\s*([a-z]\S*)\s*(?:\((\d+)\|M(\d+)\))?\s*(.*)")
_CONDITION = re.compile(r"\((eq|ne|gt|ge|lt|le|ov|un|ez|nz)\)(f\d+\.\d+)\s*")
_OPERAND = re.compile(r"^[-~]?(?:\(abs\))?r(\d+)(?:\.(\d+|mme\d|nomme))?(?:<(\d+)(?:;(?:(\d+),)?(\d+))?>)?(?::(\w+))?$")
_FLAG_OPERAND = re.compile(r"^[-~]?(f\d+)\.(\d+)(?:<[\d;,]*>)?:(\w+)$")
_SEND_OPERAND = re.compile(r"^(?:r(\d+)|null|r\[(s0\.\d+)\])(?::(?:\d+|[a-z]\w*|a0\.\d+#?\d*))?$")
_LENGTHS = re.compile(r"wr:(\d+)h?(?:\+(\d+))?, rd:(\d+)")
_LABEL = re.compile(r"\bL(_N)?(\d+)\b")


@dataclass(frozen=True, slots=True)
class SaidOfRegisters:
    """``is_send``: of messages the bytes of whole registers are said. ``is_open``: the text names registers that only the
    run time knows. ``gathered``: so many registers, which a scalar register names."""

    mnemonic: str
    reads: Places = frozenset()
    writes: Places = frozenset()
    is_predicated: bool = False
    is_send: bool = False
    is_open: bool = False
    is_end: bool = False
    gathered: int | None = None
    labels: tuple[int, ...] = field(default=())

    def with_places(self, reads: Places, writes: Places) -> SaidOfRegisters:
        """The same instruction with other places."""
        return replace(self, reads=reads, writes=writes)


def said_of_registers(text: str, register_bytes: int) -> SaidOfRegisters:
    """Reads one text of ``iga64 -d``."""
    code, _, remark = text.partition("//")
    match = _HEAD.match(code.strip())
    assert match, text
    _, _, predicate, group, mnemonic, size, offset, rest = match.groups()
    lanes, first = int(size or 1), int(offset or 0)
    rest, _, options = rest.partition("{")
    name = mnemonic.split(".")[0]
    reads: set[tuple[str, int]] = set()
    writes: set[tuple[str, int]] = set()
    if predicate:
        reads |= set(_flags(predicate, first, lanes, group))
    condition = _CONDITION.search(rest)
    if condition:
        rest = rest[: condition.start()] + rest[condition.end() :]
        if name not in ("sel", "csel"):
            writes |= set(_flags(condition[2], first, lanes, None))
    labels = tuple(int(number) for sign, number in _LABEL.findall(rest) if not sign)
    tokens = rest.replace("(sat)", "").split()
    is_open = "r[" in rest
    if name.startswith("send"):
        is_open |= _message(tokens, remark, register_bytes, reads, writes)
    elif name.startswith("dpas"):
        _systolic(mnemonic, tokens, lanes, register_bytes, reads, writes)
    elif name not in ("nop", "sync", "illegal"):
        _plain(name, mnemonic, tokens, lanes, register_bytes, reads, writes)
    return SaidOfRegisters(
        name,
        frozenset(reads),
        frozenset(writes),
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


def _flags(flag: str, first: int, lanes: int, group: str | None) -> Iterator[tuple[str, int]]:
    register, subregister = flag.split(".")
    width = int(match[1]) if group and (match := re.match(r"(?:any|all)(\d+)h", group)) else 0
    start, count = first, lanes
    if width:
        start, count = first - first % width, -(-(first % width + lanes) // width) * width
    for channel in range(start, start + count):
        bit = int(subregister) * 16 + channel
        if bit < 32 or int(subregister) * 16 + start >= 32:
            yield register, bit % 32


def _plain(
    name: str,
    mnemonic: str,
    tokens: list[str],
    lanes: int,
    register_bytes: int,
    reads: set[tuple[str, int]],
    writes: set[tuple[str, int]],
) -> None:
    has_destination = name not in ("if", "while", "brd", "brc", "jmpi", "goto", "join", "else", "endif", "ret", "wait")
    operands = [token for token in tokens if not _LABEL.fullmatch(token)]
    sources = operands[1:] if has_destination else operands
    for position, token in enumerate(operands):
        is_written = has_destination and position == 0
        chosen = writes if is_written else reads
        if flag := _FLAG_OPERAND.match(token):
            first = int(flag[2]) * _TYPE_BITS[flag[3]]
            chosen.update((flag[1], bit) for bit in range(first, first + _TYPE_BITS[flag[3]]))
        match = _OPERAND.match(token)
        if match is None:
            continue
        number, subregister, *region, kind = match.groups()
        bits = _TYPE_BITS.get(kind or "ud", 32)
        byte = int(subregister or 0) * bits // 8 if (subregister or "0").isdigit() else 0
        vertical, width, horizontal = region
        if name in ("call", "calla", "ret"):
            offsets = list(range(8))
            byte = int(subregister or 0) * 4
        else:
            starts = _starts(vertical, width, horizontal, lanes, is_written, len(sources))
            offsets = [start * bits // 8 + more for start in starts for more in range(max(1, bits // 8))]
        for one in offsets:
            place = int(number) * register_bytes + byte + one
            chosen.add((f"r{place // register_bytes}", place % register_bytes))
            if is_written and mnemonic == "math.idiv":
                chosen.add((f"r{place // register_bytes + 1}", place % register_bytes))


def _starts(
    vertical: str | None, width: str | None, horizontal: str | None, lanes: int, is_written: bool, sources: int
) -> list[int]:
    """The elements' numbers, from the first on: ``<V;W,H>``, ``<V;H>`` of ternary instructions, ``<H>``."""
    if vertical is None:
        return list(range(lanes))
    if horizontal is None:
        return [lane * int(vertical) for lane in range(lanes)]
    v, h = int(vertical), int(horizontal)
    w = int(width) if width is not None else 1 if v == 0 else v if h == 0 else max(1, v // h)
    return [lane // w * v + lane % w * h for lane in range(lanes)]


def _message(
    tokens: list[str], remark: str, register_bytes: int, reads: set[tuple[str, int]], writes: set[tuple[str, int]]
) -> bool:
    """Whole registers; returns whether the text leaves a length open."""
    lengths = _LENGTHS.search(remark)
    if lengths is None:
        return True
    counts = int(lengths[3]), int(lengths[1]), int(lengths[2] or 0)
    for position, token in enumerate(tokens[:3]):
        match = _SEND_OPERAND.match(token)
        if match is None:
            break
        if match[1] is None:
            continue
        chosen = reads if position else writes
        for register in range(int(match[1]), int(match[1]) + counts[position]):
            chosen.update((f"r{register}", byte) for byte in range(register_bytes))
    return False


def _systolic(
    mnemonic: str,
    tokens: list[str],
    lanes: int,
    register_bytes: int,
    reads: set[tuple[str, int]],
    writes: set[tuple[str, int]],
) -> None:
    depth, repeat = map(int, mnemonic.split(".")[1].split("x"))
    counts = [lanes * repeat, lanes * repeat, 0, 0]
    for position, token in enumerate(tokens[:4]):
        match = re.match(r"r(\d+)(?:\.(\d+))?(?:<\d>)?:(\w+)$", token)
        if match is None:
            continue
        bits = _TYPE_BITS[match[3]]
        size = counts[position] * bits // 8
        if position == 2:
            size = lanes * depth * 4
        elif position == 3:
            size = depth * repeat * 4
        start = int(match[1]) * register_bytes + int(match[2] or 0) * bits // 8
        chosen = reads if position else writes
        chosen.update((f"r{place // register_bytes}", place % register_bytes) for place in range(start, start + size))
