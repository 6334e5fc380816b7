"""The OpenCL loaders of a captured application, as far as they are known, and the reason of a capture without builds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from kernlens.dataclass import dataclass, field
from kernlens.toolchain.application import is_static, lost_on_children
from kernlens.toolchain.loader_front import LoaderFront, instead_of_path
from kernlens.toolchain.opencl_loader import LOADER, LOADER_NAME, Loader, fronts, read_loader
from kernlens.toolchain.packages import how_to_get
from kernlens.toolchain.toolchains import Toolchain
from kernlens.toolchain.used_loaders import holds_own_loader, interface_of, mapped_code
from kernlens.verbs.capture.captured import Captured
from kernlens.verbs.capture.level_zero_layer import why_not_recorded


@dataclass(slots=True)
class LoaderWatch:
    """The known OpenCL loaders of an application: the ``front`` that was put in front of them, those of processes that had
    nothing but loaders without layers when somebody looked, those that were ``beside`` one with layers, and the others that
    were seen. ``toolchain`` is what the application was started with, if that is not the machine's."""

    front: LoaderFront = field(default_factory=LoaderFront)
    toolchain: Toolchain | None = None
    #: Whether a process had an OpenCL loader, and this machine's C library in place of the toolchain's.
    left_toolchain: bool = False
    without_layers: set[str] = field(default_factory=set)
    beside: set[str] = field(default_factory=set)
    with_layers: set[str] = field(default_factory=set)
    #: All other files of code that were seen.
    code: set[str] = field(default_factory=set)

    def look(self, process: int) -> None:
        """Note what the process and its descendants have loaded now."""
        for code in mapped_code(process):
            paths = {path for path in code if LOADER_NAME.fullmatch(os.path.basename(path))}
            self.code |= code - paths
            self.left_toolchain |= bool(paths) and not self._has_c_library(code)
            loaders = [loader for path in sorted(paths) if (loader := read_loader(path)) is not None]
            taking = {loader.path for loader in loaders if loader.takes_layers}
            self.with_layers |= taking
            others = {loader.path for loader in loaders if not loader.takes_layers}
            if taking:
                self.beside |= others
            else:
                self.without_layers |= others

    def _has_c_library(self, code: set[str]) -> bool:
        """Return whether a process with these files of code has the C library of the toolchain, if that has one."""
        if self.toolchain is None or self.toolchain.root is None:
            return True
        root = os.path.realpath(self.toolchain.root)
        names = (path for path in code if os.path.basename(path).startswith("libc.so."))
        return all(path.startswith(f"{root}/") for path in names)

    def lost(self) -> str:
        """Return the sentence for processes that could not load the toolchain's driver; "" if none was seen to ask for it."""
        return lost_on_children(self.toolchain) if self.toolchain is not None and self.left_toolchain else ""

    def findings(self, captured: Captured) -> list[str]:
        """Return what is to be known of a capture that recorded something."""
        if not captured.builds:
            return []
        told = [sentence for sentence in (self.front.sentence, self.lost()) if sentence]
        return [*told, self._not_recorded()] if self.without_layers else told

    @property
    def other_interfaces(self) -> str:
        """The libraries of other interfaces that were loaded, in words; "" if none was."""
        named = {title: os.path.basename(path) for path in sorted(self.code) if (title := interface_of(path))}
        return " and ".join(f"{name} ({title})" for title, name in named.items())

    def reason(self) -> str:
        """Return what the loaders say on why nothing was recorded; "" if that is nothing."""
        if lost := self.lost():
            return f"nothing was recorded: {lost}"
        own = next(filter(holds_own_loader, sorted(self.code)), None) if not self.with_layers else None
        if own is not None:
            return (
                f"nothing was recorded: a process loaded {own}, which has an OpenCL loader of its own linked in. That loader"
                " takes no layers, so kernlens sees nothing that is built through it; link libOpenCL.so.1 in its place"
            )
        if self.without_layers:
            return f"nothing was recorded: {self._not_recorded()}"
        if self.with_layers and self.beside:
            return (
                f"nothing was recorded: a process loaded {min(self.with_layers)}, an OpenCL loader that takes layers, and"
                f" {min(self.beside)}, which takes none, and built nothing through the former. If it opens the latter by its"
                f" path, nothing can be put in front of that: {instead_of_path(_front_of(min(self.beside)))}"
            )
        if self.with_layers:
            return (
                f"nothing was built: the application loaded {min(self.with_layers)}, an OpenCL loader that takes layers, but"
                " called none of its functions, or the process has other variables than its parent (env -i, sudo)"
            )
        if self.front.obstacle:
            return f"nothing was recorded: {self.front.obstacle}"
        if self.other_interfaces:
            return (
                f"nothing was built with OpenCL or through Intel's Level Zero driver, which kernlens records: the application"
                f" loaded {self.other_interfaces}{why_not_recorded()}"
            )
        return ""

    def _not_recorded(self) -> str:
        names = " and ".join(sorted(self.without_layers))
        start = f"a process loaded {names}, an OpenCL loader that takes no layers, so what it built is not recorded"
        searched = {os.path.realpath(use.loader.path) for use in self.front.uses}
        if self.front.repair and searched >= {os.path.realpath(name) for name in self.without_layers}:
            return (
                f"{start}; kernlens put none in front of it, because that could change the drivers, or their order, of another"
                f" loader that the application may load; to record this one: {self.front.repair} kernlens capture ..."
            )
        if self.front.obstacle:
            return f"{start}; {self.front.obstacle}"
        front = next(filter(None, map(_front_of, sorted(self.without_layers))), None)
        if front is None:
            return f"{start}; for a loader that takes them: {how_to_get(LOADER)}, then the same again"
        preload = f"LD_PRELOAD={front.path} kernlens capture ..."
        if searched >= {os.path.realpath(name) for name in self.without_layers}:
            return f"{start}; to put one that takes them in front of it: {preload}"
        return (
            f"{start}; it was opened by its path, or through a search path of its own. For a search path: {preload}; for a"
            f" path: {instead_of_path(front)}"
        )


def _front_of(path: str) -> Loader | None:
    """Return a loader that takes layers and can stand for the one in the file ``path``; None if there is none."""
    loader = read_loader(path)
    if loader is None or loader.machine is None:
        return None
    return next(fronts(loader.machine, None, os.environ), None)


def why_nothing(captured: Captured, words: Sequence[str], watch: LoaderWatch) -> str:
    """Return the reason why nothing was recorded."""
    if captured.missing:
        return "nothing could be written of what was built"
    if captured.was_entered:
        return "nothing was built: the application asked for OpenCL or Level Zero, and built no program"
    if captured.nested:
        return "nothing was built but by applications that kernlens capture ran within this one"
    program = shutil.which(words[0]) if words else None
    if program is not None and is_static(program):
        return (
            f"nothing was built that kernlens can see: {program} is statically linked and takes no layers; link it"
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
