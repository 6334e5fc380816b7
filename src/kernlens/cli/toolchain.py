"""``kernlens toolchain``: compilers and drivers side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kernlens.cli import option
from kernlens.cli.output import print_json, print_lines, print_message
from kernlens.dataclass import dataclass
from kernlens.report.table import table

if TYPE_CHECKING:
    from kernlens.toolchain.toolchains import Toolchain


@click.group("toolchain", cls=option.HelpingGroup, epilog=option.help_end("kernlens toolchain add newest"))
@option.diagnostic
def command() -> None:
    """List, add and remove compilers and drivers that lie side by side.

    A toolchain is chosen with --toolchain NAME; 'system' is what this machine's packages installed.
    """


@option.verb(option.Answer, "kernlens toolchain list", name="list", of=command)
def list_toolchains(asked: option.Answer) -> None:
    """Show every toolchain with its versions and folder."""
    from kernlens.toolchain.toolchains import find_toolchains

    toolchains = find_toolchains()
    if asked.as_json:
        print_json({"schema": 1, "toolchains": list(map(_document, toolchains))})
        return
    print_lines(table(("toolchain", "NEO", "IGC", "root"), list(map(_row, toolchains))))


def _row(toolchain: Toolchain) -> tuple[str, str, str, str]:
    from kernlens.toolchain.amd_compiler import amd_compiler

    other = amd_compiler(toolchain)
    lacks = "" if toolchain.ocloc is not None or other is not None else f" ({_decoder(toolchain) or 'no compiler'})"
    root = str(toolchain.root or "/") + lacks + (f" ({other.title} for AMD)" if other else "")
    return toolchain.name, toolchain.neo_version or "-", toolchain.igc_version or "-", root


def _decoder(toolchain: Toolchain) -> str | None:
    """Return what a root has that compiles for no GPU: ``LLVM 22.1.8's disassembler``, or the interpreter; None if nothing."""
    from kernlens.isa.llvm.llvm_libraries import libraries_of
    from kernlens.toolchain.oclgrind import has_oclgrind

    if toolchain.root is not None and has_oclgrind(toolchain.root):
        return "Oclgrind 21.10, for observe"
    libraries = libraries_of(toolchain.root) if toolchain.root is not None else ()
    return f"{libraries[0].title}'s disassembler" if libraries else None


def _document(toolchain: Toolchain) -> dict[str, Any]:
    from kernlens.toolchain.amd_compiler import amd_compiler

    amd_clang = amd_compiler(toolchain)
    return {
        "name": toolchain.name,
        "root": str(toolchain.root) if toolchain.root else None,
        "ocloc": str(toolchain.ocloc) if toolchain.ocloc else None,
        "neo_version": toolchain.neo_version,
        "igc_version": toolchain.igc_version,
        "iga_libraries": [str(path) for path in toolchain.iga_libraries],
        "amd_clang": amd_clang.version if amd_clang else None,
    }


@dataclass(frozen=True)
class ToAdd:
    """The words of the command that adds a toolchain."""

    name: str = option.argument()
    mirror: str | None = option.value(
        "Debian mirror to download from.  [default: the one that apt uses]", "--mirror", metavar="URL"
    )
    keyring: str | None = option.file("Keys that sign the mirror's package lists.  [default: Debian's]", "--keyring")
    root: str | None = option.value(
        "Register this existing sysroot instead of building one.", "--root", metavar="DIR", type=click.Path()
    )
    as_json: bool = option.json()


@option.verb(ToAdd, "kernlens toolchain add newest", name="add", of=command)
def add_toolchain(asked: ToAdd) -> None:
    """Build a root with Debian's newest Intel compiler and driver, about 430 MB, and register it as NAME.

    The names amd and amd-newest stand for Debian's compilers for AMD GPUs: clang, lld and the ROCm device libraries of
    Debian 12, and of its newest release. The names llvm-21, llvm-22 and so on stand for LLVM's disassembler alone, about
    190 MB, which reads code of AMD GPUs that a newer compiler made. The name oclgrind stands for the interpreter of observe.
    """
    from kernlens.toolchain.amd_compiler import amd_compiler
    from kernlens.toolchain.roots import add

    toolchain = add(asked.name, asked.mirror, asked.root, on_progress=print_message, keyring=asked.keyring)
    if asked.as_json:
        print_json({"schema": 1, "added": _document(toolchain)})
    else:
        amd_clang = amd_compiler(toolchain)
        title = toolchain.title
        if toolchain.ocloc is None:
            title = amd_clang.title if amd_clang else _decoder(toolchain) or title
        print_lines([f"{toolchain.name}: {title} in {toolchain.root}"])


@dataclass(frozen=True)
class ToRemove:
    """The words of the command that removes a toolchain."""

    name: str = option.argument()
    as_json: bool = option.json()


@option.verb(ToRemove, "kernlens toolchain remove newest", name="remove", of=command)
def remove_toolchain(asked: ToRemove) -> None:
    """Remove a toolchain: the folder that was built for it, or just its registration."""
    from kernlens.toolchain.roots import remove

    remove(asked.name)
    if asked.as_json:
        print_json({"schema": 1, "removed": asked.name})
    else:
        print_lines([f"{asked.name} is removed"])
