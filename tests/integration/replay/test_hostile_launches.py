"""Launches of foreign recordings: kernels that crash or never end, and descriptions that lie, end in a sentence."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from kernlens.dataclass import replace
from kernlens.errors import KernlensError, ToolError
from kernlens.model.kept_launch import ImageForm, KeptArgument, KeptLaunch, KeptMemory
from kernlens.runtime.opencl.error_codes import OpenCLError
from kernlens.verbs.replay.replay import replay
from tests.integration.replay.test_replay import by_hand
from tests.writers.kept_launches import content, record_launches

pytestmark = pytest.mark.skipif(not Path("/etc/OpenCL/vendors/pocl.icd").exists(), reason="no PoCL")

ENDLESS = "kernel void k(global volatile int *out) { while (out[0] == 0); out[1] = 1; }"
WILD = "kernel void k(global int *out) { for (long i = 0; i < (1l << 40); i += 1024) out[i] = 1; }"
OUTSIDE = '#include "/etc/passwd"\nkernel void k(global int *out) { }'


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        (ENDLESS, ToolError, "within 3 s and was ended"),
        (WILD, ToolError, "crashed"),
        (OUTSIDE, OpenCLError, "clBuildProgram"),
        ("kernel void other() { }", OpenCLError, "clCreateKernel"),
        ("kernel void k(global int *out, int more) { }", OpenCLError, "clEnqueueNDRangeKernel"),
        ("kernel void k(", OpenCLError, "clBuildProgram"),
    ],
)
def test_a_child_that_dies_is_one_sentence(source: str, error: type[KernlensError], words: str, tmp_path: Path) -> None:
    memory = [KeptMemory("buffer", 16, 1, before=content(bytes(16)), after=content(bytes(16)))]
    path = by_hand(tmp_path, source, "k", [KeptArgument("memory", memory=0)], memory, global_size=(1,))
    with pytest.raises(error, match=words) as raised:
        replay(path, runs=0, timeout=3 if source == ENDLESS else 60)
    assert "\n" not in str(raised.value)


def test_foreign_kernels_see_no_files(tmp_path: Path) -> None:
    """The child can open nothing of the user's: PoCL's compiler includes nothing from his folders."""
    (tmp_path / "secret.h").write_text("#define SECRET 7\n")
    source = f'#include "{tmp_path}/secret.h"\nkernel void k() {{ }}'
    path = by_hand(tmp_path, source, "k", [], [])
    with pytest.raises(OpenCLError) as raised:
        replay(path, runs=0)
    assert "file not found" in raised.value.log


@pytest.mark.parametrize(
    "change",
    [
        lambda launch: replace(launch, global_size=((1 << 63) - 1,)),
        lambda launch: replace(launch, local_size=((1 << 63) - 1,)),
        lambda launch: replace(launch, global_offset=((1 << 63) - 1,)),
        lambda launch: replace(launch, arguments=(KeptArgument("local", size=1 << 47),)),
        lambda launch: replace(launch, arguments=(*launch.arguments,) * 20),
        lambda launch: replace(launch, memory=(KeptMemory("buffer", (1 << 48) - 1, 1),)),
        lambda launch: replace(launch, memory=(KeptMemory("buffer", 16, (1 << 64) - 1, before=content(bytes(16))),)),
        lambda launch: replace(
            launch, memory=(KeptMemory("image", 16, 1, image=ImageForm(*[2**32 - 1] * 7), before=content(bytes(16))),)
        ),
        lambda launch: replace(
            launch,
            memory=(
                KeptMemory(
                    "image", 16, 1, image=ImageForm(0x10B5, 0x10DA, 0x10F1, 64, 64, 1, 1), before=content(bytes(16))
                ),
            ),
        ),
        lambda launch: replace(launch, arguments=(KeptArgument("sampler", sampler=(7, 2**32 - 1, 9)),)),
        lambda launch: replace(launch, arguments=(KeptArgument("memory", memory=0, offset=3, size=1),)),
    ],
)
def test_hostile_launches_end_in_a_sentence(change: Callable[[KeptLaunch], KeptLaunch], tmp_path: Path) -> None:
    source = "kernel void k(global int *out) { out[0] = 1; }"
    after = content(struct.pack("<4i", 1, 0, 0, 0))
    memory = [KeptMemory("buffer", 16, 1, before=content(bytes(16)), after=after)]
    path = by_hand(tmp_path, source, "k", [KeptArgument("memory", memory=0)], memory, global_size=(1,))
    assert replay(path, runs=0)[0].is_equal
    from kernlens.recording.reader import Recording

    with Recording(path) as opened:
        (build,) = opened.builds()
        hostile = record_launches(
            tmp_path / "b.klens", build.with_parts(kept_launches=()), change(build.kept_launches[0])
        )
    # PoCL takes flags that mean nothing.
    with contextlib.suppress(KernlensError):
        assert replay(hostile, runs=0, timeout=4)
