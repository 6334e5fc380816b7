"""Source pages of Nsight Compute by instruction, as it prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def instruction(address: int, text: str, **counts: int) -> Mapping[str, object]:
    """Return the row of an instruction with its samples by reason, and other counts."""
    total = sum(count for name, count in counts.items() if name.startswith("stall_"))
    return {"Address": f"{address:#x}", "Source": f"      {text}", "# Samples": total, **counts}


def page(kernel: str, rows: Sequence[Mapping[str, object]]) -> str:
    """Return the page of a kernel's launch."""
    heading = list(dict.fromkeys(name for row in rows for name in row))
    lines = [f'"Kernel Name","{kernel}",', _line(heading)]
    return "\n".join([*lines, *(_line([row.get(name, 0) for name in heading]) for row in rows), ""])


def _line(cells: Sequence[object]) -> str:
    return ",".join(f'"{cell}"' for cell in cells)
