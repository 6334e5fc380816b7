"""The program that is interpreted, as clang writes it without optimisation, and the arguments of its kernels.

The observer brings it to what is counted (``native/observer/plugin/preparing.cc``).
"""

from __future__ import annotations

import re
from pathlib import Path

from kernlens.dataclass import dataclass
from kernlens.errors import NotFoundError, UnsupportedError
from kernlens.formats.spirv.magic import is_spirv
from kernlens.toolchain.oclgrind import Oclgrind
from kernlens.toolchain.ocloc import first_bytes

_KERNEL = re.compile(r"^define (?:\w+ ){0,8}spir_kernel \w+ @\"?([\w.$]+)\"?\(.*$", re.MULTILINE)
_METADATA = re.compile(r"!kernel_arg_(\w+) !(\d+)")
_NODE = r"^!{} = !\{{(.*)\}}$"
_TEXT = re.compile(r'!"((?:[^"\\]|\\.)*)"')
_NUMBER = re.compile(r"i32 (\d+)")


@dataclass(frozen=True, slots=True)
class KernelArgument:
    """An argument of a kernel as its source has it; ``space`` is the number of a pointer's address space, 0 for a value."""

    name: str
    type: str
    space: int


@dataclass(frozen=True, slots=True)
class InterpretedProgram:
    """The bitcode that is run, and the arguments of each kernel."""

    bitcode: bytes
    kernels: dict[str, tuple[KernelArgument, ...]]

    def kernel(self, name: str | None) -> str:
        """Return the name of the chosen kernel, or of the only one. Raises NotFoundError, with the kernels that there are."""
        if name is None and len(self.kernels) == 1:
            return next(iter(self.kernels))
        if name is not None and name in self.kernels:
            return name
        listed = ", ".join(sorted(self.kernels)) or "none"
        raise NotFoundError(
            f"there is no kernel {name}; there are: {listed}" if name else f"name one with --kernel: {listed}"
        )


def prepare(interpreter: Oclgrind, source: str, options: str, folder: str) -> InterpretedProgram:
    """Return the program of a source or SPIR-V module, built in a folder. Raises ToolError if it does not compile."""
    if interpreter.disassembler is None:
        raise UnsupportedError(
            "llvm-dis of LLVM 14, which tells the kernels' arguments, is not installed: apt install llvm-14, or kernlens"
            " toolchain add oclgrind"
        )
    is_module = is_spirv(first_bytes(Path(source)))
    bitcode = interpreter.translate(source, folder) if is_module else interpreter.build(source, options, folder)
    return InterpretedProgram(bitcode, arguments_of(interpreter.text(bitcode, folder)))


def arguments_of(text: str) -> dict[str, tuple[KernelArgument, ...]]:
    """Return the arguments of each kernel of an LLVM text, from clang's metadata."""
    kernels = {}
    for match in _KERNEL.finditer(text):
        nodes = dict(_METADATA.findall(match[0]))
        values = {}
        for name, number in nodes.items():
            node = re.search(_NODE.format(number), text, re.MULTILINE)
            values[name] = (_NUMBER if name == "addr_space" else _TEXT).findall(node[1]) if node else []
        types, spaces = values.get("base_type", []), values.get("addr_space", [])
        names = values.get("name", [""] * len(types))
        kernels[match[1]] = tuple(
            KernelArgument(name, type_, int(space)) for name, type_, space in zip(names, types, spaces, strict=False)
        )
    return kernels
