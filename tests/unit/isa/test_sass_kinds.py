"""The kinds of NVIDIA's instructions, what they access, and what is said where nobody knows the bytes."""

from __future__ import annotations

import pytest

from kernlens.analysis.costs import costs_of
from kernlens.isa.nvidia.sass_kinds import kinds_of


def costs(*texts: str) -> dict[str, int]:
    """What the instructions cost, without zeros and their number."""
    return {key: value for key, value in costs_of(kinds_of(texts)).items() if value and key != "instructions"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("LDG.E.128 R4, desc[UR4][R2.64] ;", {"global_loads": 1, "global_load_bytes": 512}),
        ("@P0 STG.E.LTC128B.U8 desc[UR4][R2.64], R0 ;", {"global_stores": 1, "global_store_bytes": 32}),
        ("LDG.E.ENL2.256 R4, R8, desc[UR4][R2.64] ;", {"global_loads": 1, "global_load_bytes": 1024}),
        ("STS.64 [R0], R4 ;", {"slm_stores": 1, "slm_store_bytes": 256}),
        ("LDL.LU R0, [R1+0x8] ;", {"scratch_loads": 1, "scratch_load_bytes": 128}),
        ("LDSM.16.MT88.4 R4, [R0] ;", {"slm_loads": 1, "slm_load_bytes": 512}),
        ("LDSM.16.M88 R4, [R0] ;", {"slm_loads": 1, "slm_load_bytes": 128}),
        ("STSM.16.M88.2 [R0], R4 ;", {"slm_stores": 1, "slm_store_bytes": 256}),
        (
            "LDGSTS.E.BYPASS.LTC128B.128 [R23], desc[UR16][R16.64], P0 ;",
            {"global_loads": 1, "global_load_bytes": 512, "slm_stores": 1, "slm_store_bytes": 512},
        ),
        ("REDAS.ADD [R2], R0 ;", {"slm_atomics": 1, "slm_load_bytes": 128, "slm_store_bytes": 128}),
    ],
)
def test_what_is_accessed(text: str, expected: dict[str, int]) -> None:
    assert costs(text) == {"sends": 1, **expected}


@pytest.mark.parametrize(
    "text",
    ["CCTL.E.PF2 [R2] ;", "UBLKPF [UR4], UR8 ;", "UTMAPF.L2.2D [UR8], [UR4] ;", "@P0 LDG.E.128 RZ, desc[UR4][R2.64] ;"],
)
def test_what_comes_to_no_register_is_a_prefetch(text: str) -> None:
    assert costs(text) == {"sends": 1, "global_prefetches": 1}


def test_other_controls_of_caches_are_none() -> None:
    assert costs("CCTL.IVALL ;") == {"other_instructions": 1}


@pytest.mark.parametrize(
    "text", ["@!PT LDS RZ, [RZ] ;", "@!UPT UTMALDG.2D [UR8], [UR4] ;", "@!PT LDGSTS.E [R0], [R2] ;"]
)
def test_what_never_runs_accesses_nothing(text: str) -> None:
    assert costs(text) == {"other_instructions": 1}


@pytest.mark.parametrize(
    "text",
    [
        "LD.E.64 R2, [R2.64] ;", "ST.E [R2.64], R0 ;", "ATOM.E.ADD PT, R2, [R2], R0 ;", "UTMALDG.2D [UR8], [UR4] ;",
        "UBLKCP [UR4], [UR6], UR8 ;", "@P0 UTMASTG.2D [UR8], [UR4] ;", "LDGMC.E.ADD.F32 R0, [R2] ;", "LDNEW.E R0, [R2] ;",
        "UTCCP.T.S.128dp tmem[UR5], gdesc[UR6] ;",
    ],
)  # fmt: skip
def test_what_is_not_known_is_counted_as_unknown(text: str) -> None:
    assert costs(text) == {"sends": 1, "dynamic_messages": 1, "other_instructions": 1}


@pytest.mark.parametrize("text", ["LDG.E.B96 R0, [R2] ;", "LDSM.U4.M88.4 R0, [R2] ;", "TEX.B.LL R0, R2, 2D ;"])
def test_an_unknown_size_is_no_size(text: str) -> None:
    read = costs(text)
    assert read["dynamic_messages"] == 1
    assert not any(key.endswith("_bytes") for key in read)


def test_matrix_products_read_shared_memory_through_descriptors() -> None:
    assert costs("HGMMA.64x64x16.F32 R24, gdesc[UR4], R24 ;") == {
        "sends": 1, "dynamic_messages": 1, "systolic_instructions": 1,
    }  # fmt: skip
    assert costs("HMMA.16816.F32 R4, R8, R12, R4 ;") == {"systolic_instructions": 1}


@pytest.mark.parametrize(
    "text", ["LDC R1, c[0x0][0x28] ;", "LDCU.64 UR4, c[0x0][0x358] ;", "REDUX.SUM UR4, R0 ;", "NOP ;"]
)
def test_constants_are_none_of_the_memories(text: str) -> None:
    assert costs(text) == {"other_instructions": 1}
