"""What the index of an ``explore`` document says of a program: how it was built, its files, its kernels with their figures."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from kernlens.analysis.cxx_names import readable
from kernlens.errors import KernlensError
from kernlens.isa.devices import register_bytes
from kernlens.model.build import Build, Source
from kernlens.model.figures import FIGURES, Figure
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.stage_text import StageName
from kernlens.report.describe import device_words
from kernlens.report.explore.chunks import Chunks, id_of
from kernlens.report.explore.kernel_chunk import kernel_document

#: What stages are called and what they are: of Intel's GPU compiler, and of others as far as they have the same.
STAGES = {
    "spirv": ("SPIR-V", "the module that the front end made"),
    "llvm-before-unification": ("LLVM IR, as read", "as it was read from SPIR-V"),
    "llvm-unified": ("LLVM IR, unified", "after lowering, with the built-in library"),
    "llvm-optimized": ("LLVM IR, optimised", "after optimisation"),
    "llvm-push-analysis": ("LLVM IR, payload", "with arguments placed in the payload"),
    "llvm-codegen": ("LLVM IR, last", "as the code generator left it"),
    "visa": ("vISA", "virtual ISA, before register allocation"),
}
#: The columns of kernels beside their figures.
_COLUMNS = ("name", "shown", "memory", "peak", "lines", "chunk")
#: The bit of an instruction's first doubleword that says it is compacted to 8 bytes, on all devices.
_COMPACTED = 1 << 29
NOT_KEPT = "recorded without the stages of the compile; kernlens stages {source} --device {device} -o FILE keeps them"


def program_index(
    program: Program, names: Collection[str], chunks: Chunks, version: str, *, has_stages: bool
) -> dict[str, Any]:
    """The entry of a program with the kernels of these names, whose chunks are added."""
    build = program.build
    stages = list(program.stage_texts.stages) if has_stages else []
    parts = [version, program.name, str(program.device), build.options, build.toolchain_title, build.debug]
    parts += [f"{stage}" for stage in stages] + [source.text for source in program.sources]
    identity = id_of(bytes(program.binary), *parts)
    kernels = [program.kernels[name] for name in names]
    return {
        "id": identity,
        "name": program.name,
        "format": program.format,
        "device": program.device.name if program.device else None,
        "device_title": program.device.title if program.device else None,
        "device_words": device_words(program),
        "register_bytes": register_bytes(program.device) if program.device else None,
        **_build(build, chunks),
        "files": _files(program, chunks),
        "kernels": _kernels(program, kernels, chunks, identity, has_stages=has_stages),
        "reasons": {row: reason for row, kernel in enumerate(kernels) if (reason := _reason(kernel))},
        "stages": _stages(program, stages, chunks, identity),
        "no_stages": None if stages or not has_stages else NOT_KEPT.format(source=build.source, device=program.device),
        "passes": None,
    }


def failed_index(build: Build, chunks: Chunks) -> dict[str, Any]:
    """The entry of a build that gave no binary."""
    return {
        "id": id_of(build.name, build.device, build.options, build.log),
        "name": build.name,
        "format": None,
        "device": build.device,
        "device_title": None,
        "device_words": build.device,
        "register_bytes": None,
        **_build(build, chunks),
        "files": [],
        "kernels": {column: [] for column in (*_COLUMNS, *(figure.key for figure in FIGURES))},
        "reasons": {},
        "stages": [],
        "no_stages": None,
        "passes": None,
    }


def _build(build: Build, chunks: Chunks) -> dict[str, Any]:
    log = build.log
    return {
        "toolchain": build.toolchain.name if build.toolchain else None,
        "versions": [build.toolchain.title] if build.toolchain else [],
        "options": build.options,
        "command": build.command or None,
        "ok": build.ok,
        "reason": build.failure or None,
        "log": chunks.add("log", id_of("log", log), lambda: {"schema": 2, "kind": "log", "text": log}) if log else None,
    }


def _files(program: Program, chunks: Chunks) -> list[dict[str, Any]]:
    return [_file(source, chunks) for source in (*program.sources, *program.unread_sources)]


def _file(source: Source, chunks: Chunks) -> dict[str, Any]:
    text = source.text.replace("\r\n", "\n")
    chunk = id_of("source", text)
    if not source.unread:
        chunks.add("source", chunk, lambda: {"schema": 2, "kind": "source", "text": text})
    return {
        "path": source.path,
        "origin": source.origin,
        "lines": None if source.unread else text.count("\n") + 1,
        "chunk": None if source.unread else chunk,
        "missing": source.unread or None,
    }


def _kernels(
    program: Program, kernels: list[Kernel], chunks: Chunks, identity: str, *, has_stages: bool
) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {
        "name": [kernel.name for kernel in kernels],
        "shown": [readable(kernel.name) for kernel in kernels],
    }
    for figure in FIGURES:
        columns[figure.key] = [_figure(kernel, figure) for kernel in kernels]
    columns["memory"] = [None] * len(kernels)
    columns["peak"] = [None] * len(kernels)
    columns["lines"] = [int(_reason(kernel) is None) for kernel in kernels]
    columns["chunk"] = [
        chunks.add(
            "kernel",
            id_of("kernel", identity, kernel.name, int(has_stages)),
            partial(kernel_document, program, kernel, has_stages=has_stages),
        )
        for kernel in kernels
    ]
    return columns


def _figure(kernel: Kernel, figure: Figure) -> int | None:
    """A kernel's figure; instructions are counted without decoding them."""
    try:
        return instruction_count(kernel.code) if figure.needs_decoding else figure.read(kernel)
    except KernlensError:
        return None


def _reason(kernel: Kernel) -> str | None:
    """Why a kernel has no lines."""
    try:
        return kernel.line_table_reason
    except KernlensError as error:
        return str(error)


def instruction_count(code: memoryview) -> int:
    """How many instructions there are in machine code, told by their sizes."""
    words = code[: len(code) // 4 * 4].cast("I")
    position = count = 0
    while position + 2 <= len(words):
        position += 2 if words[position] & _COMPACTED else 4
        count += position <= len(words)
    return count


def _stages(program: Program, stages: Sequence[StageName], chunks: Chunks, identity: str) -> list[dict[str, Any]]:
    entries = []
    for stage in stages:
        title, sentence = STAGES.get(stage.stage, (stage.stage, ""))
        # What is alike in the tables of one attempt's stages is packed once.
        alike = [other for other in stages if other.has_tables and other.attempt == stage.attempt]
        meta = id_of("meta", identity, stage.attempt)
        if stage.has_tables:
            chunks.add("meta", meta, partial(_tables, program, alike))
        entries.append(
            {
                "name": stage.stage,
                "attempt": stage.attempt,
                "scope": stage.scope,
                "title": title,
                "sentence": sentence,
                "meta": meta if stage.has_tables else None,
            }
        )
    return entries


def _tables(program: Program, stages: Sequence[StageName]) -> dict[str, Any]:
    texts = [{"stage": stage.stage, "text": program.stage_texts.tables(stage)} for stage in stages]
    return {"schema": 2, "kind": "meta", "attempt": stages[0].attempt, "stages": texts}
