"""What the driver says of the limits of binaries' kernels: one line of JSON for each kernel and API.

Standard input names the files, one a line; a line ``{"file": PATH}`` is printed before each, as a driver may end the process.
Where OpenCL's driver does not run the file's machine code, but has built the program again, its own binary is written into the
folder that the argument names, and the answers name it as ``rebuilt``.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from kernlens.errors import FormatError, KernlensError
from kernlens.formats.elf.elf_file import read_elf
from kernlens.runtime.level_zero.drivers import Context, first_device
from kernlens.runtime.level_zero.live_kernel import LiveKernel
from kernlens.runtime.level_zero.live_module import load_native
from kernlens.runtime.opencl.opencl_library import OpenCL
from kernlens.runtime.opencl.program_building import OpenCLContext
from kernlens.runtime.opencl.program_queries import program_binaries

#: clGetKernelWorkGroupInfo: largest work-group, required work-group, preferred multiple.
SIZE, REQUIRED, MULTIPLE = 0x11B0, 0x11B1, 0x11B3
KERNEL_NAMES = 0x1168


def told(**keys: Any) -> None:
    print(json.dumps(keys), flush=True)


def level_zero(context: Context, path: str) -> None:
    try:
        module = load_native(context, first_device(), Path(path).read_bytes(), "", path)
    except KernlensError as error:
        told(api="level-zero", file=path, kernel=None, error=str(error))
        return
    with module:
        for name in module.kernel_names:
            try:
                with LiveKernel.create(module, name) as kernel:
                    read = kernel.properties
                    told(
                        api="level-zero", file=path, kernel=name, error=None, simd=read.simd,
                        sub_groups=read.max_sub_groups, required=read.required_group_size,
                        required_sub_group=read.required_sub_group_size,
                    )  # fmt: skip
            except KernlensError as error:
                told(api="level-zero", file=path, kernel=name, error=str(error))


def code_of(binary: bytes) -> dict[str, bytes]:
    """Return the sections with machine code by their names; all of a binary that is no ELF file."""
    try:
        elf = read_elf(memoryview(binary))
    except FormatError:
        return {"": binary}
    code = [section for section in elf.sections if section.name.startswith(".text")]
    return {section.name: bytes(elf.contents(section)) for section in code} or {"": binary}


def opencl(context: OpenCLContext, path: str) -> None:
    library: OpenCL = context.library
    try:
        program = context.load_binary(Path(path).read_bytes(), "", path)
    except KernlensError as error:
        told(api="opencl", file=path, kernel=None, error=str(error))
        return
    (own,) = program_binaries(library, program.handle, (context.devices[0].handle,))
    rebuilt = None
    if own is not None and code_of(own) != code_of(Path(path).read_bytes()):
        rebuilt = str(Path(sys.argv[1]) / hashlib.sha256(own).hexdigest())
        Path(rebuilt).write_bytes(own)
    told(api="opencl", file=path, rebuilt=rebuilt)
    names = library.text("clGetProgramInfo", program.handle, KERNEL_NAMES, query="CL_PROGRAM_KERNEL_NAMES")
    device = context.devices[0].handle
    for name in filter(None, names.split(";")):
        try:
            handle = library.create("clCreateKernel", program.handle, name.encode(), input=name)
        except KernlensError as error:
            told(api="opencl", file=path, kernel=name, error=str(error), rebuilt=rebuilt)
            continue
        size, required, multiple = (
            library.query("clGetKernelWorkGroupInfo", handle, device, query, query="")
            for query in (SIZE, REQUIRED, MULTIPLE)
        )
        three = [int.from_bytes(required[at : at + 8], "little") for at in (0, 8, 16)]
        told(
            api="opencl", file=path, kernel=name, error=None, work_group=int.from_bytes(size, "little"),
            required=three if any(three) else None, multiple=int.from_bytes(multiple, "little"), rebuilt=rebuilt,
        )  # fmt: skip
        library.call("clReleaseKernel", handle)


level_zero_context, opencl_context = Context(first_device().driver), OpenCLContext("Intel")
for line in sys.stdin:
    told(file=line.strip())
    level_zero(level_zero_context, line.strip())
    opencl(opencl_context, line.strip())
