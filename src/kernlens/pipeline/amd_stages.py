"""The compile for an AMD GPU, with every stage kept: clang and LLVM write each when the compile is stopped there.

Each stage is a compile of its own with the options of the one that makes the program. The IR after single passes is what LLVM
prints with ``-print-changed``: of each pass that changed something, the whole module. Source: LLVM's
``llvm/lib/Passes/StandardInstrumentations.cpp``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from kernlens.errors import UnsupportedError
from kernlens.formats.spirv.magic import is_spirv
from kernlens.model.build import Build
from kernlens.model.stage import BINARY, TEXT, Snapshot
from kernlens.model.stages import AMD_CLANG, FROM_COMPILER, Stage, held
from kernlens.toolchain.amd_clang import check_amd_device, compile_for_amd
from kernlens.toolchain.amd_compiler import AmdCompiler, amd_compiler
from kernlens.toolchain.process import run, temporary_folder
from kernlens.toolchain.sources.includes import existing_source, split_options
from kernlens.toolchain.sources.source_reading import read_beside, read_named
from kernlens.toolchain.toolchains import Toolchain

TIMEOUT = 600.0
_PASSES = ("-S", "-emit-llvm", "-mllvm", "-print-changed=quiet", "-mllvm", "-print-module-scope")
#: Bytes of single passes that are kept: the module of a large source has a megabyte, and some hundred passes change it.
_MOST_OF_PASSES = 512 << 20
_HEADING = re.compile(r"^(?:; )?\*\*\* IR Dump After (\S+) on (.+?) \*\*\*(?: .*)?$")
_AT_START = re.compile(r"^(?:; )?\*\*\* IR Dump At Start \*\*\*$")


def amd_snapshots(
    source: str | Path, device: str, options: str, chosen: Toolchain, *, all_passes: bool = False
) -> Build:
    """Compile ``source`` for an AMD GPU and keep every stage; with ``all_passes`` also the LLVM IR after each pass that changed
    it. A source that does not compile gives a Build that is not ``ok``, with its ``source`` stage alone. Raises what
    ``compile_for_amd`` raises."""
    path = existing_source(source)
    device = check_amd_device(device, chosen)
    text = read_named(path)
    if is_spirv(text[:4]):
        raise UnsupportedError(
            f"{path} is SPIR-V, which Debian's clang does not compile for AMD's GPUs; compile its source"
        )
    build = compile_for_amd(path, device, options, chosen, TIMEOUT)
    snapshots = [held(AMD_CLANG.stage("source"), text, TEXT)]
    compiler = amd_compiler(chosen)
    if build.ok and compiler is not None:
        words = split_options(options)
        stopped = [
            _stage(compiler, device, words, path, stage) for stage in AMD_CLANG.stages if stage.origin == FROM_COMPILER
        ]
        passes = _passes(compiler, device, words, path) if all_passes else []
        snapshots += [*stopped[:1], *passes, *stopped[1:]]
        snapshots.append(held(AMD_CLANG.stage("program"), build.binary, BINARY))
    return build.with_parts(snapshots=tuple(snapshots))


def _stage(compiler: AmdCompiler, device: str, words: list[str], path: Path, stage: Stage) -> Snapshot:
    with temporary_folder() as folder:
        output = os.path.join(folder, "stage")
        completed = run(compiler.command(device, [*words, *stage.dump.split()], str(path), output), timeout=TIMEOUT)
        if completed.ok and os.path.isfile(output):
            return held(stage, read_beside(output, folder), TEXT, None, completed.seconds)
    why = f"clang {completed.ending} where it should have written it"
    return Snapshot(stage.name, None, TEXT, stage.text or "", bytes, failure=why)


def _passes(compiler: AmdCompiler, device: str, words: list[str], path: Path) -> list[Snapshot]:
    with temporary_folder() as folder:
        command = compiler.command(device, [*words, *_PASSES], str(path), os.path.join(folder, "stage"))
        completed = run(command, timeout=TIMEOUT, output_limit=_MOST_OF_PASSES)
    return list(_of_passes(completed.stderr))


def _of_passes(text: str) -> Iterator[Snapshot]:
    """Yield a snapshot for each pass in what LLVM printed, in order; the IR before the first pass is left out."""
    name, count = "", 0
    rows: list[str] = []
    for row in (*text.splitlines(keepends=True), None):
        heading = _HEADING.match(row) if row is not None else None
        if row is None or heading or _AT_START.match(row):
            if name:
                count += 1
                yield _pass(count, name, "".join(rows))
            name, rows = heading[1] if heading else "", []
        elif name:
            rows.append(row)


def _pass(number: int, name: str, text: str) -> Snapshot:
    content = text.encode()
    stage = f"{number:04}-opt-{re.sub(r'[^A-Za-z0-9]+', '-', name.removesuffix('Pass')).strip('-')}"
    return Snapshot(stage, None, TEXT, ".ll", lambda: content, len(content))
