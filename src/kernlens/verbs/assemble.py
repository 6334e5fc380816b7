"""``kernlens.assemble``: an edited text of a kernel's machine code, put back into its binary."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernlens.dataclass import dataclass, field, in_short
from kernlens.errors import KernlensError, OutputError, UnsupportedError
from kernlens.formats.listings.editable_code import read_editable
from kernlens.formats.patch_tokens.edited_program import edited_neo_elf
from kernlens.formats.zebin.edited_zebin import edited_zebin
from kernlens.toolchain.sources.source_reading import open_regular
from kernlens.verbs.editable import code_hash, editable_kernel, old_code
from kernlens.verbs.edited_instructions import NewCode, assemble_edit

if TYPE_CHECKING:
    from kernlens.loading.open import Contents
    from kernlens.model.kernel import Kernel
    from kernlens.model.program import Program

#: What is done with who waits for whom: as written, or set anew by the library.
KEEP, AUTO = "keep", "auto"
#: A file of text with more bytes is refused.
_MOST_TEXT = 16 << 20


@dataclass(frozen=True, eq=False)
class Assembly:
    """The result of an edit. ``binary`` is the whole new file, ``code`` the kernel's new machine code; ``old_binary`` is what
    it was put into. ``warnings`` are sentences on what the edit may have broken. ``changed``, ``added`` and ``removed`` count
    instructions."""

    kernel: str
    binary: bytes = field(repr=False)
    code: bytes = field(repr=False)
    old_binary: bytes = field(repr=False)
    warnings: tuple[str, ...]
    changed: int
    added: int
    removed: int

    def __repr__(self) -> str:
        counts = f"{self.changed} changed, {self.added} added, {self.removed} removed"
        return in_short(f"<Assembly of {self.kernel!r}: {counts}, {len(self.code):,} bytes of code>")


def assemble(
    text: str | os.PathLike[str],
    into: str | os.PathLike[str],
    *,
    kernel: str | None = None,
    output: str | os.PathLike[str] | None = None,
    scoreboard: str = KEEP,
    device: str | None = None,
) -> Assembly:
    """Assemble the text that ``kernlens disasm --editable`` printed, and that was edited, and put it into a copy of the file
    ``into``: a zebin, a NEO ELF with patch tokens, or a recording of one build of these.

    ``text`` is the path of the text, or the text itself if it has several lines. ``kernel`` is by default the one that the
    text's header names. ``output`` is written, if it is given, and must not be ``into``. ``scoreboard``: ``keep`` takes the
    tokens and distances as they are written, ``auto`` lets the library set all of them anew. Branches, symbols, relocations and
    debug data move with the instructions.

    Raises AssemblyError for a text that the assembler refuses, FormatError for one of other code or a damaged file,
    UnsupportedError for containers of several binaries and code that is not Intel's, ToolError if the assembler crashes,
    OutputError if the file cannot be written.
    """
    if scoreboard not in (KEEP, AUTO):
        raise KernlensError(f"scoreboard is {KEEP} or {AUTO}, not {scoreboard!r}")
    from kernlens.loading import open_file

    path = os.fspath(into)
    edit = read_editable(_text_of(text))
    contents = open_file(path, device=device)
    name = kernel or edit.kernel
    program, own = editable_kernel(contents, (name,) if name else (), device)
    if edit.hash is not None and edit.hash != code_hash(own.code):
        raise KernlensError(
            f"the text was printed from other code than {own.name} of {path} has; print it again with"
            f" kernlens disasm {path} --kernel {own.name} --editable"
        )
    kind, content = _binary(path, contents, program)
    old = old_code(program, own)
    if scoreboard == AUTO and not old.text.has_scoreboard:
        raise UnsupportedError(f"code of {program.device} has no scoreboard to set: its hardware keeps it")
    new = assemble_edit(old, edit, sets_scoreboard=scoreboard == AUTO)
    binary = (edited_zebin if kind == "zebin" else edited_neo_elf)(content, own.name, new.code, new.moves)
    warnings = (*new.warnings, *_hazards(program, own, new))
    if output is not None:
        _write(os.fspath(output), path, binary)
    origins = {origin for origin in new.moves.origins if origin is not None}
    changed = sum(
        origin is not None and not same for origin, same in zip(new.moves.origins, new.unchanged, strict=True)
    )
    added = sum(origin is None for origin in new.moves.origins)
    removed = len(new.moves.old_offsets) - 1 - len(origins)
    return Assembly(own.name, binary, new.code, content, warnings, changed, added, removed)


def _text_of(text: str | os.PathLike[str]) -> str:
    if isinstance(text, str) and "\n" in text:
        return text
    path = Path(text)
    with open_regular(path) as file:
        content = file.read(_MOST_TEXT + 1)
    if len(content) > _MOST_TEXT:
        raise KernlensError(f"{path} has more than {_MOST_TEXT:,} bytes, which no text of a kernel has")
    return content.decode("utf-8", "backslashreplace")


def _binary(path: str, contents: Contents, program: Program) -> tuple[str, bytes]:
    """Return the kind and bytes of the binary that holds the program. Raises UnsupportedError with the next step for
    containers that hold it beside others."""
    own = bytes(program.binary)
    for container in contents.containers:
        content = bytes(container.content)
        if container.kind == "zebin" and content == own:
            return container.kind, content
        if container.kind in ("neo-elf", "patch-tokens") and own and own in content:
            return container.kind, content
    kinds = ", ".join(dict.fromkeys(container.kind for container in contents.containers))
    raise UnsupportedError(
        f"code can be put into a zebin or a NEO ELF, and {path} is {kinds}; write its parts with kernlens extract {path}"
        " -o PARTS, and put the code into the binary among them"
    )


def _hazards(program: Program, kernel: Kernel, new: NewCode) -> Sequence[str]:
    from kernlens.analysis.flow.hazards import new_hazards
    from kernlens.isa.intel.decode import decode

    assert program.device is not None
    before, after = (decode(program.device, code, kernel.compiler) for code in (kernel.code, new.code))
    return new_hazards(before, after, new.moves)


def _write(output: str, into: str, binary: bytes) -> None:
    if os.path.exists(output) and os.path.exists(into) and os.path.samefile(output, into):
        raise OutputError(f"{output} is the file that the code is put into; choose another output file")
    try:
        partial = Path(f"{output}.{os.urandom(6).hex()}.part")
        partial.write_bytes(binary)
        partial.replace(output)
    except OSError as error:
        raise OutputError(f"cannot write {output}: {error.strerror}; choose another location") from error
