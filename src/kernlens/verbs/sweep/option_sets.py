"""Sets of build options: those that are stated, with each choice of what macros may be."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence

from kernlens.errors import KernlensError
from kernlens.toolchain.sources.includes import join_options, split_options

#: A sweep may have so many sets.
SETS_LIMIT = 100_000
#: Linux gives a program no word of more than 128 KB; options are one, with the source's path and others added.
_LONGEST = 100_000

_MACRO = re.compile(r"[A-Za-z_]\w*")


def checked(options: str) -> str:
    """Return a set of options, "" for two double quotes. Raises KernlensError if a quote is not closed, it has control
    characters, or is too long."""
    if len(options) > _LONGEST:
        raise KernlensError(
            f"--build-options: {len(options):,} characters are too many for a compiler; a set has at most {_LONGEST:,}"
        )
    if options.count('"') % 2:
        raise KernlensError(f"--build-options: a double quote is not closed in {options}")
    if not options.isprintable():
        raise KernlensError(f"--build-options: there is a control character in {options!r}")
    return "" if split_options(options) in ([], [""]) else options


def macro_sets(macros: Sequence[str]) -> Iterator[str]:
    """Yield the options of every choice of values: ``A=1,2`` and ``B=3,4`` give four, and ``C`` defines a macro in all.

    Raises KernlensError for what is no such macro, for one that is given twice, and for too many choices.
    """
    choices: dict[str, list[str]] = {}
    for text in macros:
        name, has_values, values = text.partition("=")
        if not _MACRO.fullmatch(name):
            raise KernlensError(f"-D {text} does not read like NAME=1,2,4")
        if name in choices:
            raise KernlensError(f"-D {name} is given twice; list all values in one option: -D {name}=1,2,4")
        listed = values.split(",")
        if "" in listed and len(listed) > 1:
            raise KernlensError(f"-D {text} has an empty value among others; give one of them to each comma")
        choices[name] = [f"-D{name}={value}" for value in dict.fromkeys(listed)] if has_values else [f"-D{name}"]
    count = math.prod(map(len, choices.values()))
    if count > SETS_LIMIT:
        raise KernlensError(f"the values of -D have {count:,} combinations; at most {SETS_LIMIT:,} are swept at a time")
    for words in itertools.product(*choices.values()):
        yield join_options(words)


def option_sets(stated: Sequence[str], macros: Sequence[str] = ()) -> list[str]:
    """Return the sets of a sweep: each that is ``stated`` (none: the empty one) with each choice of ``macros``; of those that
    have the same words only the first. Raises what ``macro_sets`` raises."""
    products = list(macro_sets(macros))
    bases = [checked(options) for options in stated] or [""]
    if len(bases) * len(products) > SETS_LIMIT:
        raise KernlensError(
            f"{len(bases):,} sets of options with {len(products):,} choices of -D are more than {SETS_LIMIT:,}"
        )
    sets: dict[tuple[str, ...], str] = {}
    for base in bases:
        for product in products:
            options = f"{base} {product}".strip()
            sets.setdefault(tuple(split_options(options)), options)
    return list(sets.values())
