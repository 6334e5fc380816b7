"""How the document of the explorer is packed, and what it explains of opcodes."""

from __future__ import annotations

from kernlens.errors import UnsupportedError
from kernlens.isa.intel.device_table import GEN9, GEN11, XE2, XE3, XE_HP, XE_HPC, XE_HPG, XE_LP
from kernlens.isa.intel.opcodes import EXPLANATIONS
from kernlens.isa.intel.raw_code import instruction_count
from kernlens.report.explore.packing import ALPHABET, deltas, in_base85
from tests.explore_reader import DIGITS, bytes_of_base85, summed
from tests.tree import ROOT


def test_base85_is_what_the_page_of_the_format_says() -> None:
    assert ALPHABET.decode() == DIGITS
    assert DIGITS in (ROOT / "docs/formats/explore.md").read_text()
    assert not set(DIGITS) & set("<>&\"'`\\")
    for size in (0, 1, 3, 4, 5, 1000):
        content = bytes(number * 37 & 0xFF for number in range(size))
        text = in_base85(content).decode()
        assert bytes_of_base85(text)[:size] == content
        assert len(text) == (size + 3) // 4 * 5
    assert bytes_of_base85(in_base85(b"\xff" * 8).decode()) == b"\xff" * 8


def test_deltas_are_undone_by_sums() -> None:
    for numbers in ([], [5], [-1, -1, 7, 0]):
        assert summed(deltas(numbers)) == numbers


def test_instructions_are_counted_by_their_sizes() -> None:
    small, large = (1 << 29).to_bytes(4, "little") + bytes(4), bytes(16)
    assert instruction_count(memoryview(small + large + small)) == 3
    assert instruction_count(memoryview(small + large + bytes(4))) == 2
    assert instruction_count(memoryview(b"")) == 0


def test_every_opcode_of_every_device_is_explained() -> None:
    """Of Skylake to Panther Lake, as far as an installed libiga64 knows them."""
    from kernlens.isa.intel.iga_library import library_for
    from kernlens.toolchain.registered import register_roots

    register_roots()
    known: set[str] = set()
    for platform in (GEN9, GEN11, XE_LP, XE_HP, XE_HPG, XE_HPC, XE2, XE3):
        try:
            library = library_for(platform, "it")
        except UnsupportedError:
            continue
        known.update(library.native.mnemonics(platform))
    assert known - {""} == set(EXPLANATIONS) if "srnd" in known else known - {""} <= set(EXPLANATIONS)
    for sentence in EXPLANATIONS.values():
        assert sentence.endswith(".")
        assert len(sentence) < 130
