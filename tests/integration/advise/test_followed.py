"""Advice that is followed: no other rule recommends the contrary then."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import kernlens
from kernlens.answers import Advice, AdvisedKernel
from tests.integration.advise.test_rules import FILES, KERNELS, WITH_STAGES, advised, compilers

__all__ = ["compilers"]

TARGET = ("dg2", "newest")
#: Rules that may speak once the advice of another is followed, as there is more to save then.
NEXT = {"64-bit-division": {"integer-division"}, "spill": {"unrolled-too-far"}}

Lines = list[str]
#: How many times advice is followed, at most: the advice on what the advice brought, and on that.
ROUNDS = 3


def replaced(lines: Lines, piece: Advice, pattern: str, replacement: str) -> None:
    """Replace the first match of a pattern, from the place of the advice on."""
    line, start = lines[piece.line - 1], piece.column - 1
    lines[piece.line - 1] = line[:start] + re.sub(pattern, lambda _: replacement, line[start:], count=1)


def unrolled(lines: Lines, piece: Advice) -> None:
    (pragma,) = re.findall(r"`(#pragma unroll \d)`", piece.action)
    if piece.action.startswith("change"):
        lines[piece.line - 2] = pragma
    else:
        lines[piece.line - 1] = f"{pragma}\n{lines[piece.line - 1]}"


def written(lines: Lines, piece: Advice) -> None:
    (expression,) = re.findall(r"^write `([^`]*)`", piece.action)
    replaced(lines, piece, re.escape(piece.subject.strip("`")), f"({expression})")


def renamed(lines: Lines, piece: Advice) -> None:
    """Write the native function, where it takes the same arguments."""
    (name,) = re.findall(r"^`(\w+)` is", piece.action) or [""]
    if name and not piece.subject.startswith("the macro"):
        replaced(lines, piece, r"\w+", name)


def with_floats(lines: Lines, piece: Advice) -> None:
    lines[piece.line - 1] = re.sub(r"\b\d+\.\d+\b(?!f)", r"\g<0>f", lines[piece.line - 1])


def narrowed(lines: Lines, piece: Advice) -> None:
    """Declare all integers of the file with 32 bits."""
    for number, line in enumerate(lines):
        lines[number] = re.sub(r"\bulong\b", "uint", re.sub(r"\b(?:long|size_t)\b", "int", line))


def inlined(lines: Lines, piece: Advice) -> None:
    for number, line in enumerate(lines):
        lines[number] = re.sub(r"__attribute__\(\(noinline\)\)", "", line)


def with_restrict(lines: Lines, piece: Advice) -> None:
    if "restrict" in piece.action:
        for number, line in enumerate(lines):
            lines[number] = re.sub(r"\*(?=\w+[,)])", "*restrict ", line) if line.startswith("kernel") else line


def removed(lines: Lines, piece: Advice) -> None:
    replaced(lines, piece, r"barrier\([^;]*;", ";")


def by_floats(lines: Lines, piece: Advice) -> None:
    """Divide floats, where the operands stand in one line."""
    division = re.fullmatch(r"`(.+) ([/%]) (.+?)`", piece.subject)
    if division is not None:
        left, operator, right = division.groups()
        quotient = f"(int)(((float)({left}) + 0.5f) / ({right}))"
        whole = quotient if operator == "/" else f"({left} - {quotient} * {right})"
        lines[piece.line - 1] = lines[piece.line - 1].replace(piece.subject.strip("`"), whole)


#: Rules whose advice an edit of words can follow.
EDITS: dict[str, Callable[[Lines, Advice], None]] = {
    "unrolled-too-far": unrolled,
    "pow-with-a-constant": written,
    "slow-built-in": renamed,
    "half-function": renamed,
    "double-by-accident": with_floats,
    "integer-division": by_floats,
    "64-bit-division": narrowed,
    "64-bit-index": narrowed,
    "call-not-inlined": inlined,
    "address-that-does-not-change": with_restrict,
    "barrier-behind-barrier": removed,
    "barrier-over-nothing": removed,
}


def rules_of(kernels: dict[str, AdvisedKernel]) -> dict[str, set[str]]:
    return {name: {piece.rule for piece in kernel.advice} for name, kernel in kernels.items()}


def followed(text: str, kernels: dict[str, AdvisedKernel]) -> str:
    """Return the source in which all advice is followed that an edit of words can follow, from the last line to the first."""
    lines = text.split("\n")
    pieces = [piece for kernel in kernels.values() for piece in kernel.advice if piece.rule in EDITS]
    for piece in sorted(set(pieces), key=lambda piece: (-piece.line, -piece.column)):
        EDITS[piece.rule](lines, piece)
    return "\n".join(lines)


@pytest.mark.parametrize("file", [file for file in FILES if file != "double_on_purpose"])
def test_no_rule_recommends_the_contrary_of_what_was_followed(file: str, tmp_path: Path) -> None:
    kernels = advised(file, TARGET)
    rules = rules_of(kernels)
    text = (KERNELS / f"{file}.cl").read_text()
    options = "-cl-std=CL3.0" if file == "float_exchange" else ""
    for _ in range(ROUNDS):
        text, former = followed(text, kernels), text
        if text == former:
            break
        path = tmp_path / f"{file}.cl"
        path.write_text(text)
        device, toolchain = TARGET
        answer = kernlens.advise(path, device=device, toolchain=toolchain, options=options, stages=file in WITH_STAGES)
        kernels, before = {each.kernel.name: each for each in answer.kernels}, rules
        rules = rules_of(kernels)
        for name in rules:
            allowed = before[name].union(*(NEXT.get(rule, ()) for rule in before[name]))
            assert rules[name] <= allowed, (name, text)
    else:
        pytest.fail(f"advice does not come to an end:\n{text}")


@pytest.mark.parametrize("file", FILES)
def test_the_kernels_that_follow_the_advice_get_none_of_the_contrary(file: str) -> None:
    rules = rules_of(advised(file, TARGET)) if (file, TARGET[0]) != ("double_on_purpose", "dg2") else {}
    for name, after in rules.items():
        if name.startswith("mended"):
            before = rules[name.replace("mended", "fault")]
            assert after <= before.union(*(NEXT.get(rule, ()) for rule in before)), name
