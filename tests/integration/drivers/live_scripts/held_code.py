"""The machine code that an OpenCL driver holds of binaries: ``held_code.py LIST``, a file with a line for each, its path, a tab
and a kernel.

Prints a JSON list: of each the SHA-256 of what clGetKernelInfo(CL_KERNEL_BINARY_PROGRAM_INTEL) gives, without zeros at its
end, or the error.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import sys

CL_KERNEL_BINARY_PROGRAM_INTEL = 0x407D
Handle = ctypes.c_void_p


def library() -> ctypes.CDLL:
    loaded = ctypes.CDLL("libOpenCL.so.1")
    for name in ("clCreateContext", "clCreateProgramWithBinary", "clCreateKernel"):
        getattr(loaded, name).restype = Handle
    return loaded


def main() -> None:
    cl = library()
    platform, device = Handle(), Handle()
    count = ctypes.c_uint()
    assert cl.clGetPlatformIDs(1, ctypes.byref(platform), ctypes.byref(count)) == 0
    assert cl.clGetDeviceIDs(platform, ctypes.c_ulong(0xFFFFFFFF), 1, ctypes.byref(device), None) == 0
    status = ctypes.c_int()
    context = Handle(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(status)))
    assert status.value == 0
    answers: list[object] = []
    with open(sys.argv[1], encoding="utf-8") as lines:
        for line in lines:
            path, kernel = line.rstrip("\n").split("\t")
            with open(path, "rb") as file:
                content = file.read()
            answers.append(held(cl, context, device, content, kernel))
    print(json.dumps(answers))


def held(cl: ctypes.CDLL, context: Handle, device: Handle, content: bytes, name: str) -> object:
    status, own = ctypes.c_int(), ctypes.c_int()
    size, pointer = ctypes.c_size_t(len(content)), ctypes.c_char_p(content)
    program = Handle(
        cl.clCreateProgramWithBinary(
            context,
            1,
            ctypes.byref(device),
            ctypes.byref(size),
            ctypes.byref(pointer),
            ctypes.byref(own),
            ctypes.byref(status),
        )
    )
    if status.value:
        return f"clCreateProgramWithBinary: {status.value}"
    result: object
    if error := cl.clBuildProgram(program, 0, None, None, None, None):
        result = f"clBuildProgram: {error}"
    else:
        kernel = Handle(cl.clCreateKernel(program, name.encode(), ctypes.byref(status)))
        if status.value:
            result = f"clCreateKernel: {status.value}"
        else:
            needed, nothing = ctypes.c_size_t(), ctypes.c_size_t(0)
            asked = kernel, CL_KERNEL_BINARY_PROGRAM_INTEL
            assert cl.clGetKernelInfo(*asked, nothing, None, ctypes.byref(needed)) == 0
            code = ctypes.create_string_buffer(needed.value)
            assert cl.clGetKernelInfo(*asked, needed, code, None) == 0
            result = hashlib.sha256(code.raw.rstrip(b"\0")).hexdigest()
            cl.clReleaseKernel(kernel)
    cl.clReleaseProgram(program)
    return result


if __name__ == "__main__":
    main()
