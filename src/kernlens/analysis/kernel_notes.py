"""Sentences on a kernel of which no rule speaks: it is narrow, has private memory, spills, or options that cost."""

from __future__ import annotations

from collections.abc import Iterator

from kernlens.model.advice import SPILL, AdvisedKernel
from kernlens.model.spills import COUNTED_SPILLS

#: The widest kernels of Intel's GPUs.
_WIDEST = 32
_PRIVATE = "private-array-in-memory"
#: Options that cost instructions, and what they do.
_COSTLY = {
    "-cl-opt-disable": "the build options have -cl-opt-disable: nothing is optimized, and advice is on that code",
    "-cl-intel-greater-than-4GB-buffer-required": (
        "the build options have -cl-intel-greater-than-4GB-buffer-required: addresses are longer than smaller buffers need"
    ),
}


def kernel_notes(advised: AdvisedKernel) -> Iterator[str]:
    """Yield the sentences, none on what the kernel's advice is about."""
    kernel, rules = advised.kernel, {piece.rule for piece in advised.advice}
    resources, options = kernel.resources, advised.program.build.options or ""
    yield from (words for option, words in _COSTLY.items() if option in options.split())
    width, required = resources.simd, kernel.launch_limits.required_sub_group
    if width is not None and width < _WIDEST:
        why = (
            "as the source requires it" if required == width else "kernlens advise --try compares other sub-group sizes"
        )
        yield f"SIMD{width}, where the widest kernels have {_WIDEST} lanes: {why}"
    if resources.private_bytes and _PRIVATE not in rules:
        yield (
            f"{resources.private_bytes:,} bytes of private memory in a thread: arrays that are not in registers; kernlens"
            " annotate --top 10 --sort memory has the lines that access memory"
        )
    if SPILL not in rules and (spills := sum(figure.read(kernel) or 0 for figure in COUNTED_SPILLS)):
        yield f"{spills:,} messages spill or fill registers: kernlens annotate --top 10 --sort spill has their lines"
