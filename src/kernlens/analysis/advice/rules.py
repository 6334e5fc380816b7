"""All rules of advice, and the advice that they give on a kernel."""

from __future__ import annotations

from kernlens.analysis.advice import (
    atomic_in_loop,
    barrier,
    barrier_over_nothing,
    call_not_inlined,
    carried_values,
    division,
    double_by_accident,
    fixed_access,
    half_function,
    local_tree,
    long_counter,
    pow_with_a_constant,
    printf_left_in,
    private_array,
    slow_built_in,
    spill,
    strided_access,
    unfused,
    unrolled_too_far,
    wide_index,
)
from kernlens.analysis.advice.facts import Facts
from kernlens.model.advice import Advice
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program

#: The rules, in the order of docs/advice.md.
RULES = (
    slow_built_in.RULE,
    pow_with_a_constant.RULE,
    half_function.RULE,
    division.INTEGER_DIVISION,
    division.LONG_DIVISION,
    double_by_accident.RULE,
    private_array.RULE,
    spill.RULE,
    unrolled_too_far.RULE,
    fixed_access.RULE,
    barrier.RULE,
    barrier_over_nothing.RULE,
    atomic_in_loop.IN_LOOP,
    atomic_in_loop.EXCHANGE,
    atomic_in_loop.HALF,
    local_tree.RULE,
    carried_values.CHAIN,
    carried_values.CONVERSION,
    unfused.RULE,
    long_counter.RULE,
    wide_index.RULE,
    printf_left_in.RULE,
    call_not_inlined.RULE,
    strided_access.RULE,
)


def advice_on(program: Program, kernel: Kernel, facts: Facts | None = None) -> list[Advice]:
    """Return the advice on a kernel, that on most instructions first; none for the pseudo kernel of shared functions.

    ``facts`` are those of this kernel, if someone has them already. Raises UnsupportedError if no installed libiga64 knows
    the device."""
    if kernel.name == PSEUDO_KERNEL:
        return []
    facts = facts or Facts(program, kernel)
    advice = [piece for rule in RULES for piece in rule.advise(facts)]
    return sorted(advice, key=lambda piece: (-piece.count, piece.path or "", piece.line, piece.column))
