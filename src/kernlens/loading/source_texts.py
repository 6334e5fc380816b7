"""The source texts of a program: what came with it, what its SPIR-V holds, what lies on disk."""

from __future__ import annotations

import os
from collections.abc import Iterable

from kernlens.analysis.source_matching import match_sources
from kernlens.loading.context import Context
from kernlens.model.build import Source
from kernlens.model.kernel import Kernel

#: Bytes of the largest file that is taken for source text.
_SIZE_LIMIT = 16 << 20


def find_sources(kernels: Iterable[Kernel], context: Context) -> tuple[Source, ...]:
    """A Source for each file of the kernels' line tables whose text can be had, under the name that the tables use."""
    tables = [kernel.line_table for kernel in kernels if kernel.line_table is not None]
    available = (*context.sources, *_embedded(context.build.spirv))
    return match_sources(tables, available, lambda path: _read(path, context))


def _embedded(spirv: bytes) -> list[Source]:
    from kernlens.formats.spirv.spirv_module import read_spirv

    if not spirv:
        return []
    return [Source(one.file or "", one.text, "spirv") for one in read_spirv(memoryview(spirv)).sources if one.text]


def _read(path: str, context: Context) -> str | None:
    """The text of ``path`` on this machine; the source roots are tried with ever shorter ends of the path."""
    candidates = [path] if os.path.isabs(path) or context.folder is None else [os.path.join(context.folder, path), path]
    pieces = [piece for piece in path.replace("\\", "/").split("/") if piece not in ("", ".", "..")]
    for root in context.source_roots:
        candidates += [os.path.join(root, *pieces[start:]) for start in range(len(pieces))]
    for candidate in candidates:
        if os.path.isfile(candidate) and os.path.getsize(candidate) <= _SIZE_LIMIT:
            with open(candidate, encoding="utf-8", errors="replace", newline="") as file:
                return file.read()
    return None
