"""Targets for text that people assemble: what is read of it here, and what libiga64 makes of it in its own process."""

from __future__ import annotations

from functools import cache

from kernlens.errors import KernlensError
from kernlens.formats.listings.editable_code import read_editable
from kernlens.isa.devices import device
from kernlens.isa.intel.assembly_text import code_text
from kernlens.verbs.edited_instructions import OldCode, assemble_edit

#: ``mov (8) r1 r2`` of Gen9, twice, then a jump to the start: the code that hostile texts are edits of.
_MOV = bytes.fromhex("01006000e83a202040008d0000000000")
_PLATFORM_DEVICE = "skl"


@cache
def _old() -> OldCode | None:
    code = _MOV * 2
    try:
        text = code_text(device(_PLATFORM_DEVICE), code, [0, 16], set())
    except KernlensError:
        return None
    return OldCode(code, text, {}, ())


def edited_text(data: bytes) -> None:
    """Read a text, and assemble it as an edit of a small kernel. What is read of it has no more lines than it has."""
    text = data.decode("utf-8", "backslashreplace")
    edit = read_editable(text)
    assert len(edit.instructions) <= len(edit.lines) <= text.count("\n") + text.count("\r") + 1
    assert not any("//" in line for line in edit.lines)
    old = _old()
    if old is not None:
        new = assemble_edit(old, edit)
        assert len(new.moves.origins) == len(edit.instructions)
        assert new.moves.new_size == len(new.code)
