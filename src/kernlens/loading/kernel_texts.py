"""One kernel's part of a stage that has a text of the whole program."""

from __future__ import annotations

from dataclasses import replace

from kernlens.errors import NotFoundError
from kernlens.formats.listings.llvm_cut import cut_to_function, functions_of
from kernlens.formats.listings.spirv_cut import cut_to_entry_point
from kernlens.model.stage import TEXT, Snapshot


def of_one_kernel(snapshot: Snapshot, kernel: str) -> Snapshot:
    """Returns the kernel, and what it calls and uses, of LLVM IR or of SPIR-V's text; other snapshots as they are.

    Raises NotFoundError, with the functions that there are, if the text does not have the kernel.
    """
    if snapshot.kernel is not None or snapshot.form != TEXT or snapshot.failure is not None:
        return snapshot
    if snapshot.ending not in (".ll", ".spvasm"):
        return snapshot
    text = snapshot.text
    cut = cut_to_function(text, kernel) if snapshot.ending == ".ll" else cut_to_entry_point(text, kernel)
    if cut is None:
        there = ", ".join(functions_of(text)[:20]) if snapshot.ending == ".ll" else ""
        raise NotFoundError(
            f"the stage {snapshot.stage} has no function {kernel!r}" + (f"; it has: {there}" if there else "")
        )
    content = cut.encode("utf-8", "replace")
    return replace(snapshot, kernel=kernel, find_content=lambda: content, size=len(content))
