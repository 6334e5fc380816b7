"""Targets for text that people assemble, and the binaries that it goes into; libiga64 has its own process."""

from __future__ import annotations

from functools import cache

from kernlens.errors import KernlensError
from kernlens.formats.elf.header import EM_INTELGT, is_elf, machine_of
from kernlens.formats.listings.editable_code import read_editable
from kernlens.formats.neo_elf import is_neo_elf, read_neo_elf
from kernlens.formats.patch_tokens.edited_program import edited_neo_elf
from kernlens.formats.patch_tokens.program_binary import read_patch_tokens
from kernlens.formats.zebin.edited_zebin import edited_zebin
from kernlens.formats.zebin.zebin_file import read_zebin
from kernlens.isa.devices import device
from kernlens.isa.intel.assembly_text import code_text, spans
from kernlens.model.code_moves import CodeMoves
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


def edited_binary(data: bytes) -> None:
    """Put other code into each kernel of a zebin, or of a NEO ELF: an instruction more behind the second, and none where the
    third was. What comes of it is read again, and has that code."""
    view = memoryview(data)
    if is_neo_elf(view):
        part = read_neo_elf(view).device_binary
        names = [] if part is None else [(each.name, bytes(each.code)) for each in read_patch_tokens(part.data).kernels]
    elif is_elf(view) and len(view) > 20 and machine_of(view) == EM_INTELGT:
        names = [(each.name, bytes(each.code)) for each in read_zebin(view).kernels]
    else:
        names = [(each.name, bytes(each.code)) for each in read_patch_tokens(view).kernels]
    for name, code in names[:4]:
        starts = [offset for offset, _ in spans(code)]
        rows: list[int | None] = list(range(len(starts)))
        rows[2:3] = [None]
        ends = [*starts, len(code)]
        pieces = [_MOV if row is None else code[ends[row] : ends[row + 1]] for row in rows]
        new_starts = [sum(map(len, pieces[:number])) for number in range(len(pieces) + 1)]
        moves = CodeMoves(ends, new_starts, rows)
        is_zebin = is_elf(view) and machine_of(view) == EM_INTELGT
        new = (edited_zebin if is_zebin else edited_neo_elf)(data, name, b"".join(pieces), moves)
        assert len(new) <= 2 * len(data) + 4096
