"""The differences of two devices that both keep to OpenCL C: the bounds of the built-in functions that a kernel calls.

Source: OpenCL C 3.0, "Relative Error as ULPs", full profile. A bound is the distance of one call's result from the exact one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from kernlens.analysis.advice.source_tokens import COMMENT
from kernlens.dataclass import dataclass
from kernlens.model.compiler_options import FAST_RELAXED, FREE_WITH_FLOATS, UNSAFE_MATH

#: Units in the last place for float, double and half; of functions of vectors those for four elements, the most there are.
_BOUNDS = """\
acos 4 4 2|acospi 5 5 2|asin 4 4 2|asinpi 5 5 2|atan 5 5 2|atan2 6 6 2|atanpi 5 5 2|atan2pi 6 6 2|acosh 4 4 2|asinh 4 4 2
atanh 5 5 2|cbrt 2 2 2|cos 4 4 2|cosh 4 4 2|cospi 4 4 2|degrees 2 2 2|distance 10.5 13.5 8|erfc 16 16 4|erf 16 16 4|exp 3 3 2
exp2 3 3 2|exp10 3 3 2|expm1 3 3 2|hypot 4 4 2|length 4.75 9.5 2.25|log 3 3 2|log2 3 3 2|log10 3 3 2|log1p 2 2 2
normalize 6 8.5 5|pow 16 16 4|pown 16 16 4|powr 16 16 4|radians 2 2 2|rootn 16 16 4|rsqrt 2 2 1|sin 4 4 2|sincos 4 4 2
sinh 4 4 2|sinpi 4 4 2|sqrt 3 0 1.5|tan 5 5 2.5|tanh 5 5 2|tanpi 6 6 2|tgamma 16 16 4|/ 2.5 0 1
fast_distance 8199.5 8199.5 8199.5|fast_length 8195.5 8195.5 8195.5|fast_normalize 8196 8196 8196
read_imagef 1.5 1.5 1.5|read_imageh 1.5 1.5 1.5"""
#: The types that have bounds, in their order.
TYPES = "float", "double", "half"
#: With relaxed arithmetic these have a bound of their own, or for floats none that holds for every argument.
_RELAXED = dict.fromkeys(("acos", "asin", "atan"), 4096.0)
_RELAXED_FREELY = re.compile(
    "acosh|acospi|asinh|asinpi|atanh|atanpi|atan2|atan2pi|cbrt|cos|cosh|cospi|exp|exp2|exp10|expm1|log|log2|log10|log1p|pow"
    "|pown|powr|rootn|sin|sincos|sinh|sinpi|tan|tanh|tanpi|/"
)
_FUSED, _NATIVE, _ANY_ORDER = "a * b + c", "native_", "in any order of work-items"
#: What has no bound in these units.
_WITHOUT = {
    "mad": "fused or not", _FUSED: "fused or not", "lgamma": "undefined", "lgamma_r": "undefined",
    "cross": "absolute error", "dot": "absolute error", "mix": "absolute error", "smoothstep": "absolute error",
}  # fmt: skip
_UNORDERED = re.compile(r"atom(?:ic)?_\w+|(?:work|sub)_group_(?:reduce|scan)_\w+", re.ASCII)
_HALF = re.compile(r"half_(?:cos|divide|exp|exp2|exp10|log|log2|log10|powr|recip|rsqrt|sin|sqrt|tan)", re.ASCII)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:define[ \t]+(\w+))?(.*)$", re.ASCII | re.MULTILINE)
_TOKEN = re.compile(r"([A-Za-z_]\w*)(\s*\()?|[{};*/+-]", re.ASCII)
_OPTION = re.compile(r"-D[ \t]*(\w+)=(\S+)", re.ASCII)
_CONTRACT_OFF = re.compile(r"FP_CONTRACT[ \t]+OFF")
#: Characters of a program's sources that are read.
_TEXT = 4 << 20


@dataclass(frozen=True, slots=True)
class Bound:
    """The exactness that a built-in function, or an operator, must have: ``ulp`` are units in the last place, None where the
    specification has no bound in them; ``words`` then say what it has instead."""

    function: str
    ulp: float | None
    words: str = ""

    @property
    def told(self) -> str:
        """The bound for a person."""
        return f"{self.function} {self.words or f'{self.ulp:g} ulp'}"


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The differences that OpenCL C allows a kernel's results, and whether that can be the reason: ``answer`` is a sentence."""

    bounds: tuple[Bound, ...]
    answer: str


def accuracy(texts: Sequence[str], kernel: str, options: str, type_name: str, ulp: int | None) -> Accuracy:
    """Return what the results of a kernel, of this floating-point type ("": not known), may differ by on two devices, or in two
    builds, and whether a distance of ``ulp`` is within that. ``texts`` are the program's sources; none are of a program
    without."""
    if not any(texts):
        return Accuracy((), "the program has no source here, so its built-in functions are not known")
    bounds = bounds_of(texts, kernel, options, type_name or "float")
    if not type_name:
        return Accuracy(bounds, "the type of what differs is not known, so no bound of floats can be compared with it")
    largest = max((each for each in bounds if each.ulp), key=lambda each: each.ulp or 0, default=None)
    free = [each.function for each in bounds if each.ulp is None]
    if not bounds:
        return Accuracy((), "OpenCL C allows no difference here, but for numbers below the normal range")
    if ulp is None:
        return Accuracy(bounds, "a number on one side and none on the other is more than a bound explains")
    once = largest is not None and largest.ulp is not None and f"2 x {largest.ulp:g} ulp of {largest.function}"
    if largest is not None and largest.ulp is not None and ulp <= 2 * largest.ulp:
        return Accuracy(bounds, f"within what one call may differ by between two devices ({once})")
    more = f"more than one call may differ by between two devices ({once})" if once else "no call here has a bound"
    why = f"{' and '.join(free[:3])} may be the reason" if free else "calls on results of calls"
    return Accuracy(bounds, f"{more}: {why}, or a difference of near values, or a fault")


def bounds_of(texts: Sequence[str], kernel: str, options: str, type_name: str) -> tuple[Bound, ...]:
    """Return the bounds of what a kernel's source calls and is not exact: of the kernel, and of the functions and macros that
    it uses, in code that is compiled or not."""
    words = _reached("\n".join(texts)[:_TEXT], kernel, options)
    return tuple(filter(None, (_bound(word, options, type_name) for word in sorted(words))))


def _bound(word: str, options: str, type_name: str) -> Bound | None:
    is_relaxed = FAST_RELAXED in options or UNSAFE_MATH in options
    if word.startswith(_NATIVE):
        return Bound(word, None, "as the device has it")
    if word in _WITHOUT:
        is_free = word == "mad" and (type_name == "double" or any(each in options for each in FREE_WITH_FLOATS))
        return Bound(word, None, "any value" if is_free else _WITHOUT[word])
    if _UNORDERED.fullmatch(word):
        return Bound(word, None, _ANY_ORDER)
    if _HALF.fullmatch(word):
        return Bound(word, 8192.0)
    if word not in _table():
        return None
    if type_name == "float" and is_relaxed and _RELAXED_FREELY.fullmatch(word):
        return Bound(word, None, "relaxed by an option")
    if type_name == "float" and word in ("/", "sqrt") and "-cl-fp32-correctly-rounded-divide-sqrt" in options:
        return None
    ulp = _table()[word][TYPES.index(type_name)]
    if type_name == "float" and is_relaxed:
        ulp = _RELAXED.get(word, ulp)
    return Bound(word, ulp) if ulp else None


@cache
def _table() -> dict[str, tuple[float, ...]]:
    rows = (row.split() for row in _BOUNDS.replace("\n", "|").split("|"))
    return {name: tuple(map(float, numbers)) for name, *numbers in rows}


def _reached(text: str, kernel: str, options: str) -> set[str]:
    """Return the built-in functions and operators that a kernel may use: called words that the program does not define."""
    plain = COMMENT.sub(" ", text.replace("\\\r\n", " ").replace("\\\n", " "))
    macros = {match[1]: match[2] for match in _DIRECTIVE.finditer(plain) if match[1]}
    macros |= {match[1]: match[2] for match in _OPTION.finditer(options)}
    code = _DIRECTIVE.sub("", plain)
    bodies = _bodies(code)
    if kernel not in bodies:
        bodies = {kernel: code}  # Its name is made by a macro, or the braces are those of two branches.
    used, seen, left = set[str](), set[str](), [kernel]
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        inside = set(_used(bodies.get(name, ""), macros)) | set(_used(macros.get(name, ""), None))
        used |= {word for word in inside if word not in bodies and (word not in macros or word == name)}
        left += inside
    if _CONTRACT_OFF.search(text):
        used.discard(_FUSED)
    return used


def _bodies(code: str) -> dict[str, str]:
    """Return the text of each function; none if the braces do not match."""
    bodies: dict[str, str] = {}
    depth, begin, header = 0, 0, list[str]()
    for match in _TOKEN.finditer(code):
        if match[0] == "{":
            begin, depth = (match.end() if depth == 0 else begin), depth + 1
        elif match[0] == "}":
            depth -= 1
            if depth == 0:
                bodies |= dict.fromkeys(header, code[begin : match.start()])
                header = []
        elif depth == 0:
            header = [] if match[0] == ";" else [*header[-64:], match[1]] if match[2] else header
    return bodies if depth == 0 else {}


def _used(code: str, macros: Mapping[str, str] | None) -> Iterator[str]:
    """Yield the words that code calls, and macros that it names; ``/`` if something is divided, and whether a product is summed
    up. With None the code is a macro's, which may name a function alone."""
    signs = set[str]()
    for match in _TOKEN.finditer(code):
        if match[1] and (match[2] or macros is None or match[1] in macros):
            yield match[1]
        elif not match[1]:
            signs.add(match[0])
    if "/" in signs:
        yield "/"
    if "*" in signs and signs & {"+", "-"}:
        yield _FUSED
