"""The modules of a file, as links take them."""

from __future__ import annotations

from kernlens.loading.linkable import linkable_in, module_of
from kernlens.loading.open import Contents
from kernlens.model.module import Module
from kernlens.model.program import Program


def readable_modules(contents: Contents, *, options: str | None = None) -> list[tuple[Program, Module]]:
    """Return the linkable programs of an opened path, each with its module; ``options`` are as for ``module_of``."""
    return [
        (program, module_of(program, name=name, options=options))
        for name, program in linkable_in(contents, contents.programs)
    ]
