"""One kernel's part of a stage that has a text of the whole program."""

from __future__ import annotations

from dataclasses import replace

from kernlens.errors import NotFoundError
from kernlens.formats.listings.llvm_parts import LlvmParts
from kernlens.formats.listings.spirv_cut import cut_to_entry_point
from kernlens.model.stage import TEXT, Snapshot


def of_one_kernel(snapshot: Snapshot, kernel: str) -> Snapshot:
    """Return the kernel, and what it calls and uses, of LLVM IR or of SPIR-V's text; other snapshots as they are.

    Raises NotFoundError, with the functions that there are, if the text does not have the kernel.
    """
    if snapshot.kernel is not None or snapshot.form != TEXT or snapshot.failure is not None:
        return snapshot
    if snapshot.ending not in (".ll", ".spvasm"):
        return snapshot
    text, functions = snapshot.text, []
    if snapshot.ending == ".ll":
        parts = LlvmParts(text, with_metadata=True)
        cut, functions = parts.cut_to_function(kernel), parts.defined()
    else:
        cut = cut_to_entry_point(text, kernel)
    if cut is None:
        there = f"; it has: {', '.join(functions[:20])}" if functions else ""
        raise NotFoundError(f"the stage {snapshot.stage} has no function {kernel!r}{there}")
    content = cut.encode("utf-8", "replace")
    return replace(snapshot, kernel=kernel, find_content=lambda: content, size=len(content))
