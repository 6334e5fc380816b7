"""The command that shows most of a file, for those who name a file and no command."""

from __future__ import annotations

import os
from itertools import islice

from kernlens.errors import KernlensError, UnsupportedError
from kernlens.loading.identify import kind_of
from kernlens.loading.open import Contents, open_file
from kernlens.model.containers import CONTAINERS
from kernlens.report.describe import plural
from kernlens.verbs.absent import entry_points
from kernlens.verbs.any_path import sources_of

#: Texts that no command reads alone: what they are by the ends of their names, and which command takes them.
_OF_LISTING = (
    "a listing of code",
    "kernlens reads the binary, and puts a listing back: kernlens assemble {} --into BINARY",
)
_TEXTS = {
    **dict.fromkeys((".asm", ".isaasm", ".ll", ".s", ".sass", ".visaasm"), _OF_LISTING),
    ".csv": ("a table", "one of a profiler's samples is for kernlens annotate PATH --samples {}"),
    ".json": ("a document", "a baseline is for kernlens check PATH --baseline {}"),
    ".toml": ("settings", "kernlens check PATH --budget {} obeys its limits"),
}


def first_look(path: str) -> tuple[str, str]:
    """Return the command that shows most of a file or folder, and what that is: the lines of a source, or of one kernel that
    has them; else its instructions; of several kernels a table.

    Raises KernlensError for what no command reads alone, with the command that reads it beside something else.
    """
    text = _TEXTS.get(os.path.splitext(path)[1].lower())
    sources = [] if text is not None else sources_of(path, with_spirv=True)
    if os.path.isdir(path):
        return "inspect", f"folder of {plural(len(sources), 'source')}" if sources else "folder"
    kind, _ = kind_of(path)
    if text is not None and kind is None:
        raise KernlensError(f"{path} is {text[0]}, which no command reads alone; {text[1].format(path)}")
    title = CONTAINERS[kind].title if kind is not None else "source"
    if sources and kind is None:
        return "annotate", title
    if kind == "host-elf":
        return "inspect", title
    contents = open_file(path)
    if kind == "spirv":
        has_kernels = any(map(entry_points, contents.programs))
        return ("annotate" if sources and has_kernels else "inspect" if has_kernels else "symbols"), title
    return _of_code(contents, title)


def _of_code(contents: Contents, title: str) -> tuple[str, str]:
    if len(contents.recorded) > 1:
        return "inspect", f"{title} of {len(contents.recorded):,} builds"
    kernels = list(islice((kernel for program in contents.programs for kernel in program.kernels.values()), 2))
    if len(kernels) != 1:
        return "inspect", f"{title}, {'several kernels' if kernels else 'no kernel'}"
    (kernel,) = kernels
    try:
        if not kernel.instructions:
            return "inspect", title
    except UnsupportedError:  # What decodes them is not here.
        return "inspect", f"{title}, one kernel that nothing here disassembles"
    has_lines = kernel.source_map is not None
    return "annotate" if has_lines else "disasm", f"{title}, one kernel" + ("" if has_lines else " without lines")
