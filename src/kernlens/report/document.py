"""The JSON document (schema 1): what ``inspect``, ``disasm`` and ``annotate`` print with ``--json``.

Unknown values are null, never guessed. The key order is stable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kernlens.errors import FormatError
from kernlens.model.binary import Container, Symbol
from kernlens.model.figures import figures_of
from kernlens.model.kernel import Kernel
from kernlens.model.line_choice import LineChoice
from kernlens.model.program import Program
from kernlens.model.source_map import CodeFunction, SourceMap, SourcePlace

SCHEMA = 1

Document = dict[str, Any]


def inspect_document(containers: Iterable[Container], programs: Iterable[Program]) -> Document:
    """Programs without instructions, with containers and symbols."""
    documents = []
    unread: FormatError | None = None
    for program in programs:
        entry = _program(program)
        try:
            entry["kernels"] = [_kernel(kernel) | _line_table(kernel) for kernel in program.kernels.values()]
            entry["symbols"] = [_symbol(symbol) for symbol in program.symbols]
        except FormatError as error:
            unread = unread or error
            entry |= {"kernels": [], "symbols": [], "unreadable": str(error)}
        documents.append(entry)
    if unread is not None and all("unreadable" in entry for entry in documents):
        raise unread
    return {"schema": SCHEMA, "containers": [_container(container) for container in containers], "programs": documents}


def disasm_document(selection: Iterable[tuple[Program, Sequence[Kernel]]]) -> Document:
    """Programs with instructions, without lines."""
    documents = []
    for program, kernels in selection:
        entry = _program(program)
        entry["kernels"] = [_kernel(kernel) | {"instructions": _instructions(kernel)} for kernel in kernels]
        documents.append(entry)
    return {"schema": SCHEMA, "programs": documents}


def annotate_document(
    selection: Iterable[tuple[Program, Sequence[Kernel]]], only: LineChoice | None = None
) -> Document:
    """Programs with sources, instructions and the place that each instruction came from; ``only``: of that line alone."""
    documents = []
    for program, kernels in selection:
        entry = _program(program)
        entry["sources"] = [{"path": source.path, "text": source.text} for source in program.sources]
        if program.unread_sources:
            entry["unread_sources"] = [
                {"path": source.path, "reason": source.unread} for source in program.unread_sources
            ]
        entry["kernels"] = [_annotated_kernel(kernel, only) for kernel in kernels]
        documents.append(entry)
    return {"schema": SCHEMA, "programs": documents}


def _program(program: Program) -> Document:
    return {
        "name": program.name,
        "device": program.device.name if program.device else None,
        "format": program.format,
        "toolchain": program.build.toolchain_title,
        "build_options": program.build.options,
    }


def _kernel(kernel: Kernel) -> Document:
    return {"name": kernel.name, **figures_of(kernel)}


def _line_table(kernel: Kernel) -> Document:
    return {
        "line_table": kernel.line_table_reason is None,
        "line_table_reason": kernel.line_table_reason,
        "line_warning": kernel.line_warning,
    }


def _instructions(kernel: Kernel) -> list[Document]:
    instructions = kernel.instructions
    return [
        {"offset": offset, "size": size, "opcode": opcode, "text": text}
        for offset, size, opcode, text in zip(
            instructions.offsets, instructions.sizes, instructions.opcodes, instructions.texts, strict=True
        )
    ]


def _annotated_kernel(kernel: Kernel, only: LineChoice | None) -> Document:
    source_map = kernel.source_map
    if source_map is None:
        instructions = (
            [] if only else [instruction | _no_place(None) | _NO_CALLS for instruction in _instructions(kernel)]
        )
    else:
        instructions = _placed_instructions(kernel, source_map, only)
    functions = [] if source_map is None else [_function(kernel, one) for one in source_map.functions]
    return _kernel(kernel) | _line_table(kernel) | {"functions": functions, "instructions": instructions}


def _function(kernel: Kernel, function: CodeFunction) -> Document:
    offsets = [*kernel.instructions.offsets, kernel.code_size]
    first, end = offsets[function.code.start], offsets[function.code.stop]
    return {"name": function.name, "offset": first, "size": end - first}


def _placed_instructions(kernel: Kernel, source_map: SourceMap, only: LineChoice | None) -> list[Document]:
    found = kernel.instructions
    columns = zip(
        found.offsets,
        found.sizes,
        found.opcodes,
        found.texts,
        source_map.places,
        source_map.origins,
        source_map.stacks,
        strict=True,
    )
    calls_of = {stack: [_source_place(call) for call in stack] for stack in set(source_map.stacks)}
    return [
        {
            "offset": offset,
            "size": size,
            "opcode": opcode,
            "text": text,
            "path": place.path,
            "line": place.line,
            "column": place.column or None,
            "line_origin": origin,
            "inlined_at": calls_of[stack],
        }
        if place
        else {"offset": offset, "size": size, "opcode": opcode, "text": text}
        | _no_place(origin)
        | {"inlined_at": calls_of[stack]}
        for offset, size, opcode, text, place, origin, stack in columns
        if only is None or only.holds(place)
    ]


_NO_CALLS: Document = {"inlined_at": []}


def _no_place(origin: str | None) -> Document:
    return {"path": None, "line": None, "column": None, "line_origin": origin}


def _source_place(place: SourcePlace) -> Document:
    return {"path": place.path, "line": place.line, "column": place.column or None}


def _container(container: Container) -> Document:
    return {
        **_container_itself(container),
        "sections": [
            {"name": section.name, "type": section.type, "offset": section.offset, "size": section.size}
            for section in container.sections
        ],
        "containers": [_part(child) for child in container.children],
    }


def _container_itself(container: Container) -> Document:
    document = {"kind": container.kind, "name": container.name, "offset": container.offset, "size": container.size}
    return document if container.unreadable is None else document | {"unreadable": container.unreadable}


def _part(container: Container) -> Document:
    """One of several containers: if its parts cannot be listed, it says why and the others follow."""
    try:
        return _container(container)
    except FormatError as error:
        reason = {"kind": "unknown", "unreadable": str(error)}
        return _container_itself(container) | reason | {"sections": [], "containers": []}


def _symbol(symbol: Symbol) -> Document:
    return {
        "name": symbol.name,
        "kind": symbol.kind,
        "type": symbol.type,
        "binding": symbol.binding,
        "value": symbol.value,
        "size": symbol.size,
        "section": symbol.section,
    }
