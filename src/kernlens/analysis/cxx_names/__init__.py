"""C++ names as their source has them, for people: ``_ZN3rng5scaleIfEEvPT_`` is ``void rng::scale<float>(float*)``.

Source: Itanium C++ ABI, section 5.1 "External Names (a.k.a. Mangling)"; the wording is that of ``c++filt``. Of the
grammar, expressions in templates (``X ... E``) are read as far as they consist of literals, parameters and operators.

A name of hostile input can stand for one of any length, as parts of it are named again and again, so both the steps and
the text are limited; a name beyond that, or of another grammar, stays mangled.
"""

from __future__ import annotations

#: What demanglers put before the name of a type whose name is meant: SYCL names kernels after types.
_TYPE_NAME = "typeinfo name for "


def kernel_title(name: str) -> str:
    """Returns a kernel's name for people: as C++ source would have it, that of SYCL's the name of its type."""
    return readable(name).removeprefix(_TYPE_NAME)


def readable(name: str) -> str:
    """Returns ``name`` as C++ source would have it, and any other name as it is."""
    if not name.startswith("_Z"):
        return name
    from kernlens.analysis.cxx_names.shapes import demangled

    return demangled(name)
