"""The functions that a kernel's code holds besides the kernel itself."""

from __future__ import annotations

from kernlens.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CodeFunction:
    """The kernel's own code, or a function that stayed a call: its name, None if nothing tells it, and the indexes of its
    instructions. The code begins at ``offset`` of the kernel's and has ``size`` bytes, those up to the next function.
    ``is_spliced``: no compiler made it a function; a library put its machine code there, or it is the kernel's own behind that.
    """

    name: str | None
    code: range
    offset: int
    size: int
    is_spliced: bool = False
