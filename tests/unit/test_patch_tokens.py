"""Patch-token programs: the walk over kernels, each kind of token, resources, arguments, symbols, damage."""

from __future__ import annotations

import random
import struct
import time

import pytest

from kernlens.errors import FormatError
from kernlens.formats import patch_token_layouts as layouts
from kernlens.formats.patch_tokens import PatchTokenKernel, is_patch_tokens, read_patch_tokens
from kernlens.model.device import DeviceId
from kernlens.model.kernel import KernelArgument
from tests.writers.patch_tokens import (
    KernelToWrite,
    argument_description,
    environment,
    padded,
    program,
    relocation_table,
    symbol_table,
    token,
    words,
)

XE_HPG = 0xC07


def one_kernel(*tokens: bytes, render_core: int = 12) -> PatchTokenKernel:
    written = program([KernelToWrite("k", tokens=tokens)], render_core=render_core)
    return read_patch_tokens(memoryview(written)).kernels[0]


def test_header_and_kernels_are_views_of_the_program() -> None:
    kernels = [
        KernelToWrite("first", code=b"A" * 24, padding=40, dynamic=b"DD", surface=b"SSS", general=b"G"),
        KernelToWrite("a_longer_name", code=b"B" * 8, tokens=[token(15, 0, 64)]),
    ]
    data = memoryview(program(kernels, [token(99, 1, 2)]))
    read = read_patch_tokens(data)
    assert is_patch_tokens(data)
    assert (read.version, read.pointer_size, read.size) == (1081, 8, len(data))
    assert read.device == DeviceId(render_core=12, stepping=9)
    first, second = read.kernels
    assert [kernel.name for kernel in read.kernels] == ["first", "a_longer_name"]
    assert (first.index, second.index) == (0, 1)
    assert (bytes(first.code), bytes(first.heap)) == (b"A" * 24, b"A" * 24 + bytes(40))
    assert bytes(first.general_state_heap) == b"G"
    assert bytes(first.dynamic_state_heap) == b"DD"
    assert bytes(first.surface_state_heap) == b"SSS"
    assert (first.checksum, first.code_hash, bytes(first.patch_list)) == (0xC0FFEE, 0x1234, b"")
    assert bytes(second.code) == data[second.heap_offset : second.heap_offset + 8] == b"B" * 8
    assert second.code.obj is data.obj
    assert bytes(second.patch_list) == token(15, 0, 64)


def test_bytes_behind_the_last_kernel_are_not_part_of_it() -> None:
    written = program([KernelToWrite("k")])
    assert read_patch_tokens(memoryview(written + bytes(100))).size == len(written)


@pytest.mark.parametrize("name", ["", "k", "abc", "exactly_sixteen"])
def test_names_of_any_length(name: str) -> None:
    assert read_patch_tokens(memoryview(program([KernelToWrite(name)]))).kernels[0].name == name


def test_a_name_that_is_no_text_is_shown_escaped() -> None:
    written = program([KernelToWrite("abc")]).replace(b"abc\0", b"\xff\xfe\0c")
    assert read_patch_tokens(memoryview(written)).kernels[0].name == "\\xff\\xfe"


def test_an_unknown_token_keeps_number_and_bytes() -> None:
    (kept,) = one_kernel(token(4711, b"\1\2\3")).tokens
    assert type(kept) is layouts.PatchToken
    assert (kept.number, kept.offset, bytes(kept.payload)) == (4711, 0, b"\1\2\3")


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
    assert (initializer.index, initializer.place, initializer.target_kind, initializer.target_index) == (0, 8, 1, 2)
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


def test_resources_of_a_plain_kernel() -> None:
    found = one_kernel(environment(33, simd=32, at20=128, at5=1), token(15, 0, 288)).resources()
    assert (found.simd, found.registers, found.barriers, found.slm_bytes) == (32, 128, 1, 288)
    assert (found.scratch_bytes, found.spill_bytes, found.private_bytes) == (0, 0, 0)
    assert (found.required_work_group_size, found.required_sub_group_size) == (None, None)
    assert found.prologue_bytes == 0


def test_resources_that_the_source_demands() -> None:
    attributes = padded("intel_reqd_sub_group_size(16) reqd_work_group_size(16,4,1)")
    found = one_kernel(
        environment(33, simd=16, at0=16, at1=4, at2=1, at20=256), token(27, len(attributes), attributes)
    ).resources()
    assert (found.required_work_group_size, found.required_sub_group_size) == ((16, 4, 1), 16)
    assert found.registers == 256


@pytest.mark.parametrize(("code", "count"), [(0, 0), (1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 24), (7, 32)])
def test_barriers_are_encoded(code: int, count: int) -> None:
    assert one_kernel(environment(at5=code)).resources().barriers == count


def test_an_unknown_barrier_code_is_unknown() -> None:
    assert one_kernel(environment(at5=8)).resources().barriers is None


def test_spill_is_unknown_when_it_shares_scratch_space() -> None:
    found = one_kernel(environment(), token(18, 0, 4096), token(38, 0, 0, 8, 0, 1), token(55, 0, 1024)).resources()
    assert (found.scratch_bytes, found.spill_bytes, found.private_bytes) == (5120, None, None)


def test_private_memory_beside_scratch_space() -> None:
    found = one_kernel(environment(), token(18, 0, 4096), token(38, 0, 0, 8, 400, 1)).resources()
    assert (found.scratch_bytes, found.spill_bytes, found.private_bytes) == (4096, None, 400)


def test_private_memory_per_hardware_thread_is_not_given_per_work_item() -> None:
    assert one_kernel(environment(), token(38, 0, 0, 8, 400, 0)).resources().private_bytes is None
    assert one_kernel(environment(), token(38, 0, 0, 8, 400)).resources().private_bytes is None


def test_spill_is_unknown_with_stack_calls_or_where_the_file_does_not_say() -> None:
    assert one_kernel(environment(33, at29=1)).resources().spill_bytes is None
    assert one_kernel(environment(27)).resources().spill_bytes is None


def test_resources_without_an_execution_environment() -> None:
    found = one_kernel().resources()
    assert (found.simd, found.registers, found.spill_bytes, found.barriers) == (None, None, None, None)
    assert (found.scratch_bytes, found.slm_bytes) == (0, 0)


def test_the_prologue_is_unknown_from_xe_hp_on() -> None:
    assert one_kernel(environment(), render_core=XE_HPG).resources().prologue_bytes is None


def test_arguments_with_descriptions() -> None:
    kernel = one_kernel(
        argument_description(1, "n", "int;4"),
        argument_description(0, "a", "float*;8", "__global", "NONE", "const"),
        argument_description(2, "img", "image2d_t;8", "__global", "__write_only"),
        argument_description(3, "odd", "a;b", "__private"),
        token(17, 1, 3, 32, 4, 0, 0, 0, 0),
        token(17, 1, 3, 36, 4, 4, 0, 0, 0),
    )
    assert kernel.arguments() == (
        KernelArgument(0, "a", "float*", "global", None, "const", 8),
        KernelArgument(1, "n", "int", "private", None, None, 4),
        KernelArgument(2, "img", "image2d_t", "global", "write_only", None, 8),
        KernelArgument(3, "odd", "a;b", "private", None, None, 8),
    )


def test_arguments_without_descriptions() -> None:
    kernel = one_kernel(
        token(30, 0, 64, 40, 8, 0, 0, 0),
        token(31, 1, 64, 48, 8, 0, 0, 0),
        token(12, 2, 4, 0, 0, 0, 0, 0, 0, 0, 0),
        token(16, 3, 1, 0, 0, 0, 0, 0, 0, 0),
        token(17, 8, 4, 32, 8, 4, 0, 0, 0),
        token(17, 1, 5, 56, 8, 0, 0, 0, 0),
        token(17, 1, 5, 64, 4, 8, 0, 0, 0),
        token(17, 3, 9, 64, 4, 8, 0, 0, 0),
    )
    found = [(argument.index, argument.address_space, argument.size) for argument in kernel.arguments()]
    expected = [(0, "global", 8), (1, "constant", 8), (2, "global", None), (3, None, None), (4, "local", None)]
    assert found == [*expected, (5, "private", 12)]


@pytest.mark.parametrize("wide", [False, True])
def test_symbols_and_relocations(wide: bool) -> None:
    table = symbol_table(
        (2, 104, 368, "exported"), (1, 9, 0, "helper"), (3, 16, 4, "counter"), (4, 8, 4, "table"), wide=wide
    )
    places = relocation_table((2, 780, "helper"), (3, 476, "missing"), (5, 4, "__INTEL_PER_THREAD_OFF"), wide=wide)
    kernels = [KernelToWrite("k", tokens=[places]), KernelToWrite("functions", tokens=[table])]
    read = read_patch_tokens(memoryview(program(kernels)))
    assert [(s.name, s.kind, s.type, s.value, s.size, s.section, s.section_index, s.index) for s in read.symbols] == [
        ("exported", "export", "func", 104, 368, "functions", 1, 0),
        ("helper", "import", "notype", 0, 0, None, -1, 1),
        ("counter", "export", "object", 16, 4, "global memory", -1, 2),
        ("table", "export", "object", 8, 4, "constant memory", -1, 3),
        ("missing", "import", "notype", 0, 0, None, -1, -1),
        ("__INTEL_PER_THREAD_OFF", "driver", "notype", 0, 0, None, -1, -1),
    ]
    assert [(r.section, r.offset, r.type_name, r.symbol, r.addend) for r in read.relocations] == [
        ("k", 780, "R_SYM_ADDR_32", "helper", None),
        ("k", 476, "R_SYM_ADDR_32_HI", "missing", None),
        ("k", 4, "R_GLOBAL_IMM_32", "__INTEL_PER_THREAD_OFF", None),
    ]
    assert read.kernels[0].symbols == ()


def test_a_damaged_patch_list_does_not_hide_the_kernels() -> None:
    read = read_patch_tokens(memoryview(program([KernelToWrite("k", tokens=[words(15, 7)]), KernelToWrite("l")])))
    assert [kernel.name for kernel in read.kernels] == ["k", "l"]
    with pytest.raises(FormatError, match="says 7 bytes"):
        read.kernels[0].resources()


@pytest.mark.parametrize("patch_list", [words(15, 0), words(15, 16), words(15, 8) + b"\0\0\0", b"\1\2\3"])
def test_patch_lists_that_do_not_end_with_a_token(patch_list: bytes) -> None:
    with pytest.raises(FormatError):
        _ = one_kernel(patch_list).tokens


@pytest.mark.parametrize("data", [b"", b"CTN", b"ELF!" + bytes(40), b"CTNI" + bytes(23)])
def test_what_is_no_program(data: bytes) -> None:
    with pytest.raises(FormatError):
        read_patch_tokens(memoryview(data))


def test_every_cut_is_noticed() -> None:
    written = program([KernelToWrite("first", padding=8), KernelToWrite("k", tokens=[environment()])], [token(99, 1)])
    for size in range(len(written)):
        with pytest.raises(FormatError):
            read_patch_tokens(memoryview(written)[:size])


def test_code_larger_than_its_heap() -> None:
    written = bytearray(program([KernelToWrite("k")]))
    written[28 + 36 : 28 + 40] = words(17)
    with pytest.raises(FormatError, match="17 bytes of code in a heap of 16") as caught:
        read_patch_tokens(memoryview(written))
    assert caught.value.offset == 28 + 36


def test_a_huge_number_of_kernels_fails_at_once() -> None:
    written = bytearray(program([KernelToWrite("k")] * 3))
    written[16:20] = words(0xFFFFFFFF)
    with pytest.raises(FormatError, match="header 4 of 4294967295"):
        read_patch_tokens(memoryview(written))


def test_mutations_raise_nothing_but_format_errors() -> None:
    """3,000 damaged programs: each ends, quickly, with a result or a FormatError."""
    chosen = random.Random(17)
    tokens = [
        environment(),
        token(22, *range(20)),
        argument_description(0, "a", "float*;8"),
        token(17, 1, 0, 0, 4, 0, 0, 0, 0),
        token(28, 0, 4, b"%d\n\0"),
        token(27, 4, b"abc\0"),
        symbol_table((2, 0, 8, "f")),
        relocation_table((1, 0, "g")),
    ]
    program_tokens = [token(42, 0, 3, following=b"abc"), token(41, 0, 0, 4, following=b"abcd"), token(47, *range(5))]
    good = program([KernelToWrite("first", tokens=tokens), KernelToWrite("k", tokens=tokens)], program_tokens)
    refused, slowest = 0, 0.0
    for _round in range(3000):
        damaged = bytearray(good[: chosen.randrange(len(good))] if chosen.random() < 0.2 else good)
        for _place in range(chosen.randrange(1, 6)):
            place = chosen.randrange(len(damaged)) if damaged else 0
            damaged[place : place + 4] = words(chosen.choice((0, 1, 8, 255, 2**31, 2**32 - 1, chosen.randrange(2**32))))
        started = time.perf_counter()
        try:
            read = read_patch_tokens(memoryview(damaged))
            _ = (read.tokens, read.symbols)
            for kernel in read.kernels:
                _ = (kernel.tokens, kernel.resources(), kernel.arguments(), kernel.code, kernel.heap)
        except FormatError:
            refused += 1
        slowest = max(slowest, time.perf_counter() - started)
    assert 500 < refused < 3000
    assert slowest < 1
