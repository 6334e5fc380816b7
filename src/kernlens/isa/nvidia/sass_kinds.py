"""The kinds of SASS instructions, by their mnemonics, and what those that access memory read or write.

Source: NVIDIA's "CUDA Binary Utilities", chapter "Instruction Set Reference", which has a line for each mnemonic. Loads of
constants and tensor memory are ``other``: they are none of the memories that are counted. An instruction with a generic
address, which may lie in any memory, or with a descriptor in registers has an access of unknown size, as has one whose
mnemonic begins as those of memory do and is not known here. What is predicated off (``@!PT``) never runs: it does nothing.
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
    PREFETCH,
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
    SYSTOLIC: "HMMA IMMA DMMA BMMA QMMA OMMA",
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
    "LDL": (SCRATCH, LOAD), "STL": (SCRATCH, STORE), "STAS": (SLM, STORE), "REDAS": (SLM, ATOMIC),
}  # fmt: skip
#: What reads or writes memory through a generic address, a descriptor, or for a size that registers hold: nobody knows the
#: bytes. Those that multiply matrices read their operands from shared memory.
_UNTOLD = {
    SYSTOLIC: "HGMMA IGMMA BGMMA QGMMA UTCHMMA UTCIMMA UTCOMMA UTCQMMA",
    OTHER: "LD ST ATOM LDGMC UBLKCP UBLKRED UTMALDG UTMASTG UTMAREDG UTCCP UTCATOMSWS",
}
_UNTOLD_OF = {
    word: InstructionKind(name, Access(word.lower(), lanes=_LANES, size=None))
    for name, words in _UNTOLD.items()
    for word in words.split()
}
#: What brings global memory into a cache: in bulk, and of the instructions that control caches those with one of these words.
_PREFETCHES, _CACHE_CONTROLS, _PREFETCHED = ("UBLKPF", "UTMAPF"), ("CCTL",), re.compile(r"PF\d")
#: A load to the register that holds nothing.
_TO_NOTHING = re.compile(r"(?:@!?U?P\d\s+)?LDG\S*\s+(?:U?P[0-7T],\s*)?RZ,")
#: Beginnings of other mnemonics that access memory.
_UNTOLD_BEGINNINGS = ("LD", "ST", "ATOM", "RED", "UBLK", "UTMA", "USTG", "URED", "UMEM", "SU")
#: What begins like these, but accesses none of the memories that are counted: constants, tensor memory, counters, registers,
#: and what only orders accesses.
_NO_MEMORY = frozenset(
    ("LDC", "LDCU", "LDTRAM", "LDT", "LDTM", "STT", "STTM", "LDGDEPBAR", "REDUX", "SUQUERY", "UTMACCTL", "UTMACMDFLUSH")
)
#: The texture and surface units; how many bytes they access depends on the format of the image.
_IMAGES = dict.fromkeys(("TEX", "TLD", "TLD4", "TXD", "SULD"), LOAD) | {
    "SUST": STORE,
    "SUATOM": ATOMIC,
    "SURED": ATOMIC,
}
_SIZES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "32": 4, "64": 8, "128": 16, "256": 32}
#: Modifiers that may be a size: not cache hints (``LTC128B``, ``ENL2``).
_LIKE_SIZES = re.compile(r"[A-Z]{0,3}\d+(?:X\d+)?$")
_HINT = re.compile(r"E?[A-Z]*L2$")
_MNEMONIC = re.compile(r"(?:@!?U?P[0-7T]\s+)?([A-Z0-9_.]+)", re.IGNORECASE)
_NEVER = re.compile(r"@!U?PT\s")
#: Matrices of 8 rows of 16 bytes each, which a warp moves together: one, two or four.
_MATRICES = frozenset(("LDSM", "STSM"))
_MATRIX = 128


def kinds_of(texts: Sequence[str]) -> list[InstructionKind]:
    """Return the kind of each instruction."""
    return [
        _kind(match[1], bool(_TO_NOTHING.match(text)))
        if (match := _MNEMONIC.match(text)) and not _NEVER.match(text)
        else _OTHER
        for text in texts
    ]


@lru_cache(4096)
def _kind(mnemonic: str, is_to_nothing: bool = False) -> InstructionKind:
    opcode, *modifiers = mnemonic.split(".")
    is_prefetch = opcode in _CACHE_CONTROLS and any(map(_PREFETCHED.fullmatch, modifiers))
    if is_to_nothing or is_prefetch or opcode in _PREFETCHES:
        return InstructionKind(GLOBAL, Access(mnemonic.lower(), PREFETCH, lanes=_LANES, size=None))
    if opcode in _MEMORY:
        space, action = _MEMORY[opcode]
        return InstructionKind(space, _access(mnemonic, action, modifiers))
    if opcode == "LDGSTS":  # From global to shared memory, past the registers.
        return InstructionKind(
            GLOBAL, _access(mnemonic, LOAD, modifiers), InstructionKind(SLM, _access(mnemonic, STORE, modifiers))
        )
    if opcode in _MATRICES:
        return InstructionKind(SLM, _matrices(mnemonic, LOAD if opcode == "LDSM" else STORE, modifiers))
    if opcode in _IMAGES:
        return InstructionKind(
            IMAGE, Access(mnemonic.lower(), _IMAGES[opcode], lanes=_LANES, surface="image", size=None)
        )
    if known := _KIND_OF.get(opcode) or _UNTOLD_OF.get(opcode):
        return known
    if opcode.startswith(_UNTOLD_BEGINNINGS) and opcode not in _NO_MEMORY:
        return InstructionKind(OTHER, Access(mnemonic.lower(), lanes=_LANES, size=None))
    return _OTHER


def _matrices(mnemonic: str, action: str, modifiers: Sequence[str]) -> Access:
    """Return an access to matrices of 16-bit elements; others have no known size."""
    size = None
    if modifiers[:2] in (["16", "M88"], ["16", "MT88"]) and modifiers[2:] in ([], ["2"], ["4"]):
        size = _MATRIX * int(modifiers[2] if modifiers[2:] else 1)
    return Access(
        mnemonic.lower(), action, element_bytes=0 if size is None else size // _LANES, lanes=_LANES, size=size
    )


def _access(mnemonic: str, action: str, modifiers: Sequence[str]) -> Access:
    """Return an access by its modifiers: without one, each thread accesses 4 bytes. Atomics say their type otherwise
    (``F16x2.RN``), and are not sized where they do; nor is what has a modifier that may be another size."""
    sizes = [_SIZES[word] for word in modifiers if word in _SIZES]
    is_plain = not any(_LIKE_SIZES.match(word) and word not in _SIZES and not _HINT.match(word) for word in modifiers)
    is_plain &= action != ATOMIC or not any(word.startswith(("F", "BF")) for word in modifiers)
    size = (sizes[0] if sizes else 4) if is_plain and len(sizes) <= 1 else None
    return Access(
        operation=mnemonic.lower(),
        action=action,
        element_bytes=size or 0,
        lanes=_LANES,
        size=None if size is None else size * _LANES,
    )
