"""Links of SPIR-V modules with SPIRV-Tools' spirv-link.

spirv-link links only modules of one SPIR-V version, while translators choose a module's version by what the module uses.
No version takes away what compute modules of an older one use (SPIR-V Specification, "Changes"), so the headers of older
modules are raised to the newest version among the inputs.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Sequence
from pathlib import Path

from kernlens.dataclass import dataclass, field
from kernlens.errors import LinkError, ToolError, UnsupportedError
from kernlens.formats.spirv.magic import LITTLE_ENDIAN
from kernlens.toolchain.process import Completed, command_line, run, temporary_folder
from kernlens.toolchain.sources.source_reading import read_beside

TIMEOUT = 120.0
_VERSION_OFFSET = 4
_TARGET = re.compile(r"Target: SPIR-V (\d+)\.(\d+)")
#: (what spirv-link says of a symbol, what an error says instead)
_COMPLAINTS = (
    (
        re.compile(r'Unresolved external reference to "(.*)"'),
        "nobody exports {0}: add the module that does, or --partial",
    ),
    (re.compile(r"Too many external references, \d+, were found for \"(.*)\""), "several modules export {0}"),
    (re.compile(r"Type mismatch on symbol \"(.*)\" between"), "importer and exporter disagree on the type of {0}"),
    (re.compile(r"The entry point \"(.*)\", with .* was already defined"), "kernel {0} is in several modules"),
)


@dataclass(frozen=True, slots=True)
class LinkedSpirv:
    """The linked module. ``raised`` are (module, old version, new version) of modules whose version was raised."""

    spirv: bytes = field(repr=False)
    raised: tuple[tuple[str, str, str], ...]


def link_spirv(modules: Sequence[tuple[str, bytes]], *, partial: bool = False) -> LinkedSpirv:
    """Link SPIR-V modules, (name, bytes); exports stay exports. With ``partial`` imports may stay unresolved.

    Raises LinkError for symbols that do not match, UnsupportedError for a module that spirv-link is too old for, ToolError
    if it is not installed or fails otherwise.
    """
    if not modules:
        raise LinkError("there is nothing to link: the list of modules is empty")
    version = _check_versions(modules)
    raised = []
    with temporary_folder() as folder:
        paths = []
        for number, (name, spirv) in enumerate(modules):
            module_version = _version(spirv)
            if module_version != version:
                raised.append((name, _text(module_version), _text(version)))
                spirv = spirv[:_VERSION_OFFSET] + struct.pack("<I", version[0] << 16 | version[1] << 8) + spirv[8:]
            paths.append(os.path.join(folder, f"{number}.spv"))
            Path(paths[-1]).write_bytes(spirv)
        output = os.path.join(folder, "linked.spv")
        options = ["--create-library", *(["--allow-partial-linkage"] if partial else [])]
        command = ["spirv-link", *options, *paths, "-o", output]
        completed = run(command, timeout=TIMEOUT)
        if not completed.ok or not os.path.exists(output):
            raise _failure(completed, modules)
        return LinkedSpirv(read_beside(output, folder), tuple(raised))


def _check_versions(modules: Sequence[tuple[str, bytes]]) -> tuple[int, int]:
    """Return the newest version among the modules. Raises UnsupportedError if spirv-link cannot read one of them."""
    for name, spirv in modules:
        if spirv[:4] != LITTLE_ENDIAN or len(spirv) < 20:
            raise UnsupportedError(f"{name} is not a little-endian SPIR-V module, which spirv-link needs")
    newest = max(_version(spirv) for _, spirv in modules)
    answer = run(["spirv-link", "--version"], timeout=TIMEOUT).log
    limit = _TARGET.search(answer)
    if limit is not None and newest > (int(limit[1]), int(limit[2])):
        name = next(name for name, spirv in modules if _version(spirv) == newest)
        raise UnsupportedError(
            f"{name} is SPIR-V {_text(newest)}, and the installed spirv-link takes up to {limit[1]}.{limit[2]}:"
            f" translate it again with llvm-spirv --spirv-max-version={limit[1]}.{limit[2]}, or install newer SPIRV-Tools"
        )
    return newest


def _version(spirv: bytes) -> tuple[int, int]:
    word = struct.unpack_from("<I", spirv, _VERSION_OFFSET)[0]
    return word >> 16 & 0xFF, word >> 8 & 0xFF


def _text(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def _failure(completed: Completed, modules: Sequence[tuple[str, bytes]]) -> LinkError | ToolError:
    log = completed.log.strip()
    for pattern, advice in _COMPLAINTS:
        complaint = pattern.search(log)
        if complaint is not None:
            return LinkError(advice.format(complaint[1]), (complaint[1],))
    names = ", ".join(name for name, _ in modules)
    reason = log.splitlines()[0] if log else f"it {completed.ending}"
    message = f"spirv-link cannot link {names}: {reason}"
    return ToolError(message, command=command_line(completed.command), log=completed.log)
