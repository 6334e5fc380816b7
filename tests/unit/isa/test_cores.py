"""Occupancy: rows that the vendors' own calculators answered (``tests.corpus.occupancy`` has all), and the next steps."""

from __future__ import annotations

import pytest

from kernlens.dataclass import replace
from kernlens.isa.amd.compute_units import waves_of_simd
from kernlens.isa.cores import core_of
from kernlens.isa.devices import DEVICES, device
from kernlens.model.kernel_resources import KernelResources
from kernlens.model.launch_limits import LaunchLimits
from kernlens.model.occupancy import Core, occupancy_of, usual_sizes

#: Of Intel's GPU Occupancy Calculator: device, SIMD, work-group, SLM, large registers, barriers; work-groups of a core.
INTEL = """
bmg 32 752 110592 0 0 1
bmg 32 368 46080 0 1 2
bmg 32 920 79872 0 0 1
bmg 16 496 0 0 0 2
lnl 32 128 76800 0 1 1
lnl 32 176 116736 0 1 1
lnl 16 880 27648 0 1 1
lnl 16 232 3072 0 1 4
mtl 32 440 33792 0 1 2
mtl 16 640 3072 0 1 3
mtl 8 560 33792 0 0 1
mtl 32 272 52224 0 1 2
pvc 16 160 43008 0 1 2
pvc 32 512 58368 0 1 2
pvc 32 104 73728 1 0 1
pvc 32 224 24576 0 0 5
dg2 16 928 49152 0 0 2
dg2 16 856 55296 0 1 2
dg2 32 344 0 0 0 11
dg2 16 64 52224 0 1 2
dg2 32 416 58368 0 1 2
dg2 8 416 39936 0 0 2
dg2 16 904 0 0 1 2
dg2 32 296 0 0 0 12
dg1 8 248 43008 0 0 1
dg1 32 296 33792 0 1 1
dg1 32 512 52224 0 0 1
dg1 8 392 46080 0 1 1
tgllp 8 392 24576 0 1 2
tgllp 8 296 15360 0 1 3
tgllp 32 152 49152 0 1 1
tgllp 8 272 46080 0 1 1
icllp 8 152 15360 0 1 2
icllp 16 208 30720 0 0 2
icllp 32 80 18432 0 1 2
icllp 16 16 18432 0 0 2
skl 32 80 9216 0 1 4
skl 8 104 61440 0 0 1
skl 32 176 12288 0 0 4
skl 16 88 30720 0 1 2
"""
#: Of cuda_occupancy.h of CUDA 13.0: architecture, registers, block, bytes of shared memory, barriers; blocks of a
#: multiprocessor.
NVIDIA = """
sm_70 8 32 16384 0 6
sm_75 8 32 16384 0 4
sm_80 8 32 16384 0 9
sm_86 8 32 16384 0 5
sm_87 8 32 16384 0 9
sm_88 8 32 16384 0 5
sm_89 8 32 16384 0 5
sm_90 8 32 16384 0 13
sm_100 8 32 16384 0 13
sm_103 8 32 16384 0 13
sm_110 8 32 16384 0 13
sm_120 8 32 16384 0 5
sm_121 8 32 16384 0 5
sm_70 99 32 1024 0 16
sm_70 34 33 0 2 24
sm_70 125 128 0 2 4
sm_75 47 32 0 2 16
sm_75 229 33 16384 2 4
sm_75 112 32 0 16 16
sm_80 73 33 1024 0 12
sm_80 34 256 4000 0 6
sm_80 73 96 0 16 8
sm_86 86 96 4000 1 6
sm_86 21 192 1 16 8
sm_86 138 32 0 16 12
sm_87 21 320 0 2 4
sm_87 21 256 1024 0 6
sm_87 86 33 33000 16 4
sm_88 112 256 16384 1 2
sm_88 177 33 4000 2 4
sm_88 125 128 33000 1 3
sm_89 99 96 4000 16 5
sm_89 216 32 16384 16 5
sm_89 73 64 48000 2 2
sm_90 190 32 101376 2 2
sm_90 255 96 1024 0 2
sm_90 177 96 1 0 2
sm_100 138 32 1024 2 12
sm_100 112 32 1 16 4
sm_100 86 96 16384 16 4
sm_103 60 96 101376 0 2
sm_103 86 64 16384 16 4
sm_103 21 736 33000 2 2
sm_110 151 33 1 0 6
sm_110 73 64 16384 2 12
sm_110 125 256 48000 0 2
sm_120 164 128 4000 2 3
sm_120 112 32 48000 2 2
sm_120 151 33 4000 2 6
sm_121 86 192 1 0 3
sm_121 229 32 33000 1 3
sm_121 21 192 1 2 8
"""
#: Of LLVM's own tests (``occupancy-levels.ll``): processor, wave, vector registers, scalar registers; wavefronts of a SIMD.
AMD = """
gfx900 64 24 8 10
gfx900 64 28 8 9
gfx900 64 44 8 5
gfx900 64 100 8 2
gfx900 64 1 100 8
gfx900 64 1 102 7
gfx950 64 64 8 8
gfx950 64 84 8 5
gfx950 64 200 8 2
gfx1010 64 28 8 18
gfx1010 32 56 8 18
gfx1030 64 36 8 12
gfx1030 32 168 8 5
gfx1100 64 56 8 12
gfx1100 32 144 8 10
gfx1201 32 256 8 5
"""
LARGEST = {"skl": 256, "icllp": 256, "tgllp": 512, "dg1": 512}


def rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.strip().splitlines()]


def intel_core(name: str, simd: int = 32, slm: int = 0, *, is_large: bool = False, barriers: int = 0) -> Core | str:
    files = {"GRF": 256 if is_large else 128}
    kernel = KernelResources(simd=simd, register_files=files, slm_bytes=slm, barriers=barriers)
    return core_of(device(name), kernel, LARGEST.get(name, 1024), None)


def test_intels_calculator_says_the_same() -> None:
    for name, *numbers in rows(INTEL):
        simd, group, slm, large, barriers, expected = map(int, numbers)
        core = intel_core(name, simd, slm, is_large=bool(large), barriers=barriers)
        assert not isinstance(core, str)
        assert occupancy_of(core, group).groups == expected, (name, numbers)
    assert len(rows(INTEL)) >= 30


def test_nvidias_header_says_the_same() -> None:
    for name, *numbers in rows(NVIDIA):
        registers, block, shared, barriers, expected = map(int, numbers)
        kernel = KernelResources(
            register_files={"registers": registers}, barriers=barriers, stated={"shared_bytes": shared}
        )
        core = core_of(device(name), kernel, None, None)
        assert not isinstance(core, str)
        assert occupancy_of(core, block).groups == expected, (name, numbers)
    assert len(rows(NVIDIA)) >= 30


def test_llvm_says_the_same() -> None:
    for name, *numbers in rows(AMD):
        wave, vectors, scalars, expected = map(int, numbers)
        kernel = KernelResources(
            register_files={"VGPR": vectors, "SGPR": scalars},
            stated={"wave_size": wave, "max_work_group": 1024, "lds_bytes": 0},
            is_of_pair=True,
        )
        assert waves_of_simd(device(name), kernel) == expected, (name, numbers)


@pytest.mark.parametrize("slm", [1, 16385, 20000, 33000, 65536])
@pytest.mark.parametrize("group", [64, 128, 256, 512])
def test_the_step_does_what_it_says_and_nothing_less_does(slm: int, group: int) -> None:
    core = intel_core("dg2", slm=slm)
    assert not isinstance(core, str)
    now = occupancy_of(core, group)
    if not now.step:
        assert now.limits != ("SLM",) or slm == 1
        return
    less = int(now.step.split()[0].replace(",", ""))
    assert now.step == f"{less:,} bytes less SLM"
    followed, short = (
        occupancy_of(replace(core, local=core.local._replace(taken=slm - each)), group) for each in (less, less - 1)
    )
    assert followed.groups == now.step_groups > now.groups == short.groups


def test_fewer_registers_are_a_step() -> None:
    kernel = KernelResources(register_files={"registers": 100})
    core = core_of(device("sm_90"), kernel, None, None)
    assert not isinstance(core, str)
    now = occupancy_of(core, 256)
    assert (now.groups, now.limits, now.step, now.step_groups) == (2, ("register",), "20 registers less", 3)
    assert now.percent == 25
    fewer = core_of(device("sm_90"), KernelResources(register_files={"registers": 80}), None, None)
    assert not isinstance(fewer, str)
    assert occupancy_of(fewer, 256).groups == 3


def test_a_large_register_file_halves_the_threads() -> None:
    core = intel_core("pvc", is_large=True)
    assert not isinstance(core, str)
    assert occupancy_of(core, 256).percent == 50
    assert occupancy_of(core, 256).limits == ("GRF",)


def test_what_is_not_published_is_not_known() -> None:
    for each in DEVICES:
        core = intel_core(each.name)
        is_known = not isinstance(core, str)
        assert is_known == (each.name[:3] not in {"bdw", "xe-", "arl", "ptl", "wcl", "nvl", "cri"}), each.name
    assert core_of(device("gfx1250"), KernelResources(), 1024, None) == (
        "LLVM's rules for the wavefronts of gfx1250 are not known to kernlens"
    )
    assert core_of(None, KernelResources(), None, None) == "the binary does not tell its device"


def test_a_group_that_cannot_run_fills_nothing() -> None:
    core = intel_core("dg2", slm=70000)
    assert not isinstance(core, str)
    assert occupancy_of(core, 64).groups == 0
    assert occupancy_of(core, 2048).groups == 0
    assert usual_sizes(core) == (64, 128, 256, 512, 1024)


def test_the_figure_is_of_the_required_size_else_of_the_best() -> None:
    core = intel_core("dg2", slm=20000)
    assert LaunchLimits(core=core).best_percent == 100
    assert LaunchLimits(core=core, required_work_group=(8, 8, 1)).best_percent == 6
    assert LaunchLimits(core="not known").best_percent is None
