"""Programs to linkable modules: exports, imports, and every site that needs an import.

The order of ``Module.uses`` is the driver's own (compute-runtime, ``Linker::patchInstructionsSegments``,
``patchDataSegments`` and ``resolveBuiltins`` in ``linker.cpp``), so that a predicted log has the driver's order too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from kernlens.analysis.linking.driver_rules import LATEST, DriverRules
from kernlens.errors import FormatError, KernlensError, UnsupportedError
from kernlens.loading.import_places import places_in_binary, places_in_spirv
from kernlens.model.binary import Relocation, Symbol
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.module import (
    EXPORT_FUNCTIONS,
    EXPORT_VARIABLES,
    Frame,
    ImportUse,
    Module,
    ModuleSymbol,
    ReferenceGraph,
    SymbolKind,
)
from kernlens.model.program import Program

if TYPE_CHECKING:
    from kernlens.formats.spirv.uses import SpirvUses
    from kernlens.loading.open import Contents
    from kernlens.model.spirv import SpirvLinkage, SpirvModule

#: The formats that are linked, and those that hold symbols: code objects of AMD's are linked by their compiler, and libraries
#: of bitcode by OpenCL's drivers alone.
LINKABLE = ("zebin", "patch-tokens", "spirv")
_CODE_OBJECT, _BITCODE = "amd-code-object", "llvm-bitcode"
SYMBOLIC = (*LINKABLE, _CODE_OBJECT, _BITCODE)

_KINDS = {"func": SymbolKind.FUNCTION, "object": SymbolKind.VARIABLE}
_SPACES = {
    "constant memory": "constant", "global memory": "global", "UniformConstant": "constant", "CrossWorkgroup": "global",
}  # fmt: skip
#: Storage classes UniformConstant and CrossWorkgroup, as numbers.
_STATIC_SPACES = {0: "constant", 5: "global"}
_TEXT, _DATA = ".text.", ".data."
#: What the driver takes out of the list of unresolved sites again, by moving the last one into the gap.
_TAKEN_OUT = ("__SubDeviceID", "__INTEL_PER_THREAD_OFF")
#: What the driver fills in on first sight.
_FILLED_IN = ("__INTEL_PATCH_CROSS_THREAD_OFFSET_OFF_R0", "__INTEL_SURFACE_STATE_SIZE")
#: Relocation R_PER_THREAD_PAYLOAD_OFFSET_32, filled in whatever its symbol is.
_PER_THREAD_OFFSET = 4
#: Input variables that stand for work-item built-ins, which every device provides.
_BUILT_IN = "__spirv_"


def module_of(
    program: Program,
    *,
    name: str | None = None,
    options: str | None = None,
    rules: DriverRules = LATEST,
    constants: Mapping[int, str] = MappingProxyType({}),
) -> Module:
    """Return the module that ``program`` is.

    ``name`` is what to call it. ``options`` are those that SPIR-V will be built with, by a driver that follows
    ``rules``; a binary's own options count otherwise. ``constants`` are the values, as a user writes them, of the
    specialisation constants that SPIR-V will be built with, by number; those that it does not have are passed over. Raises
    UnsupportedError for raw instructions and debug data, KernlensError with the module's name for damaged content, or for a
    value that is none of the constant's type.
    """
    called = name or program.name
    if program.format not in SYMBOLIC:
        raise UnsupportedError(f"{called} contains no symbols: it is {program.format}, not a program or SPIR-V")
    try:
        if program.format == "spirv":
            return _of_spirv(program, called, options or "", rules, constants)
        return _of_binary(program, called)
    except FormatError as error:
        raise KernlensError(f"{called}: {error}") from error


def _of_binary(program: Program, name: str) -> Module:
    module = program.spirv_module
    linked = module.linkages if module else ()
    linkages = {linkage.name: linkage for linkage in linked if not linkage.name.startswith(_BUILT_IN)}
    symbols = [symbol for symbol in program.symbols if symbol.kind in ("export", "import", "driver")]
    exports = _named(_symbol(symbol, linkages, program.spirv) for symbol in symbols if symbol.kind == "export")
    imports = _named(_symbol(symbol, linkages, program.spirv) for symbol in symbols if symbol.kind == "import")
    imported = {symbol.name for symbol in imports}
    held = {symbol.name for symbol in exports} | set(program.kernels.keys())
    offered = [linkage for linkage in linkages.values() if linkage.kind == "Export"]
    code, data = _relocations(program)
    uses = [use for use in _driver_order(code, data) if use.symbol in imported]
    return Module(
        name=name,
        format=program.format,
        exports=exports,
        imports=imports,
        uses=tuple(uses),
        kernels=tuple(kernel for kernel in _entries(program) if kernel != PSEUDO_KERNEL),
        device=program.device,
        options=program.build.options,
        hidden=tuple(_linked_symbol(linkage) for linkage in offered if linkage.name not in held),
        driver_symbols=tuple(dict.fromkeys(symbol.name for symbol in symbols if symbol.kind == "driver")),
        patches_code=bool(code),
        has_functions=PSEUDO_KERNEL in program.kernels,
        frames={
            holder: _frame(program, holder) for holder in {use.holder for use in uses} & set(program.kernels.keys())
        },
        function_frame=_frame(program, PSEUDO_KERNEL) if PSEUDO_KERNEL in program.kernels else None,
        lost_kernels=program.lost_kernels,
        find_places=places_in_binary(program),
    )


def _entries(program: Program) -> Iterable[str]:
    """Return the names of the kernels, which bitcode has without code."""
    if program.format != _BITCODE:
        return program.kernels.keys()
    return (symbol.name for symbol in program.symbols if symbol.kind == "kernel")


def _frame(program: Program, kernel: str) -> Frame:
    resources = program.kernels[kernel].resources
    return Frame(resources.grf_count, resources.simd)


def _symbol(symbol: Symbol, linkages: dict[str, SpirvLinkage], spirv: memoryview) -> ModuleSymbol:
    """Return a binary's symbol, with the type and kind that its SPIR-V gives it."""
    linkage = linkages.get(symbol.name)
    known = _KINDS.get(symbol.type, SymbolKind.UNKNOWN)
    space = None
    if symbol.section is not None and not symbol.section.startswith(_TEXT):
        space = _SPACES.get(symbol.section) or ("constant" if ".const" in symbol.section else "global")
    if known is not SymbolKind.VARIABLE:
        space = None
    if linkage is None:
        # A string constant, a static variable, what the compiler adds: the source does not offer it.
        internal = symbol.kind == "export" and (
            bool(len(spirv)) or symbol.is_hidden or symbol.name.startswith((".", "__"))
        )
        return ModuleSymbol(symbol.name, known, size=symbol.size or None, address_space=space, is_internal=internal)
    linked = _linked_symbol(linkage)
    return dataclasses.replace(
        linked,
        kind=linked.kind if known is SymbolKind.UNKNOWN else known,
        size=symbol.size or linked.size,
        address_space=space or linked.address_space,
    )


def _named(symbols: Iterable[ModuleSymbol]) -> tuple[ModuleSymbol, ...]:
    """Return each name once: patch-token programs list an import once per kernel."""
    by_name: dict[str, ModuleSymbol] = {}
    for symbol in symbols:
        by_name.setdefault(symbol.name, symbol)
    return tuple(by_name.values())


def _relocations(program: Program) -> tuple[list[tuple[int, Relocation]], list[Relocation]]:
    """Return the relocations of code, each with its segment's number, and those of data, in the driver's order."""
    segments = {name: number for number, name in enumerate(program.code_order)}
    code: list[tuple[int, Relocation]] = []
    data: list[Relocation] = []
    for relocation in program.relocations:
        holder = relocation.section.removeprefix(_TEXT)
        if holder in segments and (program.format == "patch-tokens" or relocation.section.startswith(_TEXT)):
            code.append((segments[holder], relocation))
        elif relocation.section.startswith(_DATA):
            data.append(relocation)
    code.sort(key=lambda placed: placed[0])
    return code, data


def _driver_order(code: Sequence[tuple[int, Relocation]], data: Sequence[Relocation]) -> list[ImportUse]:
    sites = [
        ImportUse(each.symbol, each.section.removeprefix(_TEXT), segment, each.offset, each.type_name)
        for segment, each in code
        if each.symbol and each.symbol not in _FILLED_IN and each.type != _PER_THREAD_OFFSET
    ]
    sites += [ImportUse(each.symbol, each.section, None, each.offset, each.type_name) for each in data]
    for index in range(len(sites) - 1, -1, -1):
        if sites[index].symbol in _TAKEN_OUT:
            sites[index] = sites[-1]
            sites.pop()
    return sites


def _linked_symbol(linkage: SpirvLinkage) -> ModuleSymbol:
    return ModuleSymbol(
        linkage.name,
        SymbolKind.FUNCTION if linkage.is_function else SymbolKind.VARIABLE,
        linkage.type_name,
        linkage.size,
        None if linkage.is_function else _SPACES.get(linkage.storage_class or ""),
        call_type=linkage.call_type,
    )


def _of_spirv(program: Program, name: str, options: str, rules: DriverRules, constants: Mapping[int, str]) -> Module:
    from kernlens.formats.spirv.certain_code import certain_mentions
    from kernlens.formats.spirv.specialization import read_spec_constants
    from kernlens.formats.spirv.uses import read_spirv_uses
    from kernlens.loading.spirv_images import constant_values
    from kernlens.runtime.level_zero.spirv_hazards import exports_using_work_items

    read = program.spirv_module
    assert read is not None
    spec_constants = read_spec_constants(program.spirv) if read.has_spec_constants else {}
    values = constant_values(spec_constants, constants, name)
    words = set(options.split())
    uses = read_spirv_uses(program.spirv, read.use_words)
    kernels = tuple(dict.fromkeys(point.name for point in read.entry_points))
    linkages = [
        linkage for linkage in read.linkages if not linkage.name.startswith(_BUILT_IN) and linkage.name not in kernels
    ]
    imported = [linkage for linkage in linkages if linkage.kind == "Import"]
    imported_functions = {linkage.name for linkage in imported if linkage.is_function}
    functions_of_compiler = {name for name in imported_functions if name in rules.compiler_functions}
    imports = {linkage.id: linkage.name for linkage in imported if linkage.name not in functions_of_compiler}
    offered = [linkage for linkage in linkages if linkage.kind == "Export"]
    functions = {linkage.id for linkage in offered if linkage.is_function}
    if words.isdisjoint(EXPORT_FUNCTIONS):
        functions &= uses.taken
    roots = [*uses.entry_points, *sorted(functions)]
    reached = uses.reached(roots)
    used = uses.variables_of(reached) if functions or rules.exports_variables_alone else set()
    variables = used if words.isdisjoint(EXPORT_VARIABLES) else set(uses.variables)
    shown = [linkage for linkage in offered if linkage.id in (functions if linkage.is_function else variables)]
    hidden = [linkage for linkage in offered if linkage not in shown]
    certain = certain_mentions(program.spirv) if imports else {}
    ordered = [function for function in uses.in_functions if function in reached]
    sites = _spirv_sites(read, uses, certain, roots, ordered, imports, variables if rules.reads_data_imports else ())
    needed = {site.symbol for site in sites}
    return Module(
        name=name,
        format="spirv",
        exports=_named([*map(_linked_symbol, shown), *_static_variables(read, uses, used)]),
        imports=_named(_linked_symbol(linkage) for linkage in imported if linkage.name in needed),
        uses=sites,
        kernels=kernels,
        device=program.device,
        options=options,
        hidden=_named(map(_linked_symbol, hidden)),
        compiler_functions=tuple(sorted(functions_of_compiler)),
        work_item_exports=() if words.isdisjoint(EXPORT_FUNCTIONS) else exports_using_work_items(bytes(program.spirv)),
        graph=ReferenceGraph(
            bodies=uses.in_functions,
            initialisers=uses.in_initialisers,
            functions={linkage.name: linkage.id for linkage in offered if linkage.is_function},
            variables={linkage.name: linkage.id for linkage in offered if not linkage.is_function},
            imported=imports,
            entry_points=tuple(uses.entry_points),
            taken=frozenset(uses.taken),
        ),
        spec_constants=tuple(spec_constants.values()),
        constants=values,
        find_places=places_in_spirv(program, ordered, imports),
    )


def _static_variables(read: SpirvModule, uses: SpirvUses, used: set[int]) -> Iterator[ModuleSymbol]:
    """Yield variables without linkage: the compilers export those that are used, by the names that they have in the source."""
    linked = {linkage.id for linkage in read.linkages}
    for id in sorted(used - linked):
        space = _STATIC_SPACES.get(uses.variables[id])
        if space is not None and id in read.names:
            yield ModuleSymbol(read.names[id], SymbolKind.VARIABLE, address_space=space, is_internal=True)


def _spirv_sites(
    read: SpirvModule,
    uses: SpirvUses,
    certain: Mapping[int, Collection[int]],
    roots: Sequence[int],
    reached: Sequence[int],
    imported: Mapping[int, str],
    variables: Collection[int],
) -> tuple[ImportUse, ...]:
    """Return a use for each function that is ``reached`` and each of ``imported`` that it names; last the initialisers
    of the variables that stay and whose imports count."""
    # The translator gives a kernel a second body without a name of its own, which only calls the first.
    names = {point.id: point.name for point in read.entry_points}
    names |= {linkage.id: linkage.name for linkage in read.linkages}
    certainly_reached = uses.reached(roots, certain or None)
    sites = [
        ImportUse(
            imported[id],
            names.get(function) or read.names.get(function) or f"%{function}",
            index,
            None,
            "",
            in_doubt=bool(certain) and (function not in certainly_reached or id not in certain.get(function, ())),
        )
        for index, function in enumerate(reached)
        for id in uses.in_functions[function]
        if id in imported
    ]
    sites += [
        ImportUse(imported[id], read.names.get(variable) or f"%{variable}", None, None, "")
        for variable, named in uses.in_initialisers.items()
        if variable in variables
        for id in named
        if id in imported
    ]
    return tuple(sites)


def linkable_in(
    contents: Contents, programs: Sequence[Program], formats: Collection[str] = LINKABLE
) -> list[tuple[str, Program]]:
    """Return those of the ``programs`` of an opened path that have symbols, each with what to call its module: the file's name,
    or file and program where there are several. ``formats`` are those of the programs that are wanted. Raises UnsupportedError
    if nothing among them has symbols."""
    import os

    path = contents.path
    linkable = [program for program in programs if program.format in formats]
    if not linkable and any(program.format == _CODE_OBJECT for program in programs):
        raise UnsupportedError(f"{path} contains code objects of AMD GPUs, which ld.lld links, and kernlens does not")
    if not linkable and (failed := contents.failed_builds()):
        raise UnsupportedError(f"{path} contains nothing that can be linked: {failed.sentence}")
    if not linkable:
        raise UnsupportedError(
            f"{path} contains nothing that can be linked: symbols are in SPIR-V, zebin and patch-token programs"
            + (" and in AMD code objects" if _CODE_OBJECT in formats else "")
        )
    file = os.path.basename(os.path.normpath(path))
    return [(file if len(linkable) == 1 else f"{file}:{program.name}", program) for program in linkable]
