"""The processors that OpenCL drivers for hosts compile for."""

from __future__ import annotations

from kernlens.model.device import Device

#: Any of them: a binary does not state which extensions its code needs.
X86_64 = Device("x86-64", "x86-64 processor", "CPU", "x86-64", aliases=("pocl",))
