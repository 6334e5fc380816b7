"""Limits of launches against simulated drivers: kernels with shared, private and scratch memory, of all widths and registers,
with sizes that the source requires, legal and not."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

import kernlens
from kernlens.formats.intermediate_code import without_intermediate_code
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from tests.corpus.build import Built
from tests.corpus.launch_limits import compared
from tests.environment import cache_folder
from tests.integration.cli.test_cli import kernlens as run
from tests.integration.drivers.live_fixtures import NEWEST_DEVICES, SYSTEM_DEVICES
from tests.tree import ROOT
from tests.whole import WHOLE

SOURCE = Path(__file__).parent / "kernels" / "launch_limits.cl"
BLUR = ROOT / "examples" / "kernels" / "blur.cl"
LARGE = "-cl-intel-256-GRF-per-thread"
#: Devices with registers of 64 bytes, whose narrowest width is 16, and with 128 KB of shared local memory.
WIDE = ("pvc", "bmg", "lnl", "ptl")
#: Devices without large register files.
SMALL = ("skl", "icllp", "tgllp")
OLDER = [(SYSTEM, device) for device in (SYSTEM_DEVICES if WHOLE else ("skl", "dg2", "pvc"))]
NEWER = [(NEWEST, device) for device in (NEWEST_DEVICES if WHOLE else ("dg2", "bmg", "ptl"))]


@pytest.fixture(autouse=True)
def compilers(newest_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have both compilers; what they made of the same text before is not compiled again."""
    monkeypatch.setenv("KERNLENS_CACHE", str(cache_folder() / "compiles"))


def option_sets(device: str) -> Sequence[str]:
    widths = ("", "-DWIDTH=16", "-DWIDTH=32") if device in WIDE else ("", "-DWIDTH=8", "-DWIDTH=16", "-DWIDTH=32")
    larger = "-DLARGE" if device in WIDE else ""
    return [f"{large} {width} {larger}" for width in widths for large in ("", *(() if device in SMALL else (LARGE,)))]


def binaries(device: str, toolchain: str, folder: Path) -> list[Path]:
    paths = []
    for number, options in enumerate(option_sets(device)):
        (program,) = kernlens.compile(SOURCE, device, toolchain=toolchain, options=options)
        paths.append(folder / f"{device}-{number}.bin")
        paths[-1].write_bytes(program.binary)
    return paths


@pytest.mark.parametrize(("toolchain", "device"), [*OLDER, *NEWER])
def test_limits_are_the_drivers(toolchain: str, device: str, tmp_path: Path) -> None:
    paths = binaries(device, toolchain, tmp_path)
    counts = compared(paths, device, toolchain)
    assert not counts.differences
    assert counts.kernels >= 18 * len(paths)
    assert counts.compared >= 4 * counts.kernels
    # Level Zero creates no kernel that requires 2,048 work-items.
    assert counts.refused >= len(paths)
    # Private memory of 280,000 bytes per work-item, which depends on the product.
    assert counts.unknown <= 2 * len(paths)


#: A kernel with more shared local memory than any device has beside one without.
TOO_LARGE = """
kernel void too_large(global ulong *o) {
  local ulong t[32768]; int l = get_local_id(0);
  for (int i = l; i < 32768; i += get_local_size(0)) t[i] = o[i];
  barrier(CLK_LOCAL_MEM_FENCE); o[get_global_id(0)] = t[(l * 77) & 32767]; }
kernel void small(global float *o) { o[get_global_id(0)] *= 2; }
"""


@pytest.mark.parametrize(("toolchain", "device"), [(SYSTEM, "skl"), (SYSTEM, "pvc"), (NEWEST, "dg2"), (NEWEST, "bmg")])
def test_kernel_with_too_much_shared_memory_keeps_the_whole_program_out(
    toolchain: str, device: str, tmp_path: Path
) -> None:
    (tmp_path / "two.cl").write_text(TOO_LARGE)
    (program,) = kernlens.compile(tmp_path / "two.cl", device, toolchain=toolchain)
    binary = tmp_path / "two.bin"
    binary.write_bytes(program.binary)
    counts = compared([binary], device, toolchain)
    assert not counts.differences
    assert counts.compared == 2, "both APIs refuse the program"
    (words,) = (line for line in run("inspect", binary).stdout.splitlines() if "not load" in line)
    assert words.strip().startswith(
        "the driver does not load the program: too_large declares 262,144 bytes of SLM, and "
    )


@pytest.mark.parametrize(("device", "is_rebuilt"), [("dg2", True), ("bmg", False), ("tgllp", False)])
def test_opencl_builds_bindless_programs_again(device: str, is_rebuilt: bool, tmp_path: Path) -> None:
    """Code that takes memory by handles is not OpenCL's: its driver makes other code of the SPIR-V, or refuses the binary."""
    (program,) = kernlens.compile(BLUR, device, toolchain=NEWEST)
    whole, alone = tmp_path / "whole.bin", tmp_path / "alone.bin"
    whole.write_bytes(program.binary)
    alone.write_bytes(without_intermediate_code(bytes(program.binary)))
    counts = compared([whole, alone], device, NEWEST)
    assert not counts.differences
    assert counts.rebuilt == is_rebuilt
    assert counts.unknown == 0
    words = "OpenCL's driver (26.27) does not run this code, which takes memory by handles (bindless): it builds the program"
    assert (words in run("inspect", whole).stdout) == is_rebuilt
    refusal = (
        "OpenCL does not load the program: blur takes buffers or images by handles (bindless), and there is no SPIR-V"
    )
    assert (refusal in run("inspect", alone).stdout) == is_rebuilt
    assert words not in run("inspect", alone).stdout


def test_limits_of_the_corpus_are_the_drivers(corpus_sample: list[Built]) -> None:
    device = "dg2"
    counts = compared([built.binary for built in corpus_sample if built.device == device], device, SYSTEM)
    assert not counts.differences
    assert counts.compared > 100


def test_words_and_document(tmp_path: Path) -> None:
    first = binaries("dg2", NEWEST, tmp_path)[0]
    lines = [line.strip() for line in run("inspect", first).stdout.splitlines()]
    chosen = "no sub-group size required"
    (version,) = re.findall(rb"^version: +'([0-9.]+)'", first.read_bytes(), re.MULTILINE)
    assert f"dg2-0 on dg2 (12.55.8), zebin {version.decode()}" in lines
    assert f"work-groups of legal: at most 1,024 work-items, 64 x 2 x 1 required, {chosen}" in lines
    assert (
        "Level Zero does not create huge: it requires work-groups of 2,048 work-items, and 1,024 are the most" in lines
    )
    (refused,) = (line for line in lines if line.startswith("the driver does not create private_280k: "))
    assert (
        "8,960,000 bytes of private memory for each hardware thread, of which there are 2,048 or more, exceed the 16 GB of"
        " memory of the largest product, as published" in refused
    )
    (program,) = json.loads(run("inspect", first, "--json").stdout)["programs"]
    limits = {kernel["name"]: kernel["launch_limits"] for kernel in program["kernels"]}
    assert limits["legal"] == {
        "max_work_group": 1024,
        "max_sub_groups": 32,
        "work_group_multiple": 64,
        "required_work_group": [64, 2, 1],
        "required_sub_group": None,
        "can_be_created": {
            "level_zero": {"answer": True, "reason": None, "rebuilt": False},
            "opencl": {"answer": True, "reason": None, "rebuilt": True},
        },
        "reason": None,
        "occupancy": {
            "core": "Xe-core",
            "source": "Intel's GPU Occupancy Calculator",
            "reason": None,
            "work_groups": [
                {
                    **{"work_group": 128, "groups": 32, "threads": 128, "slots": 128, "percent": 100},
                    **{"limits": [], "step": None, "step_groups": None},
                }
            ],
        },
    }
    assert limits["private_280k"]["can_be_created"]["opencl"]["answer"] is False


def test_the_largest_work_group_is_a_limit(tmp_path: Path) -> None:
    paths = binaries("dg2", NEWEST, tmp_path)
    large = paths[[LARGE in each and "WIDTH=16" in each for each in option_sets("dg2")].index(True)]
    assert run("check", paths[0], "--min-max-work-group", "1024").returncode == 0
    done = run("check", large, "--min-max-work-group", "1024")
    assert done.returncode == 1
    assert "512" in done.stdout
    diff = run("diff", paths[0], large).stdout
    assert "largest work-group" in diff
