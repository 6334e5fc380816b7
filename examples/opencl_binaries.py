"""Binary capture, both ways: a kernel's raw machine code, and the program binary for each device.

The first is Intel's query CL_KERNEL_BINARY_PROGRAM_INTEL, the second the standard CL_PROGRAM_BINARIES.

    python examples/opencl_binaries.py --simulate dg2 --output scale
"""

from __future__ import annotations

from pathlib import Path

from setting import arguments, opencl_program

from kernlens.opencl import kernel_binary, live_builds

chosen = arguments(__doc__)
output = chosen.output or "program"
live = opencl_program(chosen.path)

kernel = next(found for found in live.all_kernels() if found.function_name == chosen.kernel)
raw = kernel_binary(kernel)
Path(f"{output}.{chosen.kernel}.raw").write_bytes(raw)
print(f"kernel {chosen.kernel}: {len(raw)} bytes of machine code in {output}.{chosen.kernel}.raw")

for number, build in enumerate(live_builds(live)):
    assert build.binary, build.missing["binary"]
    Path(f"{output}.{number}.bin").write_bytes(build.binary)
    print(f"{build.device}: {len(build.binary)} bytes in {output}.{number}.bin")
