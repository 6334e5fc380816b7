"""A zebin with other code of a kernel: its section, symbols, relocations, debug data and what ze_info says of offsets.

Source: ``IGC/ZEBinWriter/zebin/spec/elf.md`` and ``ze_info.md`` of intel-graphics-compiler. The SPIR-V of the program is left
out: a driver that does not take the code for its own would compile that instead, without a word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernlens.errors import FormatError, NotFoundError
from kernlens.formats.dwarf.moved_debug import moved_debug
from kernlens.formats.elf.elf64_structures import REL_LAYOUT, RELA_LAYOUT, SYM_LAYOUT, Elf64Sym
from kernlens.formats.elf.elf_rewriting import with_contents
from kernlens.formats.elf.header import SHT_REL, SHT_RELA, SHT_SYMTAB
from kernlens.formats.intermediate_code import without_intermediate_code
from kernlens.formats.zebin.zebin_file import SHT_ZEBIN_ZEINFO, ZebinKernel, read_zebin
from kernlens.model.code_moves import CodeMoves

_ALIGNMENT = 64
#: Offsets at which the driver lets threads begin, in a kernel's part of ze_info.
_ENTRY = re.compile(rb"^( +offset_to_skip_(?:per_thread_data_load|set_ffid_gp): +)(\d+)", re.MULTILINE)
_KERNEL = re.compile(rb"^ *- +name: +(\S.*)$", re.MULTILINE)


def edited_zebin(content: bytes, kernel: str, code: bytes, moves: CodeMoves) -> bytes:
    """Return the zebin with ``code`` as that of ``kernel``. Raises NotFoundError if it has no such kernel, FormatError for
    damaged files, and for entry points that cannot be moved where they would have to."""
    zebin = read_zebin(memoryview(content))
    functions = () if zebin.functions is None else (zebin.functions,)
    own = next((each for each in (*zebin.kernels, *functions) if each.name == kernel), None)
    if own is None:
        raise NotFoundError(f"the zebin has no kernel {kernel}")
    index = own.section.index
    padding = bytes(len(own.heap) - len(own.code))
    whole = code + padding
    contents = {index: whole + bytes(-len(whole) % _ALIGNMENT)}
    for table in zebin.elf.sections:
        if table.type in (SHT_REL, SHT_RELA) and table.info == index:
            contents[table.index] = _moved_sites(table.data, table.type == SHT_RELA, moves)
        elif table.type == SHT_SYMTAB:
            contents[table.index] = _moved_symbols(table.data, own, moves)
        elif table.type == SHT_ZEBIN_ZEINFO:
            contents[table.index] = _moved_entries(bytes(table.data), kernel, moves)
    contents |= moved_debug(zebin.elf, index, moves)
    changed = {number: new for number, new in contents.items() if new != bytes(zebin.elf.sections[number].data)}
    return without_intermediate_code(with_contents(content, changed, format="zebin"))


def moved_sites(offset: int, moves: CodeMoves) -> Sequence[int]:
    """Return where the bytes that the driver fills in are now in each copy of an old instruction."""
    row = moves.row_of(offset)
    if row is None:
        return [moves.boundary(offset)]
    within = offset - moves.old_offsets[row]
    return [
        moves.new_offsets[new] + within
        for new, origin in enumerate(moves.origins)
        if origin == row and within < moves.new_offsets[new + 1] - moves.new_offsets[new]
    ]


def _moved_sites(table: memoryview, has_addends: bool, moves: CodeMoves) -> bytes:
    layout = RELA_LAYOUT if has_addends else REL_LAYOUT
    if len(table) % layout.size:
        raise FormatError("relocations are not a whole number of entries", format="zebin")
    entries = []
    for offset, *rest in layout.iter_unpack(bytes(table)):
        entries += [layout.pack(site, *rest) for site in moved_sites(offset, moves)]
    return b"".join(entries)


def _moved_symbols(table: memoryview, kernel: ZebinKernel, moves: CodeMoves) -> bytes:
    """Return the symbol table with the values and sizes of those of the kernel's section moved."""
    if len(table) % SYM_LAYOUT.size:
        raise FormatError("symbols are not a whole number of entries", format="zebin")
    base, limit = kernel.section.address, 1 << 32
    entries = []
    for values in SYM_LAYOUT.iter_unpack(bytes(table)):
        symbol = Elf64Sym._make(values)
        if symbol.st_shndx == kernel.section.index and symbol.st_size < limit:
            start = symbol.st_value - base if symbol.st_value >= base else symbol.st_value
            moved = moves.boundary(start)
            symbol = symbol._replace(
                st_value=symbol.st_value - start + moved,
                st_size=moves.boundary(start + symbol.st_size) - moved if symbol.st_size else 0,
            )
        entries.append(SYM_LAYOUT.pack(*symbol))
    return b"".join(entries)


def _moved_entries(text: bytes, kernel: str, moves: CodeMoves) -> bytes:
    """Return ze_info with the kernel's entry points moved: the offsets behind what loads a thread's payload."""
    names = list(_KERNEL.finditer(text))
    for number, match in enumerate(names):
        if match[1].decode("utf-8", "replace").rstrip(" ").strip("'\"") == kernel:
            end = names[number + 1].start() if number + 1 < len(names) else len(text)
            part = text[match.end() : end]
            moved = _ENTRY.sub(lambda entry: entry[1] + str(moved_entry(int(entry[2]), moves)).encode(), part)
            return text[: match.end()] + moved + text[end:]
    return text


def moved_entry(offset: int, moves: CodeMoves) -> int:
    """Return where a thread begins that has its payload already. Raises FormatError if that is no multiple of 64."""
    moved = moves.boundary(offset)
    if moved % _ALIGNMENT:
        raise FormatError(
            f"threads that have their payload begin at {offset:#x}, which the edit moves to {moved:#x}, and the hardware"
            f" begins at multiples of {_ALIGNMENT} bytes only; keep the size of the code before it, with nop"
            " instructions where some are too few",
            format="assembly",
        )
    return moved
