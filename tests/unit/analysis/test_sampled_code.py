"""Code that a profiler prints against code that is shown."""

from __future__ import annotations

from kernlens.analysis.placed_samples import placed_samples
from kernlens.analysis.sampled_code import code_start, plain
from kernlens.analysis.sampled_kernels import SampledKernels
from kernlens.formats.samples.nsight_compute import read_source_page
from kernlens.model.listed_instructions import ListedInstructions
from kernlens.model.samples import SampledKernel
from tests.nvidia_files import profiled

TEXTS = ["LDC R1, c[0x0][0x28] ;", "FADD R1, R2.reuse, 1 ;", "@P0 BRA `(.L_x_1) ;", "FADD R3, R2, 1 ;", "EXIT ;"]
CODE = ListedInstructions(range(0, 80, 16), [16] * 5, [text.split()[0] for text in TEXTS], TEXTS)


def _printed(*texts: str, first: int = 0) -> SampledKernel:
    return SampledKernel("k", None, {0: (5,)}, {}, {16 * (first + row): text for row, text in enumerate(texts)})


def test_what_disassemblers_print_differently() -> None:
    assert plain("@P0 BRA 0x7fa0597ad450") == plain("@P0 BRA `(.L_x_12) ;")
    assert plain("LDGSTS.E desc[UR16][R16.64], P0, [R23]") == plain("LDGSTS.E [R23], desc[UR16][R16.64], P0 ;")
    assert plain("FADD R1, R2.reuse, 1 ;") == plain("FADD R1, R2, 1")
    assert plain("@P0 FADD R1, R2, 1") != plain("@!P0 FADD R1, R2, 1")
    assert plain("FADD R1, R2, 1") != plain("FADD R1, R2, 2")
    assert plain("LDC R1, c[0x0][0x28]") != plain("LDC R1, c[0x0][0x2c]")


def test_where_printed_code_begins() -> None:
    assert code_start(_printed("LDC R1, c[0x0][0x28]", "FADD R1, R2, 1"), CODE) == 0
    assert code_start(_printed("FADD R1, R2, 1", "@P0 BRA 0x7fa0597ad450"), CODE) == 16
    assert code_start(_printed("FADD R1, R2, 2"), CODE) is None
    assert code_start(_printed("EXIT", "EXIT"), CODE) is None
    assert code_start(SampledKernel("k", None, {0: (5,)}), CODE) == 0


def test_a_relocation_is_any_number_where_code_is_loaded() -> None:
    texts = ["MOV R20, 32@lo((axpb + .L_x_3@srel)) ;", "MOV R21, 32@hi((axpb + .L_x_3@srel)) ;", "EXIT ;"]
    code = ListedInstructions(range(0, 48, 16), [16] * 3, ["MOV", "MOV", "EXIT"], texts)
    assert code_start(_printed("MOV R20, 0x0", "MOV R21, 0x7f90", "EXIT"), code) == 0
    assert code_start(_printed("MOV R20, 0x0", "MOV R22, 0x0"), code) is None
    assert code_start(_printed("MOV R20, R3"), code) is None


def test_code_that_stands_in_several_places_is_not_placed() -> None:
    texts = ["NOP ;", "MOV R1, R2 ;", "NOP ;", "MOV R1, R2 ;"]
    code = ListedInstructions(range(0, 64, 16), [16] * 4, ["NOP"] * 4, texts)
    assert code_start(_printed("MOV R1, R2"), code) is None
    assert code_start(_printed("NOP", "MOV R1, R2"), code) == 0


def test_samples_land_on_no_other_code() -> None:
    samples = read_source_page(profiled("sass.csv"))
    texts = list(samples.kernels[0].texts.values())
    offsets = range(0, 16 * len(texts), 16)
    own = ListedInstructions(offsets, [16] * len(texts), ["X"] * len(texts), [f"{text} ;" for text in texts])
    placed = placed_samples(SampledKernels(samples), "mixed", own)
    assert (placed.total, placed.unplaced, len(placed.measured)) == (8465, {}, 293)
    texts[200] = "NOP"
    other = ListedInstructions(offsets, [16] * len(texts), ["X"] * len(texts), texts)
    placed = placed_samples(SampledKernels(samples), "mixed", other)
    assert (placed.total, placed.measured) == (0, {})
