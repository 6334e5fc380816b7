"""The kinds of x86-64 instructions, told by their text in AT&T syntax (``vmovups %ymm0, (%rax)``), as far as it is sure.

An instruction with an operand in memory counts by what it does there, even if it also computes. Constants next to the code,
relative to the instruction pointer, are no such memory. The stack (``%rsp``, and ``%rbp`` where it is the frame's) counts as
scratch memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from kernlens.model.instruction_kind import (
    ATOMIC,
    CONTROL,
    FLOAT,
    GLOBAL,
    INTEGER,
    LOAD,
    MOVE,
    OTHER,
    SCRATCH,
    STORE,
    SYNCHRONISATION,
    Access,
    InstructionKind,
)

_KINDS = {name: InstructionKind(name) for name in (FLOAT, INTEGER, MOVE, CONTROL, SYNCHRONISATION, OTHER)}
#: Patterns of whole mnemonics, the first that fits counts.
_MNEMONICS = (
    (CONTROL, r"j\w+|call[lq]?|l?ret[lqw]?|loopn?e?|ud[012]\w?|hlt|int3?|syscall|xbegin|xend|iret\w?"),
    (SYNCHRONISATION, r"[lms]fence|pause|mwait|monitor"),
    (
        FLOAT,
        r"v?(?:u?comi|cmp\w*|h?(?:add|sub)|addsub|mul|div|sqrt|max|min|dp|rcp(?:14|28)?|rsqrt(?:14|28)?|round|rndscale|reduce|"
        r"scalef|getexp|getmant|range|fixupimm|fn?m(?:add|sub|addsub|subadd)(?:132|213|231)?)(?:ps|pd|ss|sd|ph|sh)",
    ),
    (
        MOVE,
        r"k?mov\w*|vk?mov\w*|vp?mov\w*|pmov\w*|v?cvt\w*|v?shuf\w*|v?pshuf\w*|v?perm\w*|vp(?:erm\w*|broadcast\w*)|vbroadcast\w*|"
        r"v?p?unpck\w*|v?p?insert\w*|v?p?extract\w*|vp?(?:insr|extr)\w*|p(?:insr|extr)\w|vpack\w*|v?pack[su]\w*|v?palignr|"
        r"valign[dq]|xchg\w?|bswap\w?|c(?:ltq|qto|ltd|wtl|wtd|btw)|vp?(?:compress|expand)\w*|vzero(?:upper|all)|kmov\w",
    ),
    (
        INTEGER,
        r"(?:add|adc|sub|sbb|imul|mul|idiv|div|and|or|xor|not|neg|inc|dec|sh[lr]d?|sa[lr]|ro[lr]|rc[lr]|cmp|test|lea)[bwlq]?|"
        r"(?:bt[crs]?|bs[fr]|lzcnt|tzcnt|popcnt|andn|bextr|bzhi|bls(?:i|r|msk)|mulx|rorx|s(?:ar|hl|hr)x|pdep|pext)[wlq]?|"
        r"adc?ox[lq]|ado[x][lq]|adcx[lq]|set\w{1,3}|cmov\w+|v?p(?:add|sub|mul|madd|and|or|xor|cmp|max|min|abs|sign|avg|s[lr]l|sra|"
        r"tern|lzcnt|opcnt|ro[lr]|test|blend|hadd|hsub|sad|conflict|multi)\w*|v?(?:and|andn|or|xor)p[sd]|v?blendv?p[sd]|"
        r"vblendmp[sd]|vp(?:blendm|ternlog|sh[lr]d)\w*|v?movmskp[sd]|v?pmovmskb|v?testp[sd]|k(?:and|andn|or|xor|xnor|not|add|test|"
        r"ortest|unpck|shift)\w*|vpopcnt\w",
    ),
)  # fmt: skip
_PATTERNS = tuple((kind, re.compile(pattern)) for kind, pattern in _MNEMONICS)
#: Those that name an address without reading what is there.
_NO_ACCESS = re.compile(r"lea[wlq]?|nop[wlq]?|prefetch\w*|clflush\w*|j\w+|endbr\w*")
#: Those that only read their last operand.
_ONLY_READING = re.compile(
    r"cmp[bwlq]?|test[bwlq]?|bt[wlq]?|v?u?comis[sd]|v?p?test\w*|(?:i?mul|i?div)[bwlq]|call[lq]?|push[wlq]?"
)
_MEMORY = re.compile(r"(?:%[c-gs]s:)?-?(?:0x[0-9a-f]+|\d+)?\((?:%(\w+)(?!\w))?[^)]*\)$")
_REGISTER = re.compile(r"%([xyz])mm\d+")
#: What makes %rbp the frame's; and what names it last without making it something else.
_FRAME, _KEEPING = "movq %rsp, %rbp", ("pushq", "popq", "cmp", "test")
_VECTOR_BYTES = {"x": 16, "y": 32, "z": 64}
#: Bytes of what a mnemonic names by its ending.
_SCALARS = ((re.compile(r"v?\w+(?:ss|movd)"), 4), (re.compile(r"v?\w+(?:sd|movq)|vmovl\w+|vmovh\w+"), 8))
_SUFFIXES = {"b": 1, "w": 2, "l": 4, "q": 8}
_WITH_SUFFIX = re.compile(
    r"(?:mov|add|sub|and|or|xor|cmp|test|inc|dec|neg|not|imul|push|pop|cmov\w{1,3}|xchg|xadd|cmpxchg)([bwlq])"
)
_REMEMBERED = 1 << 14


def x86_kinds(texts: Iterable[str]) -> list[InstructionKind]:
    """Return the kind of each instruction of some code, from its text."""
    kinds = []
    has_frame = False
    for text in texts:
        if text == _FRAME:
            has_frame = True
        elif text.endswith(" %rbp") and not text.startswith(_KEEPING):
            has_frame = False
        kinds.append(_kind(text.partition(" # ")[0], has_frame))
    return kinds


@lru_cache(_REMEMBERED)
def _kind(text: str, has_frame: bool) -> InstructionKind:
    words = text.split(" ", 1)
    is_locked = words[0] == "lock"
    if is_locked and len(words) > 1:
        words = words[1].split(" ", 1)
    mnemonic, operands = words[0], _operands(words[1]) if len(words) > 1 else []
    if mnemonic in ("pushq", "popq"):
        action = STORE if mnemonic == "pushq" else LOAD
        return InstructionKind(SCRATCH, Access(action, action, size=8))
    for place, operand in enumerate(operands):
        match = _MEMORY.match(operand)
        if match is None or _NO_ACCESS.fullmatch(mnemonic) or match[1] == "rip":
            continue
        is_last = place == len(operands) - 1 and not _ONLY_READING.fullmatch(mnemonic)
        action = ATOMIC if is_locked else STORE if is_last else LOAD
        space = SCRATCH if match[1] == "rsp" or (match[1] == "rbp" and has_frame) else GLOBAL
        return InstructionKind(space, Access(action, action, size=_size(mnemonic, operands)))
    return _KINDS[next((kind for kind, pattern in _PATTERNS if pattern.fullmatch(mnemonic)), OTHER)]


def _operands(text: str) -> list[str]:
    """Return the operands; commas within parentheses do not part them."""
    return re.split(r", (?![^(]*\))", text)


def _size(mnemonic: str, operands: list[str]) -> int | None:
    """Return the bytes that an operand in memory has, where mnemonic and registers tell; None otherwise."""
    for pattern, size in _SCALARS:
        if pattern.fullmatch(mnemonic):
            return size
    suffix = _WITH_SUFFIX.fullmatch(mnemonic)
    if suffix:
        return _SUFFIXES[suffix[1]]
    vectors = {match[1] for operand in operands if (match := _REGISTER.match(operand))}
    if re.fullmatch(
        r"v?mov[au]p[sd]|vmovdq[au]\w*|movdq[au]|vmovntp[sd]|v?(?:add|sub|mul|div|max|min|and|or|xor)p[sd]", mnemonic
    ):
        return _VECTOR_BYTES[vectors.pop()] if len(vectors) == 1 else None
    return None
