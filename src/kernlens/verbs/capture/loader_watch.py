"""The OpenCL loaders, drivers and libraries of other interfaces that a captured application's processes have loaded."""

from __future__ import annotations

import os
from collections.abc import Set

from kernlens.dataclass import dataclass, field
from kernlens.toolchain.loaders.application import lost_on_children
from kernlens.toolchain.loaders.native_layers import OPENCL_LAYER
from kernlens.toolchain.toolchains import Toolchain
from kernlens.verbs.capture.captured import Captured
from kernlens.verbs.capture.level_zero_layer import why_not_recorded
from kernlens.verbs.capture.mapped_code import (
    can_be_led,
    interface_of,
    is_driver,
    is_loader,
    is_named_loader,
    mapped_code,
)


@dataclass(slots=True)
class LoaderWatch:
    """The code of an application's processes: ``without_layer`` has what those had loaded, each time somebody looked, that
    had not loaded the OpenCL layer. ``toolchain`` is what the application was started with, if that is not the machine's."""

    toolchain: Toolchain | None = None
    #: Whether a process had an OpenCL loader, and this machine's C library in place of the toolchain's.
    left_toolchain: bool = False
    without_layer: set[frozenset[str]] = field(default_factory=set)
    #: All files of code that were seen.
    code: set[str] = field(default_factory=set)

    def look(self, process: int) -> None:
        """Note what the process and its descendants have loaded now."""
        for code in mapped_code(process):
            self.code |= code
            self.left_toolchain |= any(map(is_loader, code)) and not self._has_c_library(code)
            if not any(os.path.basename(path) == OPENCL_LAYER.file for path in code):
                self.without_layer.add(code)

    def _has_c_library(self, code: Set[str]) -> bool:
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
        named = {code for code in self.without_layer if any(map(is_named_loader, code))}
        not_led = self._not_led(named)
        told = [f"{not_led}, so what it built is not recorded"] if not_led else []
        return [sentence for sentence in (self.lost(),) if sentence] + told

    @property
    def other_interfaces(self) -> str:
        """The libraries of other interfaces that were loaded, in words; "" if none was."""
        named = {title: os.path.basename(path) for path in sorted(self.code) if (title := interface_of(path))}
        return " and ".join(f"{name} ({title})" for title, name in named.items())

    def reason(self) -> str:
        """Return what the code says on why nothing was recorded; "" if that is nothing."""
        if lost := self.lost():
            return f"nothing was recorded: {lost}"
        if not_led := self._not_led(self.without_layer):
            return f"nothing was recorded: {not_led}"
        if loader := next(filter(is_named_loader, sorted(self.code)), ""):
            return (
                f"nothing was built that kernlens can see: the application loaded {loader}, an OpenCL loader; either it called"
                " none of its functions, or it found no driver (kernlens doctor), or the process has other environment"
                " variables than its parent (env -i, sudo)"
            )
        if self.other_interfaces:
            return (
                f"nothing was built with OpenCL or through Intel's Level Zero driver, which kernlens records: the application"
                f" loaded {self.other_interfaces}{why_not_recorded()}"
            )
        return ""

    def _not_led(self, processes: set[frozenset[str]]) -> str:
        """Return a sentence's beginning on a process with a driver that the layer does not stand in front of; "" if none."""
        for code in sorted(processes, key=sorted):
            loader = next(filter(is_loader, sorted(code)), None)
            driver = next(filter(is_driver, sorted(code)), None) if loader is not None else None
            if loader is None or driver is None:
                continue
            cause = (
                "it chose its drivers itself (OCL_ICD_VENDORS, OCL_ICD_FILENAMES), or has other variables than its parent"
                " (env -i, sudo)"
                if can_be_led(loader)
                else "that loader does not read OCL_ICD_VENDORS, so nothing leads it to kernlens's layer"
            )
            return f"a process loaded {driver} through the OpenCL loader {loader} without kernlens's layer: {cause}"
        return ""
