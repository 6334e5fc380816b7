"""What pages explain stands in the output that they show, and what two places say of one thing is the same."""

from __future__ import annotations

import re

import pytest

from kernlens.cli.toolchain import add_toolchain
from tests.tree import ROOT


@pytest.mark.parametrize("words", ["128 GRFs available", "61 referenced"])
def test_the_words_that_annotate_explains_are_in_its_output(words: str) -> None:
    page = (ROOT / "docs/commands/annotate.md").read_text()
    assert f"`{words}` is" in page
    assert re.search(rf"^  .*\b{words}\b", page, re.MULTILINE)
    assert re.findall(r"^(?:\* )?`[^`]*\b\d+ registers`", page, re.MULTILINE) == []


def test_page_and_help_state_one_size_of_a_disassembler() -> None:
    texts = ((ROOT / "docs/commands/toolchain.md").read_text(), add_toolchain.help or "")
    sizes = [re.findall(r"LLVM's\s+disassembler[^.]*?\babout\s+(\d+)\s+MB", text) for text in texts]
    assert sizes == [["190"], ["190"]], "measured: 189 MB (15), 170 (19), 191 (22), 196 (24)"
