"""``--variable``: where a variable of the source is in the code."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kernlens.cli.answers.offset_answer import no_instruction_at
from kernlens.cli.answers.variable_answer import AskedVariable, VariableAnswers, unknown_variable
from kernlens.cli.listings import Json, Lines, listing
from kernlens.cli.output import print_pieces
from kernlens.report.program_document import SCHEMA, program_document
from kernlens.verbs.absent import whole_of
from kernlens.verbs.programs import select

if TYPE_CHECKING:
    from kernlens.loading import Contents
    from kernlens.model.kernel import Kernel


def print_variables(
    contents: Contents,
    kernel_names: tuple[str, ...],
    device: str | None,
    asked: AskedVariable,
    output: str | None,
    *,
    is_json: bool,
) -> None:
    """Print the places of a variable in each chosen kernel that has it. Raises NotFoundError if none has, or none
    has code of the line, or an instruction at the offsets."""
    if asked.offsets is not None:
        kernels = _chosen(contents, kernel_names, device)
        if not any(kernel.instructions.at(offset) for kernel in kernels for offset in asked.offsets):
            raise no_instruction_at(asked.offsets)
    if is_json:
        form = Json(
            {"schema": SCHEMA},
            partial(program_document, has_sources=False),
            lambda program, kernel: VariableAnswers(program, kernel, asked).json(),
        )
        print_pieces(listing(contents, kernel_names, device, form, asked.line), output)
        return
    text = Lines(lambda program, kernel: VariableAnswers(program, kernel, asked).lines())
    *answers, closing = listing(contents, kernel_names, device, text, asked.line)
    pieces = [piece for piece in answers if piece.strip()]
    if not pieces:
        raise unknown_variable(asked.name, _chosen(contents, kernel_names, device))
    print_pieces([*pieces, closing], output)


def _chosen(contents: Contents, kernel_names: tuple[str, ...], device: str | None) -> list[Kernel]:
    selection = select(contents.programs, kernel_names, device, whole_of(contents))
    return [kernel for _, kernels in selection for kernel in kernels]
