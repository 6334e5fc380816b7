"""Machine code to instructions as ``llvm-objdump`` prints them, with the libLLVM that fits."""

from __future__ import annotations

import re
from array import array
from functools import cached_property

from kernlens.dataclass import dataclass
from kernlens.errors import UnsupportedError
from kernlens.isa.llvm.llvm_libraries import NEWEST_PACKAGED, LlvmLibrary, llvm_for, remedy
from kernlens.isa.llvm.llvm_process import IN_BRANCH, IN_LOAD, MOST_CODE, Columns, CrashError, Question

_HEX, _COMMENTS = 2, 8
#: The first LLVM whose llvm-objdump prints immediates in hexadecimal digits.
_HEX_SINCE = 16
#: Bytes to the next try where there is no instruction, and how such bytes read.
_SKIPS = {"x86": 1, "amdgcn": 4}
#: Words before a mnemonic, which belong to the same instruction.
_PREFIXES = frozenset(
    {"lock", "rep", "repe", "repne", "repz", "repnz", "notrack", "data16", "addr32", "bnd", "xacquire", "xrelease"}
)
_AMD_BRANCH = re.compile(r"s_(?:c?branch\w*|call_b64 \S+|subvector_loop_\w+ \S+) (-?\d+|0x[0-9a-f]+)$")


@dataclass(frozen=True)
class Disassembly:
    """The instructions of some code, in columns. ``offsets`` are from the code's start. Where ``illegal`` is 1, the bytes
    are no instruction of the target. White space of a text is single spaces, and what llvm-objdump adds of symbols
    (``<main+0x20>``) is left out."""

    offsets: array[int]
    sizes: bytes
    illegal: bytes
    texts: list[str]
    #: Of instructions that can branch to an address in their own text, by index: that address, less the code's own.
    targets: dict[int, int]
    #: Of instructions that read or name memory relative to their own address, by index: that address, less the code's own.
    loads: dict[int, int]
    #: What made the texts: ``LLVM 19.1.7``.
    disassembler: str
    #: What may decode more, or else what is to be known of the disassembler; empty if there is nothing.
    remark: str = ""

    @cached_property
    def opcodes(self) -> list[str]:
        """Each instruction's mnemonic, without prefixes such as ``lock``; empty for what is none."""
        return ["" if illegal else _mnemonic(text) for text, illegal in zip(self.texts, self.illegal, strict=True)]


def disassemble(
    triple: str,
    code: bytes | memoryview,
    *,
    cpu: str = "",
    features: str = "",
    address: int = 0,
    compiler: int = 0,
    linker: int = 0,
) -> Disassembly:
    """Disassemble ``code`` of a target (``x86_64``, ``amdgcn-amd-amdhsa``) and a processor (``gfx90a``), loaded at
    ``address``, with the first libLLVM that decodes all of it, or else the one that decodes most. ``compiler`` and ``linker``
    are the major versions of the LLVMs that made it, as far as it states them: the compiler's is tried first.

    Bytes that are no instruction are passed over, one by one on x86 and four by four on AMD's GPUs, and marked. Raises
    UnsupportedError if no installed libLLVM knows the target or the processor, ToolError if LLVM crashes on the code.
    """
    target = "amdgcn" if triple.startswith("amdgcn") else "x86"
    if len(code) > MOST_CODE:
        raise UnsupportedError(f"code of {len(code):,} bytes is too large for the disassembler, at most {MOST_CODE:,}")
    made_by = compiler or linker
    best: tuple[LlvmLibrary, Columns] | None = None
    unknowing: list[str] = []
    crash: CrashError | None = None
    for library in llvm_for(target, made_by):
        options = _COMMENTS | (_HEX if library.major >= _HEX_SINCE else 0)
        try:
            columns = library.disassemble(Question(triple, cpu, features, options, _SKIPS[target], code, address))
        except CrashError as error:
            crash = crash or error
            continue
        if columns is None:
            unknowing.append(str(library))
        elif best is None or columns.illegal.count(1) < best[1].illegal.count(1):
            best = library, columns
        if best is not None and not best[1].illegal.count(1):
            break
    if best is None and crash is not None:
        raise crash
    if best is None:
        raise UnsupportedError(
            f"{' and '.join(unknowing)} {'do' if len(unknowing) > 1 else 'does'} not know"
            f" {' '.join(filter(None, [triple, cpu, features]))}; {remedy(made_by)} brings one that may"
        )
    return _disassembly(*best, target, code, address, _remark(best[0], best[1].illegal.count(1), compiler, linker))


def _remark(library: LlvmLibrary, undecoded: int, compiler: int, linker: int) -> str:
    """Return what may decode more where something is undecoded, or that all was decoded by an LLVM older than the compiler."""
    made_by = compiler or linker
    if not undecoded:
        older = f"{library.title} is older than the compiler, LLVM {compiler}, but decodes all of the code"
        return older if library.major < compiler else ""
    if library.major >= (made_by or NEWEST_PACKAGED):
        return ""
    stated = f"the compiler is LLVM {compiler}" if compiler else f"the linker was LLVM {linker}" if linker else ""
    return f"{f'{stated}: ' if stated else ''}{remedy(made_by)} may decode more"


def _disassembly(
    library: LlvmLibrary, columns: Columns, target: str, code: bytes | memoryview, address: int, remark: str
) -> Disassembly:
    offsets, texts, illegal = columns.offsets, columns.texts, columns.illegal
    index = illegal.find(1)
    while index >= 0:
        start = offsets[index]
        texts[index] = _illegal_text(target, bytes(code[start : start + columns.sizes[index]]))
        index = illegal.find(1, index + 1)
    targets: dict[int, int] = {}
    loads: dict[int, int] = {}
    for index, kind, seen in columns.references:
        if kind == IN_BRANCH:
            targets[index] = seen - address
        elif kind == IN_LOAD:
            loads[index] = seen - address
            texts[index] = f"{texts[index]} # {seen:#x}"
    if target == "amdgcn":
        targets = _amd_targets(texts, offsets)
    return Disassembly(offsets, columns.sizes, illegal, texts, targets, loads, library.title, remark)


def _amd_targets(texts: list[str], offsets: array[int]) -> dict[int, int]:
    """Return where branches go: their operand counts words of 4 bytes from the next instruction, with a sign in 16 bits."""
    targets = {}
    for index, text in enumerate(texts):
        match = _AMD_BRANCH.match(text) if text.startswith("s_") else None
        if match:
            words = int(match[1], 0) & 0xFFFF
            targets[index] = offsets[index] + 4 + 4 * (words - 0x10000 if words & 0x8000 else words)
    return targets


def _illegal_text(target: str, content: bytes) -> str:
    if target == "amdgcn" and len(content) == 4:
        return f".long {int.from_bytes(content, 'little'):#010x}"
    if target == "amdgcn":
        return f".byte {', '.join(f'{byte:#04x}' for byte in content)}"
    return "<unknown>"


def _mnemonic(text: str) -> str:
    for word in text.split(" "):
        if word not in _PREFIXES:
            return word
    return text
