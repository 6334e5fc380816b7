"""The reason why a program has no line table, as far as its binary, options and SPIR-V tell."""

from __future__ import annotations

from kernlens.errors import FormatError
from kernlens.formats.spirv.magic import is_spirv
from kernlens.model.build import Build
from kernlens.model.compiler_options import LINE_OPTIONS

NO_TABLE = "the debug data holds no line table for this kernel"
EMPTY_TABLE = "the debug data's line table for this kernel names no line"
GENERATED = "oneDNN generated the machine code, as its debug data says: there is no source"
#: The file that the line tables of oneDNN's generator name, and no line of it.
GENERATOR = "oneDNN"
CHANGED = "the code was changed after its line table was made"
ASSEMBLY = (
    "the kernel has inline assembly, whose instructions Intel's compiler counts in the code but not in the line table, so that"
    " what is behind it stands under other lines; the compile stages tell the lines where they are kept"
    " (kernlens stages, capture --stages)"
)
UNKNOWN_TABLE = (
    "the debug data does not tell which of its line tables is this kernel's: its relocations name no code section, and its"
    " units are not those of the code sections in order"
)
ADVICE = "build with -gline-tables-only (or -g) to get one"
#: The newest version of zebin whose drivers were seen to leave debug data out: NEO 22.43 does, both OpenCL's and Level Zero's.
_WITHOUT_DEBUG_DATA = (1, 20)


def without_debug(build: Build, zebin_version: str | None = None) -> str:
    """Return why a program without debug data has no line table; ``zebin_version`` is its zebin's, None of other formats."""
    asked = not set(LINE_OPTIONS).isdisjoint((build.options or "").split())
    # What a compiler makes of source that it was asked for no lines of has none either: then the options are the reason.
    from_spirv = bool(build.created) and not build.parts.source_paths
    if (asked or from_spirv) and spirv_lacks_lines(build.spirv):
        return (
            "the SPIR-V that the program was made from holds no lines, which no build option gives it; compile its source"
            " with -gline-tables-only (or -g) to get one"
        )
    if drivers_leave_out(zebin_version) and (asked or from_spirv):
        return (
            "the program was built with lines, but holds no debug data: NEO 22.43's drivers leave it out of zebin (its default"
            " format has it)"
        )
    if asked:
        return (
            "the program was built with a debug flag, but its debug data is not here: older compilers and drivers give it"
            " apart from the binary"
        )
    return f"the program was built without debug data; {ADVICE}"


def spirv_lacks_lines(content: bytes) -> bool:
    """Return whether this is a SPIR-V module that names no source line."""
    from kernlens.formats.spirv.line_information import has_line_information

    view = memoryview(content)
    try:
        return is_spirv(view) and not has_line_information(view)
    except FormatError:
        return False  # It is not known what a damaged one was.


def drivers_leave_out(zebin_version: str | None) -> bool:
    """Return whether the drivers that take zebin of this version give it back without its debug data."""
    major, _, minor = (zebin_version or "").partition(".")
    return major.isdecimal() and minor.isdecimal() and (int(major[:9]), int(minor[:9])) <= _WITHOUT_DEBUG_DATA
