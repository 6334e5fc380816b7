"""A kernel's machine code as text to edit, and the kernel of a file that such a text goes into."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernlens.errors import KernlensError, NotFoundError, UnsupportedError
from kernlens.formats.listings.editable_code import editable_lines
from kernlens.formats.patch_tokens.program_binary import read_patch_tokens
from kernlens.isa.intel.assembly_text import code_text
from kernlens.isa.intel.decode import decode
from kernlens.model.intel_instructions import packed_of
from kernlens.toolchain.registered import register_roots
from kernlens.verbs.absent import whole_of
from kernlens.verbs.edited_instructions import OldCode
from kernlens.verbs.programs import select

if TYPE_CHECKING:
    from kernlens.loading.open import Contents
    from kernlens.model.kernel import Kernel
    from kernlens.model.program import Program

_TEXT = ".text."


def editable_kernel(contents: Contents, names: Sequence[str], device: str | None = None) -> tuple[Program, Kernel]:
    """Return the kernel of this name with its program; without a name, the only one. Raises what ``select`` does, and
    UnsupportedError if there are several, or if its code is not that of an Intel GPU."""
    selection = select(contents.machine_code(), names, device, whole_of(contents))
    chosen = [(program, kernel) for program, kernels in selection for kernel in kernels]
    if len(chosen) != 1:
        titles = ", ".join(dict.fromkeys(kernel.name for _, kernel in chosen[:8]))
        devices = {program.device.name for program, _ in chosen if program.device is not None}
        several = "choose a --device"
        if len({kernel.name for _, kernel in chosen}) > 1:
            several = "choose one with --kernel"
        elif len(devices) < len(chosen):
            several = f"kernlens extract {contents.path} -o DIR writes each program as a file of its own"
        raise NotFoundError(
            f"text to edit is of one kernel, and there are {len(chosen)} ({titles}"
            f"{'; for ' + ', '.join(sorted(devices)) if len(devices) > 1 else ''}): {several}"
        )
    program, kernel = chosen[0]
    if program.device is None or packed_of(kernel.instructions) is None:
        raise UnsupportedError(f"{kernel.name} is not code of an Intel GPU, which is all that kernlens assembles")
    return program, kernel


def old_code(program: Program, kernel: Kernel) -> OldCode:
    """Return a kernel's code as that which is edited. Raises UnsupportedError if no libiga64 knows its device, ToolError if
    that crashes on the code."""
    assert program.device is not None
    register_roots()
    code = bytes(kernel.code)
    instructions = decode(program.device, code, kernel.compiler)
    text = code_text(program.device, code, list(instructions.offsets), set(instructions.targets), kernel.compiler)
    rows = {offset: row for row, offset in enumerate(instructions.offsets)}
    relocated = set()
    for site in program.find_relocations():
        if site.section in (kernel.name, _TEXT + kernel.name):
            row = next((rows[at] for at in range(site.offset, site.offset - 16, -1) if at in rows), None)
            if row is not None:
                relocated.add(row)
    return OldCode(code, text, instructions.branches, relocated, _fixed(program, kernel))


def _fixed(program: Program, kernel: Kernel) -> int:
    """Return the size of the code at a kernel's start that loads its payload, which the driver enters at fixed places."""
    if program.format == "patch-tokens":
        own = next((each for each in read_patch_tokens(program.binary).kernels if each.name == kernel.name), None)
        return 0 if own is None else own.payload_load_bytes()
    return kernel.resources.prologue_bytes or 0


def code_hash(code: bytes | memoryview) -> str:
    """Return what a text's header says of the code that it was printed from."""
    return hashlib.sha256(code).hexdigest()


def editable_text(path: str, program: Program, kernel: Kernel) -> list[str]:
    """Return the lines of a kernel's code as text to edit: a header that says what it is and how it is put back, then
    instructions with labels. Raises what ``old_code`` does."""
    old = old_code(program, kernel)
    source_map = kernel.source_map
    rows = {} if source_map is None else {offset: row for row, offset in enumerate(source_map.offsets)}
    places = [source_map.place(rows[at]) if source_map and at in rows else None for at in old.text.offsets]
    texts = _source_texts(program)
    notes, headings = [], []
    before: tuple[str, int] | None = None
    for index, place in enumerate(places):
        current = None if place is None or not place.line else (place.path, place.line)
        note = "" if current is None else f"{current[0].rpartition('/')[2]}:{current[1]}"
        if index in old.relocated:
            note = f"{note} (the driver fills in a value)".strip()
        notes.append(note)
        heading = None
        if current is not None and current != before:
            words = texts.get(current, "").strip()
            heading = f"{note.partition(' (')[0]}{f' | {words}' if words else ''}"
            before = current
        headings.append(heading)
    device = program.device
    assert device is not None
    head = [
        f"kernel: {kernel.name}",
        f"device: {device}, {old.text.library.title}",
        f"from: {path}",
        f"code sha256: {code_hash(kernel.code)}",
        "put it back: kernlens assemble THIS --into FILE -o NEW",
        "Comments are ignored. The offset in an instruction's comment says which old one it is:",
        "unchanged ones keep their bytes, and all old ones keep their source lines.",
    ]
    return editable_lines(
        map(_plain, head), old.text.offsets, old.text.texts, old.text.targets, notes, list(map(_optional, headings))
    )


def _plain(text: str) -> str:
    """Return a line of a comment: what a name holds must not end it."""
    return " ".join(text.split())


def _optional(text: str | None) -> str | None:
    return None if text is None else _plain(text)


def _source_texts(program: Program) -> dict[tuple[str, int], str]:
    """Return the source's lines by path and number, as far as they are known."""
    texts: dict[tuple[str, int], str] = {}
    try:
        sources = program.sources
    except KernlensError:
        return texts
    for source in sources:
        for number, line in enumerate((source.text or "").splitlines(), 1):
            texts.setdefault((source.path, number), line)
    return texts
