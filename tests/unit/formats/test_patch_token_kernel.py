"""What a kernel's patch tokens say together: resources, arguments, symbols and relocations."""

from __future__ import annotations

import pytest

from kernlens.formats.patch_tokens.program_binary import read_patch_tokens
from kernlens.model.kernel import KernelArgument
from tests.unit.formats.test_patch_tokens import one_kernel
from tests.writers.patch_tokens import (
    KernelToWrite,
    argument_description,
    environment,
    padded,
    program,
    relocation_table,
    symbol_table,
    token,
)

XE_HPG = 0xC07


def test_resources_of_a_plain_kernel() -> None:
    resources = one_kernel(environment(33, simd=32, at20=128, at5=1), token(15, 0, 288)).resources()
    assert (resources.simd, resources.grf_count, resources.barriers, resources.slm_bytes) == (32, 128, 1, 288)
    assert (resources.scratch_bytes, resources.spill_bytes, resources.private_bytes) == (0, 0, 0)
    assert (resources.required_work_group_size, resources.required_sub_group_size) == (None, None)
    assert resources.prologue_bytes == 0


def test_resources_that_the_source_demands() -> None:
    attributes = padded("intel_reqd_sub_group_size(16) reqd_work_group_size(16,4,1)")
    resources = one_kernel(
        environment(33, simd=16, at0=16, at1=4, at2=1, at20=256), token(27, len(attributes), attributes)
    ).resources()
    assert (resources.required_work_group_size, resources.required_sub_group_size) == ((16, 4, 1), 16)
    assert resources.grf_count == 256


@pytest.mark.parametrize(("code", "count"), [(0, 0), (1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 24), (7, 32)])
def test_barriers_are_encoded(code: int, count: int) -> None:
    assert one_kernel(environment(at5=code)).resources().barriers == count


def test_an_unknown_barrier_code_is_unknown() -> None:
    assert one_kernel(environment(at5=8)).resources().barriers is None


def test_spill_is_unknown_when_it_shares_scratch_space() -> None:
    resources = one_kernel(environment(), token(18, 0, 4096), token(38, 0, 0, 8, 0, 1), token(55, 0, 1024)).resources()
    assert (resources.scratch_bytes, resources.spill_bytes, resources.private_bytes) == (5120, None, None)


def test_private_memory_beside_scratch_space() -> None:
    resources = one_kernel(environment(33, simd=16), token(18, 0, 4096), token(38, 0, 0, 8, 400, 1)).resources()
    assert (resources.scratch_bytes, resources.spill_bytes, resources.private_bytes) == (10496, None, 6400)


def test_private_memory_is_that_of_all_work_items_of_a_thread() -> None:
    """The token counts for a work-item or for the thread; the drivers of older ones took it for a work-item's."""
    sized = environment(33, simd=16)
    for fields, private in (((400, 1), 6400), ((400, 0), 400), ((400,), 6400)):
        resources = one_kernel(sized, token(38, 0, 0, 8, *fields)).resources()
        assert (resources.private_bytes, resources.scratch_bytes) == (private, private)


def test_private_memory_of_a_kernel_of_unknown_width_is_unknown_and_so_is_the_sum() -> None:
    resources = one_kernel(token(18, 0, 4096), token(38, 0, 0, 8, 400, 1)).resources()
    assert (resources.private_bytes, resources.scratch_bytes) == (None, None)


def test_the_scratch_space_of_a_kernel_with_stack_calls_is_its_stack() -> None:
    calling = one_kernel(environment(33, at29=1), token(18, 0, 4096)).resources()
    assert (calling.stack_bytes, calling.spill_bytes, calling.scratch_bytes) == (4096, None, 4096)
    assert one_kernel(environment(), token(18, 0, 4096)).resources().stack_bytes == 0
    older = [one_kernel(environment(27), *slots).resources().stack_bytes for slots in ((), (token(18, 0, 4096),))]
    assert older == [0, None]


def test_spill_is_unknown_with_stack_calls_or_where_the_file_does_not_say() -> None:
    assert one_kernel(environment(33, at29=1)).resources().spill_bytes is None
    assert one_kernel(environment(27)).resources().spill_bytes is None


def test_resources_without_an_execution_environment() -> None:
    resources = one_kernel().resources()
    assert (resources.simd, resources.grf_count, resources.spill_bytes, resources.barriers) == (None, None, None, None)
    assert (resources.scratch_bytes, resources.slm_bytes) == (0, 0)


def test_the_prologue_is_unknown_from_xe_hp_on() -> None:
    assert one_kernel(environment(), render_core=XE_HPG).resources().prologue_bytes is None


def test_what_a_thread_loads_for_itself_bounds_the_prologue() -> None:
    assert one_kernel(token(22, *[1] * 12, 0xC0, 0)).payload_load_bytes() == 0xC0
    assert one_kernel().payload_load_bytes() == 0


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
    arguments = [(argument.index, argument.address_space, argument.size) for argument in kernel.arguments()]
    expected = [(0, "global", 8), (1, "constant", 8), (2, "global", None), (3, None, None), (4, "local", None)]
    assert arguments == [*expected, (5, "private", 12)]


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
