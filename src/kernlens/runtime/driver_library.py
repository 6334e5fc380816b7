"""A driver's loader library through ctypes, and the memory that its handles point to."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping
from typing import Any

from kernlens.errors import ToolError


class DriverLibrary:
    """A library and its functions, with the types of their results and arguments. ``on_call`` gets each function's name just
    before the call; ``title`` is what errors call the library."""

    def __init__(
        self, library: ctypes.CDLL, path: str, title: str, prototypes: Mapping[str, tuple[Any, tuple[Any, ...]]]
    ) -> None:
        self.path = path
        self.title = title
        self.on_call: Callable[[str], None] | None = None
        self._functions: dict[str, Any] = {}
        for name, (result, arguments) in prototypes.items():
            function = getattr(library, name, None)
            if function is not None:
                function.restype = result
                function.argtypes = arguments
                self._functions[name] = function

    def has(self, name: str) -> bool:
        """Return whether this version of the library exports function ``name``."""
        return name in self._functions

    def result(self, name: str, *arguments: Any) -> Any:
        """Call ``name`` and return what it returns. Raises ToolError if the library has no such function."""
        if not self.has(name):
            raise ToolError(f"{self.path} has no function {name}: install a newer {self.title} loader", command=name)
        if self.on_call is not None:
            self.on_call(name)
        return self._functions[name](*arguments)


def memory_at(address: int, size: int) -> bytes | None:
    """Return so many bytes of this process's memory (on Linux); None if they cannot be read."""
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    try:
        content = os.pread(memory, size, address)
    except (OSError, OverflowError):
        return None
    finally:
        os.close(memory)
    return content if len(content) == size else None
