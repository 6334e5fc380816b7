"""All rules of advice, and the advice that they give on a kernel."""

from __future__ import annotations

from kernlens.analysis.advice import slow_built_in
from kernlens.analysis.advice.facts import Facts
from kernlens.model.advice import Advice
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program

#: The rules, in the order of docs/advice.md.
RULES = (slow_built_in.RULE,)


def advice_on(program: Program, kernel: Kernel, facts: Facts | None = None) -> list[Advice]:
    """Return the advice on a kernel, that on most instructions first; none for the pseudo kernel of shared functions.

    ``facts`` are those of this kernel, if someone has them already. Raises UnsupportedError if no installed libiga64 knows
    the device."""
    if kernel.name == PSEUDO_KERNEL:
        return []
    facts = facts or Facts(program, kernel)
    advice = [piece for rule in RULES for piece in rule.advise(facts)]
    return sorted(advice, key=lambda piece: (-piece.count, piece.path or "", piece.line, piece.column))
