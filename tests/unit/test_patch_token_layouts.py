"""Each kind of patch token, field by field, and tokens whose own sizes lie."""

from __future__ import annotations

import struct

import pytest

from kernlens.errors import FormatError
from kernlens.formats.patch_tokens import layouts
from kernlens.formats.patch_tokens.program_binary import read_patch_tokens
from tests.unit.test_patch_tokens import one_kernel
from tests.writers.patch_tokens import (
    KernelToWrite,
    argument_description,
    padded,
    program,
    token,
)

#: Each kind of token with numbered fields: the payload counts 1, 2, 3, ... and each field must hold its own number.
PLAIN = {
    2: (layouts.StateSip, 1),
    5: (layouts.SamplerStateArray, 3),
    8: (layouts.BindingTable, 3),
    11: (layouts.BufferArgument, 5),
    12: (layouts.ImageArgument, 10),
    15: (layouts.LocalSurface, 2),
    16: (layouts.SamplerArgument, 9),
    17: (layouts.PayloadParameter, 9),
    18: (layouts.ScratchSlot, 2),
    19: (layouts.InterfaceDescriptorLoad, 1),
    21: (layouts.InterfaceDescriptor, 4),
    22: (layouts.ThreadPayload, 20),
    25: (layouts.PayloadSize, 1),
    30: (layouts.StatelessArgument, 7),
    31: (layouts.StatelessArgument, 7),
    33: (layouts.IndexedSurface, 4),
    36: (layouts.IndexedSurface, 4),
    38: (layouts.PrivateMemory, 5),
    43: (layouts.IndexedSurface, 4),
    44: (layouts.IndexedSurface, 4),
    45: (layouts.PayloadSurface, 3),
    46: (layouts.StatelessArgument, 7),
    55: (layouts.ScratchSlot, 2),
    56: (layouts.PayloadSurface, 3),
    58: (layouts.PayloadSurface, 3),
}


def own_fields(read: layouts.PatchToken) -> list[object]:
    """The values of a token's own fields, in order."""
    return [getattr(read, name) for name in type(read).__annotations__]


@pytest.mark.parametrize("number", PLAIN)
def test_plain_tokens_field_by_field(number: int) -> None:
    expected, count = PLAIN[number]
    (read,) = one_kernel(token(number, *range(1, count + 1))).tokens
    assert type(read) is expected
    assert own_fields(read) == list(range(1, count + 1))


@pytest.mark.parametrize("number", PLAIN)
def test_plain_tokens_may_grow_but_not_shrink_to_one_field_short(number: int) -> None:
    _expected, count = PLAIN[number]
    (read,) = one_kernel(token(number, *range(1, count + 1), 77, b"\0")).tokens
    assert own_fields(read) == list(range(1, count + 1))
    assert len(read.payload) == 4 * count + 5
    with pytest.raises(FormatError, match=f"token {number}"):
        _ = one_kernel(token(number)).tokens


def test_older_tokens_lack_their_last_field() -> None:
    sizes = {12: 9, 16: 8, 17: 8, 38: 4}
    read = one_kernel(*(token(number, *range(size)) for number, size in sizes.items())).tokens
    assert [own_fields(one)[-1] for one in read] == [None] * 4


@pytest.mark.parametrize(
    ("count", "skip_ffid", "inline", "ray_tracing", "tile_y"),
    [(12, None, None, None, None), (14, None, 14, None, None), (15, 14, 15, None, None), (19, 14, 15, None, 19)],
)
def test_thread_payloads_of_all_sizes(
    count: int, skip_ffid: int | None, inline: int | None, ray_tracing: int | None, tile_y: int | None
) -> None:
    (read,) = one_kernel(token(22, *range(1, count + 1))).tokens
    assert isinstance(read, layouts.ThreadPayload)
    found = (read.skip_ffid_setup, read.pass_inline_constants, read.rt_stack_id_present, read.tile_y)
    assert found == (skip_ffid, inline, ray_tracing, tile_y)
    assert read.skip_per_thread_load == (13 if count > 12 else None)


#: u32s of payload -> index of NumGRFRequired, of HasGlobalAtomics, of HasStackCalls (None: not in that version).
ENVIRONMENTS = {
    19: (None, None, None),
    20: (19, None, None),
    22: (19, None, None),
    23: (19, 21, None),
    24: (20, 22, None),
    27: (20, 22, None),
    30: (20, 22, None),
    31: (20, 22, None),
    32: (20, 22, 29),
    33: (20, 22, 29),
    34: (21, 23, 30),
    36: (21, 23, 30),
}


@pytest.mark.parametrize("count", ENVIRONMENTS)
def test_execution_environments_of_all_sizes(count: int) -> None:
    (read,) = one_kernel(token(23, *range(count))).tokens
    assert isinstance(read, layouts.ExecutionEnvironment)
    assert (read.registers, read.has_global_atomics, read.has_stack_calls) == ENVIRONMENTS[count]
    assert (read.required_size_x, read.required_size_z, read.simd, read.barriers) == (0, 2, 3, 5)
    assert read.has_sample == (6 if count >= 34 else None)
    assert read.compiled_simd8 == (8 if count >= 34 else 7)
    assert read.indirect_stateless_accesses == ({True: 28, False: 27}[count >= 34] if count >= 31 else None)


def test_texts() -> None:
    read = one_kernel(
        argument_description(3, "grid", "float4*;8", "__global", "__read_only", "const restrict"),
        token(27, 12, padded("vec_type(f)", 4)),
        token(28, 5, 8, padded("%d\n", 8)),
    ).tokens
    assert own_fields(read[0]) == [3, "__global", "__read_only", "grid", "float4*;8", "const restrict"]
    assert own_fields(read[1]) == ["vec_type(f)"]
    assert own_fields(read[2]) == [5, "%d\n"]


@pytest.mark.parametrize(
    "damaged",
    [
        token(26, 0, 4, 4, 4, 4, 100, bytes(20)),
        token(26, 0, 0xFFFFFFFF, 0, 0, 0, 0),
        token(27, 5, b"abcd"),
        token(28, 0, 9, b"12345678"),
        token(28, 0),
        token(41, 0, 0, 1),
        token(53, 2, bytes(1036)),
        token(53, 0xFFFFFFFF),
        token(54, 1, bytes(1031)),
        token(57, 1, bytes(2047)),
        token(47, 1, 2, 3, 4),
    ],
)
def test_tokens_whose_own_sizes_lie(damaged: bytes) -> None:
    kernel = one_kernel(token(15, 0, 0), damaged)
    with pytest.raises(FormatError, match=f"token {damaged[0]}") as caught:
        _ = kernel.tokens
    assert caught.value.offset == 28 + 40 + 4 + 16 + 16


def test_program_tokens_with_contents_that_the_size_leaves_out() -> None:
    constants = token(42, 0, 3, following=b"abc")
    variables = token(41, 0, 7, 5, following=b"hello")
    pointer = token(47, 0, struct.pack("<QII", 8, 1, 2))
    read = read_patch_tokens(memoryview(program([KernelToWrite("k")], [constants, variables, pointer])))
    memory, globals_, initializer = read.tokens
    assert isinstance(memory, layouts.ProgramMemory)
    assert isinstance(globals_, layouts.ProgramMemory)
    assert isinstance(initializer, layouts.PointerInitializer)
    assert (memory.kind, memory.index, bytes(memory.contents)) == (None, 0, b"abc")
    assert (globals_.kind, globals_.index, bytes(globals_.contents)) == (0, 7, b"hello")
    assert (initializer.index, initializer.site, initializer.target_kind, initializer.target_index) == (0, 8, 1, 2)
    assert read.kernels[0].name == "k"


def test_program_contents_must_fit() -> None:
    for damaged in (token(42, 0, 4, following=b"abc"), token(41, 0, 0), token(42, 0, 0xFFFFFFFF)):
        read = read_patch_tokens(memoryview(program([], [damaged])))
        with pytest.raises(FormatError):
            _ = read.tokens


def test_host_access_table() -> None:
    entry = b"device_name".ljust(1024, b"\0") + b"host_name".ljust(1024, b"\0")
    (read,) = one_kernel(token(57, 1, entry)).tokens
    assert isinstance(read, layouts.HostAccessTable)
    assert read.entries == (("device_name", "host_name"),)
