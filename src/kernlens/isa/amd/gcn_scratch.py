"""The memories that AMD's instructions access as far as their operands tell: the work-item's own, and the LDS by copies.

Source: LLVM's "User Guide for AMDGPU Backend", "Private Segment Buffer" and "Kernel Prolog": where the kernel's descriptor
enables it, s[0:3] describe the private segment when the kernel begins. The prolog may copy them, and adds the wavefront's
offset to the first two. Four registers describe the private segment for certain if all that is ever written to them is that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kernlens.dataclass import replace
from kernlens.isa.amd.gcn_kinds import kind_of
from kernlens.model.instruction_kind import GLOBAL, LOAD, SCRATCH, SLM, STORE, InstructionKind

_REGISTERS = re.compile(r"\bs(?:(\d+)\b|\[(\d+):(\d+)\])")
_DESCRIPTOR = re.compile(r"\bs\[(\d+):(\d+)\]")
_COPIES = ("s_mov_b32", "s_mov_b64")
#: The prolog's additions to the words 0 and 1 of the descriptor, whose first source is the word itself.
_ADDITIONS = {"s_add_u32": 0, "s_add_co_u32": 0, "s_addc_u32": 1, "s_add_co_ci_u32": 1}
#: What has no scalar register among its first operands that it writes.
_READERS = (
    "s_cmp",
    "s_bitcmp",
    "s_setreg",
    "s_setpc",
    "s_store",
    "s_buffer_store",
    "s_scratch_store",
    "s_waitcnt",
    "s_cbranch",
)
#: Vector instructions that write a scalar register behind the vector register.
_CARRIES = re.compile(r"v_(?:\w+_co_|addc_|subb|div_scale_|mad_[iu]64_)")
_MOVED = re.compile(r"_load_lds_| lds$")
Words = dict[int, int]


def kinds_of(
    opcodes: Sequence[str],
    texts: Sequence[str],
    lanes: int,
    *,
    has_private_descriptor: bool = False,
    entry: int = 0,
) -> list[InstructionKind]:
    """Return the kind of each instruction of a kernel of wavefronts of ``lanes`` work-items. ``has_private_descriptor``: s[0:3]
    describe the private segment when the kernel begins, whose first ``entry`` instructions run once, one after the other."""
    kinds = [kind_of(opcode, lanes) for opcode in opcodes]
    rows = [row for row, opcode in enumerate(opcodes) if opcode.startswith("buffer_") and kinds[row].access is not None]
    private = _private_descriptors(opcodes, texts, entry) if has_private_descriptor and rows else set()
    for row in rows:
        match = _DESCRIPTOR.search(texts[row])
        if match and int(match[1]) in private and int(match[2]) == int(match[1]) + 3:
            kinds[row] = InstructionKind(SCRATCH, kinds[row].access)
    for row, text in enumerate(texts):
        if "lds" in text and kinds[row].name in (GLOBAL, SCRATCH) and _MOVED.search(text):
            kinds[row] = _to_lds(kinds[row])
    return kinds


def _to_lds(kind: InstructionKind) -> InstructionKind:
    """Return the kind of a load whose values go to the LDS, not to registers."""
    if kind.access is None or kind.access.action != LOAD:
        return kind
    return InstructionKind(kind.name, kind.access, InstructionKind(SLM, replace(kind.access, action=STORE)))


def _private_descriptors(opcodes: Sequence[str], texts: Sequence[str], entry: int) -> set[int]:
    """Return the first register of each four that always describe the private segment. What is copied in the first ``entry``
    rows is not changed by what is written behind them."""
    words: Words = {0: 0, 1: 1, 2: 2, 3: 3}
    spoilt: set[int] = set()
    copies: list[tuple[int, int]] = []
    for row, (opcode, text) in enumerate(zip(opcodes, texts, strict=True)):
        if not opcode.startswith(("s_", "v_")) or opcode.startswith(_READERS):
            continue
        operands = text.partition(" ")[2].split(", ")
        written = list(_registers(operands[0]))
        if opcode.startswith("v_") and len(operands) > 1 and operands[0].startswith("v"):
            written = list(_registers(operands[1])) if _CARRIES.match(opcode) else []
        if not written:
            continue
        words_written = _copied(opcode, operands, words)
        if opcode in _COPIES and len(operands) > 1:
            pairs = list(zip(_registers(operands[1]), written, strict=False))
            spoilt.update(copy for source, copy in pairs if source in spoilt)
            copies += pairs if row >= entry else ()
        for register, word in zip(written, words_written or [None] * len(written), strict=False):
            if word is None or words.setdefault(register, word) != word:
                spoilt.add(register)
        if opcode.startswith("s_movreld"):  # It writes a register that another one names.
            return set()
    while more := {copy for source, copy in copies if source in spoilt} - spoilt:
        spoilt |= more
    return {
        first
        for first, word in words.items()
        if word == 0 and all(words.get(first + each) == each and first + each not in spoilt for each in range(4))
    }


def _copied(opcode: str, operands: Sequence[str], words: Words) -> list[int | None] | None:
    """Return the words of the descriptor that an instruction writes; None where it writes something else."""
    if opcode in _COPIES and len(operands) > 1:
        return [words.get(register) for register in _registers(operands[1])] or None
    if opcode in _ADDITIONS and len(operands) > 1:
        own = list(_registers(operands[1]))
        if len(own) == 1 and words.get(own[0]) == _ADDITIONS[opcode]:
            return [_ADDITIONS[opcode]]
    return None


def _registers(operand: str) -> Iterator[int]:
    for match in _REGISTERS.finditer(operand):
        if match[1]:
            yield int(match[1])
        elif int(match[3]) - int(match[2]) < 64:
            yield from range(int(match[2]), int(match[3]) + 1)
