"""The reason of a capture without builds."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from kernlens.toolchain.loaders.application import is_static, lost_on_children
from kernlens.toolchain.oclgrind import oclgrind
from kernlens.verbs.capture.captured import Captured
from kernlens.verbs.capture.level_zero_layer import why_not_recorded
from kernlens.verbs.capture.loader_watch import LoaderWatch
from kernlens.verbs.capture.observing import Observing


def why_nothing(
    captured: Captured, words: Sequence[str], watch: LoaderWatch, observing: Observing | None = None
) -> str:
    """Return the reason why nothing was recorded."""
    reason = _why_nothing(captured, words, watch)
    without = oclgrind(observing.toolchain).why_no_spirv if observing is not None else ""
    return f"{reason}; the interpreter offers no SPIR-V, as {without}" if without else reason


def _why_nothing(captured: Captured, words: Sequence[str], watch: LoaderWatch) -> str:
    if captured.missing:
        return "nothing could be written of what was built"
    if captured.was_entered:
        return "nothing was built: the application asked for OpenCL or Level Zero, and built no program"
    if captured.nested:
        return "nothing was built but by applications that kernlens capture ran within this one"
    program = shutil.which(words[0]) if words else None
    if program is not None and is_static(program):
        return (
            f"nothing was built that kernlens can see: {program} is statically linked and loads no driver; link it"
            " dynamically"
        )
    if reason := watch.reason():
        return reason
    lost = lost_on_children(watch.toolchain) if watch.toolchain is not None else ""
    return (
        "nothing was built that kernlens can see: either no process of it asked for OpenCL or Level Zero, or it found no driver"
        " (kernlens doctor), or the process that did has other environment variables or rights than its parent (env -i, sudo)"
        f"{f'; {lost}' if lost else ''}{why_not_recorded()}"
    )
