"""SPIR-V assembly (``.spvasm``): the source line that each instruction came from.

Source: SPIR-V Specification, section 2.4 "Logical Layout" and the instructions OpString, OpLine, OpNoLine, OpFunction,
OpFunctionEnd, OpName; the text form is that of SPIRV-Tools (``syntax.md``): one instruction a line, ``%result =``
before the opcode, ``;`` begins a comment, strings in double quotes.
"""

from __future__ import annotations

import re

from kernlens.model.source_map import SourcePlace
from kernlens.model.stage_map import StageRows

_INSTRUCTION = re.compile(r"\s*(?:(%[\w.]+)\s*=\s*)?(Op\w+)[ \t]*(.*)$")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_OP_LINE = re.compile(r"(%[\w.]+)\s+(\d+)\s+(\d+)")
_NAME = re.compile(r'(%[\w.]+)\s+"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")


def read_spirv_text_lines(text: str) -> StageRows:
    """Read the instructions within functions, in order, each with its source place.

    An OpLine holds up to the next one, OpNoLine, the end of a block or of the function. OpLine, OpNoLine and OpLabel are
    left out: no line becomes these instructions.
    """
    rows = StageRows()
    strings: dict[str, str] = {}
    names: dict[str, str] = {}
    place: SourcePlace | None = None
    function: str | None = None
    is_open = False
    for number, line in enumerate(text.split("\n"), start=1):
        # A string may hold line breaks and text within it that looks like an instruction.
        was_open = is_open
        if '"' in line:
            is_open = _leaves_open(line, is_open)
        if was_open:
            continue
        match = _INSTRUCTION.match(line)
        if match is None:
            continue
        result, opcode, operands = match[1], match[2], match[3]
        if opcode == "OpLine":
            place = _place(operands, strings)
        elif opcode == "OpNoLine":
            place = None
        elif opcode == "OpFunction":
            function = names.get(result or "", (result or "").lstrip("%"))
            rows.add(number, place, (), function)
        elif function is not None:
            if opcode != "OpLabel":
                rows.add(number, place, (), function)
            if opcode == "OpFunctionEnd":
                function, place = None, None
        elif opcode == "OpString" and result is not None:
            strings[result] = _literal(operands)
        elif opcode == "OpName" and (named := _NAME.match(operands)):
            names[named[1]] = _ESCAPE.sub(r"\1", named[2])
        if opcode in _BLOCK_ENDS:
            place = None
    return rows


#: The instructions that end a block, and with it the reach of an OpLine.
_BLOCK_ENDS = frozenset(
    {"OpBranch", "OpBranchConditional", "OpSwitch", "OpReturn", "OpReturnValue", "OpKill", "OpUnreachable"}
)


def _place(operands: str, strings: dict[str, str]) -> SourcePlace | None:
    match = _OP_LINE.match(operands)
    if match is None or not int(match[2][:9]):
        return None
    return SourcePlace(strings.get(match[1], ""), int(match[2][:9]), int(match[3][:9]))


def _literal(operands: str) -> str:
    match = _STRING.match(operands)
    return _ESCAPE.sub(r"\1", match[1]) if match else ""


def _leaves_open(line: str, is_open: bool) -> bool:
    """Return whether a string is open at the line's end."""
    escaped = False
    for character in line:
        if escaped:
            escaped = False
        elif is_open and character == "\\":
            escaped = True
        elif character == '"':
            is_open = not is_open
        elif character == ";" and not is_open:
            return False
    return is_open
