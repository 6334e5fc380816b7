"""A module's symbols and relocations, and the uses of its imports with their source places, as text and as documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kernlens.analysis.cxx_names import kernel_title
from kernlens.model.binary import Relocation
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.module import EXPORT_FUNCTIONS, EXPORT_VARIABLES, ImportUse, Module, ModuleSymbol, SymbolKind
from kernlens.model.program import Program
from kernlens.model.source_map import SourcePlace
from kernlens.report.json_text import attributes
from kernlens.report.style import style
from kernlens.report.table import table

#: Characters of a symbol's name that a text shows; the document has them all.
NAME_LENGTH = 80
#: Places of one use that a text shows; the document has them all.
_PLACES = 4

#: What a relocation's type asks for, by the type's name without its prefix.
#: Sources: ZEELF.h of intel-graphics-compiler; ``Linker`` of compute-runtime.
_MEANINGS = {
    "NONE": "nothing",
    "SYM_ADDR": "the symbol's address, 8 bytes",
    "SYM_ADDR_32": "the address's low 4 bytes",
    "SYM_ADDR_32_HI": "the address's high 4 bytes",
    "PER_THREAD_PAYLOAD_OFFSET_32": "where the kernel's per-thread payload begins, 4 bytes",
    "GLOBAL_IMM_32": "a value that the driver chooses, 4 bytes",
    "SEND": "a send's descriptor",
    "SYM_ADDR_16": "the address's low 2 bytes",
}
#: What the driver fills in itself.
_DRIVER_MEANINGS = {
    "__INTEL_PATCH_CROSS_THREAD_OFFSET_OFF_R0": "size of the implicit arguments",
    "__INTEL_PER_THREAD_OFF": "where the kernel's per-thread payload begins",
    "__INTEL_SURFACE_STATE_SIZE": "size of a surface state",
    "__SubDeviceID": "which part of a divided device it runs on",
}


def shortened(name: str) -> str:
    """Return a name for a line of text, as its source has it; the middle of a very long one is left out."""
    name = kernel_title(name)
    if len(name) <= NAME_LENGTH:
        return name
    half = NAME_LENGTH // 2 - 2
    return f"{name[:half]}...{name[-half:]}"


def meaning(relocation: Relocation) -> str:
    """Return what the site will hold, in words."""
    meaning = _DRIVER_MEANINGS.get(relocation.symbol)
    if meaning is not None:
        return f"{meaning} (filled in by the driver)"
    name = relocation.type_name.removeprefix("R_").removeprefix("ZE_")
    return _MEANINGS.get(name, f"relocation type {relocation.type}")


def places_text(places: Sequence[SourcePlace]) -> str:
    """Return the places as ``kernels.cl:4, 7``; empty if there is none."""
    words: list[str] = []
    path = None
    for path_of, line in dict.fromkeys((place.path, place.line) for place in places[: 4 * _PLACES]):
        words.append(str(line) if path_of == path else f"{path_of}:{line}")
        path = path_of
    more = ["..."] if len(words) > _PLACES else []
    return ", ".join([*words[:_PLACES], *more])


def use_documents(module: Module, uses: Sequence[ImportUse]) -> Iterator[dict[str, Any]]:
    """Yield each use with the source places that it may mean; ``path`` and ``line`` are None if it is not one place."""
    for use in uses:
        places = [
            {"path": path, "line": line}
            for path, line in dict.fromkeys((place.path, place.line) for place in module.find_places(use))
        ]
        yield {
            "holder": use.holder,
            "segment": use.segment,
            "offset": use.offset,
            "type": use.type_name,
            **(places[0] if len(places) == 1 else {"path": None, "line": None}),
            "places": places,
        }


def flag_state(module: Module, spellings: Sequence[str], kinds: Sequence[SymbolKind]) -> str:
    """Return the state of a flag: ``used``, ``missing: hides f, g`` (other words of SPIR-V), ``not used`` or ``not known``."""
    state = module.has_flag(tuple(spellings))
    hidden = [shortened(symbol.name) for symbol in module.hidden if symbol.kind in kinds]
    if hidden and not state:
        more = f" and {len(hidden) - 5} more" if len(hidden) > 5 else ""
        words = "not in --build-options" if module.format == "spirv" else "missing"
        return f"{words}: hides {', '.join(hidden[:5])}{more}"
    return {True: "used", False: "not used", None: "not known"}[state]


def symbols_text(program: Program, module: Module, *, all_relocations: bool = False) -> Iterator[str]:
    """Yield the lines that ``kernlens symbols`` prints of one module."""
    where = f" for {module.device}" if module.device else ""
    yield f"{style(module.name, bold=True)}  {module.format}{where}"
    if module.options:
        yield f"  options: {module.options}"
    # Of a device with an IP version, or of none, Intel's compilers make it: they alone have these options.
    has_flags = program.device is None or program.device.ip is not None
    for flag, kinds in _FLAGS if has_flags else ():
        state = flag_state(module, flag, kinds)
        line = f"  {flag[0]}: {state}"
        yield style(line, fg="yellow") if state.startswith("missing") else line
    yield f"  kernels: {', '.join(map(shortened, module.kernels)) or 'none'}"
    if module.has_functions:
        pseudo = program.kernels[PSEUDO_KERNEL]
        yield f"  no kernel, but the code of all functions: {PSEUDO_KERNEL}, {pseudo.code_size:,} bytes"
    if module.spec_constants:
        yield f"  specialisation constants: {', '.join(map(str, module.spec_constants))}"
    yield from _group("exports", [symbol for symbol in module.exports if not symbol.is_internal])
    yield from _group("imports", module.imports)
    yield from _group("not exported, though the source offers them", module.hidden)
    internal = [symbol.name for symbol in module.exports if symbol.is_internal]
    if internal:
        yield f"  visible to drivers, though the source does not export them: {', '.join(map(shortened, internal))}"
    if module.compiler_functions:
        yield f"  the compiler's own: {', '.join(map(shortened, module.compiler_functions))}"
    if module.driver_symbols:
        yield f"  filled in by the driver: {', '.join(module.driver_symbols)}"
    yield from _relocations(program, module, all_relocations)


_FLAGS = ((EXPORT_FUNCTIONS, (SymbolKind.FUNCTION, SymbolKind.UNKNOWN)), (EXPORT_VARIABLES, (SymbolKind.VARIABLE,)))


def _group(title: str, symbols: Sequence[ModuleSymbol]) -> Iterator[str]:
    if symbols:
        yield f"  {title}"
        rows = [
            (
                shortened(symbol.name),
                str(symbol.kind),
                shortened(symbol.type_name or ""),
                symbol.size,
                symbol.address_space or "",
            )
            for symbol in symbols
        ]
        yield from table(("name", "kind", "type", "bytes", "space"), rows, indent="    ")


def loaded_relocations(program: Program) -> list[Relocation]:
    """Return the relocations that the driver applies; those of debug sections are for debuggers."""
    return [relocation for relocation in program.relocations if not relocation.section.startswith(".debug")]


def _relocations(program: Program, module: Module, everything: bool) -> Iterator[str]:
    relocations = program.relocations if everything else loaded_relocations(program)
    if relocations:
        imported = {symbol.name for symbol in module.imports}
        places = {
            (use.holder, use.offset, use.symbol): places_text(module.find_places(use))
            for use in module.uses
            if use.segment is not None
        }
        placed = any(places.values())
        rows = [
            (
                _holder(relocation),
                f"{relocation.offset:#x}",
                relocation.type_name,
                shortened(relocation.symbol),
                "import"
                if relocation.symbol in imported
                else "driver"
                if relocation.symbol in module.driver_symbols
                else "own",
                meaning(relocation),
                *((places.get((_holder(relocation), relocation.offset, relocation.symbol), ""),) if placed else ()),
            )
            for relocation in relocations
        ]
        yield "  relocations"
        headings = ("in", "offset", "type", "symbol", "whose", "meaning", *(("source",) if placed else ()))
        yield from table(headings, rows, indent="    ")
    elif module.format == "spirv" and module.uses:
        yield "  imports are used in"
        rows = [
            (shortened(use.holder), shortened(use.symbol), places_text(module.find_places(use))) for use in module.uses
        ]
        yield from table(("function", "symbol", "source"), rows, indent="    ")


def _holder(relocation: Relocation) -> str:
    return relocation.section.removeprefix(".text.")


def symbols_document(program: Program, module: Module) -> dict[str, Any]:
    """Return one module for ``symbols --json``."""
    return {
        "name": module.name,
        "format": module.format,
        "device": str(module.device) if module.device else None,
        "options": module.options,
        "flags": {flag[0]: module.has_flag(flag) for flag, _ in _FLAGS},
        "kernels": list(module.kernels),
        "has_functions": module.has_functions,
        "exports": [_symbol(symbol) for symbol in module.exports],
        "imports": [_symbol(symbol) for symbol in module.imports],
        "hidden": [_symbol(symbol) for symbol in module.hidden],
        "driver_symbols": list(module.driver_symbols),
        "compiler_functions": list(module.compiler_functions),
        "spec_constants": [
            {"id": constant.number, "kind": constant.kind, "width": constant.width}
            for constant in module.spec_constants
        ],
        "relocations": [
            attributes(relocation, "section", "offset", "type", "type_name", "symbol", "addend")
            | {"meaning": meaning(relocation)}
            for relocation in loaded_relocations(program)
        ],
        "uses": [
            {"symbol": use.symbol, **use_document}
            for use in module.uses
            for use_document in use_documents(module, (use,))
        ],
    }


def _symbol(symbol: ModuleSymbol) -> dict[str, Any]:
    return {
        "name": symbol.name,
        "kind": str(symbol.kind),
        "type": symbol.type_name,
        "size": symbol.size,
        "address_space": symbol.address_space,
        "internal": symbol.is_internal,
    }
