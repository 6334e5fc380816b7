"""The source texts of a program: what came with it, what its SPIR-V holds, what lies on disk."""

from __future__ import annotations

import os
from collections.abc import Iterable

from kernlens.analysis.source_matching import match_sources
from kernlens.loading.context import Surroundings
from kernlens.model.kernel import Kernel
from kernlens.model.program import Source
from kernlens.model.spirv import SpirvModule

#: Bytes of the largest file that is taken for source text.
_SIZE_LIMIT = 16 << 20


def find_sources(kernels: Iterable[Kernel], module: SpirvModule | None, around: Surroundings) -> tuple[Source, ...]:
    """A Source for each file of the kernels' line tables whose text can be had, under the name that the tables use."""
    tables = [kernel.line_table for kernel in kernels if kernel.line_table is not None]
    embedded = [Source(one.file or "", one.text, "spirv") for one in (module.sources if module else ()) if one.text]
    return match_sources(tables, (*around.sources, *embedded), lambda path: _read(path, around))


def _read(path: str, around: Surroundings) -> str | None:
    """The text of ``path`` on this machine; the source roots are tried with ever shorter ends of the path."""
    candidates = [path] if os.path.isabs(path) or around.folder is None else [os.path.join(around.folder, path), path]
    pieces = [piece for piece in path.replace("\\", "/").split("/") if piece not in ("", ".", "..")]
    for root in around.source_roots:
        candidates += [os.path.join(root, *pieces[start:]) for start in range(len(pieces))]
    for candidate in candidates:
        if os.path.isfile(candidate) and os.path.getsize(candidate) <= _SIZE_LIMIT:
            with open(candidate, encoding="utf-8", errors="replace", newline="") as file:
                return file.read()
    return None
