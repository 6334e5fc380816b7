"""A kernel's machine code in Level Zero, through zeIntelKernelGetBinaryExp where the driver has it.

The driver is opened in a process of its own, so that one that ends or hangs is an error here. In the application's
process, ``LiveKernel`` of ``kernlens.level_zero`` does the same.

    python examples/level_zero_kernel_binary.py --simulate dg2
    python examples/level_zero_kernel_binary.py --simulate bmg --toolchain newest
"""

from __future__ import annotations

from pathlib import Path

from setting import isolated_arguments

import kernlens
from kernlens.level_zero import IsolatedDriver

chosen, environment = isolated_arguments(__doc__)
(offline,) = kernlens.compile(chosen.path, environment.device, toolchain=chosen.toolchain)
with IsolatedDriver(environment) as driver:
    driver.build_spirv("module", bytes(offline.spirv))
    kernel = driver.kernel("module", chosen.kernel)
assert kernel.binary is not None, kernel.reason
assert kernel.code is not None, kernel.reason
Path(chosen.output or f"{kernel.name}.raw").write_bytes(kernel.binary)
print(f"{kernel.name}: {len(kernel.binary)} bytes from {kernel.origin}, {len(kernel.code)} without padding")
