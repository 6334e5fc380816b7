"""Kernels with inline assembly, as kernlens tells them from SPIR-V, against the LLVM IR that the compiler dumped last."""

from __future__ import annotations

import re

import kernlens
from kernlens.loading.absent_lines import ASSEMBLY
from tests.corpus.build import Built
from tests.corpus.outcome import Outcome

_DEFINED = re.compile(r'^define [^@]*@"?([-\w$.]+)"?\(', re.MULTILINE)
_ASSEMBLY = re.compile(r' = (?:tail )?call .* asm (?:sideeffect )?"([^"]*)"| call void asm (?:sideeffect )?"([^"]*)"')


def check_assembly(built: Built) -> Outcome:
    """Check that the kernels without lines for their assembly are those whose dumps (``.visa.ll``) have assembly with an
    instruction."""
    outcome = Outcome("kernels")
    told = {name: has for path in built.folder.glob("dump/*.visa.ll") for name, has in _told(path.read_text("latin-1"))}
    for program in kernlens.load(built.binary):
        judged = [kernel for kernel in program.kernels.values() if kernel.name in told and kernel.table_as_held]
        ours = [(kernel.name, kernel.line_table_reason == ASSEMBLY) for kernel in judged if not kernel.code_change]
        outcome.compare(built.name, ours, [(name, told[name]) for name, _ in ours])
    return outcome


def _told(text: str) -> list[tuple[str, bool]]:
    """Return the functions of a dump, and whether it has assembly with an instruction."""
    bodies = (first or second for first, second in _ASSEMBLY.findall(text))
    has = any(body.replace("\\0A", "").strip(" \t{}") for body in bodies)
    return [(name, has) for name in _DEFINED.findall(text)]
