"""The JSON document (schema 1) that ``inspect``, ``disasm`` and ``annotate`` print with ``--json``.

Unknown values are null, never guessed. The key order is stable.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import compress
from typing import TYPE_CHECKING, Any, TypeVar

from kernlens.errors import FormatError
from kernlens.model.binary import Container, Symbol
from kernlens.model.build import Build
from kernlens.model.code_function import CodeFunction
from kernlens.model.figure import Figure
from kernlens.model.figures import (
    STATED,
    figures_of,
    has_unknown_launch,
    largest_first,
    own_figures,
    with_order,
)
from kernlens.model.kernel import Kernel
from kernlens.model.line_choice import LineChoice
from kernlens.model.program import Program
from kernlens.model.source_map import SourceMap, SourcePlace, of_each
from kernlens.model.spills import SPILLED_BYTES, has_spills
from kernlens.model.vendor_figures import LAUNCH_SHARED
from kernlens.report.json_text import attributes, encoded
from kernlens.report.launch_words import limits_document
from kernlens.report.loop_answer import trips_document, weights_of

if TYPE_CHECKING:
    from kernlens._decoder import Column

SCHEMA = 1
#: Instructions whose text is made at a time.
_INSTRUCTIONS_TOGETHER = 4096

Document = dict[str, Any]
Of = TypeVar("Of")


def inspect_document(
    containers: Iterable[Container],
    programs: Iterable[Program],
    order: Figure | None = None,
    failed_builds: Sequence[Document] = (),
    *,
    has_bounds: bool = False,
) -> Document:
    """Return programs without instructions, with containers and symbols; of each the kernels with most of ``order`` first.
    ``failed_builds`` are those of ``failed_documents``. With ``has_bounds`` kernels are analysed, and have their bound."""
    documents = []
    unread: FormatError | None = None
    for program in programs:
        try:
            documents.append(inspected_program(program, order, has_bounds=has_bounds))
        except FormatError as error:
            unread = unread or error
            documents.append(_program(program) | {"kernels": [], "symbols": [], "unreadable": str(error)})
    if unread is not None and all("unreadable" in entry for entry in documents):
        raise unread
    return {
        "schema": SCHEMA,
        "failed_builds": list(failed_builds),
        "containers": [inspected_container(container) for container in containers],
        "programs": documents,
    }


def _bound(program: Program, kernel: Kernel) -> Document:
    from kernlens.report.bound_words import bound_document

    return bound_document(program, kernel)


def inspected_program(program: Program, order: Figure | None = None, *, has_bounds: bool = False) -> Document:
    """Return one program of an ``inspect_document``. Raises FormatError if it is damaged."""
    kernels: Iterable[Kernel] = program.kernels.values()
    if order is not None:
        kernels = largest_first(kernels, order)
    return (
        _program(program)
        | _described(program)
        | {
            "kernels": [
                kernel_document(kernel, with_order(order))
                | {"launch_limits": limits_document(kernel.launch_limits)}
                | (_bound(program, kernel) if has_bounds else {})
                for kernel in kernels
            ],
            "symbols": [_symbol(symbol) for symbol in program.symbols],
        }
    )


def _described(program: Program) -> Document:
    if program.image is None:
        return {}
    from kernlens.report.sycl_words import image_document

    return {"sycl_image": image_document(program.image)}


def program_document(program: Program, *, has_sources: bool) -> Document:
    """Return a program in the documents of ``disasm`` and, with its sources, of ``annotate``; its kernels are left out."""
    entry = _program(program)
    if has_sources:
        entry["sources"] = [attributes(source, "path", "text") for source in program.sources]
        if program.unread_sources:
            unread = program.unread_sources
            entry["unread_sources"] = [{"path": source.path, "reason": source.unread} for source in unread]
    return entry


def kernel_json(
    kernel: Kernel,
    only: LineChoice | None = None,
    *,
    is_placed: bool,
    has_waits: bool = False,
    more: Document | None = None,
) -> str:
    """Return the JSON text of a kernel with its instructions: ``kernel_pieces`` in one."""
    return "".join(kernel_pieces(kernel, only, is_placed=is_placed, has_waits=has_waits, more=more))


def kernel_pieces(
    kernel: Kernel,
    only: LineChoice | None = None,
    *,
    is_placed: bool,
    has_waits: bool = False,
    more: Document | None = None,
) -> Iterator[str]:
    """Yield the JSON text of a kernel with its instructions, on one line; ``is_placed``: with the place of each;
    ``has_waits``: with the cycles of each, and of the kernel and its lines; ``more``: further keys of the kernel.

    It is text, since a kernel has tens of thousands of instructions, and to make an object of each takes most of the time. It
    comes in pieces, since raw code can have a million. What may raise does so before the first.
    """
    head = _kernel(kernel) | (_line_table(kernel) if is_placed else {})
    head["functions"] = [function_document(function) for function in kernel.functions]
    if trailer := kernel.trailer:
        head["trailer"] = attributes(trailer, "offset", "size") | {"hash": f"{trailer.hash:#018x}"}
    head |= {"undecoded": len(kernel.instructions.illegal), "code_warning": kernel.instructions.warning}
    if is_placed:
        head |= trips_document(kernel) | phases_of_code(kernel)
    cycles = None
    if has_waits:
        from kernlens.report.wait_words import instruction_texts, waits_document

        head["waits"] = waits_document(kernel, has_lines=True)
        cycles = instruction_texts(kernel)
    entry = encoded(head | (more or {}))
    before = f'{entry[:-1]},"instructions":['
    for some in _instructions(kernel, only, is_placed, cycles):
        yield before + some
        before = ","
    yield "]}" if before == "," else f"{before}]}}"


def _program(program: Program) -> Document:
    return {
        "name": program.name,
        "device": program.device.name if program.device else None,
        "format": program.format,
        **toolchain_keys(program.build),
        "build_options": program.build.options,
    }


def place_document(program: Program) -> Document:
    """Return the keys of a program that stand with each of its kernels in the documents of verbs that judge kernels."""
    return {
        "program": program.name,
        "device": program.device.name if program.device else None,
        **toolchain_keys(program.build),
        "build_options": program.build.stated_options,
    }


def toolchain_keys(build: Build) -> Document:
    """Return the toolchain of a build: its versions for a person, and its name for scripts."""
    return {"toolchain": build.toolchain_title, "toolchain_name": build.toolchain.name if build.toolchain else None}


def _kernel(kernel: Kernel, figures: Sequence[Figure] = STATED) -> Document:
    unknown = {LAUNCH_SHARED.key: None} if has_unknown_launch(kernel) else {}
    values = figures_of(kernel, (*figures, *own_figures(kernel)))
    spills = {"has_spills": has_spills(values)} if SPILLED_BYTES.key in values else {}
    return {"name": kernel.name, **values, **spills, **unknown}


def kernel_document(kernel: Kernel, figures: Sequence[Figure] = STATED) -> Document:
    """Return a kernel without its instructions."""
    return _kernel(kernel, figures) | _line_table(kernel) | {"functions": _stated_functions(kernel)}


def _line_table(kernel: Kernel) -> Document:
    return {
        "line_table": kernel.line_table_reason is None,
        "line_table_reason": kernel.line_table_reason,
        "line_warning": kernel.line_warning,
    }


def phases_of_code(kernel: Kernel) -> Document:
    """Return the phases of code that has no lines, under their key; nothing of a kernel whose code all has some."""
    if kernel.source_map is not None and not any(part.is_spliced for part in kernel.functions):
        return {}
    from kernlens.report.phase_words import phases_document

    return phases_document(kernel)


def _stated_functions(kernel: Kernel) -> list[Document] | None:
    """Return the functions in a kernel's code that have symbols, without decoding it."""
    if not kernel.function_symbols:
        return None if kernel.function_symbols is None else []
    starts = sorted({0: kernel.name, **kernel.function_symbols}.items())
    ends = [offset for offset, _ in starts[1:]] + [len(kernel.code)]
    return [
        {"name": name, "offset": offset, "size": end - offset} for (offset, name), end in zip(starts, ends, strict=True)
    ]


def function_document(function: CodeFunction) -> Document:
    """Return a function of a kernel's code, or the kernel's own code."""
    return attributes(function, "name", "offset", "size")


def _instructions(
    kernel: Kernel, only: LineChoice | None, is_placed: bool, cycles: Sequence[str] | None
) -> Iterator[str]:
    """Yield the JSON texts of the instructions, or of those of the chosen line, many in one with commas between them."""
    from kernlens._decoder import rows

    instructions = kernel.instructions
    source_map = kernel.source_map if is_placed else None
    texts: list[Sequence[str]] = _of_loops(kernel) if is_placed else []
    if cycles is not None:
        texts.append(cycles)
    texts += _of_places(source_map, len(instructions)) if is_placed else [["}"] * len(instructions)]
    is_chosen = None
    if only is not None:
        is_chosen = of_each(source_map.places, only.holds) if source_map else [False] * len(instructions)

    def chosen(column: Sequence[Of]) -> Sequence[Of]:
        return column if is_chosen is None else list(compress(column, is_chosen))

    def numbers(column: Sequence[int]) -> bytes | array[int]:
        column = chosen(column)
        return column if isinstance(column, bytes | array) else array("Q", column)

    count = len(instructions) if is_chosen is None else sum(is_chosen)
    columns: tuple[Column, ...] = (
        ("constant", '{"offset":'), ("numbers", numbers(instructions.offsets)),
        ("constant", ',"size":'), ("numbers", numbers(instructions.sizes)),
        ("constant", ',"opcode":'), ("quoted", chosen(instructions.opcodes)),
        ("constant", ',"text":'), ("quoted", chosen(instructions.texts)),
        *(("texts", chosen(column)) for column in texts),
    )  # fmt: skip
    for start in range(0, count, _INSTRUCTIONS_TOGETHER):
        yield rows(start, min(start + _INSTRUCTIONS_TOGETHER, count), columns, ",")


def _of_loops(kernel: Kernel) -> list[Sequence[str]]:
    """Return of each instruction's text the depth of its loop, and where trips are stated how often it runs."""
    loops, weights = kernel.loops, weights_of(kernel)
    depths: Sequence[int | None] = loops.depths if loops else [None] * len(kernel.instructions)
    text_of = {depth: f',"loop_depth":{encoded(depth)}' for depth in set(depths)}
    texts: list[Sequence[str]] = [list(map(text_of.__getitem__, depths))]
    return texts if weights is None else [*texts, list(map(',"weight":{}'.format, weights))]


def _of_places(source_map: SourceMap | None, count: int) -> list[Sequence[str]]:
    """Return the end of each instruction's text: its place. Many instructions share places, origins, and stacks."""
    if source_map is None:
        return [[f',{_place(None)},"line_origin":null,"inlined_at":[]}}'] * count]
    origins = {origin: f',"line_origin":{encoded(origin)}' for origin in set(source_map.origins)}
    return [
        of_each(source_map.places, lambda place: f",{_place(place)}"),
        list(map(origins.__getitem__, source_map.origins)),
        of_each(source_map.stacks, lambda stack: f',"inlined_at":{_list(stack)}'),
        of_each(source_map.inner, lambda inner: f',"inlined":{_list(inner)}}}' if inner else "}"),
    ]


def _place(place: SourcePlace | None) -> str:
    if place is None:
        return '"path":null,"line":null,"column":null'
    return f'"path":{_path(place.path)},"line":{place.line},"column":{place.column or "null"}'


@lru_cache(maxsize=256)
def _path(path: str) -> str:
    return encoded(path)


def _list(places: Sequence[SourcePlace]) -> str:
    return f"[{','.join(f'{{{_place(place)}}}' for place in places)}]"


def inspected_container(container: Container) -> Document:
    """Return one container of an ``inspect_document``, with those in it."""
    return {
        **_container_itself(container),
        "sections": [attributes(section, "name", "type", "offset", "size") for section in container.sections],
        "containers": [_part(child) for child in container.children],
    }


def _container_itself(container: Container) -> Document:
    document = attributes(container, "kind", "name", "offset", "size")
    return document if container.unreadable is None else document | {"unreadable": container.unreadable}


def _part(container: Container) -> Document:
    """Return one of several containers: if its parts cannot be listed, it says why and the others follow."""
    try:
        return inspected_container(container)
    except FormatError as error:
        reason = {"kind": "unknown", "unreadable": str(error)}
        return _container_itself(container) | reason | {"sections": [], "containers": []}


def _symbol(symbol: Symbol) -> Document:
    return attributes(symbol, "name", "kind", "type", "binding", "value", "size", "section")
