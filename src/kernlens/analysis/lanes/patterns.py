"""Patterns that the addresses of a sub-group's work-items have in common, from the form of an address."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from kernlens.analysis.lanes import polynomials as forms
from kernlens.analysis.lanes.addresses import AddressForm, addresses
from kernlens.analysis.lanes.polynomials import Form, Symbol
from kernlens.dataclass import dataclass, replace
from kernlens.model.lane_code import (
    GLOBAL_OFFSET,
    GLOBAL_SIZE,
    GROUP_ID,
    GROUPS,
    LANE,
    LOCAL_ID,
    LOCAL_SIZE,
    LaneCode,
)
from kernlens.model.static_access import BETWEEN_BOUNDS, CONSECUTIVE, SAME, STRIDED, UNKNOWN, StaticAccess

#: A wider access is several for those that count requests, as its alignment allows.
_WIDEST, _WORD = 16, 4
#: The longest stride that is looked at byte by byte.
_LONGEST = 4096
_CALLS = {
    **{LOCAL_SIZE: "get_local_size", GLOBAL_SIZE: "get_global_size", GLOBAL_OFFSET: "get_global_offset"},
    **{GROUP_ID: "get_group_id", GROUPS: "get_num_groups"},
}


@dataclass(frozen=True, slots=True)
class Group:
    """Sub-groups of ``width`` work-items, which are consecutive, the first dimension fastest. ``local`` is the size of a
    work-group; None: its first dimension is at least a sub-group's, and a multiple of it, or the only one."""

    width: int = 32
    local: tuple[int, int, int] | None = None

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The dimensions in which the work-items of a sub-group differ."""
        if self.local is None:
            return (0,)
        varying: list[int] = []
        items = 1
        for dimension, size in enumerate(self.local):
            if size > 1 and (items < self.width or items % self.width):
                varying.append(dimension)
            items *= size
        return tuple(varying)

    @property
    def lanes(self) -> frozenset[Symbol]:
        """The ids in which they differ."""
        return frozenset((LANE, *(f"{LOCAL_ID} {dimension}" for dimension in self.dimensions)))

    def stride(self, form: Form | None) -> Form | None:
        """Return by how much the addresses of neighbours differ that no bound cuts; None if that is not known, or not the same
        for all."""
        if form is None:
            return None
        form = forms.uncut(form)
        if self.local is not None:
            form = forms.put(form, {f"{LOCAL_SIZE} {each}": size for each, size in enumerate(self.local)})
        steps = [forms.coefficient(form, f"{LOCAL_ID} {each}") for each in self.dimensions]
        own = forms.coefficient(form, LANE)
        known = [each for each in (own, *steps) if each is not None]
        if own is None or len(known) <= len(steps) or any(forms.parts(each, self.lanes)[0] for each in known):
            return None
        total = 1
        for dimension, step in zip(self.dimensions, known[1:], strict=True):
            if forms.add(step, known[1], -total):
                return None
            total *= self.local[dimension] if self.local is not None else 1
        return forms.add(own, known[1]) if steps else own


def static_accesses(code: LaneCode, group: Group) -> list[StaticAccess]:
    """Return the accesses of a kernel, in the order of its code. Raises TooManyError for code that is too large to follow."""
    forms_of = addresses(code, group.lanes)
    accesses = [_access(each, group.stride(each.form), code.names) for each in forms_of]
    return _with_used(forms_of, accesses)


def _with_used(forms_of: Sequence[AddressForm], accesses: Sequence[StaticAccess]) -> list[StaticAccess]:
    """Return the accesses with what those of one kind ask for together whose addresses differ by a number of bytes alone."""
    together: dict[Hashable, set[int]] = {}
    keys: list[Hashable] = []
    for address, access in zip(forms_of, accesses, strict=True):
        key: Hashable = None
        if access.is_far and access.stride and address.form is not None and abs(access.stride) <= _LONGEST:
            key = access.kind, frozenset(each for each in address.form.items() if each[0])
            begin = address.form.get((), 0)
            together.setdefault(key, set()).update((begin + at) % access.stride for at in range(access.width))
        keys.append(key)
    return [
        each if key is None else replace(each, used=len(together[key]))
        for key, each in zip(keys, accesses, strict=True)
    ]


def is_bounded(form: Form | None) -> bool:
    """Tell whether bounds may cut an address."""
    return form is not None and any(map(forms.is_cut, form))


def _access(address: AddressForm, stride: Form | None, names: Mapping[int, str]) -> StaticAccess:
    step = address.step
    width, alignment = step.literals
    number = None if stride is None else forms.value_of(stride)
    natural = min(alignment or _WIDEST, _WIDEST)
    part = min(width, natural if natural < _WORD else _WIDEST)
    if stride is None:
        pattern = UNKNOWN
    elif number is None:
        told = _told(stride, names)
        pattern = f"{STRIDED} of {told} bytes" if told else f"{STRIDED} that is not known"
    else:
        pattern = SAME if not number else CONSECUTIVE if number == part else f"{STRIDED} of {number:,} bytes"
    if stride is not None and is_bounded(address.form):
        pattern += BETWEEN_BOUNDS
    return StaticAccess(step.place, step.calls, step.name, step.space, width, pattern, number)


def _told(stride: Form, names: Mapping[int, str]) -> str:
    """Return a stride in words; "" if it has symbols without a name."""
    products = sorted(stride.items(), key=lambda each: (-len(each[0]), str(each[0])))
    words = [_product(product, count, names) for product, count in products]
    return " + ".join(words).replace("+ -", "- ") if all(words) else ""


def _product(product: Sequence[Symbol], count: int, names: Mapping[int, str]) -> str:
    factors = [_name(each, names) for each in product]
    if not all(factors):
        return ""
    return " x ".join([*([f"{count:,}"] if count != 1 or not factors else []), *factors])


def _name(symbol: Symbol, names: Mapping[int, str]) -> str:
    if isinstance(symbol, int):
        return names.get(symbol, "")
    if symbol.isidentifier() or ("." in symbol and not symbol[0].isdigit()):
        return symbol
    words, _, dimension = symbol.rpartition(" ")
    return f"{_CALLS[words]}({dimension})" if words in _CALLS else ""
