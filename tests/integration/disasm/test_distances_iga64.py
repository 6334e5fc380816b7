"""Whom distances wait for, on code whose distances iga64 sets itself."""

from __future__ import annotations

import random
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from kernlens import load
from kernlens.analysis.flow.distance_waits import distance_waits
from kernlens.isa.devices import device
from kernlens.isa.intel.decode import decode
from kernlens.isa.intel.iga_library import search_also
from tests.corpus.distances import CAPPED, HAZARD, NO_HAZARD, WRONG, by_wrong_rule, judged
from tests.integration.cli.test_cli import kernlens
from tests.integration.disasm.iga64_fixtures import iga64_of
from tests.packed_code import packed

INTEGERS, FLOATS = ("b", "uw", "d", "ud"), ("f", "hf")
#: A device, iga64's name of its platform, whether only the newest root's knows it, and types that it has beside these.
PLATFORMS = {
    "tgllp": ("12p1", False, ()),
    "xe-hp-sdv": ("12p5", False, ("q", "df")),
    "dg2": ("12p71", False, ("q",)),
    "pvc": ("12p72", False, ("q", "df")),
    "bmg": ("2", True, ("q", "df")),
    "ptl": ("3", True, ("q", "df")),
    "nvl-p": ("3pxpc", True, ("q", "df")),
}


def text(types: tuple[str, ...], count: int = 400) -> str:
    """Instructions of all types, each of which reads one of the last six results and r2; 40 results later one's register is
    written anew."""
    chance = random.Random(len(types))
    recent = [2]
    lines = []
    for index in range(count):
        result, read = 10 + 2 * (index % 40), chance.choice(recent[-6:])
        into, of = chance.choice(types), chance.choice(types)
        lines.append(
            chance.choice(
                [
                    f"mov (8|M0) r{result}.0<1>:{into} r{read}.0<1;1,0>:{of}",
                    f"add (8|M0) r{result}.0<1>:{into} r{read}.0<1;1,0>:{into} r2.0<1;1,0>:{into}",
                    f"(f0.0) sel (8|M0) r{result}.0<1>:{into} r{read}.0<1;1,0>:{into} r2.0<1;1,0>:{into}",
                    f"math.inv (8|M0) r{result}.0<1>:f r{read}.0<1;1,0>:f",
                ]
            )
        )
        recent.append(result)
    return "\n".join(lines) + "\n"


KERNEL = """\
kernel void messages(read_only image2d_t in, sampler_t how, global uint *ids, global ulong *sums, global float4 *out) {
    local float4 shared[64];
    int2 place = (int2)(get_global_id(0), get_global_id(1));
    shared[get_local_id(0)] = read_imagef(in, how, place);
    barrier(CLK_LOCAL_MEM_FENCE);
    sums[place.x] = (ulong)ids[place.y] * (ids[place.x] / 7);
    out[place.x] = shared[get_local_id(0) ^ 1] * ids[place.x];
}
"""


def test_messages_of_xe3p_wait_for_their_descriptors(newest_root: Path, tmp_path: Path) -> None:
    """Each descriptor in s0 is one that iga64 prints, and a reason of the compiler's for a distance."""
    source, recording, code = tmp_path / "messages.cl", tmp_path / "messages.klens", tmp_path / "messages.krn"
    source.write_text(KERNEL)
    done = kernlens("compile", source, "--device", "cri", "--toolchain", "newest", "-o", recording)
    assert done.returncode == 0, done.stderr
    (program,) = load(recording)
    kernel = program.kernels["messages"]
    code.write_bytes(kernel.code)
    command = [*iga64_of(newest_root), "-d", "-p=3pxpc", "--color=never", str(code)]
    texts = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.splitlines()
    printed = [re.findall(r"(?<!\[)\bs0\.\d+", text.partition("{")[0]) for text in texts if re.search(r"\bsendg", text)]
    messages = [instruction.message for instruction in packed(kernel.instructions) if instruction.message]
    assert [
        [entry for entry in (each.descriptor_register, each.extended_register) if entry] for each in messages
    ] == printed
    assert {len(registers) for registers in printed} == {0, 1, 2}
    assert {each.descriptor for each in messages} == {None}
    counts = Counter(judgement for _, judgement in judged(packed(kernel.instructions)))
    assert counts[HAZARD] > 10
    assert not counts[NO_HAZARD]


@pytest.mark.parametrize("name", PLATFORMS)
def test_those_waited_for_are_a_reason_to_wait(name: str, newest_root: Path, tmp_path: Path) -> None:
    platform, is_newest_only, more = PLATFORMS[name]
    command = iga64_of(newest_root) if is_newest_only else ["iga64"]
    source, code = tmp_path / "made.asm", tmp_path / "made.krn"
    source.write_text(text((*INTEGERS, *FLOATS, *more)))
    options = ["-a", "-Xauto-deps", f"-p={platform}", str(source), "-o", str(code)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr + done.stdout
    search_also(lambda: {"newest": str(newest_root)})
    instructions = decode(device(name), code.read_bytes())
    assert instructions.pipes is not None
    counts = Counter(judgement for _, judgement in judged(instructions))
    assert counts.total() == len(instructions.pipes.distances) > 200
    # The one of the code's end is forced: iga64 has everything waited for.
    assert counts[HAZARD] + counts[CAPPED] + 1 >= counts.total() > 1.1 * counts[CAPPED]
    for rule in WRONG:
        wrong = by_wrong_rule(instructions, rule)
        if list(distance_waits(wrong)) != list(distance_waits(instructions)):
            assert sum(judgement == HAZARD for _, judgement in judged(wrong)) < counts[HAZARD], rule
