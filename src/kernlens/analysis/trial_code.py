"""The figures of a kernel by which one compile is compared with another: of trials, and of two sides of ``diff``."""

from __future__ import annotations

import hashlib

from kernlens.analysis.loop_shapes import nest_of
from kernlens.model.code_shape import memory_of
from kernlens.model.kernel import Kernel
from kernlens.model.spills import spill_messages
from kernlens.model.trial import TrialCode


def code_of_trial(kernel: Kernel) -> TrialCode:
    """Return the figures of a kernel's code, which is decoded."""
    resources, costs, loops, waits = kernel.resources, kernel.costs, kernel.loops, kernel.waits
    return TrialCode(
        resources.simd,
        resources.grf_count,
        costs["instructions"],
        waits.cycles if waits is not None else None,
        spill_messages(costs),
        len(loops.loops) if loops is not None else None,
        _digest(kernel),
        resources.required_sub_group_size,
        nest_of(kernel),
        memory_of(resources, costs),
        sum(waits.issue) if waits is not None else None,
    )


def _digest(kernel: Kernel) -> str:
    """Return a digest of the code up to the last instruction that control does not pass: behind it IGC 2 puts constants, one
    of them a hash of its whole input."""
    code = kernel.instructions
    last = code.stops[-1] if code.stops else len(code) - 1
    end = last + 1 if all(opcode == "mov" for opcode in code.opcodes[last + 1 :]) else len(code)
    return hashlib.sha256(kernel.code[: code[:end].size]).hexdigest()[:16]
