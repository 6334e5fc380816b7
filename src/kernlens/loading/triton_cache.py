"""Triton's cache: a folder for each kernel, with its machine code and the stages of its compile beside it.

Source: ``triton/runtime/cache.py`` and ``triton/compiler/compiler.py`` for the names: ``K.source``, ``K.ttir``, ``K.ttgir``,
``K.llir``, ``K.ptx``, ``K.cubin``, for AMD's GPUs ``K.amdgcn``, ``K.hsaco``, for Intel's ``K.spv``, ``K.zebin``, and ``K.json``
with what it was compiled for. Intel's backend (``third_party/intel/backend/compiler.py`` of intel-xpu-backend-for-triton)
makes machine code where it was asked to (``generate_native_code``); until 3.3 it was called ``K.spv`` then.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from kernlens import log
from kernlens.dataclass import replace
from kernlens.errors import KernlensError, NotFoundError
from kernlens.loading.context import Context
from kernlens.model.build import BuildToolchain
from kernlens.model.stage import Snapshot
from kernlens.model.stages import GPU_DWARF, TRITON, TRITON_AMD, TRITON_INTEL, held
from kernlens.toolchain.sources.source_reading import read_beside

#: A larger file beside machine code is no stage of it.
_LARGEST = 1 << 28
#: The stages by the ending of the file with the program: machine code, or SPIR-V that the driver compiles.
_COMPILERS = {".cubin": TRITON, ".hsaco": TRITON_AMD, ".zebin": TRITON_INTEL, ".spv": TRITON_INTEL}
#: What a program is compiled from where machine code was made of it, by the machine code's ending.
_MADE_OF = {".ptx": ".cubin", ".spv": ".zebin"}


def is_stage(path: str) -> bool:
    """Return whether a file of PTX or SPIR-V lies beside the machine code that Triton made of it, as a stage of that."""
    stem, ending = os.path.splitext(path)
    return ending in _MADE_OF and os.path.isfile(stem + _MADE_OF[ending]) and os.path.isfile(f"{stem}.ttir")


def with_triton_stages(path: str, context: Context) -> Context:
    """Return the context of a program with the stages that Triton keeps beside it; as it is if there are none."""
    from kernlens.loading.cuda_programs import StagedParts

    stem, ending = os.path.splitext(path)
    if ending not in _COMPILERS or not os.path.isfile(f"{stem}.ttir"):
        return context
    snapshots: list[Snapshot] = []
    for stage in _COMPILERS[ending].stages:
        if stage.lines == GPU_DWARF or stage.dump == ending:
            continue
        form = stage.default
        try:
            snapshot = held(stage, _content(f"{stem}{stage.dump}"), form)
        except NotFoundError:
            continue
        except KernlensError as error:
            snapshot = Snapshot(stage.name, None, form, stage.ending(form) or "", bytes, failure=str(error))
        snapshots.append(replace(snapshot, allowance=context.allowance))
    known = _metadata(f"{stem}.json")
    version, target = known.get("triton_version"), known.get("target")
    architecture = target.get("arch") if isinstance(target, dict) else None
    options = known.get("build_flags")
    build = replace(
        context.build,
        name=os.path.basename(stem),
        device=_device(architecture),
        options=options.strip() if isinstance(options, str) else context.build.options,
        toolchain=BuildToolchain(f"Triton {version}" if isinstance(version, str) else "Triton"),
        parts=StagedParts(context.build.parts, tuple(snapshots), launch_shared=_launch_shared(known)),
    )
    return replace(context, build=build)


def _device(architecture: object) -> str:
    """Return what Triton compiled for: a number of NVIDIA's, a processor of AMD's; empty if it is neither."""
    if isinstance(architecture, int):
        return f"sm_{architecture}"
    return architecture if isinstance(architecture, str) and architecture.isalnum() else ""


def _launch_shared(known: Mapping[str, object]) -> dict[str, int]:
    """Return the local memory that Triton has launches of its kernel ask for: the code declares none of it."""
    name, size = known.get("name"), known.get("shared")
    is_size = isinstance(size, int) and not isinstance(size, bool) and 0 <= size <= _LARGEST
    return {name: size} if isinstance(name, str) and isinstance(size, int) and is_size else {}


def _content(path: str) -> bytes:
    return read_beside(path, os.path.dirname(path), _LARGEST)


def _metadata(path: str) -> dict[str, object]:
    try:
        known = json.loads(_content(path))
    except (KernlensError, ValueError, RecursionError) as error:
        log.debug("loading", "%s says nothing of the machine code: %s", path, error)
        return {}
    return known if isinstance(known, dict) else {}
