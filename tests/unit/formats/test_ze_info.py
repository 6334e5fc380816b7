"""ze_info: its YAML, resources and arguments."""

from __future__ import annotations

import contextlib

import pytest

from kernlens.errors import FormatError
from kernlens.formats.zebin import ze_info_text
from kernlens.formats.zebin.ze_info import ZeInfo, read_ze_info
from kernlens.model.kernel import KernelArgument
from tests.limits import address_space, processor_time

GEMM = """---
version:         '1.73'
kernels:
  - name:            gemm
    user_attributes:
      intel_reqd_sub_group_size: 16
      reqd_work_group_size: [ 16, 2, 1 ]
    execution_env:
      barrier_count:   2
      grf_count:       256
      offset_to_skip_per_thread_data_load: 192
      private_size:    6400
      simd_size:       16
      slm_size:        4096
      spill_size:      320
    payload_arguments:
      - arg_type:        global_id_offset
        offset:          0
        size:            12
      - arg_type:        arg_bypointer
        offset:          0
        size:            0
        arg_index:       0
        addrmode:        stateful
        addrspace:       global
        access_type:     readonly
      - arg_type:        arg_bypointer
        offset:          24
        size:            8
        arg_index:       0
        addrmode:        stateless
        addrspace:       global
        access_type:     readonly
      - arg_type:        arg_byvalue
        offset:          32
        size:            8
        arg_index:       1
        source_offset:   8
      - arg_type:        arg_byvalue
        offset:          40
        size:            4
        arg_index:       1
    per_thread_memory_buffers:
      - type:            scratch
        usage:           spill_fill_space
        size:            320
      - type:            scratch
        usage:           single_space
        size:            8192
        slot:            1
      - type:            global
        usage:           private_space
        size:            400
        is_simt_thread:  true
"""
MISC = """kernels_misc_info:
  - name:            gemm
    args_info:
      - index:           0
        name:            a
        address_qualifier: __global
        access_qualifier: NONE
        type_name:       'float*;8'
        type_qualifiers: const
      - index:           1
        name:            shape
        address_qualifier: __private
        access_qualifier: NONE
        type_name:       'struct Shape;16'
        type_qualifiers: NONE
...
"""


def read(text: str) -> ZeInfo:
    return read_ze_info(memoryview(text.encode()))


def test_resources_of_a_kernel_are_read() -> None:
    resources = read(GEMM + MISC).kernels["gemm"].resources
    assert (resources.simd, resources.grf_count, resources.barriers, resources.slm_bytes) == (16, 256, 2, 4096)
    assert (resources.spill_bytes, resources.stack_bytes) == (320, 0)
    assert resources.private_bytes == 6400, "16 work-items with 400 bytes each"
    assert resources.scratch_bytes == 320 + 8192 + 6400, "wherever it lies"
    assert resources.private_bytes_per_work_item == 400
    assert (resources.required_work_group_size, resources.required_sub_group_size) == ((16, 2, 1), 16)
    assert resources.prologue_bytes == 192


@pytest.mark.parametrize(
    ("mode", "space", "is_bindless"),
    [
        ("stateful", "global", False),
        ("bindless", "global", True),
        ("bindless", "image", True),
        ("bindless", "sampler", False),
    ],
)
def test_handles_of_buffers_and_images(mode: str, space: str, is_bindless: bool) -> None:
    """Samplers alone do not count: the driver asks for buffers and images."""
    stateful = "addrmode:        stateful\n        addrspace:       global"
    text = GEMM.replace(stateful, f"addrmode:        {mode}\n        addrspace:       {space}")
    assert (text != GEMM) == (mode != "stateful")
    assert read(text).kernels["gemm"].resources.is_bindless == is_bindless


def test_what_is_not_said_is_zero_or_unknown() -> None:
    new = (
        read("version: '1.73'\nkernels:\n  - name: k\n    execution_env:\n      simd_size: 8\n").kernels["k"].resources
    )
    assert (new.spill_bytes, new.scratch_bytes, new.private_bytes, new.slm_bytes, new.barriers) == (0, 0, 0, 0, 0)
    assert (new.grf_count, new.required_work_group_size, new.required_sub_group_size) == (None, None, None)


def old_kernel(buffers: str) -> str:
    return f"version: '1.20'\nkernels:\n  - name: k\n    execution_env:\n      simd_size: 8\n{buffers}"


def test_before_version_1_39_sizes_stand_in_the_buffers() -> None:
    buffers = "    per_thread_memory_buffers:\n      - type: scratch\n        usage: {}\n        size: 640\n"
    none = read(old_kernel("")).kernels["k"].resources
    spilled = read(old_kernel(buffers.format("spill_fill_space"))).kernels["k"].resources
    private = read(old_kernel(buffers.format("private_space"))).kernels["k"].resources
    single = read(old_kernel(buffers.format("single_space"))).kernels["k"].resources
    assert (none.spill_bytes, none.private_bytes, none.scratch_bytes) == (0, 0, 0)
    assert (spilled.spill_bytes, spilled.private_bytes, spilled.scratch_bytes) == (640, 0, 640)
    assert (private.spill_bytes, private.private_bytes, private.scratch_bytes) == (0, 640, 640)
    assert (single.spill_bytes, single.private_bytes, single.scratch_bytes) == (None, None, 640)


def test_the_stack_of_a_kernel_that_calls_functions_is_no_spill() -> None:
    calling = GEMM.replace("spill_size:      320", "has_stack_calls: true\n      spill_size:      131072")
    buffers = "    per_thread_memory_buffers:\n      - usage: spill_fill_space\n        size: 640\n"
    called = read(calling).kernels["gemm"].resources
    assert (called.spill_bytes, called.stack_bytes) == (None, 131072)
    assert called.scratch_bytes == 131072 + 6400, "what is said to lie in the buffers counts where these are smaller"
    assert read(calling.replace("131072", "0")).kernels["gemm"].resources.spill_bytes == 0
    assert read(old_kernel("      has_stack_calls: true\n" + buffers)).kernels["k"].resources.spill_bytes is None


def test_arguments_with_their_names() -> None:
    assert read(GEMM + MISC).kernels["gemm"].arguments == (
        KernelArgument(0, "a", "float*", "global", None, "const", 8),
        KernelArgument(1, "shape", "struct Shape", "private", None, None, 16),
    )


def test_arguments_without_names() -> None:
    assert read(GEMM).kernels["gemm"].arguments == (
        KernelArgument(0, None, None, "global", "read_only", None, 8),
        KernelArgument(1, None, None, "private", None, None, 16),
    )


def test_functions_and_host_names() -> None:
    text = "version: '1.73'\nkernels: []\nfunctions:\n  - name: helper\n"
    text += "global_host_access_table:\n  - device_name: _Z1g\n    host_name: g\n"
    result = read(text)
    assert (result.version, result.functions, result.host_access) == ("1.73", ("helper",), {"_Z1g": "g"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no mapping"),
        ("- 1\n", "contains no mapping"),
        ("kernels: 5\n", "kernels is not a list of mappings"),
        ("kernels:\n  - 5\n", "kernels is not a list of mappings"),
        ("kernels:\n  - size: 5\n", "has no name"),
        ("\tversion: 1\n", "line 1"),
    ],
)
def test_what_is_no_ze_info(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(text)


@pytest.mark.parametrize("value", ["many", "[ 1 ]", "1.5", "true"])
def test_numbers_that_are_none(value: str) -> None:
    text = f"kernels:\n  - name: k\n    execution_env:\n      simd_size: {value}\n"
    with pytest.raises(FormatError, match=r"simd_size is .*, expected a number"):
        assert read(text).kernels["k"].resources


def test_text_that_is_not_utf8() -> None:
    with pytest.raises(FormatError, match="not UTF-8"):
        read_ze_info(memoryview(b"version: '\xff'\n"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1\nb: -2\n", {"a": 1, "b": -2}),
        ("a: 1.5\nb: 1e3\nc: 010\nd: 0x10\n", {"a": 1.5, "b": 1000.0, "c": "010", "d": "0x10"}),
        ("a: true\nb: false\nc: null\nd: ~\ne:\n", {"a": True, "b": False, "c": None, "d": None, "e": None}),
        ("a: 'it''s'\nb: \"\\x41\\n\\u00e9\"\n", {"a": "it's", "b": "A\né"}),
        ("a: some text\nb: 'x: y # z'\n", {"a": "some text", "b": "x: y # z"}),
        ("a: b:c\n", {"a": "b:c"}),
        ("# whole line\na: 1 # rest\nb: x#y\n", {"a": 1, "b": "x#y"}),
        ("a: [ 0, 1, 2 ]\nb: []\nc: [ 'x, y', z ]\n", {"a": [0, 1, 2], "b": [], "c": ["x, y", "z"]}),
        ("a:\n  b:\n    c: 1\n  d: 2\ne: 3\n", {"a": {"b": {"c": 1}, "d": 2}, "e": 3}),
        ("a:\n  - 1\n  - x\nb: 2\n", {"a": [1, "x"], "b": 2}),
        ("a:\n- b: 1\n  c: 2\n- b: 3\nd: 4\n", {"a": [{"b": 1, "c": 2}, {"b": 3}], "d": 4}),
        ("a:\n  - b:\n      - c: 1\n      - c: 2\n    d: 3\n", {"a": [{"b": [{"c": 1}, {"c": 2}], "d": 3}]}),
        ("- a\n- b\n", ["a", "b"]),
        ("---\r\na: 1\r\n...\r\n", {"a": 1}),
        ("", None),
    ],
)
def test_yaml_values(text: str, value: object) -> None:
    assert ze_info_text.parse(text) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\n  b: 2\n", "line 2: an entry is indented deeper"),
        ("a:\n    b: 1\n  c: 2\n", "line 3: the indentation matches no open mapping"),
        ("a:\n    - 1\n  - 2\n", "line 3: "),
        ("a: 1\n- 2\n", "line 2: "),
        ("words\n", "line 1: 'words' is not an entry of a mapping or a sequence"),
        ("a: [ 1, 2\n", "does not end with ]"),
        ("a: [ [1], 2 ]\n", "not a sequence of scalars"),
        ("a: { b: 1 }\n", "YAML that ze_info does not have"),
        ("a: &x 1\n", "YAML that ze_info does not have"),
        ("a: *x\n", "YAML that ze_info does not have"),
        ("a: !!binary x\n", "YAML that ze_info does not have"),
        ("a: |\n  text\n", "YAML that ze_info does not have"),
        ("a: 'open\n", "no closing quote"),
        ("a: 'x' y'\n", "continues after its closing quote"),
        ('a: "\\q"\n', "line 1"),
        ('a: "\\ud800"\n', "line 1"),
        ("- - x\n", "line 1: a sequence directly in a sequence is not supported in ze_info"),
    ],
)
def test_yaml_errors_name_the_line(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        ze_info_text.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 200_000 + "]" * 200_000,
        "".join(" " * depth + "a:\n" for depth in range(1000)),
        "- " * 100_000 + "x",
        "a: [" + "'," * 100_001 + "]",
        "a: [x" + " " * 200_000 + "'y]",
        "a: [" + " " * 200_000 + "'y]",
        'a: "' + "\\" * 200_001 + '"',
        "a" + " " * 500_000 + "x",
        "- " + " " * 500_000 + "{",
        "a: '" + "''" * 100_000,
        "a: [" + " " * 200_000 + "x y" + " " * 200_000 + "z",
        " " * 500_000 + "a",
        "a" * 500_000,
        "a: 1\n" * 50_000 + " b: 2\n",
    ],
)
def test_hostile_text_ends_soon(text: str) -> None:
    with processor_time(), pytest.raises(FormatError):
        ze_info_text.parse(text)


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["\r\n", "\n", " -\n", "a:\n"])
def test_no_text_takes_much_more_memory_than_it_has_bytes(piece: str) -> None:
    text = (piece * ((2 << 20) // len(piece))).encode()
    with address_space(80 << 20), contextlib.suppress(FormatError):
        read_ze_info(memoryview(text))
