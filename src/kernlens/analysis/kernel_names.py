"""The kernels that a name or a pattern means, as the binary or as C++ calls them."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection
from functools import cache

from kernlens.analysis.cxx_names import kernel_title, readable
from kernlens.errors import AmbiguousKernelError, UnknownKernelError, nearest


@cache
def _word() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z_]\w{2,}")


def kernels_named(name: str, known: Collection[str]) -> list[str]:
    """Return the names among ``known`` that are asked for: as the binary or as C++ has them, or by a pattern of these.
    Raises UnknownKernelError, with the nearest, if there is none."""
    alike = _alike(name, known)
    if not alike:
        raise UnknownKernelError(name, _near(name, known) or sorted(map(kernel_title, known)))
    return alike


def kernels_meant(asked: str, known: Collection[str]) -> list[str]:
    """Return what ``kernels_named`` does, or the only kernel whose name ends with ``::`` and the text, or else has it
    as a part. Raises AmbiguousKernelError if these are several, and names them."""
    alike = _alike(asked, known)
    for has_part in (_ends_with, _holds):
        if not alike and asked:
            alike = [name for name in known if any(has_part(each, asked) for each in called(name))]
            titles = {kernel_title(name) for name in alike}
            if len(titles) > 1:
                raise AmbiguousKernelError(asked, sorted(titles, key=lambda title: (len(title), title)))
    return alike or kernels_named(asked, known)


def matching(asked: str, known: Collection[str], *, parts: bool = True) -> list[str]:
    """Return the names among ``known`` that ``kernels_named`` returns, or else with ``parts`` all that ``kernels_meant`` would
    choose from; none if there is none."""
    alike = _alike(asked, known)
    for has_part in (_ends_with, _holds) if parts and asked else ():
        alike = alike or [name for name in known if any(has_part(each, asked) for each in called(name))]
    return alike


def _alike(asked: str, known: Collection[str]) -> list[str]:
    if asked in known:
        return [asked]
    return [name for name in known if asked in called(name)] or [name for name in known if is_named(asked, name)]


def _ends_with(name: str, part: str) -> bool:
    return name.endswith(f"::{part}")


def _holds(name: str, part: str) -> bool:
    return part in name


def is_named(pattern: str, name: str) -> bool:
    """Return whether the name, as the binary or as C++ has it, fits a pattern: * stands for any text, ? for a character."""
    parts = _parts(pattern)
    return any(_fits(parts, each) for each in called(name))


def called(name: str) -> tuple[str, ...]:
    """Return the names of a kernel; that of SYCL has the name of its type."""
    if not name.startswith("_Z"):
        return (name,)
    return name, readable(name), kernel_title(name)


def _near(asked_name: str, known: Collection[str]) -> list[str]:
    """Return the C++ names in which a word is like one that was asked for."""
    words_of = {name: set(_word().findall(readable(name))) for name in known if name.startswith("_Z")}
    if not words_of:
        return []
    every = set().union(*words_of.values())
    near = {word for asked in _word().findall(asked_name) for word in nearest(asked, every)[:1]}
    ranked = sorted(words_of, key=lambda name: (-len(near & words_of[name]), len(name))) if near else []
    return [kernel_title(name) for name in ranked[:4]]


@functools.lru_cache
def _parts(pattern: str) -> list[re.Pattern[str]]:
    """Return what is before, between and behind a pattern's stars. The last ends with the name."""
    texts = ["".join("." if letter == "?" else re.escape(letter) for letter in part) for part in pattern.split("*")]
    return [re.compile(text, re.DOTALL) for text in (*texts[:-1], texts[-1] + r"\Z")]


def _fits(parts: list[re.Pattern[str]], name: str) -> bool:
    first, *others = parts
    match = first.match(name)
    for part in others:
        # Each is looked for once, where it comes first: no name takes longer the more stars there are.
        match = match and part.search(name, match.end())
    return match is not None
