"""The IR that is interpreted: what clang writes without optimisation, with those passes that every GPU compiler does.

Unoptimised code keeps variables in memory and counts what every compiler drops; Oclgrind's own level (-Oz) splits vector
accesses and moves stores. Between them: functions inlined, variables in registers (sroa), equal values once (early-cse, GVN),
what a loop does not change before it (LICM), loops that test at their end (loop-rotate). What a round of a loop stored, the
next one does not load again: the first value is loaded before the loop (GVN with PRE). Compilers of GPUs know that global and
local memory do not overlap; LLVM is told by scopes (``!alias.scope``) on each access.
"""

from __future__ import annotations

import re

from kernlens.dataclass import dataclass
from kernlens.errors import NotFoundError, UnsupportedError
from kernlens.toolchain.oclgrind import Oclgrind

OPTIONS = (
    "-passes=always-inline,function(sroa,early-cse<memssa>,loop-mssa(loop-rotate,licm),gvn<pre;load-pre>,simplifycfg)",
    # Oclgrind does not know the intrinsic that inlining would write for restrict.
    "-enable-noalias-to-md-conversion=0",
)
_ATTRIBUTES = re.compile(r"^attributes #\d+ = \{.*$", re.MULTILINE)
_ACCESS = re.compile(r"\s+(?:%[\w.]+ = )?(?:load|store) (?!volatile|atomic)")
_SPACE = re.compile(r"addrspace\((\d)\)\* (?:[^,a]|a(?!ddrspace\())*, align")
#: The scopes' numbers: beyond those of any program.
_FIRST = 90_000_000
_GLOBAL, _LOCAL = "1", "3"
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
    """Return the program of a source, built and prepared in a folder. Raises ToolError if it does not compile."""
    if interpreter.disassembler is None or interpreter.optimizer is None:
        raise UnsupportedError(
            "opt and llvm-dis of LLVM 14, which prepare the program, are not installed: apt install llvm-14, or kernlens"
            " toolchain add oclgrind"
        )
    bitcode = interpreter.build(source, options, folder)
    text = interpreter.text(bitcode, folder)
    prepared = interpreter.optimize(scoped(inlined(text)), OPTIONS, folder)
    return InterpretedProgram(prepared, arguments_of(text))


def inlined(text: str) -> str:
    """Return the text with all functions to be inlined, and none that passes leave alone."""
    return _ATTRIBUTES.sub(lambda match: match[0].replace(" optnone", " alwaysinline").replace(" noinline", ""), text)


def scoped(text: str) -> str:
    """Return the text with a scope on each access to global and local memory."""
    lines = []
    for line in text.split("\n"):
        if _ACCESS.match(line):
            space = (_SPACE.findall(line) or [""])[-1]
            if space in (_GLOBAL, _LOCAL):
                own, other = (1, 3) if space == _GLOBAL else (3, 1)
                line += f", !alias.scope !{_FIRST + own}, !noalias !{_FIRST + other}"
        lines.append(line)
    domain = _FIRST
    lines += [
        f"!{domain} = distinct !{{!{domain}}}",
        *(f"!{domain + 10 * each} = distinct !{{!{domain + 10 * each}, !{domain}}}" for each in (1, 3)),
        *(f"!{domain + each} = !{{!{domain + 10 * each}}}" for each in (1, 3)),
        "",
    ]
    return "\n".join(lines)


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
