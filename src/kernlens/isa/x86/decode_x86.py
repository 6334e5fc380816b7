"""x86-64 machine code to instructions, through libLLVM."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from kernlens.isa.llvm.disassemble import Disassembly, disassemble
from kernlens.model.instruction_kind import InstructionKind
from kernlens.model.listed_instructions import ListedInstructions

#: How the mnemonics of instructions begin that control never passes.
_STOPS = ("ret", "ud2", "hlt", "lret", "iret")


def decode_x86(code: bytes | memoryview, address: int = 0) -> ListedInstructions:
    """Return the instructions of x86-64 code that is linked at ``address``, as ``llvm-objdump`` of the newest libLLVM prints
    them. One that is older than the compiler does as well: what it does not know it marks as no instruction. Addresses in
    texts are those of the linked file.

    Raises UnsupportedError if there is no libLLVM, ToolError if LLVM crashes on the code.
    """
    listed = disassemble("x86_64", code, address=address)
    opcodes = listed.opcodes
    jumps = [row for row, opcode in enumerate(opcodes) if opcode.startswith("j")]
    targets = {row: (target,) for row, target in listed.targets.items() if 0 <= target < len(code)}
    is_known = all(row in targets for row in jumps)
    stops = [row for row, opcode in enumerate(opcodes) if opcode.startswith(_STOPS)]
    stops += [row for row in jumps if opcodes[row] in ("jmp", "jmpq") and row not in targets]
    return ListedInstructions(
        listed.offsets,
        listed.sizes,
        opcodes,
        listed.texts,
        targets=targets,
        calls=[row for row, opcode in enumerate(opcodes) if opcode.startswith("call")],
        stops=stops,
        conditional=[row for row in jumps if opcodes[row] not in ("jmp", "jmpq")] if is_known else None,
        kinds=partial(_kinds, listed),
        illegal=[row for row, is_illegal in enumerate(listed.illegal) if is_illegal],
        disassembler=listed.disassembler,
        remark=listed.remark,
    )


def _kinds(listed: Disassembly) -> Sequence[InstructionKind]:
    from kernlens.isa.x86.x86_kinds import x86_kinds

    return x86_kinds(listed.texts)
