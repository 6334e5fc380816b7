"""Bounds of figures: what a kernel may cost, and by how much a figure may get worse. Each figure of the list can be bounded.

A bound is called ``max-`` or ``min-`` and a name of its figure: ``max-spill-bytes``, ``min-simd``. The options of
``check``, the keys of ``kernlens.toml`` and the words of the mark ``kernel_budget`` are these names.
"""

from __future__ import annotations

import re
from fractions import Fraction

from kernlens.dataclass import dataclass, field, in_short
from kernlens.errors import KernlensError
from kernlens.model.figure import Figure, as_name
from kernlens.model.figures import EVERY_FIGURE, PERCENT, at, figure_named, known_name

#: Stands for a tolerance without an end.
ANY = "any"
#: Numbers from here on are nobody's budget.
_END = 10**18
#: The most characters of a wrong value that an error tells.
_TOLD = 80
#: A share as a text.
_SHARE = re.compile(r"[0-9]{1,18}%")


@dataclass(frozen=True, slots=True)
class Bound:
    """The largest value of a figure that is allowed, or if ``is_least`` the smallest. ``origin`` says where it stands;
    ``has_former_name``: it was called by a name from before other vendors' figures, and is about theirs too."""

    figure: Figure
    is_least: bool
    value: int
    origin: str = ""
    has_former_name: bool = field(default=False, compare=False)

    def __repr__(self) -> str:
        return in_short(f"<Bound {self.name} {self.value:,}{f' ({self.origin})' if self.origin else ''}>")

    @property
    def name(self) -> str:
        """The name: ``max-spill-bytes``, ``min-simd``."""
        return f"{'min' if self.is_least else 'max'}-{self.figure.names[0]}"

    @property
    def key(self) -> tuple[str, bool]:
        """The key that another bound shares with it if that takes its place."""
        return self.figure.key, self.is_least

    def allows(self, value: int) -> bool:
        """Return whether a figure may have this value."""
        return value >= self.value if self.is_least else value <= self.value


@dataclass(frozen=True, slots=True)
class Rule:
    """The bounds of the kernels whose names fit ``pattern``, on ``device`` if it names one. ``allows_unknown``: what the
    binary does not say passes; None: not said. ``origin`` says where the rule stands."""

    pattern: str
    bounds: tuple[Bound, ...]
    device: str | None = None
    allows_unknown: bool | None = None
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The amount by which a figure may get worse: ``amount``, or that many percent; None: any."""

    figure: Figure
    amount: Fraction | None = Fraction(0)
    is_percent: bool = False

    def __str__(self) -> str:
        if self.amount is None:
            return ANY
        shown = str(float(self.amount)).removesuffix(".0")
        return f"{shown}%" if self.is_percent else shown

    def bound(self, before: int) -> Bound | None:
        """Return the bound of a figure that was ``before``; None if every value is allowed."""
        if self.amount is None:
            return None
        room = int(before * self.amount / 100 if self.is_percent else self.amount)
        is_least = self.figure.more_is_better
        return Bound(self.figure, is_least, before - room if is_least else before + room)


#: What stands for a bound of no fault at all.
NO_FAULTS = "no-faults"


def bound_names() -> dict[str, tuple[Figure, bool]]:
    """Return every name of a bound, with its figure and whether it is a least value."""
    return {
        f"{'min' if is_least else 'max'}-{name}": (figure, is_least)
        for figure in EVERY_FIGURE
        for is_least in (False, True)
        for name in figure.all_names
    }


def current_bound_names() -> dict[str, str]:
    """Return every name of a bound, with the one that the help shows."""
    return {name: f"{name[:4]}{figure.names[0]}" for name, (figure, _) in bound_names().items()} | {
        NO_FAULTS: NO_FAULTS
    }


def bound(name: str, value: object, origin: str = "") -> Bound:
    """Return the bound of that name, ``_`` being as good as ``-``. Raises NotFoundError, with the nearest names, if
    there is none, KernlensError if the value is no whole number from 0 on; that of a share may be ``"60%"``, and that of
    ``no-faults`` is true."""
    names = bound_names()
    if as_name(name) == NO_FAULTS:
        if value is not True:
            raise KernlensError(f"{at(origin)}{name} is true or is left out, not {told(value)}")
        return Bound(names["max-observed-faults"][0], False, 0, origin)
    figure, is_least = names[known_name(current_bound_names(), name, "limit", origin)]
    if figure.unit == PERCENT and isinstance(value, str) and _SHARE.fullmatch(value):
        value = int(value.removesuffix(PERCENT))
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _END:
        raise KernlensError(f"{at(origin)}{name} takes a whole number from 0 on, not {told(value)}")
    return Bound(figure, is_least, value, origin, name.replace("_", "-")[4:] not in figure.names)


def tolerance(name: str, value: object, origin: str = "") -> Tolerance:
    """Return by how much the figure of that name may get worse: a number, ``5%`` or ``any``. Raises NotFoundError, with
    the nearest names, for an unknown figure, and KernlensError for anything else."""
    figure, words = figure_named(name, origin), (value if isinstance(value, str) else told(value)).strip()
    if words == ANY:
        return Tolerance(figure, None)
    digits = words.removesuffix("%")
    is_number = digits.replace(".", "", 1).isdecimal() and digits.isascii() and len(digits) <= len(str(_END))
    if isinstance(value, bool) or not is_number:
        raise KernlensError(
            f"{at(origin)}the tolerance of {name} is a number, a number with %, or {ANY}, not {told(value)}"
        )
    return Tolerance(figure, Fraction(digits), words.endswith("%"))


def told(value: object) -> str:
    """Return a value in the words of an error, in one short line however large it is."""
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "an array"
    if isinstance(value, int) and not -_END < value < _END:
        return "a number of more than 18 digits"
    text = repr(value)
    return text if len(text) <= _TOLD else f"{text[:_TOLD]}..."
