"""Arithmetic on forms, as far as it leads to addresses.

Numbers of 32 and 64 bits are followed as if they did not wrap around between the work-items of a sub-group: an address that
does lies 4 billion elements away. Those of fewer bits do wrap, and are not followed.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.analysis.lanes import polynomials as forms
from kernlens.analysis.lanes.polynomials import Form, Symbol
from kernlens.model.lane_code import (
    ADD,
    ADDRESS,
    AND,
    CONVERT,
    DIVIDE,
    MULTIPLY,
    MULTIPLY_ADD,
    NEGATE,
    OR,
    REMAINDER,
    SHIFT_LEFT,
    SHIFT_RIGHT,
    SUBTRACT,
    Step,
)

_NARROWEST = 32


def computed(step: Step, operands: Sequence[Form], lanes: frozenset[Symbol]) -> Form | None:
    """Return the form of what a step computes; None where its operands' forms do not tell it."""
    if not step.bits or not operands:
        return None
    if step.name == ADDRESS:
        total = forms.add(operands[0], forms.number(step.literals[0]))
        for index, times in zip(operands[1:], step.literals[1:], strict=True):
            total = forms.add(total, index, times)
        return total
    result = _result(step.name, operands, lanes)
    if result is None or (step.bits < _NARROWEST and forms.value_of(result) is None):
        return None
    return forms.wrapped(result, step.bits)


def _result(name: str, operands: Sequence[Form], lanes: frozenset[Symbol]) -> Form | None:
    first = operands[0]
    if name == CONVERT:
        return first
    if name == NEGATE:
        return forms.add(forms.NOTHING, first, -1)
    if len(operands) < 2:
        return None
    second = operands[1]
    if name in (ADD, SUBTRACT):
        return forms.add(first, second, 1 if name == ADD else -1)
    if name in (MULTIPLY, MULTIPLY_ADD):
        product = forms.multiply(first, second)
        return forms.add(product, operands[2]) if product is not None and name == MULTIPLY_ADD else product
    value = forms.value_of(second)
    if name == SHIFT_LEFT and value is not None and 0 <= value < 64:
        return forms.multiply(first, forms.number(1 << value))
    if value is None or value < 0 or not forms.parts(first, lanes)[0]:
        return _of_numbers(name, forms.value_of(first), value)
    if name == OR:
        low = (1 << value.bit_length()) - 1
        return forms.add(first, second) if all(not count & low for count in first.values()) else None
    own, shared = forms.parts(first, lanes)
    if name in (SHIFT_RIGHT, DIVIDE) and value < 64:
        by = 1 << value if name == SHIFT_RIGHT else value
        if by and not any(count % by for count in own.values()):
            quotient = forms.NOTHING if not shared else forms.symbol(forms.FRESH)
            return forms.add(quotient, {product: count // by for product, count in own.items()})
    if name in (AND, REMAINDER):
        of = value + 1 if name == AND else value
        is_whole = of and not (name == AND and of & value) and not any(count % of for count in own.values())
        return forms.symbol(forms.FRESH) if is_whole else None
    return None


def _of_numbers(name: str, first: int | None, second: int | None) -> Form | None:
    """Return what two numbers yield that are not negative; None for others."""
    if first is None or second is None or first < 0 or second < 0:
        return None
    if name in (SHIFT_LEFT, SHIFT_RIGHT):
        result = None if second >= 64 else first << second if name == SHIFT_LEFT else first >> second
    elif name in (DIVIDE, REMAINDER):
        result = None if not second else first // second if name == DIVIDE else first % second
    else:
        result = first & second if name == AND else first | second
    return None if result is None else forms.number(result)
