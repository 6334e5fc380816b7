"""The symbols and relocations of patch-token programs as the model's.

Source: ``RelocationInfo.h`` of intel-graphics-compiler (``GenSymType``, ``GenRelocType``); ``linker.h`` and
``implicit_args`` of compute-runtime for the names that the driver fills in itself.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from kernlens.formats.patch_tokens.token_list import Token
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

#: Size of an entry in bytes -> the numbers before its name. Newer compilers write offsets as ``size_t``.
#: ``GenSymEntry``: kind, offset, size. ``GenRelocEntry``: kind, and the offset within the kernel heap.
_SYMBOL_LAYOUTS = {1036: struct.Struct("<III"), 1048: struct.Struct("<I4xQI")}
_RELOCATION_LAYOUTS = {1032: struct.Struct("<II"), 1040: struct.Struct("<I4xQ")}

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


def symbols_of(tokens: Sequence[Token], kernel: str, kernel_index: int) -> tuple[Symbol, ...]:
    """Return the entries of symbol tables. ``section`` is the kernel for functions, ``global memory`` or ``constant
    memory`` for variables; ``section_index`` is the kernel's number, -1 for all else. ``value`` is an offset within it."""
    symbols: list[Symbol] = []
    for token in tokens:
        for name, (kind, offset, size) in token.entries(_SYMBOL_LAYOUTS):
            type_name, verdict = _SYMBOL_KINDS.get(kind, (str(kind), "local"))
            is_function = kind in _FUNCTION_KINDS
            if verdict == "import" and name in DRIVER_SYMBOLS:
                verdict = "driver"
            symbols.append(
                Symbol(
                    name=name,
                    value=0 if kind == _UNDEFINED else offset,
                    size=size,
                    binding="global",
                    type=type_name,
                    section=kernel if is_function else _MEMORY_NAMES.get(kind),
                    section_index=kernel_index if is_function else -1,
                    index=len(symbols),
                    kind=verdict,
                )
            )
    return tuple(symbols)


def relocations_of(tokens: Sequence[Token], kernel: str) -> tuple[Relocation, ...]:
    """Return the entries of relocation tables."""
    return tuple(
        Relocation(
            section=kernel,
            offset=offset,
            type=kind,
            type_name=_RELOCATION_NAMES[kind] if kind < len(_RELOCATION_NAMES) else str(kind),
            symbol=symbol,
            symbol_index=None,
        )
        for token in tokens
        for symbol, (kind, offset) in token.entries(_RELOCATION_LAYOUTS)
    )


def with_imports(symbols: tuple[Symbol, ...], relocations: Sequence[Relocation]) -> tuple[Symbol, ...]:
    """Return ``symbols`` and, with index -1, a symbol for each name that is relocated but in no table: without
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
