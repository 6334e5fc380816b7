"""The words that a search over all kernels of a document finds them by: opcodes, functions, source lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from kernlens.errors import KernlensError
from kernlens.model.instruction_kind import ATOMIC
from kernlens.model.kernel import Kernel
from kernlens.report.describe import function_name

#: An instruction's opcode in IGA's text, with its function (``math.inv``) or target (``send.ugm``), behind a predicate.
_OPCODE = re.compile(r"\s*(?:\([^)]*\)\s*)?([A-Za-z_][\w.]*)")
#: Lines without code, between lines with code, that a run of lines goes over.
_GAP = 4
#: The operation of a message that is a barrier of a work group.
_BARRIER = "barrier"


class KernelWords(NamedTuple):
    """The words of one kernel. ``opcodes`` and their counts, how many messages are atomics and barriers, the functions in its
    code, and for each source file the runs of lines with code: ``[first line, count, ...]``."""

    opcodes: Counter[str]
    atomics: int
    barriers: int
    functions: list[str]
    lines: dict[str, list[int]]


def kernel_words_of(kernel: Kernel) -> KernelWords:
    """Return the words of a kernel, which is decoded for that; what cannot be read has none."""
    opcodes: Counter[str] = Counter()
    atomics = barriers = 0
    functions: list[str] = []
    try:
        instructions = kernel.instructions
        opcodes.update(match[1].rstrip(".") for text in instructions.texts if (match := _OPCODE.match(text)))
        for kind in instructions.kinds:
            if kind.access is not None:
                atomics += kind.access.action == ATOMIC
                barriers += kind.access.operation == _BARRIER
        functions = [function_name(function) for function in kernel.functions if function.name]
    except KernlensError:
        pass  # The kernel's own chunk says it.
    return KernelWords(opcodes, atomics, barriers, functions, _lines(kernel))


def search_document(programs: Sequence[Sequence[KernelWords]]) -> dict[str, Any]:
    """Return the content of the chunk: the words of all kernels, program by program. Opcodes, functions and files are
    indexes of the lists of all of them."""
    opcodes: dict[str, int] = {}
    functions: dict[str, int] = {}
    files: dict[str, int] = {}

    def entry(words: KernelWords) -> dict[str, Any]:
        counts = [
            number
            for name, count in words.opcodes.items()
            for number in (opcodes.setdefault(name, len(opcodes)), count)
        ]
        lines = [[files.setdefault(path, len(files)), *runs] for path, runs in words.lines.items()]
        names = [functions.setdefault(name, len(functions)) for name in words.functions]
        more = {"atomics": words.atomics, "barriers": words.barriers, "functions": names}
        return {"opcodes": counts, "lines": lines} | {key: value for key, value in more.items() if value}

    kernels = [[entry(words) for words in program] for program in programs]
    lists = {"opcodes": [*opcodes], "functions": [*functions], "files": [*files]}
    return {"schema": 2, "kind": "search", **lists, "kernels": kernels}


def _lines(kernel: Kernel) -> dict[str, list[int]]:
    try:
        table = kernel.line_table
    except KernlensError:
        return {}
    if table is None:
        return {}
    lines: dict[str, list[int]] = {}
    for file, line in sorted(set(zip(table.files_of, table.lines, strict=True))):
        if line <= 0:
            continue
        runs = lines.setdefault(table.files[file].path, [])
        if runs and runs[-2] <= line <= runs[-2] + runs[-1] + _GAP:
            runs[-1] = line - runs[-2] + 1
        else:
            runs += [line, 1]
    return lines
