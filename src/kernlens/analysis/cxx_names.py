"""C++ names as their source has them, for people: ``_ZN3rng5scaleIfEEvPT_`` is ``void rng::scale<float>(float*)``."""

from __future__ import annotations

#: What demanglers put before the name of a type whose name is meant: SYCL names kernels after types.
_TYPE_NAME = "typeinfo name for "


def kernel_title(name: str) -> str:
    """Return a kernel's name for people: as C++ source would have it, that of SYCL's the name of its type."""
    return readable(name).removeprefix(_TYPE_NAME)


def readable(name: str) -> str:
    """Return ``name`` as C++ source would have it, and any other name as it is."""
    if not name.startswith("_Z"):
        return name
    from kernlens.demangler import demangled

    return demangled(name)
