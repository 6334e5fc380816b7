"""Texts made to take quadratic time: white space and names that repeat, in what each reader takes for one line."""

from __future__ import annotations

from kernlens.analysis.parts import parts
from kernlens.formats.listings.visa_llvm_map import CodegenFunctions, read_visa_llvm_lines
from kernlens.model.binary import Container, Section
from tests.limits import processor_time

SPACES = " " * 100_000


def test_an_instruction_with_spaces_within() -> None:
    text = "define void @k() {\n  ret void" + SPACES + "x\n}\n"
    with processor_time():
        read_visa_llvm_lines(text, CodegenFunctions(text))


def test_parts_of_one_name() -> None:
    container = Container("zebin", "z", 0, memoryview(bytes(10_000)))
    names = ["Same" if number % 2 else "same" for number in range(10_000)]
    sections = tuple(
        Section(number, name, 1, 0, 0, 0, 1, 0, 0, 1, 0, memoryview(b"x")) for number, name in enumerate(names)
    )
    container.find_sections = lambda: sections
    with processor_time():
        paths = [part.path[-1].lower() for part in parts([container], [])]
    assert len(set(paths)) == 10_001
