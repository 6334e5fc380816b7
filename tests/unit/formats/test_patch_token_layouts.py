"""The fields of patch tokens as writers of all versions have them, and tokens whose own sizes lie."""

from __future__ import annotations

import struct

import pytest

from kernlens.errors import FormatError
from kernlens.formats.patch_tokens.program_binary import PatchTokenKernel, read_patch_tokens
from kernlens.model.kernel import KernelArgument
from tests.unit.formats.test_patch_tokens import one_kernel
from tests.writers.patch_tokens import KernelToWrite, program, symbol_table, token


def read_all(kernel: PatchTokenKernel) -> object:
    """Everything that is read of a kernel's tokens."""
    kernel.payload_load_bytes()
    return kernel.resources(), kernel.arguments(), kernel.symbols, kernel.relocations


#: Each kind of token of u32s alone, and how many of them its oldest writers had.
PLAIN = {11: 5, 12: 9, 15: 2, 16: 8, 17: 8, 18: 2, 22: 12, 23: 19, 30: 7, 31: 7, 38: 4, 46: 7, 55: 2}


@pytest.mark.parametrize("number", PLAIN)
def test_plain_tokens_may_grow_but_not_shrink(number: int) -> None:
    least = PLAIN[number]
    read_all(one_kernel(token(number, *[1] * least)))
    read_all(one_kernel(token(number, *[1] * least, *range(20), b"\0")))
    with pytest.raises(
        FormatError, match=f"token {number} has a payload of .* too few for its {least} fields"
    ) as caught:
        read_all(one_kernel(token(15, 0, 0), token(number, *[1] * (least - 1))))
    assert caught.value.offset == 28 + 40 + 4 + 16 + 16


def test_fields_that_are_read() -> None:
    """Each payload counts 0, 1, 2, ..., so that a number tells its field."""
    counted = [token(number, *range(10)) for number in (15, 18, 55)]
    read = one_kernel(*counted).resources()
    assert (read.slm_bytes, read.scratch_bytes) == (1, 2)
    assert one_kernel(token(38, 0, 1, 2, 3, 0)).resources().private_bytes == 3
    for number, size in {11: None, 12: None, 16: None, 30: 3, 31: 3, 46: 3}.items():
        (argument,) = one_kernel(token(number, *range(10))).arguments()
        assert (argument.index, argument.size) == (0, size)
    assert one_kernel(token(17, 1, *range(1, 10))).arguments() == (KernelArgument(1, address_space="private", size=7),)


@pytest.mark.parametrize(("count", "loads"), [(12, 0), (13, 12), (14, 12), (19, 12), (20, 12)])
def test_thread_payloads_of_all_sizes(count: int, loads: int) -> None:
    assert one_kernel(token(22, *range(count))).payload_load_bytes() == loads


#: u32s of payload -> index of NumGRFRequired, of HasStackCalls (None: not in that version).
ENVIRONMENTS = {
    19: (None, None),
    20: (19, None),
    22: (19, None),
    23: (19, None),
    24: (20, None),
    27: (20, None),
    30: (20, None),
    31: (20, None),
    32: (20, 29),
    33: (20, 29),
    34: (21, 30),
    36: (21, 30),
}


@pytest.mark.parametrize("count", ENVIRONMENTS)
def test_execution_environments_of_all_sizes(count: int) -> None:
    registers, stack_calls = ENVIRONMENTS[count]
    read = one_kernel(token(23, *range(count))).resources()
    assert (read.grf_count, read.simd, read.barriers) == (registers, 3, 16)
    assert read.required_work_group_size == (0, 1, 2)
    # Without scratch space the spill is 0 where the file says that there are no stack calls.
    assert read.spill_bytes is None
    zeros = [0 if index == stack_calls else 1 for index in range(count)]
    assert one_kernel(token(23, *zeros)).resources().spill_bytes == (None if stack_calls is None else 0)


@pytest.mark.parametrize(
    "damaged",
    [
        token(26, 0, 4, 4, 4, 4, 100, bytes(20)),
        token(26, 0, 0xFFFFFFFF, 0, 0, 0, 0),
        token(27, 5, b"abcd"),
        token(27),
        token(53, 2, bytes(1036)),
        token(53, 0xFFFFFFFF),
        token(54, 1, bytes(1031)),
    ],
)
def test_tokens_whose_own_sizes_lie(damaged: bytes) -> None:
    kernel = one_kernel(token(15, 0, 0), damaged)
    with pytest.raises(FormatError, match=f"token {damaged[0]}") as caught:
        read_all(kernel)
    assert caught.value.offset == 28 + 40 + 4 + 16 + 16


def test_program_tokens_with_contents_that_the_size_leaves_out() -> None:
    constants = token(42, 0, 3, following=b"abc")
    variables = token(41, 0, 7, 5, following=b"hello")
    pointer = token(47, 0, struct.pack("<QII", 8, 1, 2))
    tokens = [constants, variables, pointer, symbol_table((2, 0, 8, "f"))]
    read = read_patch_tokens(memoryview(program([KernelToWrite("k")], tokens)))
    assert [symbol.name for symbol in read.symbols] == ["f"]
    assert read.kernels[0].name == "k"


def test_program_contents_must_fit() -> None:
    for damaged in (token(42, 0, 4, following=b"abc"), token(41, 0, 0), token(42, 0, 0xFFFFFFFF)):
        read = read_patch_tokens(memoryview(program([], [damaged])))
        with pytest.raises(FormatError):
            _ = read.symbols
