"""Triton's cache: a folder for each kernel, with a cubin or a code object and the stages of its compile beside it.

Source: ``triton/runtime/cache.py`` and ``triton/compiler/compiler.py`` for the names: ``K.source``, ``K.ttir``, ``K.ttgir``,
``K.llir``, ``K.ptx``, ``K.cubin``, for AMD's GPUs ``K.amdgcn``, ``K.hsaco``, and ``K.json`` with what it was compiled for.
"""

from __future__ import annotations

import json
import os

from kernlens import log
from kernlens.dataclass import replace
from kernlens.errors import KernlensError, NotFoundError
from kernlens.loading.context import Context
from kernlens.model.build import BuildToolchain
from kernlens.model.stage import TEXT, Snapshot
from kernlens.model.stages import TRITON, TRITON_AMD, held
from kernlens.toolchain.source_reading import read_beside

#: A larger file beside a cubin is no stage of it.
_LARGEST = 1 << 28
_CUBIN = ".cubin"
#: The stages by the ending of the machine code.
_COMPILERS = {_CUBIN: TRITON, ".hsaco": TRITON_AMD}


def is_stage_of_a_cubin(path: str) -> bool:
    """Return whether a file of PTX lies beside the cubin that Triton made of it, as a stage of that."""
    stem = os.path.splitext(path)[0]
    return os.path.isfile(f"{stem}{_CUBIN}") and os.path.isfile(f"{stem}.ttir")


def with_triton_stages(path: str, context: Context) -> Context:
    """Return the context of machine code with the stages that Triton keeps beside it; as it is if there are none."""
    from kernlens.loading.cuda_programs import StagedParts

    stem, ending = os.path.splitext(path)
    if ending not in _COMPILERS or not os.path.isfile(f"{stem}.ttir"):
        return context
    snapshots: list[Snapshot] = []
    for stage in _COMPILERS[ending].stages:
        if stage.dump == ending:
            continue
        try:
            snapshot = held(stage, _content(f"{stem}{stage.dump}"), TEXT)
        except NotFoundError:
            continue
        except KernlensError as error:
            snapshot = Snapshot(stage.name, None, TEXT, stage.text or "", bytes, failure=str(error))
        snapshots.append(replace(snapshot, allowance=context.allowance))
    known = _metadata(f"{stem}.json")
    version, target = known.get("triton_version"), known.get("target")
    architecture = target.get("arch") if isinstance(target, dict) else None
    build = replace(
        context.build,
        name=os.path.basename(stem),
        device=_device(architecture),
        toolchain=BuildToolchain(f"Triton {version}" if isinstance(version, str) else "Triton"),
        parts=StagedParts(context.build.parts, tuple(snapshots)),
    )
    return replace(context, build=build)


def _device(architecture: object) -> str:
    """Return what Triton compiled for: a number of NVIDIA's, a processor of AMD's; empty if it is neither."""
    if isinstance(architecture, int):
        return f"sm_{architecture}"
    return architecture if isinstance(architecture, str) and architecture.isalnum() else ""


def _content(path: str) -> bytes:
    return read_beside(path, os.path.dirname(path), _LARGEST)


def _metadata(path: str) -> dict[str, object]:
    try:
        known = json.loads(_content(path))
    except (KernlensError, ValueError, RecursionError) as error:
        log.debug("loading", "%s says nothing of the machine code: %s", path, error)
        return {}
    return known if isinstance(known, dict) else {}
