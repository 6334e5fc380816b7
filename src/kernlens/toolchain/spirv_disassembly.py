"""The disassembly of SPIR-V modules with spirv-dis.

Layouts: the SPIR-V specification (2.3 Physical layout, OpExtInstImport, OpExtInst) and OpenCL.DebugInfo.100
(DebugTypePointer: base type, storage class, flags).
"""

from __future__ import annotations

import struct

from kernlens.errors import ToolError
from kernlens.toolchain.process import command_line, run

#: Seconds that spirv-dis may take.
TIMEOUT = 60.0
_HEADER_SIZE = 20
_OP_EXT_INST_IMPORT, _OP_EXT_INST, _OP_FUNCTION = 11, 12, 54
_DEBUG_SET = b"OpenCL.DebugInfo.100\0"
_DEBUG_TYPE_POINTER = 3
#: Bytes from an OpExtInst's start to its set, and to the second operand of the set's instruction.
_SET_OFFSET, _STORAGE_CLASS_OFFSET = 12, 24
_NO_STORAGE_CLASS = 0xFFFFFFFF
_FUNCTION_CLASS = 7


def spirv_text(module: bytes) -> bytes:
    """Disassemble a SPIR-V module (little-endian), with each instruction's byte offset as a comment. llvm-spirv writes
    4294967295 as the storage class of a debug type for pointers to the default address space, and spirv-dis stops
    there. The text shows Function, the default's class, and a comment on top says so. Raises ToolError if spirv-dis is
    not installed, or fails."""
    module, replaced = _with_storage_classes(module)
    command = ["spirv-dis", "--no-color", "--offsets", "-"]
    disassembly = run(command, timeout=TIMEOUT, stdin=module, output_limit=1 << 28)
    if not disassembly.ok:
        complaint = disassembly.stderr.strip().splitlines()
        reason = f"spirv-dis {disassembly.ending} on a SPIR-V module" + (f": {complaint[0]}" if complaint else "")
        raise ToolError(reason, command=command_line(command), log=disassembly.stderr)
    remark = f"; DebugTypePointer without a storage class, shown with Function: {replaced}\n" if replaced else ""
    return (remark + disassembly.stdout).encode()


def _with_storage_classes(module: bytes) -> tuple[bytes, int]:
    """Return the module with a storage class in every DebugTypePointer, and how many had none."""
    content = bytearray(module)
    debug_set = None
    replaced = 0
    offset = _HEADER_SIZE
    while offset + 4 <= len(content):
        opcode, words = struct.unpack_from("<HH", content, offset)
        size = 4 * words
        # Types come before all functions. spirv-dis itself complains about a malformed module.
        if opcode == _OP_FUNCTION or words == 0 or offset + size > len(content):
            break
        if opcode == _OP_EXT_INST_IMPORT and words > 2 and content[offset + 8 :].startswith(_DEBUG_SET):
            (debug_set,) = struct.unpack_from("<I", content, offset + 4)
        elif opcode == _OP_EXT_INST and size >= _STORAGE_CLASS_OFFSET + 4:
            instruction = struct.unpack_from("<II", content, offset + _SET_OFFSET)
            (storage_class,) = struct.unpack_from("<I", content, offset + _STORAGE_CLASS_OFFSET)
            if instruction == (debug_set, _DEBUG_TYPE_POINTER) and storage_class == _NO_STORAGE_CLASS:
                struct.pack_into("<I", content, offset + _STORAGE_CLASS_OFFSET, _FUNCTION_CLASS)
                replaced += 1
        offset += size
    return bytes(content), replaced
