"""Kernels decoded together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernlens.model.kernel import Kernel
    from kernlens.model.program import Program


def decode_kernels(
    selection: Iterable[tuple[Program, Sequence[Kernel]]], *, texts: bool = False, threads: int | None = None
) -> None:
    """Decode these kernels, in threads and what repeats in them only once, so that their ``instructions`` are there
    when asked for; with ``texts`` their texts too. ``threads`` are those of ``decode_many``. Kernels that are decoded
    already, or whose device is not known, are left as they are. Raises UnsupportedError if no installed libiga64 knows
    a device."""
    from kernlens.isa.intel.decode import decode_many
    from kernlens.toolchain.registered import register_roots

    undecoded = [
        (program.device, kernel)
        for program, kernels in selection
        if program.device is not None
        for kernel in kernels
        if "instructions" not in vars(kernel) and kernel.is_decoded_with_others
    ]
    register_roots()
    decoded = decode_many(
        [(device, kernel.code, kernel.compiler) for device, kernel in undecoded], threads, texts=texts
    )
    for (_, kernel), instructions in zip(undecoded, decoded, strict=True):
        kernel.instructions = instructions
