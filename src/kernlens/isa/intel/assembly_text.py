"""Machine code as text that libiga64 assembles to the same bytes, with the library that accepts its own text.

Not every library does: of Xe-HPC, libiga64 2.40 refuses ``send.gtwy {EOT,F@1}``, which it prints itself, and 1.0 takes it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from kernlens import log
from kernlens.dataclass import dataclass, field
from kernlens.errors import UnsupportedError
from kernlens.isa.devices import numbers_of
from kernlens.isa.intel.assembler_process import AssembledText, assembler_of
from kernlens.isa.intel.device_table import XE_LP
from kernlens.isa.intel.iga_library import IgaLibrary, installed, library_for
from kernlens.model.compiler import UNKNOWN_COMPILER, Compiler
from kernlens.model.device import Device

#: IGA_FORMATTING_OPT_PRINT_HEX_FLOATS: decimal digits do not give each float's bits back.
_HEX_FLOATS = 4
#: IGA_ENCODER_OPT_AUTO_DEPENDENCIES.
_AUTO_DEPENDENCIES = 2
#: The bit of the first half that says that an instruction has 8 bytes.
_COMPACTED = 1 << 29
#: The bit of ``while`` that libiga64 loses before Xe, and that Intel's compiler always sets.
_BRANCH_CONTROL = 1 << 28


@dataclass(frozen=True, eq=False)
class CodeText:
    """The text of a kernel's code: one of ``texts`` for each instruction, with labels ``L123`` for the offset 123; the
    decoder's comments are left out. ``accepts_own``: the library assembles all of them to the same code, but for ``while``."""

    library: IgaLibrary = field(repr=False)
    platform: int
    offsets: Sequence[int] = field(repr=False)
    targets: Collection[int] = field(repr=False)
    texts: Sequence[str] = field(repr=False)
    accepts_own: bool

    @property
    def has_scoreboard(self) -> bool:
        """True if instructions state whom they wait for: from Xe on."""
        return self.platform >= XE_LP

    def assemble(self, text: str, *, sets_scoreboard: bool = False) -> AssembledText:
        """Assemble a kernel's text. Raises ToolError as ``Assembler.assemble`` does."""
        options = _AUTO_DEPENDENCIES if sets_scoreboard else 0
        return assembler_of(self.library.path).assemble(self.platform, text, options)

    def repaired(self, instruction: bytes, mnemonic: str) -> bytes:
        """Return an assembled instruction with the bit that the library loses."""
        if mnemonic != "while" or self.platform >= XE_LP or len(instruction) != 16:
            return instruction
        first = int.from_bytes(instruction[:4], "little") | _BRANCH_CONTROL
        return first.to_bytes(4, "little") + instruction[4:]

    def texts_of(self, code: bytes) -> list[str]:
        """Return the text of each instruction of other code for the same platform."""
        offsets = [offset for offset, _ in spans(code)]
        return _printed(self.library, self.platform, code, offsets)


def spans(code: bytes) -> Iterator[tuple[int, int]]:
    """Yield offset and size of each instruction; bytes at the end that are too few for one are left out."""
    offset = 0
    while offset + 8 <= len(code):
        size = 8 if int.from_bytes(code[offset : offset + 4], "little") & _COMPACTED else 16
        if offset + size > len(code):
            return
        yield offset, size
        offset += size


def mnemonic_of(text: str) -> str:
    """Return the mnemonic of an instruction's text, without its function and what stands before it."""
    words = text.split()
    while words and words[0].startswith("("):
        # A predicate may have spaces within.
        while words and not words[0].endswith(")"):
            words.pop(0)
        words = words[1:]
    return words[0].partition(".")[0] if words else ""


def code_text(
    device: Device,
    code: bytes,
    offsets: Sequence[int],
    targets: Collection[int],
    compiler: Compiler = UNKNOWN_COMPILER,
) -> CodeText:
    """Return the text of a kernel's ``code``, whose instructions stand at ``offsets`` and which branches to ``targets``.

    It is the text of the compiler's own library if that accepts it, else that of the first that does, else the compiler's
    own. Raises UnsupportedError if no installed libiga64 knows the device, ToolError if one crashes on the code.
    """
    platform = numbers_of(device).iga_platform
    own = library_for(platform, device.name, compiler)
    own_text: CodeText | None = None
    for library in (own, *(each for each in installed() if each is not own and platform in each.platforms)):
        texts = _printed(library, platform, code, offsets)
        text = CodeText(library, platform, offsets, targets, texts, accepts_own=False)
        own_text = own_text or text
        lines = labelled(text)
        answer = text.assemble("\n".join(lines) + "\n")
        if answer.code is not None and len(answer.code) == len(code):
            return CodeText(library, platform, offsets, targets, texts, accepts_own=True)
        log.debug("isa", "%s refuses its own text of %s", library, device.name)
    if own_text is None:
        raise UnsupportedError(f"no libiga64 prints code of {device.name}")
    return own_text


def labelled(text: CodeText) -> list[str]:
    """Return the lines of a text with the labels of its branches."""
    lines = []
    for offset, words in zip(text.offsets, text.texts, strict=True):
        if offset in text.targets:
            lines.append(f"{label(offset)}:")
        lines.append(words)
    end = max(text.targets, default=0)
    if text.offsets and end > text.offsets[-1]:
        lines.append(f"{label(end)}:")
    return lines


def label(offset: int) -> str:
    """Return the name that libiga64 gives to the label at ``offset``."""
    return f"L{offset}"


def _printed(library: IgaLibrary, platform: int, code: bytes, offsets: Sequence[int]) -> list[str]:
    texts = assembler_of(library.path).texts(platform, code, offsets, _HEX_FLOATS)
    return [text.partition("//")[0].rstrip() for text in texts]
