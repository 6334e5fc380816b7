"""Turns the symbols and relocations of patch-token programs into the model's.

Source: ``RelocationInfo.h`` of intel-graphics-compiler (``GenSymType``, ``GenRelocType``); ``linker.h`` and
``implicit_args`` of compute-runtime for the names that the driver fills in itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.formats.patch_tokens.layouts import PatchToken, RelocationTable, SymbolTable
from kernlens.model.binary import Relocation, Symbol
from kernlens.model.intel_symbols import DRIVER_SYMBOLS

#: ``GenSymType`` -> (ELF-like type, verdict).
_SYMBOL_KINDS = {
    0: ("notype", "local"),
    1: ("notype", "import"),
    2: ("func", "export"),
    3: ("object", "export"),
    4: ("object", "export"),
    5: ("object", "export"),
    6: ("func", "kernel"),
}
_FUNCTION_KINDS = (2, 6)
_UNDEFINED = 1

#: Where variables live: the program's memory, by ``GenSymType``.
_MEMORY_NAMES = {3: "global memory", 4: "constant memory", 5: "constant memory"}

_RELOCATION_NAMES = (
    "R_NONE",
    "R_SYM_ADDR",
    "R_SYM_ADDR_32",
    "R_SYM_ADDR_32_HI",
    "R_PER_THREAD_PAYLOAD_OFFSET_32",
    "R_GLOBAL_IMM_32",
    "R_SEND",
    "R_SYM_ADDR_16",
)


def symbols_of(tokens: Sequence[PatchToken], kernel: str, kernel_index: int) -> tuple[Symbol, ...]:
    """Returns the entries of symbol tables. ``section`` is the kernel for functions, ``global memory`` or ``constant
    memory`` for variables; ``section_index`` is the kernel's number, -1 for all else. ``value`` is an offset within
    it."""
    symbols: list[Symbol] = []
    for token in tokens:
        for entry in token.entries if isinstance(token, SymbolTable) else ():
            type_name, verdict = _SYMBOL_KINDS.get(entry.kind, (str(entry.kind), "local"))
            is_function = entry.kind in _FUNCTION_KINDS
            if verdict == "import" and entry.name in DRIVER_SYMBOLS:
                verdict = "driver"
            symbols.append(
                Symbol(
                    name=entry.name,
                    value=0 if entry.kind == _UNDEFINED else entry.offset,
                    size=entry.size,
                    binding="global",
                    type=type_name,
                    section=kernel if is_function else _MEMORY_NAMES.get(entry.kind),
                    section_index=kernel_index if is_function else -1,
                    index=len(symbols),
                    kind=verdict,
                )
            )
    return tuple(symbols)


def relocations_of(tokens: Sequence[PatchToken], kernel: str) -> tuple[Relocation, ...]:
    """Returns the entries of relocation tables."""
    return tuple(
        Relocation(
            section=kernel,
            offset=entry.offset,
            type=entry.kind,
            type_name=_RELOCATION_NAMES[entry.kind] if entry.kind < len(_RELOCATION_NAMES) else str(entry.kind),
            symbol=entry.symbol,
            symbol_index=None,
        )
        for token in tokens
        if isinstance(token, RelocationTable)
        for entry in token.entries
    )


def with_imports(symbols: tuple[Symbol, ...], relocations: Sequence[Relocation]) -> tuple[Symbol, ...]:
    """Returns ``symbols`` and, with index -1, a symbol for each name that is relocated but in no table: without
    ``-library-compilation`` the compiler writes no table, and only relocations show what a kernel imports."""
    names = {symbol.name for symbol in symbols}
    missing = dict.fromkeys(relocation.symbol for relocation in relocations if relocation.symbol not in names)
    return symbols + tuple(
        Symbol(
            name=name,
            value=0,
            size=0,
            binding="global",
            type="notype",
            section=None,
            section_index=-1,
            index=-1,
            kind="driver" if name in DRIVER_SYMBOLS else "import",
        )
        for name in missing
        if name
    )
