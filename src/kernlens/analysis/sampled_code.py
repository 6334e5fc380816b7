"""The code that a profiler's samples are of, by the instructions that it prints: samples land on no other."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernlens.model.instruction import Instructions
from kernlens.model.samples import SampledKernel

#: Instructions before the first that a profiler prints, at most: those without a source line may be left out.
_MOST_BEFORE = 64
#: What disassemblers print otherwise: ends of instructions, the hint that an operand is used again, and where a branch goes.
_HINT = re.compile(r"\.reuse\b|;")
_TARGET = re.compile(r"`?\([^()]*\)|\b0x[0-9a-f]{9,16}\b", re.IGNORECASE)
#: An operand of an object's code that depends on where it is loaded: ``32@lo((scale + .L_x_1@srel))``.
_RELOCATED = re.compile(r"\b\d+@(?:lo|hi)\(\([^()]*\)\)")
_OPCODE = re.compile(r"(?:@!?U?P\w+ )?\S+ ?")
_BRANCHES = re.compile(r"(?:@!?U?P\w+ )?(?:BRA|CALL|BSSY|JMP|BRX|JMX|BREAK|RET|WARPSYNC|LEPC)\b")


def code_start(sampled: SampledKernel, instructions: Instructions) -> int | None:
    """Return the offset in this code of the first instruction that a profiler prints, None if it prints other code; 0 if it
    prints none."""
    if not sampled.texts:
        return 0
    texts = [plain(text) for text in instructions.texts]
    offsets = {offset: row for row, offset in enumerate(instructions.offsets)}
    printed = {offset: plain(text) for offset, text in sampled.texts.items()}
    # Where the first instructions have no line, and only then, it may begin later.
    starts = [
        start
        for start in list(instructions.offsets)[:_MOST_BEFORE]
        if _differing(printed, texts, offsets, start) is None
    ]
    return starts[0] if len(starts) == 1 or starts[:1] == [0] else None


def difference_of(sampled: SampledKernel, instructions: Instructions) -> str:
    """Return in words how printed code differs from this code."""
    texts = [plain(text) for text in instructions.texts]
    offsets = {offset: row for row, offset in enumerate(instructions.offsets)}
    printed = {offset: plain(text) for offset, text in sampled.texts.items()}
    differing = _differing(printed, texts, offsets, 0)
    if differing is None:
        return "where its first instruction stands is not told"
    row = offsets.get(differing)
    here = "no instruction" if row is None else repr(texts[row])
    return f"at {differing:#x} it has {printed.get(differing, 'no instruction')!r}, and the input {here}"


def plain(text: str) -> str:
    """Return an instruction's text without what disassemblers print differently: the order of operands too."""
    words = " ".join(_HINT.sub("", text).split())
    if _BRANCHES.match(words):
        words = _TARGET.sub("*", words)
    opcode = _OPCODE.match(words)
    if opcode is None:
        return words
    return f"{opcode[0].strip()} {', '.join(sorted(words[opcode.end() :].split(', ')))}".strip()


def _differing(printed: Mapping[int, str], texts: list[str], offsets: Mapping[int, int], start: int) -> int | None:
    """Return the first offset at which printed code that begins at ``start`` is not this one; None if there is none."""
    for offset, text in printed.items():
        row = offsets.get(start + offset)
        if row is None or (texts[row] != text and not _is_placed(texts[row], text)):
            return offset
    return None


def _is_placed(here: str, loaded: str) -> bool:
    """Return whether loaded code is this of an object, with a number where that has a relocation."""
    parts = _RELOCATED.split(here)
    return (
        len(parts) == 2 and re.fullmatch(rf"{re.escape(parts[0])}0x[0-9a-f]+{re.escape(parts[1])}", loaded) is not None
    )
