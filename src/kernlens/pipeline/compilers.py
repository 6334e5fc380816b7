"""The functions that compile for the compilers of ``model/stages.py`` and keep their stages; Intel's for GPUs is ``igc.py``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kernlens.model.build import Build
from kernlens.model.stages import CPU_RUNTIME, POCL
from kernlens.pipeline import cpu_runtime, pocl
from kernlens.pipeline.second_build import SecondBuild

#: What users call the device -> what compiles a source for it, with options.
COMPILES: dict[str, Callable[[Path, str], Build]] = {
    POCL.device: pocl.snapshots,
    CPU_RUNTIME.device: cpu_runtime.snapshots,
}
#: Name of an OpenCL platform -> what builds a program of it a second time.
SECOND_BUILDS: dict[str, Callable[[SecondBuild], Build]] = {
    POCL.platform: pocl.snapshots_of,
    CPU_RUNTIME.platform: cpu_runtime.snapshots_of,
}
