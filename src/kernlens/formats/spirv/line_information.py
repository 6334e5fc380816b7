"""The check whether a SPIR-V module says which source lines its instructions came from.

Source: SPIR-V Specification, OpLine (3.52.2); the extended instruction sets NonSemantic.Shader.DebugInfo have an instruction of
their own for it (DebugLine).
"""

from __future__ import annotations

from kernlens.formats.spirv.magic import is_spirv
from kernlens.formats.spirv.words import read_words, text_of, walk

_OP_LINE, _OP_EXT_INST_IMPORT = 8, 11
_DEBUG_INFO = "NonSemantic.Shader.DebugInfo"


def has_line_information(data: memoryview) -> bool:
    """Return whether the module holds lines; False for what is no SPIR-V. Raises FormatError if the module is damaged."""
    if not is_spirv(data):
        return False
    words, _ = read_words(data)
    imports, lines = walk(words, {_OP_EXT_INST_IMPORT: (3, 0), _OP_LINE: (4, 1)}, 2)
    return bool(lines) or any(
        text_of(words, place + 2, place + (words[place] >> 16))[0].startswith(_DEBUG_INFO) for place in imports
    )
