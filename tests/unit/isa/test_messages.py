"""What send instructions ask for, by their descriptors: words of libiga64's sources, written out here bit by bit."""

from __future__ import annotations

import random

import pytest

from kernlens.isa.intel.device_table import GEN9, XE2, XE3, XE3P, XE_HPC, XE_HPG, XE_LP
from kernlens.isa.intel.messages.message_decoder import decode_message
from kernlens.isa.intel.messages.send import Send
from kernlens.model.instruction_kind import ACTIONS, OTHER_KINDS, SPACES, Access, InstructionKind
from kernlens.model.intel_instructions import SHARED_FUNCTIONS

PLATFORMS = (GEN9, XE_LP, XE_HPG, XE_HPC, XE2, XE3, XE3P)
D32, D64, D8U32, D16U32 = (code << 9 for code in (2, 3, 4, 5))
A32, A64 = 2 << 7, 3 << 7
X4, X16 = 3 << 12, 5 << 12
BLOCK = 1 << 15
BINDLESS, SURFACE_STATE, TABLE = (code << 29 for code in (1, 2, 3))
CACHED = 4 << 17


def sent(
    target: str,
    descriptor: int | None,
    *,
    platform: int = XE_HPG,
    lanes: int = 16,
    extended: int | None = 0,
    register: int | None = None,
    answer: int | None = 0,
    data: int | None = 0,
) -> InstructionKind:
    return decode_message(Send(platform, target, descriptor, extended, register, lanes, answer, 2, data))


def told(kind: InstructionKind) -> tuple[str, str, int | None, str]:
    assert kind.access is not None
    return kind.name, kind.access.operation, kind.access.size, kind.access.surface


@pytest.mark.parametrize(
    ("target", "descriptor", "expected"),
    [
        ("ugm", A64 | D32, ("global", "load", 64, "flat")),
        ("ugm", A64 | D32 | X4, ("global", "load", 256, "flat")),
        ("ugm", A64 | D32 | X16 | BLOCK, ("global", "load", 64, "flat")),
        ("ugm", A64 | D8U32 | 4, ("global", "store", 16, "flat")),
        ("slm", A32 | D16U32 | 4, ("slm", "store", 32, "flat")),
        ("slm", A32 | D32 | 0x0C, ("slm", "atomic_iadd", 64, "flat")),
        ("ugm", A64 | D64 | 0x12, ("global", "atomic_icas", 128, "flat")),
        ("ugm", A32 | D32 | BINDLESS, ("global", "load", 64, "bss")),
        ("ugm", A32 | D32 | SURFACE_STATE | CACHED, ("scratch", "load", 64, "ss")),
        ("tgm", A32 | D32 | BINDLESS | 0xF << 12 | 6, ("image", "store_quad", 256, "bss")),
        ("tgm", A32 | D32 | BINDLESS | 0x1 << 12 | 2, ("image", "load_quad", 64, "bss")),
        ("ugm", 0x1F, ("synchronisation", "fence", 0, "")),
        ("ugm", 0x1D, ("other", "ccs", 0, "")),
        ("ugm", 0x3F, ("other", "unknown", 0, "")),
        ("gtwy", 0x10, ("control", "end of thread", 0, "")),
        ("gtwy", 4, ("synchronisation", "barrier", 0, "")),
        ("gtwy", 1, ("synchronisation", "event", 0, "")),
        ("ts", 0x10, ("control", "end of thread", 0, "")),
        ("urb", 7, ("other", "urb", 0, "")),
        # The data cache.
        ("dc0", 4 << 14 | 2 << 10 | 1 << 8 | 3, ("global", "load", 64, "bti[3]")),
        ("dc0", 4 << 14 | 1 << 10 | 0xFE, ("slm", "load", 16, "slm")),
        ("dc0", 0xC << 14 | 0 << 10 | 1 << 8 | 0xFF, ("global", "store", 16, "stateless")),
        ("dc0", 1 << 14 | 4 << 8 | 5, ("global", "load", 128, "bti[5]")),
        ("dc0", 1 << 14 | 1 << 13 | 2 << 8 | 5, ("global", "load", 128, "bti[5]")),
        ("dc0", 7 << 14, ("synchronisation", "fence", 0, "")),
        ("dc0", 6 << 14, ("other", "unknown", 0, "")),
        ("dcro", 3 << 14 | 0 << 10 | 1 << 8 | 2, ("global", "load", 64, "bti[2]")),
        ("dc1", 1 << 14 | 1 << 12 | 0b1100 << 8 | 7, ("global", "load_quad", 128, "bti[7]")),
        ("dc1", 9 << 14 | 2 << 12 | 0b0000 << 8 | 0xFE, ("slm", "store_quad", 128, "slm")),
        ("dc1", 0x10 << 14 | 1 << 12 | 1 << 10 | 1 << 8 | 0xFF, ("global", "load", 128, "stateless")),
        ("dc1", 0x1A << 14 | 0 << 12 | 0 << 10 | 2 << 8 | 0xFF, ("global", "store", 64, "stateless")),
        ("dc1", 0x14 << 14 | 3 << 11 | 1 << 8 | 0xFF, ("global", "load", 64, "stateless")),
        ("dc1", 0x15 << 14 | 1 << 11 | 3 << 8 | 0xFF, ("global", "store", 64, "stateless")),
        ("dc1", 0x02 << 14 | 1 << 12 | 7 << 8 | 0xFE, ("slm", "atomic_iadd", 32, "slm")),
        ("dc1", 0x12 << 14 | 1 << 12 | 7 << 8 | 0xFF, ("global", "atomic_iadd", 64, "stateless")),
        ("dc1", 0x02 << 14 | 0 << 12 | 0 << 8 | 1, ("global", "atomic_icas", 128, "bti[1]")),
        ("dc1", 0x1D << 14 | 0 << 12 | 1 << 8 | 0xFF, ("global", "atomic_fmax", 32, "stateless")),
        ("dc1", 0x1C << 14 | 0 << 12 | 4 << 8 | 0xFE, ("slm", "atomic_fadd", 32, "slm")),
        ("dc1", 0x0D << 14 | 0b1000 << 8 | 1, ("image", "store_quad", 96, "bti[1]")),
        ("dc1", 0x06 << 14 | 5 << 8 | 1, ("image", "atomic_iinc", 32, "bti[1]")),
        ("dc1", 0x1F << 14, ("other", "unknown", 0, "")),
    ],
)
def test_descriptors_tell_what_a_message_does(
    target: str, descriptor: int, expected: tuple[str, str, int, str]
) -> None:
    assert told(sent(target, descriptor)) == expected


def test_what_a_narrow_instruction_does_not_access() -> None:
    assert told(sent("dc1", 1 << 14 | 1 << 12 | 0b1110 << 8 | 7, lanes=2))[2] == 8
    assert told(sent("ugm", A64 | D32 | X4, lanes=1))[2] == 16


def test_the_number_of_a_surface() -> None:
    assert told(sent("ugm", A32 | D32 | TABLE, extended=7 << 24))[3] == "bti[7]"
    assert told(sent("ugm", A32 | D32 | TABLE, extended=None, register=0))[3] == "bti"


def test_wide_registers_have_wide_messages() -> None:
    assert told(sent("dc1", 0x0D << 14 | 1, platform=XE_LP))[2] == 128
    assert told(sent("dc1", 0x0D << 14 | 1, platform=XE_HPC))[2] == 256


def test_what_only_the_registers_tell() -> None:
    assert told(sent("smpl", 0, answer=8)) == ("image", "sample", 256, "")
    assert told(sent("smpl", None, answer=8, platform=XE2)) == ("image", "sample", 512, "")
    assert told(sent("ugm", A64 | D32 | 3, answer=4, platform=XE_HPC)) == ("global", "load_block2d", 256, "flat")
    assert told(sent("ugm", A64 | D32 | 7, data=2, platform=XE_HPC)) == ("global", "store_block2d", 128, "flat")
    assert told(sent("dc1", 4 << 14 | 1, answer=2)) == ("image", "load_media_block", 64, "bti[1]")
    assert told(sent("dc1", 0xA << 14 | 1, data=3)) == ("image", "store_media_block", 96, "bti[1]")
    assert told(sent("dc1", 0xA << 14 | 1, data=0)) == ("image", "store_media_block", 32, "bti[1]")


def test_nothing_is_guessed_of_a_descriptor_in_a_register() -> None:
    assert told(sent("ugm", None)) == ("other", "unknown", None, "")
    assert told(sent("smpl", None, answer=None)) == ("image", "sample", None, "")
    assert told(sent("ugm", A64 | D32, platform=XE3P)) == ("other", "unknown", None, "")


SCRATCH_BLOCK = 1 << 18 | 2 << 12 | 0x32
SPILL = D32 | A32 | X16 | BLOCK | SURFACE_STATE


def is_spill(kind: InstructionKind) -> bool:
    assert kind.access is not None
    return kind.access.is_spill


def test_a_scratch_block_is_a_spill_or_a_fill() -> None:
    fill, spill = sent("dc0", SCRATCH_BLOCK), sent("dc0", SCRATCH_BLOCK | 1 << 17)
    assert fill == InstructionKind("scratch", Access("load", "load", 32, 4, 1, "scratch", 128, is_spill=True))
    assert spill == InstructionKind("scratch", Access("store", "store", 32, 4, 1, "scratch", 128, is_spill=True))


def test_stateless_oword_blocks_are_spills_of_stack_calls() -> None:
    assert is_spill(sent("dc0", 3 << 8 | 0xFF))
    assert is_spill(sent("dc0", 8 << 14 | 3 << 8 | 0xFF))
    for other in (3 << 8 | 0xFE, 3 << 8 | 5, 1 << 14 | 3 << 8 | 0xFF, 4 << 14 | 0xFF):
        assert not is_spill(sent("dc0", other)), hex(other)
    assert not is_spill(sent("dcro", 3 << 8 | 0xFF))


def test_blocks_of_the_scratch_surface_are_spills_unless_they_are_cached() -> None:
    def spilled(descriptor: int, target: str = "ugm", lanes: int = 1, register: int | None = 2) -> bool:
        return is_spill(sent(target, descriptor, platform=XE2, extended=None, register=register, lanes=lanes))

    assert spilled(SPILL)
    assert spilled(SPILL | 4)
    assert not spilled(SPILL | CACHED)
    assert not spilled(SPILL & ~BLOCK)
    assert not spilled(SPILL ^ SURFACE_STATE ^ BINDLESS)
    assert not spilled(SPILL | 0x0C)
    assert not spilled(SPILL, lanes=16)
    assert not spilled(SPILL, register=4)
    assert not spilled(SPILL, register=None)
    assert not spilled(SPILL, target="slm")


def test_a_load_that_nothing_comes_back_of_is_a_prefetch() -> None:
    # load.ugm.d32x16t, and the load of a block with two dimensions, with and without an answer.
    for descriptor, size in ((0x0000D500, 64), (0x00000203, None)):
        (loaded, asked) = (sent("ugm", descriptor, platform=XE2, answer=answer).access for answer in (1, 0))
        assert loaded is not None
        assert asked is not None
        assert (loaded.action, loaded.size) == ("load", 64)
        assert (asked.action, asked.size) == ("prefetch", size)
    stored = sent("ugm", 0x0000D504, platform=XE2, answer=0).access
    assert stored is not None
    assert stored.action == "store"


def test_any_descriptor_has_an_answer() -> None:
    chance = random.Random(13)
    for _ in range(20_000):
        target = chance.choice([*SHARED_FUNCTIONS, ""])
        descriptor = chance.getrandbits(32)
        extended = chance.choice([None, chance.getrandbits(32)])
        kind = sent(
            target, descriptor, platform=chance.choice(PLATFORMS), extended=extended, register=chance.choice([None, 2]),
            lanes=chance.choice([0, 1, 16, 32, 255]), answer=chance.choice([None, 0, 30]), data=chance.choice([None, 4]),
        )  # fmt: skip
        assert kind.name in (*SPACES, *OTHER_KINDS)
        assert kind.access is not None
        assert kind.access.action in (ACTIONS if kind.name in SPACES else ("",))
        assert kind.access.size is None or kind.access.size >= 0
