"""Which kernels a name or a pattern means, as the binary or as C++ calls them."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection

from kernlens.analysis.cxx_names import kernel_title, readable
from kernlens.errors import AmbiguousKernelError, UnknownKernelError, nearest

_WORD = re.compile(r"[A-Za-z_]\w{2,}")


def kernels_named(wanted: str, known: Collection[str]) -> list[str]:
    """The names among ``known`` that are asked for: as the binary or as C++ has them, or by a pattern of these. Raises
    UnknownKernelError, with the nearest, if there is none."""
    alike = _alike(wanted, known)
    if not alike:
        raise UnknownKernelError(wanted, _near(wanted, known) or sorted(map(kernel_title, known)))
    return alike


def kernels_meant(wanted: str, known: Collection[str]) -> list[str]:
    """As ``kernels_named``, or the one kernel whose name ends with ``::`` and ``wanted``, or else has it as a part. Raises
    AmbiguousKernelError if these are several, and names them."""
    alike = _alike(wanted, known)
    for has_part in (_ends_with, _holds):
        if not alike and wanted:
            alike = [name for name in known if any(has_part(each, wanted) for each in called(name))]
            titles = {kernel_title(name) for name in alike}
            if len(titles) > 1:
                raise AmbiguousKernelError(wanted, sorted(titles, key=lambda title: (len(title), title)))
    return alike or kernels_named(wanted, known)


def _alike(wanted: str, known: Collection[str]) -> list[str]:
    if wanted in known:
        return [wanted]
    return [name for name in known if wanted in called(name)] or [name for name in known if is_named(wanted, name)]


def _ends_with(name: str, part: str) -> bool:
    return name.endswith(f"::{part}")


def _holds(name: str, part: str) -> bool:
    return part in name


def is_named(pattern: str, name: str) -> bool:
    """Whether the name, as the binary or as C++ has it, is one of a pattern's: * stands for any text, ? for a character."""
    parts = _parts(pattern)
    return any(_fits(parts, each) for each in called(name))


def called(name: str) -> tuple[str, ...]:
    """What a kernel is called; that of SYCL has the name of its type."""
    if not name.startswith("_Z"):
        return (name,)
    return name, readable(name), kernel_title(name)


def _near(wanted: str, known: Collection[str]) -> list[str]:
    """C++ names in which a word is like one that was asked for."""
    words_of = {name: set(_WORD.findall(readable(name))) for name in known if name.startswith("_Z")}
    if not words_of:
        return []
    every = set().union(*words_of.values())
    near = {word for asked in _WORD.findall(wanted) for word in nearest(asked, every)[:1]}
    ranked = sorted(words_of, key=lambda name: (-len(near & words_of[name]), len(name))) if near else []
    return [kernel_title(name) for name in ranked[:4]]


@functools.lru_cache
def _parts(pattern: str) -> list[re.Pattern[str]]:
    """What is before, between and behind a pattern's stars. The last ends with the name."""
    texts = ["".join("." if letter == "?" else re.escape(letter) for letter in part) for part in pattern.split("*")]
    return [re.compile(text, re.DOTALL) for text in (*texts[:-1], texts[-1] + r"\Z")]


def _fits(parts: list[re.Pattern[str]], name: str) -> bool:
    first, *others = parts
    match = first.match(name)
    for part in others:
        # Each is looked for once, where it comes first: no name takes longer the more stars there are.
        match = match and part.search(name, match.end())
    return match is not None
