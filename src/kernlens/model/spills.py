"""Spills: the bytes that a binary may state, and the messages in the code that answer where it does not."""

from __future__ import annotations

from collections.abc import Mapping

from kernlens.model.figure import Measured
from kernlens.model.figures import COSTS, FIGURES

#: What binaries state, or not: those of patch tokens give its sum with other memory of the thread.
SPILLED_BYTES = next(figure for figure in FIGURES if figure.key == "spill_bytes")
#: What is counted in the code of any binary.
COUNTED_SPILLS = tuple(figure for figure in COSTS if figure.key in ("spill_stores", "fill_loads"))
#: The keys of what is counted of spills in code: messages, and their bytes.
SPILL_COSTS = frozenset(figure.key for figure in COSTS if figure.key.startswith(("spill_", "fill_")))
#: The keys of the two.
SPILL_KEYS = tuple(figure.key for figure in COUNTED_SPILLS)
#: The two in words.
COUNTED_WORDS = " and ".join(figure.heading for figure in COUNTED_SPILLS)


def spill_messages(costs: Mapping[str, int]) -> int | None:
    """Return the number of messages that spill or fill, of a kernel's costs; None where the code does not tell them."""
    return sum(costs[key] for key in SPILL_KEYS) if costs.keys() >= SPILL_COSTS else None


def has_spills(values: Mapping[str, int | None]) -> bool | None:
    """Return whether a kernel with these figures spills: by its bytes or registers, which its binary may not state, or by what
    is counted in its code; None if none is known."""
    keys = (SPILLED_BYTES.key, *SPILL_KEYS, "vgpr_spills", "sgpr_spills")
    known = [value for key in keys if (value := values.get(key)) is not None]
    return any(known) if known else None


def may_spill(kernel: Measured) -> bool:
    """Return whether a kernel may hold spilled values: its binary does not say that there are none."""
    return SPILLED_BYTES.read(kernel) != 0
