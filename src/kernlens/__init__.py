"""kernlens shows what a GPU compiler made of a kernel, from the source line to the machine instruction.

``kernlens.load(path)`` opens anything that holds kernels; ``kernlens.compile(...)`` makes it. The public surface is this
module, ``kernlens.errors``, the nouns in ``kernlens.model``, and for live objects ``kernlens.opencl`` and
``kernlens.level_zero`` (docs/python.md); the rest may change. Names are imported on first use, so that ``import
kernlens`` itself costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kernlens.errors import KernlensError as KernlensError
    from kernlens.loading import load as load
    from kernlens.loading.live_programs import from_level_zero as from_level_zero
    from kernlens.loading.live_programs import from_opencl as from_opencl
    from kernlens.verbs.advise import advise as advise
    from kernlens.verbs.annotate import annotate as annotate
    from kernlens.verbs.assemble import assemble as assemble
    from kernlens.verbs.capture.capture import capture as capture
    from kernlens.verbs.check import check as check
    from kernlens.verbs.compile import compile as compile
    from kernlens.verbs.diff import diff as diff
    from kernlens.verbs.observe.observe import observe as observe
    from kernlens.verbs.replay.replay import replay as replay
    from kernlens.verbs.stages import stages as stages
    from kernlens.verbs.sweep.sweep import sweep as sweep

__version__ = "0.2.0"

# Public name -> the module that defines it.
_HOMES = {
    "KernlensError": "kernlens.errors",
    "advise": "kernlens.verbs.advise",
    "annotate": "kernlens.verbs.annotate",
    "assemble": "kernlens.verbs.assemble",
    "capture": "kernlens.verbs.capture.capture",
    "check": "kernlens.verbs.check",
    "compile": "kernlens.verbs.compile",
    "diff": "kernlens.verbs.diff",
    "from_level_zero": "kernlens.loading.live_programs",
    "from_opencl": "kernlens.loading.live_programs",
    "load": "kernlens.loading",
    "observe": "kernlens.verbs.observe.observe",
    "replay": "kernlens.verbs.replay.replay",
    "stages": "kernlens.verbs.stages",
    "sweep": "kernlens.verbs.sweep.sweep",
}

__all__ = [
    "KernlensError", "__version__", "advise", "annotate", "assemble", "capture", "check", "compile", "diff", "from_level_zero",
    "from_opencl", "load", "observe", "replay", "stages", "sweep",
]  # fmt: skip


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        from kernlens.errors import likeliest

        near = [] if name.startswith("_") else likeliest(name, _HOMES)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise AttributeError(f"module 'kernlens' has no attribute {name!r}{hint}")
    from importlib import import_module
    from types import FunctionType

    value: object = getattr(import_module(home), name)
    if isinstance(value, FunctionType):
        from kernlens.arguments import checked

        value = checked(value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
