"""Kernels decoded together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kernlens.errors import FormatError, UnsupportedError

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
    undecoded = [
        (program.device, kernel)
        for program, kernels in selection
        if program.device is not None
        for kernel in kernels
        if "instructions" not in vars(kernel) and kernel.is_decoded_with_others
    ]
    if not undecoded:
        return
    from kernlens.isa.intel.decode import decode_many
    from kernlens.toolchain.registered import register_roots

    register_roots()
    decoded = decode_many(
        [(device, kernel.code, kernel.compiler) for device, kernel in undecoded],
        threads,
        texts=texts,
        trailers=[kernel.trailer for _, kernel in undecoded],
    )
    for (_, kernel), instructions in zip(undecoded, decoded, strict=True):
        kernel.instructions = instructions


def with_line_tables(program: Program, *, keeps: bool = False, threads: int | None = None) -> Program:
    """Return a program of which it is known which kernels have line tables of their code: one call decodes all that tells
    it. Their instructions are kept only if asked: who lists kernels has no use for them."""
    undecoded: list[Kernel] = []
    try:
        for kernel in program.kernels.values():
            if "instructions" not in vars(kernel) and kernel.lines_need_instructions:
                undecoded.append(kernel)
        decode_kernels([(program, undecoded)], threads=threads)
        for kernel in undecoded:
            _ = kernel.line_table_reason, kernel.line_warning
    except (FormatError, UnsupportedError):
        pass  # Who asks for the lines of one of them is told.
    finally:
        for kernel in () if keeps else undecoded:
            vars(kernel).pop("instructions", None)
    return program
