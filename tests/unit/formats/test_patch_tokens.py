"""Patch-token programs: the walk over kernels and tokens, and damage."""

from __future__ import annotations

import random

import pytest

from kernlens.errors import FormatError
from kernlens.formats.patch_tokens.program_binary import PatchTokenKernel, is_patch_tokens, read_patch_tokens
from kernlens.model.device import DeviceId
from tests.limits import processor_time
from tests.writers.patch_tokens import (
    KernelToWrite,
    argument_description,
    environment,
    program,
    relocation_table,
    symbol_table,
    token,
    words,
)


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
    assert (first.header.check_sum, first.header.shader_hash_code, bytes(first.patch_list)) == (0xC0FFEE, 0x1234, b"")
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


def test_tokens_keep_their_bytes_and_places() -> None:
    kernel = one_kernel(token(4711, b"\1\2\3"), token(15, 1, 2), token(4711))
    first, second = kernel.tokens_of(4711)
    place = 28 + 40 + 4 + 16
    assert (bytes(first.payload), first.offset) == (b"\1\2\3", place)
    assert (bytes(second.payload), second.offset) == (b"", place + 11 + 16)


def test_a_damaged_patch_list_does_not_hide_the_kernels() -> None:
    read = read_patch_tokens(memoryview(program([KernelToWrite("k", tokens=[words(15, 7)]), KernelToWrite("l")])))
    assert [kernel.name for kernel in read.kernels] == ["k", "l"]
    with pytest.raises(FormatError, match="claims 7 bytes"):
        read.kernels[0].resources()


@pytest.mark.parametrize("patch_list", [words(15, 0), words(15, 16), words(15, 8) + b"\0\0\0", b"\1\2\3"])
def test_patch_lists_that_do_not_end_with_a_token(patch_list: bytes) -> None:
    with pytest.raises(FormatError):
        one_kernel(patch_list).tokens_of(15)


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


@pytest.mark.slow
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
    refused = 0
    for _round in range(3000):
        damaged = bytearray(good[: chosen.randrange(len(good))] if chosen.random() < 0.2 else good)
        for _place in range(chosen.randrange(1, 6)):
            place = chosen.randrange(len(damaged)) if damaged else 0
            damaged[place : place + 4] = words(chosen.choice((0, 1, 8, 255, 2**31, 2**32 - 1, chosen.randrange(2**32))))
        try:
            with processor_time():
                read = read_patch_tokens(memoryview(damaged))
                _ = read.symbols
                for kernel in read.kernels:
                    _ = (kernel.resources(), kernel.arguments(), kernel.payload_load_bytes(), kernel.code, kernel.heap)
        except FormatError:
            refused += 1
    assert 500 < refused < 3000
