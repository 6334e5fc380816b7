"""AMD's machine code to instructions, as LLVM's disassembler prints them."""

from __future__ import annotations

from bisect import bisect_left
from functools import partial

from kernlens.errors import UnsupportedError
from kernlens.isa.amd.gcn_calls import callees
from kernlens.isa.amd.gcn_scratch import kinds_of
from kernlens.isa.amd.gpu_devices import ISA, wavefront_sizes
from kernlens.isa.llvm.disassemble import Disassembly, disassemble
from kernlens.isa.llvm.llvm_libraries import llvm_for
from kernlens.model.device import Device
from kernlens.model.listed_instructions import ListedInstructions, label

TRIPLE = "amdgcn-amd-amdhsa"
#: The first LLVM that knows a processor, where that is later than the oldest that is used.
_SINCE = {
    **dict.fromkeys(("gfx940", "gfx1100", "gfx1101", "gfx1102", "gfx1103"), 15),
    **dict.fromkeys(("gfx941", "gfx942", "gfx1150", "gfx1151"), 17),
    **dict.fromkeys(("gfx1200", "gfx1201"), 18),
    **dict.fromkeys(("gfx9-generic", "gfx10-1-generic", "gfx10-3-generic", "gfx11-generic", "gfx1152"), 19),
    **dict.fromkeys(("gfx950", "gfx9-4-generic", "gfx12-generic", "gfx1153"), 20),
    "gfx1250": 21,
}
_CALLS = ("s_swappc_b64", "s_call_b64")
#: What control never passes; ``s_setpc_b64`` goes where a register says: back to a caller, or far away.
_STOPS = ("s_endpgm", "s_endpgm_saved", "s_endpgm_ordered_ps_done", "s_setpc_b64", "s_rfe_b64")
_BY_REGISTER = frozenset({"s_setpc_b64", "s_rfe_b64", "s_cbranch_i_fork", "s_cbranch_g_fork", "s_cbranch_join"})


def decode_gcn(
    processor: str,
    code: memoryview,
    *,
    wavefront_size: int | None = None,
    address: int = 0,
    compiler: int = 0,
    linker: int = 0,
    has_private_descriptor: bool = False,
) -> ListedInstructions:
    """Return the instructions of a kernel's code, which is loaded at ``address``. ``wavefront_size`` is what it was compiled
    for (None: what compilers choose); ``compiler`` and ``linker`` are the major versions of the LLVMs that made it, as far
    as they are known. ``has_private_descriptor``: s[0:3] describe the private segment when the kernel begins.

    Raises UnsupportedError if no installed libLLVM knows the processor, ToolError if LLVM crashes on the code.
    """
    features = wave_features(processor, wavefront_size)
    read = disassemble(
        TRIPLE, code, cpu=processor, features=features, address=address, compiler=compiler, linker=linker
    )
    return _listed(read, _lanes(processor, wavefront_size), has_private_descriptor)


def wave_features(processor: str, wavefront_size: int | None) -> str:
    """Return the features of LLVM's that choose the wavefront size; empty for the one that compilers choose."""
    size = _lanes(processor, wavefront_size)
    return "+wavefrontsize64,-wavefrontsize32" if size == 64 and size != wavefront_sizes(processor)[0] else ""


def _lanes(processor: str, wavefront_size: int | None) -> int:
    sizes = wavefront_sizes(processor)
    return wavefront_size if wavefront_size in sizes else sizes[0]


def is_disassembled(device: Device) -> bool:
    """Return whether an installed libLLVM has AMD's GPUs among its targets, and is of the device's time or later."""
    try:
        since = _SINCE.get(device.name, 0)
        return device.isa == ISA and any(library.major >= since for library in llvm_for("amdgcn"))
    except UnsupportedError:
        return False


def _listed(read: Disassembly, lanes: int, has_private_descriptor: bool) -> ListedInstructions:
    opcodes = read.opcodes
    rows = {
        kind: [row for row, opcode in enumerate(opcodes) if opcode in names]
        for kind, names in (("calls", _CALLS), ("stops", _STOPS))
    }
    conditional = None
    if _BY_REGISTER.isdisjoint(opcodes):
        conditional = [row for row in read.targets if opcodes[row] != "s_branch"]
    starts = set(read.offsets)
    targets = {row: target for row, target in read.targets.items() if target in starts}
    texts = list(read.texts)
    for row, target in targets.items():
        texts[row] = f"{texts[row].rpartition(' ')[0]} {label(target)}"
    return ListedInstructions(
        read.offsets,
        read.sizes,
        opcodes,
        texts,
        targets={row: (target,) for row, target in targets.items()},
        calls=rows["calls"],
        stops=rows["stops"],
        conditional=conditional,
        kinds=partial(
            kinds_of,
            opcodes,
            read.texts,
            lanes,
            has_private_descriptor=has_private_descriptor,
            entry=_entry(read, opcodes),
        ),
        illegal=[row for row, is_illegal in enumerate(read.illegal) if is_illegal],
        disassembler=read.disassembler,
        remark=read.remark,
        find_outside=lambda: callees(read.texts, read.offsets),
    )


def _entry(read: Disassembly, opcodes: list[str]) -> int:
    """Return the number of instructions before the first that control leaves from or may come back to."""
    leaving = (row for row, opcode in enumerate(opcodes) if opcode in (*_CALLS, *_STOPS, *_BY_REGISTER))
    ends = [next(leaving, len(opcodes)), min(read.targets, default=len(opcodes))]
    return min([*ends, bisect_left(read.offsets, min(read.targets.values(), default=1 << 62))])
