"""The instructions of a kernel as packed records, which those of Intel's GPUs are."""

from kernlens.model.instruction import Instructions
from kernlens.model.intel_instructions import IntelInstructions, packed_of


def packed(instructions: Instructions) -> IntelInstructions:
    """Return the instructions as packed records; fails if there are none."""
    records = packed_of(instructions)
    assert records is not None, "these instructions are no packed records"
    return records
