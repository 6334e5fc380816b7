"""SPIR-V that drivers are known to crash on is recognised."""

from __future__ import annotations

import pytest

from kernlens.runtime.level_zero.spirv_hazards import exports_using_work_items, overrunning_instruction
from tests.writers.spirv import (
    BUILT_IN,
    DECORATE,
    ENTRY_POINT,
    FUNCTION_CALL,
    GLOBAL_INVOCATION_ID,
    IMPORT,
    LOAD,
    SUBGROUP_LOCAL_INVOCATION_ID,
    WORKGROUP_ID,
    function,
    instruction,
    linkage,
    literal,
    module,
)

VARIABLE, HELPER, INNER = 10, 20, 30
LOAD_VARIABLE = instruction(LOAD, 3, 40, VARIABLE)


def built_in(kind: int) -> tuple[int, ...]:
    return instruction(DECORATE, VARIABLE, BUILT_IN, kind)


def test_export_that_reads_the_global_id() -> None:
    spirv = module(built_in(GLOBAL_INVOCATION_ID), linkage(HELPER, "helper"), function(HELPER, LOAD_VARIABLE))
    assert exports_using_work_items(spirv) == ("helper",)


def test_export_that_calls_a_reader() -> None:
    call = instruction(FUNCTION_CALL, 3, 41, INNER)
    spirv = module(
        built_in(GLOBAL_INVOCATION_ID),
        linkage(HELPER, "helper"),
        function(HELPER, call),
        function(INNER, LOAD_VARIABLE),
    )
    assert exports_using_work_items(spirv) == ("helper",)


def test_functions_that_call_each_other_end_the_search() -> None:
    spirv = module(
        built_in(GLOBAL_INVOCATION_ID),
        linkage(HELPER, "helper"),
        function(HELPER, instruction(FUNCTION_CALL, 3, 41, INNER)),
        function(INNER, instruction(FUNCTION_CALL, 3, 42, HELPER), LOAD_VARIABLE),
    )
    assert exports_using_work_items(spirv) == ("helper",)


@pytest.mark.parametrize("kind", [WORKGROUP_ID, SUBGROUP_LOCAL_INVOCATION_ID])
def test_built_ins_that_need_no_hidden_argument(kind: int) -> None:
    spirv = module(built_in(kind), linkage(HELPER, "helper"), function(HELPER, LOAD_VARIABLE))
    assert exports_using_work_items(spirv) == ()


def test_import_is_no_export() -> None:
    spirv = module(built_in(GLOBAL_INVOCATION_ID), linkage(HELPER, "helper", IMPORT), function(HELPER, LOAD_VARIABLE))
    assert exports_using_work_items(spirv) == ()


def test_kernel_of_the_same_name_is_no_export() -> None:
    spirv = module(
        built_in(GLOBAL_INVOCATION_ID),
        instruction(ENTRY_POINT, 6, 50, *literal("kernel")),
        linkage(HELPER, "kernel"),
        function(HELPER, LOAD_VARIABLE),
    )
    assert exports_using_work_items(spirv) == ()


def test_a_literal_that_equals_the_variables_id() -> None:
    # OpLoad with "Aligned 10": the 10 is no use of the variable with id 10.
    aligned = instruction(LOAD, 3, 40, 99, 2, VARIABLE)
    spirv = module(built_in(GLOBAL_INVOCATION_ID), linkage(HELPER, "helper"), function(HELPER, aligned))
    assert exports_using_work_items(spirv) == ()


def test_big_endian_module() -> None:
    spirv = module(
        built_in(GLOBAL_INVOCATION_ID), linkage(HELPER, "helper"), function(HELPER, LOAD_VARIABLE), order=">"
    )
    assert len(exports_using_work_items(spirv)) == 1
    assert overrunning_instruction(spirv) is None


def test_whole_module_overruns_nowhere() -> None:
    assert overrunning_instruction(module(function(HELPER, LOAD_VARIABLE))) is None
    assert overrunning_instruction(module()) is None


def test_instruction_beyond_the_end() -> None:
    assert overrunning_instruction(module(function(HELPER), (9 << 16 | LOAD, 1))) == 20 + 4 * 6


def test_instruction_without_length() -> None:
    assert overrunning_instruction(module((0, 0))) == 20


@pytest.mark.parametrize("spirv", [b"", b"123", module()[:19], bytes(64)])
def test_what_is_no_module_exports_nothing(spirv: bytes) -> None:
    assert exports_using_work_items(spirv) == ()
