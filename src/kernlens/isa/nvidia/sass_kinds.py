"""The kinds of SASS instructions, by their mnemonics, and what those that access memory read or write.

Source: NVIDIA's "CUDA Binary Utilities", chapter "Instruction Set Reference", which has a line for each mnemonic. What it
leaves open is ``other``: loads of constants, and generic addresses, which may lie in any memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from kernlens.model.instruction_kind import (
    ATOMIC,
    CONTROL,
    FLOAT,
    GLOBAL,
    IMAGE,
    INTEGER,
    LOAD,
    MATH,
    MOVE,
    OTHER,
    SCRATCH,
    SLM,
    STORE,
    SYNCHRONISATION,
    SYSTOLIC,
    Access,
    InstructionKind,
)

#: Threads of a warp, each of which accesses memory for itself.
_LANES = 32
_WORDS_OF_KIND = {
    FLOAT: "FADD FADD2 FADD32I FMUL FMUL2 FMUL32I FFMA FFMA2 FFMA32I FCHK FMNMX FMNMX3 FSEL FSET FSETP FSWZADD"
    " DADD DMUL DFMA DMNMX DSETP HADD2 HADD2_32I HMUL2 HMUL2_32I HFMA2 HFMA2_32I HMNMX2 HSET2 HSETP2",
    INTEGER: "IADD IADD3 IADD32I IMAD IMAD32I IMUL IMUL32I IABS IMNMX IDP IDP4A ISCADD ISCADD32I ISETP LEA LOP LOP3 LOP32I"
    " PLOP3 SHF SHL SHR BMSK BREV FLO POPC SGXT VABSDIFF VABSDIFF4 VIADD VIADDMNMX VIMNMX VIMNMX3"
    " UIADD3 UIMAD UISETP ULEA ULOP ULOP3 ULOP32I UPLOP3 USHF USHL USHR UBMSK UBREV UFLO UPOPC USGXT UIMNMX UIABS",
    MATH: "MUFU",
    SYSTOLIC: "HMMA IMMA DMMA BMMA QMMA OMMA HGMMA IGMMA BGMMA QGMMA",
    MOVE: "MOV MOV32I UMOV PRMT UPRMT SEL USEL SHFL MOVM S2R S2UR CS2R CS2UR R2UR R2P P2R UP2UR UR2UP"
    " F2F F2I F2FP F2IP I2F I2I I2FP I2IP FRND",
    CONTROL: "BRA BRX BRXU JMP JMX JMXU CALL RET EXIT BSSY BSYNC BREAK BMOV RPCMOV KILL BPT WARPSYNC YIELD NANOSLEEP",
    SYNCHRONISATION: "BAR DEPBAR LDGDEPBAR MEMBAR ERRBAR FENCE SYNCS",
}
_KIND_OF = {word: InstructionKind(name) for name, words in _WORDS_OF_KIND.items() for word in words.split()}
_OTHER = InstructionKind(OTHER)
#: What accesses memory: its space and action.
_MEMORY = {
    "LDG": (GLOBAL, LOAD), "STG": (GLOBAL, STORE), "ATOMG": (GLOBAL, ATOMIC), "RED": (GLOBAL, ATOMIC),
    "REDG": (GLOBAL, ATOMIC), "LDS": (SLM, LOAD), "STS": (SLM, STORE), "ATOMS": (SLM, ATOMIC),
    "LDL": (SCRATCH, LOAD), "STL": (SCRATCH, STORE),
}  # fmt: skip
#: The texture and surface units; how many bytes they access depends on the format of the image.
_IMAGES = dict.fromkeys(("TEX", "TLD", "TLD4", "TXD", "SULD"), LOAD) | {
    "SUST": STORE,
    "SUATOM": ATOMIC,
    "SURED": ATOMIC,
}
_SIZES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "32": 4, "64": 8, "128": 16, "256": 32}
_MNEMONIC = re.compile(r"(?:@!?U?P[0-7T]\s+)?([A-Z0-9_.]+)", re.IGNORECASE)


def kinds_of(texts: Sequence[str]) -> list[InstructionKind]:
    """Return the kind of each instruction."""
    return [_kind(match[1]) if (match := _MNEMONIC.match(text)) else _OTHER for text in texts]


@lru_cache(4096)
def _kind(mnemonic: str) -> InstructionKind:
    opcode, *modifiers = mnemonic.split(".")
    if opcode in _MEMORY:
        space, action = _MEMORY[opcode]
        return InstructionKind(space, _access(mnemonic, action, modifiers))
    if opcode in _IMAGES:
        return InstructionKind(
            IMAGE, Access(mnemonic.lower(), _IMAGES[opcode], lanes=_LANES, surface="image", size=None)
        )
    return _KIND_OF.get(opcode, _OTHER)


def _access(mnemonic: str, action: str, modifiers: Sequence[str]) -> Access:
    """Return an access by its modifiers: without one, each thread accesses 4 bytes. Atomics say their type otherwise
    (``F16x2.RN``), and are not sized where they do."""
    sizes = [_SIZES[word] for word in modifiers if word in _SIZES]
    is_plain = action != ATOMIC or not any(word.startswith(("F", "BF")) for word in modifiers)
    size = (sizes[0] if sizes else 4) if is_plain and len(sizes) <= 1 else None
    return Access(
        operation=mnemonic.lower(),
        action=action,
        element_bytes=size or 0,
        lanes=_LANES,
        size=None if size is None else size * _LANES,
    )
