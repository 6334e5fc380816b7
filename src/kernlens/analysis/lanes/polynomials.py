"""Numbers as sums of products: of what a launch decides, of ids, and of values that all work-items of a sub-group share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

#: A factor: the number of a value, or a word of the launch, such as "local id 0".
Symbol = int | str
Product = tuple[Symbol, ...]
#: Each product and its multiple; () is the number alone.
Form = Mapping[Product, int]

#: Larger sums, and longer products, are not followed.
_MOST_PRODUCTS, _MOST_FACTORS = 24, 5
NOTHING: Form = {}
#: Stands for a number that all work-items share and no other symbol tells.
FRESH = "?"
#: Begins the symbol of what a bound adds to a number that it cuts: nothing, where it does not.
_CUT = "cut "


def cut(name: Symbol) -> Form:
    """Return the form of what a bound of this name adds."""
    return {(f"{_CUT}{name}",): 1}


def uncut(form: Form) -> Form:
    """Return the form without what bounds add."""
    return {product: count for product, count in form.items() if not is_cut(product)}


def is_cut(product: Product) -> bool:
    """Tell whether a product has what a bound adds, which each work-item has its own of."""
    return any(isinstance(each, str) and each.startswith(_CUT) for each in product)


def number(value: int) -> Form:
    """Return a number's form."""
    return {(): value} if value else NOTHING


def symbol(name: Symbol) -> Form:
    """Return the form of one symbol."""
    return {(name,): 1}


def value_of(form: Form) -> int | None:
    """Return the number that a form is; None if it has symbols."""
    return 0 if not form else form[()] if len(form) == 1 and () in form else None


def add(left: Form, right: Form, times: int = 1) -> Form:
    """Return the sum of a form and ``times`` another one."""
    total = dict(left)
    for product, count in right.items():
        total[product] = total.get(product, 0) + times * count
    return {product: count for product, count in total.items() if count}


def multiply(left: Form, right: Form) -> Form | None:
    """Return the product of two forms; None if it is too long."""
    total: dict[Product, int] = {}
    if len(left) * len(right) > _MOST_PRODUCTS:
        return None
    for product, count in left.items():
        for other, times in right.items():
            factors = tuple(sorted((*product, *other), key=str))
            if len(factors) > _MOST_FACTORS:
                return None
            total[factors] = total.get(factors, 0) + count * times
    return {product: count for product, count in total.items() if count}


def wrapped(form: Form, bits: int) -> Form:
    """Return the form with its multiples as signed numbers of so many bits, which are equal to them there."""
    half = 1 << bits - 1
    if all(-half <= count < half for count in form.values()):
        return form
    signed = {product: (count + half) % (2 * half) - half for product, count in form.items()}
    return {product: count for product, count in signed.items() if count}


def is_long(form: Form) -> bool:
    """Tell whether a form is too long to be followed."""
    return len(form) > _MOST_PRODUCTS


def parts(form: Form, lanes: frozenset[Symbol]) -> tuple[Form, Form]:
    """Return the products that have a symbol which work-items differ in, and the others."""
    own: dict[Product, int] = {}
    others: dict[Product, int] = {}
    for product, count in form.items():
        (own if not lanes.isdisjoint(product) or is_cut(product) else others)[product] = count
    return own, others


def coefficient(form: Form, lane: Symbol) -> Form | None:
    """Return what a symbol is multiplied with; None if it is not a number or a sum of other symbols."""
    total: dict[Product, int] = {}
    for product, count in form.items():
        if lane in product:
            others = list(product)
            others.remove(lane)
            if lane in others:
                return None
            total[tuple(others)] = count
    return total


def put(form: Form, values: Mapping[Symbol, int]) -> Form:
    """Return the form with numbers in the place of these symbols."""
    total: Form = NOTHING
    for product, count in form.items():
        for each in product:
            count *= values.get(each, 1)
        total = add(total, {tuple(each for each in product if each not in values): count})
    return total


def symbols_of(forms: Iterable[Form]) -> Iterable[Symbol]:
    """Yield all symbols of forms."""
    return (each for form in forms for product in form for each in product)
