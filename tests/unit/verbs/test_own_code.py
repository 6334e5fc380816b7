"""What a profiled copy has of OpenCL's machine code, told from two builds of one program with NVIDIA's driver."""

from __future__ import annotations

from kernlens.dataclass import replace
from kernlens.formats.cubin.cubin_file import read_cubin
from kernlens.model.build import Build, HeldParts
from kernlens.model.stage import BINARY, TEXT
from kernlens.model.stages import NVIDIA, held
from kernlens.verbs.replay.own_code import copy_words, has_lines, own_code
from tests.nvidia_files import DRIVER_ENTRY, LINES_ENTRY, PLAIN_ENTRY, entry, inlined, profiled

PLAIN, LINES = bytes(entry(PLAIN_ENTRY).result), bytes(entry(LINES_ENTRY).result)
BEGIN = "the profiled code is a rebuilt copy, which CUDA made of the program's PTX with this launch's sizes in it"


def build(code: bytes, form: str = BINARY) -> Build:
    return Build("program", parts=HeldParts(snapshots=(held(NVIDIA.stage("sass"), code, form),)))


def test_the_driver_s_code_of_a_recording() -> None:
    own = own_code(build(LINES))
    assert own is not None
    assert [kernel.name for kernel in own.kernels] == ["mandel", "matmul", "saxpy"]
    assert has_lines(own)
    assert not has_lines(read_cubin(memoryview(PLAIN)))
    # A listing, damaged code, and no code at all.
    assert [own_code(each) for each in (build(LINES, TEXT), build(LINES[:100]), Build("program"))] == [None] * 3


def test_a_copy_is_compared_with_the_driver_s_code() -> None:
    own = read_cubin(memoryview(PLAIN))
    assert copy_words("saxpy", own, LINES) == (
        f"{BEGIN}: of the 26 instructions of OpenCL's own code it has 26 by their operations, 26 of them in the same"
        " order, and 0 others"
    )
    # An operation that becomes another one, and two that change places.
    code = next(each.code for each in own.kernels if each.name == "saxpy")
    start = PLAIN.index(bytes(code))
    at = [start + 16 * number for number in (3, 4, 5)]
    assert len({PLAIN[each : each + 2] for each in at}) == 3
    changed = PLAIN[: at[0]] + PLAIN[at[1] : at[2]] + PLAIN[at[0] : at[1]] + b"\xff\xff" + PLAIN[at[2] + 2 :]
    assert copy_words("saxpy", own, changed).endswith(
        "own code it has 25 by their operations, 24 of them in the same order, and 1 other"
    )


def test_code_that_cannot_be_compared_is_said() -> None:
    own = read_cubin(memoryview(PLAIN))
    unknown = f"{BEGIN}; the recording has no machine code of this GPU to compare it with"
    other = replace(own, architecture="sm_80")
    assert {copy_words("saxpy", *each) for each in ((None, PLAIN), (other, PLAIN), (own, b"none"))} == {unknown}
    assert read_cubin(memoryview(inlined(".cubin"))).architecture == "sm_90"
    assert copy_words("none", own, profiled("k.cubin")) == unknown
    assert own_code(build(bytes(entry(DRIVER_ENTRY).result))) is not None
